//! Runs a program until enough steps are steady, and ends it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, json};
use whyidle_analysis::signals::{Hints, Signals, signals};
use whyidle_observe::captured::{Captured, Requests, Start};
use whyidle_observe::hook::Hook;
use whyidle_observe::launch::shell_status;
use whyidle_observe::neighbours::{Look, Neighbours};
use whyidle_observe::ondemand::{self, Listener};
use whyidle_observe::surroundings::{Surroundings, surroundings};
use whyidle_observe::tracing::{listen, trace};
use whyidle_observe::{Flow, Options, Progress, Recorder, Scratch, Summary, Watch, clock};
use whyidle_readers::progress::printed::Words;
use whyidle_readers::{recording, samples};

use crate::follow::Follower;
use crate::progress::{Seen, Series};
use crate::result::{Basis, Ended, GpuUse, Others, Place, Run, without_secrets};
use crate::stats::steady::{Stalls, Steady, steady};
use crate::tries::Try;
use crate::written::Watched;

/// Steady steps, unless told otherwise.
pub const STEPS: usize = 200;
/// Steady time at least, where the number of steps was not asked for.
pub const LEAST: Duration = Duration::from_secs(10);
/// Time at most from the first step on, unless told otherwise; without any step, from the start.
pub const MOST: Duration = Duration::from_secs(300);
/// How often it is asked whether enough was seen; less often where the answer takes long, so that the watcher does not
/// disturb what it measures.
const ASK_EVERY: Duration = Duration::from_millis(250);
/// On a machine so busy that asking takes long, a run must end all the same.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The asking may take one part in so many of the time.
const ASKING_SHARE: u32 = 100;
/// Makes Python print at once.
const UNBUFFERED: &str = "PYTHONUNBUFFERED";

/// What to run, and for how long.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Variables to set for it.
    pub environment: BTreeMap<String, String>,
    /// Steady steps after which it is ended.
    pub steps: usize,
    /// Steady time at least, however many steps.
    pub least: Duration,
    /// Time at most from the first step on; without any step, from the start.
    pub most: Duration,
    /// Changes that are tried in it.
    pub tries: Vec<Try>,
    /// Which printed numbers are losses and steps.
    pub words: Words,
    /// Files and folders where it writes its losses, besides what it prints.
    pub losses: Vec<PathBuf>,
    /// Pass its output on to standard error.
    pub pass_on: bool,
    /// Do not put the start-up hook before it.
    pub no_hook: bool,
    /// Where its output is kept.
    pub log: PathBuf,
    /// The recording to keep of it.
    pub record: Option<Record>,
}

/// A recording to keep of a run, for a verdict. What is looked at for it costs the program a little: its steps are not
/// those of a run without.
#[derive(Clone, Debug)]
pub struct Record {
    /// Where to write it.
    pub dir: PathBuf,
    /// Ask for a trace at the end.
    pub traces: bool,
}

/// Steps of the trace of a recording.
const TRACE_STEPS: u32 = 3;

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The program could not be started, or its output not be kept.
    #[error("{program}: {source}")]
    NotStarted {
        /// The program.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// A file of the measurement could not be written or read.
    #[error("{path}: {reason}")]
    Files {
        /// Where.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
}

/// How far a measurement has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Since the start.
    pub elapsed: Duration,
    /// Steady steps so far.
    pub steady: usize,
    /// Mean step time so far, ns.
    pub step_ns: Option<i64>,
}

/// Runs the program of `wanted` and measures it. `tell` is called while it runs.
///
/// # Errors
/// Where it cannot be started or watched. A program that fails is a result.
pub fn measure(
    wanted: &Wanted,
    requests: &Requests,
    tell: &mut dyn FnMut(&Status),
) -> Result<Run, MeasureError> {
    let temporary = std::env::temp_dir();
    let unwritten = |path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| MeasureError::Files { path, reason: error.to_string() }
    };
    let scratch = Scratch::new_in(&temporary).map_err(unwritten(&temporary))?;
    let hook = if wanted.no_hook {
        None
    } else {
        Some(Hook::lay(scratch.path()).map_err(unwritten(scratch.path()))?)
    };
    let kept = wanted.record.as_ref();
    let recording = kept.map_or_else(|| scratch.path().join("recording"), |record| record.dir.clone());
    let mut missing = Vec::new();
    let listener = kept.filter(|record| record.traces).and_then(|_| {
        let started = listen(&wanted.command);
        started.map_err(|why| missing.push(why)).ok()
    });
    let recorder = Recorder::create(&recording).map_err(unwritten(&recording))?;
    let mut environment: BTreeMap<String, String> = wanted.environment.clone();
    // A program that writes into a pipe holds lines back otherwise, and their times would say nothing.
    let mut added = Vec::new();
    if std::env::var_os(UNBUFFERED).is_none() && !environment.contains_key(UNBUFFERED) {
        environment.insert(UNBUFFERED.to_owned(), "1".to_owned());
        added.push(format!("{UNBUFFERED}=1"));
    }
    for change in &wanted.tries {
        change.put(&mut environment, |name| std::env::var(name).ok());
    }
    if let Some(hook) = &hook {
        let asked: Vec<&Try> = wanted.tries.iter().filter(|change| !change.is_variable()).collect();
        if !asked.is_empty() {
            let pairs = asked.iter().map(|change| (change.name.as_str(), change.value.as_str()));
            let (name, value) = Hook::asking(pairs);
            environment.insert(name.to_owned(), value);
        }
        let own = environment.get("PYTHONPATH").cloned().or_else(|| std::env::var("PYTHONPATH").ok());
        for (name, value) in hook.environment(own.as_deref()) {
            // Its value names a folder that is gone when the run is over.
            added.push(name.to_owned());
            environment.insert(name.to_owned(), value);
        }
    }
    for (name, value) in listener.iter().flat_map(Listener::environment) {
        environment.insert(name.to_owned(), value);
    }
    let dir = std::env::current_dir().unwrap_or_default();
    let place = surroundings(&dir);
    let written = Watched::new(&wanted.losses);
    let before = Look::now();
    let began = clock::now_ns();
    let start = Start {
        command: &wanted.command,
        environment: environment.into_iter().collect(),
        pass_on: wanted.pass_on,
    };
    let mut program = Captured::start(&start, &wanted.log).map_err(|source| MeasureError::NotStarted {
        program: wanted.command.first().cloned().unwrap_or_default(),
        source,
    })?;
    let group = program.pid();
    let mut watch = Watch::new(&[group], recorder, Options { gpus: Vec::new(), stacks: kept.is_some() });
    let mut follower = Follower::new(&wanted.words, hook.as_ref());
    let mut ended = watch_until(wanted, requests, &mut watch, &mut program, &mut follower, tell);
    let after = Look::now();
    let mut more = Map::new();
    if let Some(ends) = follower.seen.series().map(|series| series.ends).filter(|_| kept.is_some()) {
        let seconds = |ns: Option<&i64>| ns.map(|ns| *ns as f64 / 1e9);
        more.insert("began".to_owned(), json!(true));
        more.insert("steady_from".to_owned(), json!(seconds(ends.get(ends.len() / 4))));
        more.insert("steady_until".to_owned(), json!(seconds(ends.last())));
    }
    if let Some(listener) = listener.as_ref().filter(|_| ended == Ended::Enough) {
        let asked = ondemand::Wanted { steps: TRACE_STEPS, stacks: true };
        let mut is_over = || requests.any() || program.ended().is_some();
        missing.extend(trace(listener, asked, &mut watch, &mut is_over, &recording).err());
    }
    let summary = watch.finish(wanted.command.clone(), missing, more).map_err(unwritten(&recording))?;
    let wall = clock::now_ns() - began;
    let by_itself = program.ended().is_some();
    // What a program says once it is interrupted is no training: a traceback shows lines of the source.
    let until = if by_itself { i64::MAX } else { clock::now_ns() };
    // Leaves nothing behind, also of a program whose parts outlive it.
    program.stop(requests);
    let (rest, status) = program.finish();
    follower.lines(rest.into_iter().filter(|line| line.at <= until));
    follower.files();
    if by_itself && requests.any() {
        ended = Ended::Interrupted;
    }
    if follower.out_of_memory && ended == Ended::Failed {
        ended = Ended::OutOfMemory;
    }
    let others = before.zip(after).map(|(before, after)| after.since(&before, group)).unwrap_or_default();
    let seen = &follower.seen;
    let series = seen.series();
    let recorded = recording::read(&recording, None).ok().flatten().unwrap_or_default();
    let signals = read_signals(&recording, &recorded, series.as_ref());
    let (losses, losses_from) = match written.losses(&wanted.words) {
        Some((losses, path)) => (losses, Some(path.display().to_string())),
        None => (seen.losses(), None),
    };
    let (command, environment, tries) = without_secrets(&wanted.command, &wanted.environment, &wanted.tries);
    let mut run = Run {
        began,
        wall_ns: wall,
        command,
        environment,
        dir: dir.display().to_string(),
        place: placed(place, &summary, seen),
        printed_samples_per_s: seen.rate(|line| line.samples_per_s),
        printed_tokens_per_s: seen.rate(|line| line.tokens_per_s),
        gpu: signals.as_ref().and_then(gpu_use),
        peak: seen.peak(),
        losses,
        losses_from,
        ended,
        status: status.filter(|_| by_itself).map(|status| i32::from(shell_status(status))),
        others: of_others(others, &recorded),
        log: Some(wanted.log.display().to_string()),
        hook_errors: seen.hook_errors(),
        tries,
        tried: follower.tried(),
        added,
        steps_per_figure: 1,
        ..Run::default()
    };
    take_steps(&mut run, series, signals.as_ref());
    Ok(run)
}

/// Watches until enough was seen, the program is over, or somebody interrupts. How it ended.
fn watch_until(
    wanted: &Wanted,
    requests: &Requests,
    watch: &mut Watch,
    program: &mut Captured,
    follower: &mut Follower<'_>,
    tell: &mut dyn FnMut(&Status),
) -> Ended {
    let started = Instant::now();
    let (mut asked, mut pause) = (started, ASK_EVERY);
    let mut first: Option<Instant> = None;
    let mut ended = None;
    watch.run(&mut |progress: &Progress| {
        follower.lines(program.lines());
        if requests.any() {
            ended = Some(Ended::Interrupted);
        } else if program.ended().is_some() {
            return Flow::Stop;
        } else if asked.elapsed() >= pause {
            asked = Instant::now();
            follower.files();
            let series = follower.seen.series();
            if series.is_some() {
                first.get_or_insert_with(Instant::now);
            }
            let figures = series.as_ref().map_or(1, |series| series.steps_per_figure as usize);
            let found = series.and_then(|series| steady(&series.lengths, Stalls::SetAside));
            let status = Status {
                elapsed: progress.elapsed,
                steady: found.as_ref().map_or(0, |steady| steady.count * figures),
                step_ns: found.as_ref().map(|steady| steady.mean_ns),
            };
            tell(&status);
            let time =
                found.map_or(0, |steady| steady.mean_ns.saturating_mul((steady.count * figures) as i64));
            let is_long = time >= i64::try_from(wanted.least.as_nanos()).unwrap_or(i64::MAX);
            if status.steady >= wanted.steps && is_long {
                ended = Some(Ended::Enough);
            } else if first.unwrap_or(started).elapsed() >= wanted.most {
                ended = Some(Ended::Time);
            }
            pause = (asked.elapsed() * ASKING_SHARE).clamp(ASK_EVERY, LONGEST_PAUSE);
        }
        if ended.is_some() { Flow::Stop } else { Flow::Continue }
    });
    // The watch also ends with the program, a moment before its status is there.
    let until = Instant::now() + Duration::from_secs(2);
    while ended.is_none() && program.ended().is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = program.ended();
    match (ended, status) {
        (Some(ended), _) => ended,
        (None, Some(status)) if status.success() => Ended::Itself,
        (None, _) => Ended::Failed,
    }
}

/// The signals of the steady stretch.
fn read_signals(dir: &Path, recorded: &recording::Recording, series: Option<&Series>) -> Option<Signals> {
    let found = samples::read(dir).ok()?;
    let steady = series.and_then(|series| {
        let steady = steady(&series.lengths, Stalls::SetAside)?;
        Some((*series.ends.get(steady.warmup_steps)?, *series.ends.last()?))
    });
    let gpu = recorded.drivers.first().and_then(|driver| driver.gpu);
    let drivers = recorded.drivers.iter().map(|driver| driver.pid).collect();
    Some(signals(&found.samples, &Hints { drivers, gpu, steady, began: true }))
}

fn gpu_use(signals: &Signals) -> Option<GpuUse> {
    let gpu = signals.gpu.as_ref()?;
    Some(GpuUse {
        index: gpu.index,
        resident: gpu.resident,
        is_counted: gpu.is_counted,
        power_w: gpu.power_w,
        memory: gpu.memory.map(|(used, _)| used as i64),
    })
}

/// The step times into the run: the series, else batches that workers hand over, else the whole program.
fn take_steps(run: &mut Run, series: Option<Series>, signals: Option<&Signals>) {
    let batches = signals.and_then(|signals| signals.batches);
    if let Some(series) = series {
        run.basis = Some(series.basis);
        run.steps_per_figure = series.steps_per_figure;
        run.startup_ns = series.ends.first().map(|first| (first - run.began).max(0));
        (run.samples_per_step, run.tokens_per_step) = (series.samples, series.tokens);
        run.steady = steady(&series.lengths, Stalls::SetAside);
        run.series = series.lengths;
    } else if let Some(batches) = batches {
        run.basis = Some(Basis::Batches);
        run.steady = Some(Steady {
            settled: true,
            count: batches.count as usize,
            mean_ns: batches.period_ns,
            interval_ns: Some((batches.low_ns, batches.high_ns)),
            quantiles_ns: [batches.period_ns; 6],
            ..Steady::default()
        });
    } else if run.ended == Ended::Itself {
        run.basis = Some(Basis::Whole);
    }
}

fn placed(found: Surroundings, summary: &Summary, seen: &Seen) -> Place {
    let writer = seen.files.first().map(|file| file.writer.clone()).unwrap_or_default();
    let place = place_of(found, summary);
    Place {
        torch: writer.torch.or(place.torch),
        cuda: writer.cuda.or(place.cuda),
        python: writer.python.or(place.python),
        ..place
    }
}

/// What a program that was watched ran on.
#[must_use]
pub fn place_of(found: Surroundings, summary: &Summary) -> Place {
    let software = summary.tree.drivers().next().map(|driver| driver.software.clone()).unwrap_or_default();
    let text = |name: &str| summary.more.get(name).and_then(|value| value.as_str()).map(str::to_owned);
    Place {
        host: found.host,
        processor: found.processor,
        cores: found.cores,
        kernel: found.kernel,
        gpus: summary.cards.iter().map(|card| card.name.clone()).collect(),
        driver: text("driver"),
        torch: software.torch,
        cuda: software.cuda,
        python: software.python,
        commit: found.commit,
        dirty: found.dirty,
        variables: found.variables,
    }
}

fn of_others(found: Neighbours, recorded: &recording::Recording) -> Others {
    let on_gpu = recorded.others_on_gpu.iter().map(|(gpu, pid, _)| (*gpu, *pid)).collect();
    Others { cores: found.cores, names: found.names, on_gpu }
}
