//! `whyidle top`: the dashboard, live or from a recording. What it says of a stretch of samples is what `diagnose`
//! would say of a recording of that length.

use std::path::Path;
use std::time::Duration;

use whyidle_diagnosis::Message;
use whyidle_model::Samples;
use whyidle_readers::ReadError;
use whyidle_readers::recording::Recording;
use whyidle_tui::source::{Replay, Source};
use whyidle_tui::{Ending, Judge, Judged};

use crate::args::TopOptions;
use crate::output::Output;
use crate::{REACHED, REFUSED, UNREADABLE, diagnose};

pub(crate) fn run(options: &TopOptions, output: &Output) -> u8 {
    if !options.once && !whyidle_tui::can_draw(std::env::var("TERM").ok().as_deref()) {
        let hint = Message::new("cli-top-no-terminal-hint");
        output.error(&Message::new("cli-top-no-terminal"), Some(&hint));
        return UNREADABLE;
    }
    let source = match &options.replay {
        Some(dir) => recorded(dir, options, output),
        None => live(options, output),
    };
    match source {
        Ok(mut source) if options.once => once(source.as_mut(), options, output),
        Ok(mut source) => interactive(source.as_mut(), output),
        Err(status) => status,
    }
}

fn interactive(source: &mut dyn Source, output: &Output) -> u8 {
    match whyidle_tui::run(source, &AsDiagnosed, output.catalog.lang(), output.colour) {
        Ok(Ending::Asked) => REACHED,
        Ok(Ending::Signal(status)) => status,
        Err(error) => {
            output.error(&Message::new("cli-top-failed").name("reason", error.to_string()), None);
            UNREADABLE
        }
    }
}

fn once(source: &mut dyn Source, options: &TopOptions, output: &Output) -> u8 {
    const LISTEN: Duration = Duration::from_millis(100);
    const WATCHED: Duration = Duration::from_secs(10);
    let begin = std::time::Instant::now();
    while options.replay.is_none()
        && begin.elapsed() < options.for_.unwrap_or(WATCHED)
        && source.status() == whyidle_tui::source::Status::Live
    {
        std::thread::sleep(LISTEN);
        source.poll(LISTEN);
    }
    let cells = |cells: usize| u16::try_from(cells).unwrap_or(u16::MAX).min(MOST_CELLS);
    let size = (cells(output.text_options(false).width), cells(Output::lines()));
    let text = whyidle_tui::once(source, &AsDiagnosed, output.catalog.lang(), size);
    output.data(&text, REACHED)
}

/// No screen has more columns or lines.
const MOST_CELLS: u16 = 1_000;

fn recorded(dir: &Path, options: &TopOptions, output: &Output) -> Result<Box<dyn Source>, u8> {
    const BEGINS: Duration = Duration::from_secs(10);
    let unreadable = |error: &ReadError| {
        output.read_error(error);
        UNREADABLE
    };
    std::fs::read_dir(dir).map_err(|error| unreadable(&ReadError::io(dir, error)))?;
    let Some(mut replay) = Replay::open(dir).map_err(|error| unreadable(&error))? else {
        let error = Message::new("cli-top-no-samples").name("dir", dir.display().to_string());
        output.error(&error, Some(&Message::new("cli-top-no-samples-hint")));
        return Err(REFUSED);
    };
    if replay.is_undescribed() {
        output.say(&Message::new("note-live-undescribed"));
    }
    if let Some(at) = options.at.or((!options.once).then_some(BEGINS)) {
        replay.go_to(at);
    }
    Ok(Box::new(replay))
}

#[cfg(target_os = "linux")]
fn live(options: &TopOptions, output: &Output) -> Result<Box<dyn Source>, u8> {
    use whyidle_observe::tree::training_programs;

    crate::live::known_gpus(&options.gpu, output)?;
    let pids: Vec<u32> = match &options.pids[..] {
        [] => training_programs().iter().map(|program| program.pid).collect(),
        some => some.to_vec(),
    };
    if pids.is_empty() {
        output.error(&Message::new("cli-top-nothing"), Some(&Message::new("cli-top-nothing-hint")));
        return Err(REFUSED);
    }
    crate::live::training(&pids, output)?;
    let watching = whyidle_observe::Options { gpus: options.gpu.clone(), stacks: !options.no_stacks };
    match whyidle_tui::source::Live::watch(&pids, watching) {
        Ok(live) => Ok(Box::new(live)),
        Err(error) => {
            output.error(&Message::new("cli-top-failed").name("reason", error.to_string()), None);
            Err(UNREADABLE)
        }
    }
}

/// Elsewhere, recordings are played but programs not watched.
#[cfg(not(target_os = "linux"))]
fn live(_: &TopOptions, output: &Output) -> Result<Box<dyn Source>, u8> {
    output.error(&Message::new("cli-live-only-linux"), Some(&Message::new("cli-top-only-linux-hint")));
    Err(UNREADABLE)
}

/// Judges as `diagnose` does.
pub(crate) struct AsDiagnosed;

impl Judge for AsDiagnosed {
    fn judge(&self, samples: &Samples, recorded: &Recording, driver: Option<u32>) -> Judged {
        let (signals, verdict) = diagnose::of_program(samples, recorded, driver, "");
        Judged { signals, verdict }
    }
}
