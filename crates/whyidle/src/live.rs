//! What `attach`, `run` and `top` share: whom they watch, where the recording goes, what is said meanwhile, and the verdict at the end.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use whyidle_diagnosis::{Arg, Message, Verdict};
use whyidle_observe::gpu::Gpus;
use whyidle_observe::process::is_zombie;
use whyidle_observe::tree::Tree;
use whyidle_observe::{Flow, Missing, Progress, Recorder, Scratch, stack_permission};

use whyidle_report::Drawn;

use crate::args::LiveOptions;
use crate::drawn::{Sources, drawn};
use crate::experiment::verdicts::Watched;
use crate::output::{Output, io_reason};
use crate::page::Page;
use crate::show::{NoVerdict, show};
use crate::{REFUSED, UNREADABLE, diagnose};

/// Where a recording is written.
pub(crate) struct Place {
    dir: PathBuf,
    /// Removed at the end, unless the user named the place.
    temporary: Option<Scratch>,
}

impl Place {
    /// Opens the recording; where that cannot be, says so and gives the exit status.
    pub(crate) fn open(options: &LiveOptions, output: &Output) -> Result<(Self, Recorder), u8> {
        let place = match &options.out {
            // What lies there already would be overwritten, or taken for this run's.
            Some(dir) if std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) => {
                let error = Message::new("cli-live-not-empty").name("dir", dir.display().to_string());
                output.error(&error, Some(&Message::new("cli-live-not-empty-hint")));
                return Err(UNREADABLE);
            }
            Some(dir) => Self { dir: dir.clone(), temporary: None },
            None => {
                let parent = std::env::temp_dir();
                let temporary =
                    Scratch::new_in(&parent).map_err(|error| unwritten(&parent, &error, output))?;
                Self { dir: temporary.path().to_owned(), temporary: Some(temporary) }
            }
        };
        let recorder = Recorder::create(&place.dir).map_err(|error| unwritten(&place.dir, &error, output))?;
        Ok((place, recorder))
    }

    /// The same in a directory where the program itself records its steps and traces: what is refused there is another
    /// watcher's recording only.
    pub(crate) fn beside(options: &LiveOptions, output: &Output) -> Result<(Self, Recorder), u8> {
        match &options.out {
            Some(dir) if !dir.join("recording.json").exists() && !dir.join("nvml.csv").exists() => {
                let recorder = Recorder::create(dir).map_err(|error| unwritten(dir, &error, output))?;
                Ok((Self { dir: dir.clone(), temporary: None }, recorder))
            }
            _ => Self::open(options, output),
        }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Prints the verdict of what was recorded, writes its page, and keeps it in the history. `again`: the command that
    /// would record it anew.
    pub(crate) fn verdict(
        &self,
        options: &LiveOptions,
        page: Option<&Page>,
        again: &str,
        watched: Watched,
        output: &Output,
    ) -> u8 {
        let mut reached = diagnose::verdict(&self.dir, options.step_ms, output);
        // What lies here is drawn before its paths are forgotten.
        let sources = Sources {
            recording: Some(&self.dir),
            is_temporary: self.temporary.is_some(),
            ..Sources::default()
        };
        let shown = match (page, &reached) {
            (Some(_), Ok(verdict)) => drawn(verdict, &sources),
            _ => Drawn::default(),
        };
        if self.temporary.is_some() {
            forget(&mut reached, &self.dir, again);
        }
        let mut status = show(&reached, options.showing, output);
        if let Some(page) = page {
            status = page.of_outcome(&reached, |_| shown, status, output);
        }
        if let Ok(verdict) = &reached
            && !options.no_history
        {
            watched.keep(verdict, output);
        }
        if self.temporary.is_none() {
            output.say(&Message::new("cli-live-kept").name("dir", self.dir.display().to_string()));
        }
        status
    }
}

/// Names no path of a recording that is about to be removed.
fn forget(reached: &mut Result<Verdict, NoVerdict>, dir: &Path, again: &str) {
    let dir = dir.display().to_string();
    let bare = |path: &mut String| {
        if let Some(rest) = path.strip_prefix(&dir) {
            *path = rest.trim_start_matches('/').to_owned();
        }
    };
    let (inputs, quality) = match reached {
        Ok(verdict) => {
            if verdict.next.contains(&dir) {
                verdict.next = again.to_owned();
            }
            (&mut verdict.inputs, &mut verdict.quality)
        }
        Err(NoVerdict::Refused(refusal)) => (&mut refusal.inputs, &mut refusal.quality),
        Err(_) => return,
    };
    inputs.iter_mut().for_each(|input| bare(&mut input.path));
    for (_, arg) in quality.iter_mut().flat_map(|note| &mut note.text.args) {
        if let Arg::Name(text) = arg {
            bare(text);
        }
    }
}

/// The recording could not be written.
pub(crate) fn unwritten(dir: &Path, error: &io::Error, output: &Output) -> u8 {
    let text = Message::new("cli-live-unwritten").name("dir", dir.display().to_string());
    output.error(&text.message("reason", io_reason(error)), None);
    UNREADABLE
}

/// That the GPUs asked for are there; else the exit status, once those that are there are named.
pub(crate) fn known_gpus(asked: &[u32], output: &Output) -> Result<(), u8> {
    if asked.is_empty() {
        return Ok(());
    }
    let there: Vec<u32> =
        Gpus::open().map(|gpus| gpus.cards().iter().map(|card| card.index).collect()).unwrap_or_default();
    let Some(unknown) = asked.iter().find(|gpu| !there.contains(gpu)) else { return Ok(()) };
    let hint = if there.is_empty() {
        Message::new("cli-live-no-gpus")
    } else {
        let numbers: Vec<String> = there.iter().map(u32::to_string).collect();
        Message::new("cli-live-gpus").name("gpus", numbers.join(" "))
    };
    output.error(&Message::new("cli-live-no-such-gpu").name("gpu", unknown.to_string()), Some(&hint));
    Err(UNREADABLE)
}

/// Says now and then how far a watch has come, where somebody looks.
pub(crate) struct Ticker {
    said: Option<Duration>,
}

impl Ticker {
    pub(crate) fn new() -> Self {
        Self { said: None }
    }

    pub(crate) fn tick(&mut self, progress: &Progress, whole: Duration, output: &Output) {
        const EVERY: Duration = Duration::from_secs(10);
        let due = self.said.is_none_or(|said| progress.elapsed >= said + EVERY);
        if due && progress.elapsed >= EVERY {
            self.said = Some(progress.elapsed);
            output.hint(
                &Message::new("cli-live-progress")
                    .count("seconds", i64::try_from(progress.elapsed.as_secs()).unwrap_or(i64::MAX))
                    .count("whole", i64::try_from(whole.as_secs()).unwrap_or(i64::MAX))
                    .count("samples", i64::try_from(progress.main_samples).unwrap_or(i64::MAX)),
            );
        }
    }
}

/// Why a process cannot be looked into.
pub(crate) fn not_permitted(pid: u32, missing: &Missing) -> Message {
    let id = if missing.code == "other-user" { "cli-live-other-user" } else { "cli-live-no-permission" };
    Message::new(id).name("pid", pid.to_string()).name("detail", &missing.detail)
}

/// The programs of `pids`, at least one of which trains; else the exit status, once the reason is said.
pub(crate) fn training(pids: &[u32], output: &Output) -> Result<Tree, u8> {
    let tree = Tree::of(pids);
    if let Some(gone) = pids.iter().find(|pid| !tree.members.iter().any(|member| member.pid == **pid)) {
        let error = Message::new("cli-live-no-process").name("pid", gone.to_string());
        output.error(&error, Some(&Message::new("cli-live-list")));
        return Err(UNREADABLE);
    }
    if tree.drivers().next().is_some() {
        return Ok(tree);
    }
    let first = pids.first().copied().unwrap_or_default();
    if is_zombie(first) {
        let error = Message::new("cli-live-zombie").name("pid", first.to_string());
        output.error(&error, Some(&Message::new("cli-live-list")));
        return Err(REFUSED);
    }
    // Whoever may not look into a process does not see what it has loaded either.
    if let Some(missing) = stack_permission(first) {
        output.error(&not_permitted(first, &missing), Some(&Message::new("cli-live-permission-hint")));
        return Err(REFUSED);
    }
    let error = Message::new("cli-live-no-training").name("pid", first.to_string());
    output.error(&error, Some(&Message::new("cli-live-list")));
    Err(REFUSED)
}

/// Goes on until `whole` has passed or somebody interrupts.
pub(crate) fn until(done: bool) -> Flow {
    if done { Flow::Stop } else { Flow::Continue }
}
