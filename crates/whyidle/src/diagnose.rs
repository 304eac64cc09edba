//! The verdict of a recording, from its traces and its samples together.

use std::path::Path;

use whyidle_analysis::signals::{Hints, Signals, drivers, signals};
use whyidle_diagnosis::{
    Arg, Input, Known, Message, QualityNote, Refusal, Run, Verdict, add_samples, judge_recording,
    refuse_given_step,
};
use whyidle_model::{Samples, Severity, Trace};
use whyidle_readers::recording::{self, Driver, Recording};
use whyidle_readers::{ReadError, find_traces, samples};

use crate::evidence::memory::Peak;
use crate::output::Output;
use crate::show::NoVerdict;
use crate::trace::{self, Question};

/// A recording's samples, ready to be judged.
struct Watched {
    signals: Signals,
    known: Known,
    run: Run,
    inputs: Vec<Input>,
    /// Its programs have nothing to do with each other: their processes.
    apart: Vec<u32>,
}

/// The verdict of the recording in `dir`.
pub(crate) fn verdict(dir: &Path, step_ms: Option<f64>, output: &Output) -> Result<Verdict, NoVerdict> {
    verdict_with(dir, Others { samples: &Samples::default(), peaks: Vec::new() }, step_ms, output)
}

/// The signals and the verdict of one program of a recording, from its samples alone; of `driver` where several are in
/// it.
#[cfg(any(feature = "tui", feature = "agent"))]
pub(crate) fn of_program(
    samples: &Samples,
    recorded: &Recording,
    driver: Option<u32>,
    path: &str,
) -> (Signals, Result<Verdict, Box<Refusal>>) {
    let known = trace::known(Some(recorded), None);
    let world = recorded.world.unwrap_or(1);
    let one = recorded.drivers.iter().find(|known| Some(known.pid) == driver);
    // Without a better word, ranks of one host drive its cards in order.
    let gpu = match one {
        Some(one) => one.gpu,
        None => recorded.rank.filter(|_| world > 1),
    };
    let signals = signals(samples, &hints(recorded, driver.into_iter().collect(), gpu));
    let run = Run {
        rank: one.and_then(|one| one.rank).or(recorded.rank),
        rows: samples.gpu.len() as u64 + samples.process.len() as u64,
        ..about(recorded.clone(), true, &signals)
    };
    let verdict = judge_recording(&signals, &known, &run, Vec::new(), path);
    (signals, verdict)
}

/// What other tools say of a recording's run.
pub(crate) struct Others<'a> {
    /// What they sampled.
    pub(crate) samples: &'a Samples,
    /// Peaks of its memory.
    pub(crate) peaks: Vec<Peak>,
}

/// The same with what other tools say, which stands in where the recording has nothing of its own.
pub(crate) fn verdict_with(
    dir: &Path,
    others: Others<'_>,
    step_ms: Option<f64>,
    output: &Output,
) -> Result<Verdict, NoVerdict> {
    let watched = read(dir, others.samples, step_ms).map_err(NoVerdict::Unread)?;
    let question = Question { peaks: others.peaks, ..of_dir(dir, step_ms, None) };
    of_watched(watched, &question, dir, output)
}

/// The same with the signals of its samples, of the rank `rank`.
pub(crate) fn with_signals(
    dir: &Path,
    rank: Option<u32>,
    output: &Output,
) -> Result<(Verdict, Signals), NoVerdict> {
    let watched = read(dir, &Samples::default(), None).map_err(NoVerdict::Unread)?;
    let signals = watched.signals.clone();
    Ok((of_watched(watched, &of_dir(dir, None, rank), dir, output)?, signals))
}

fn of_dir(dir: &Path, step_ms: Option<f64>, rank: Option<u32>) -> Question {
    Question { paths: vec![dir.to_owned()], step_ms, rank, ..Question::default() }
}

fn of_watched(
    watched: Watched,
    question: &Question,
    dir: &Path,
    output: &Output,
) -> Result<Verdict, NoVerdict> {
    if let [first, ..] = watched.apart[..] {
        return Err(NoVerdict::Refused(Box::new(several(dir, first, &watched))));
    }
    let path = dir.display().to_string();
    match find_traces(dir) {
        Ok(_) => {}
        Err(ReadError::NoTrace { .. }) => {
            let shown = watched.run.rank.unwrap_or(0);
            if question.rank.is_some_and(|wanted| wanted != shown) {
                return Err(NoVerdict::Refused(Box::new(trace::no_such_rank(&watched.inputs))));
            }
            return judge_recording(&watched.signals, &watched.known, &watched.run, watched.inputs, &path)
                .map_err(NoVerdict::Refused);
        }
        Err(error) => return Err(NoVerdict::Unread(error)),
    }
    let has_samples = watched.signals.gpu.is_some() || watched.signals.main.is_some();
    match trace::verdict(question, output) {
        Ok(mut verdict) => {
            if let Some(refusal) =
                refuse_given_step(&watched.signals, &watched.known, &watched.run, verdict.inputs.clone())
            {
                return Err(NoVerdict::Refused(refusal));
            }
            if has_samples {
                add_samples(&mut verdict, &watched.signals, &watched.known, &watched.run);
                verdict.inputs.extend(watched.inputs);
            }
            Ok(verdict)
        }
        // A trace that carries no verdict leaves the samples; a slip in the step that was given stays one.
        Err(NoVerdict::Refused(refusal))
            if has_samples && (question.step_ms.is_none() || refusal.code != "step-contradicted") =>
        {
            without_trace(watched, *refusal, &path)
        }
        Err(none) => Err(none),
    }
}

/// Programs of a node that an agent watched are no ranks of one job: one of them has to be picked.
fn several(dir: &Path, first: u32, watched: &Watched) -> Refusal {
    let full = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let name = full.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let ring = full.parent().map(|ring| ring.display().to_string()).unwrap_or_default();
    let words = ["whyidle", "agent", "--ring", &ring, "--at", &name, "--pid", &first.to_string()];
    let command = whyidle_experiment::result::typed(&words.map(str::to_owned));
    let pids = watched.apart.iter().map(|pid| Arg::Name(pid.to_string())).collect();
    Refusal {
        code: "several-programs",
        reason: Message::new("refusal-several-programs")
            .count("count", watched.apart.len())
            .with("pids", Arg::List(pids)),
        hint: Message::new("refusal-several-programs-hint").name("command", command),
        inputs: watched.inputs.clone(),
        quality: Vec::new(),
    }
}

fn without_trace(watched: Watched, refusal: Refusal, path: &str) -> Result<Verdict, NoVerdict> {
    let inputs = refusal.inputs.iter().cloned().chain(watched.inputs).collect();
    let judged = judge_recording(&watched.signals, &watched.known, &watched.run, inputs, path);
    // If neither carries one, the trace's reason is the more telling.
    let mut verdict = judged.map_err(|_| NoVerdict::Refused(Box::new(refusal.clone())))?;
    verdict.quality.push(QualityNote {
        code: "trace-refused",
        severity: Severity::Info,
        count: 1,
        text: Message::new("note-trace-refused").message("reason", refusal.reason),
    });
    Ok(verdict)
}

fn read(dir: &Path, others: &Samples, step_ms: Option<f64>) -> Result<Watched, ReadError> {
    let (described, is_damaged) = recording::read_if_sound(dir, None)?;
    let mut found = samples::read(dir)?;
    if let Some(started) = described.as_ref().and_then(|recorded| recorded.started_s) {
        leave_out_before(&mut found, ns(started) - EARLY_NS);
    }
    stand_in(&mut found.samples, others);
    let known = trace::known(described.as_ref(), step_ms);
    let is_described = described.is_some();
    let mut recorded = described.unwrap_or_default();
    if recorded.drivers.is_empty() {
        recorded.drivers = undescribed(&found.samples);
    }
    let apart = if recorded.holds_several_programs() { recorded.pids.clone() } else { Vec::new() };
    let (signals, rank) = the_one_waited_for(&found.samples, &recorded);
    let input = |(name, rows): &(&str, u64)| Input {
        path: dir.join(name).display().to_string(),
        kind: "samples",
        events: *rows,
        rank: None,
    };
    let run = about(recorded, is_described, &signals);
    let rows = found.files.iter().map(|(_, rows)| rows).sum();
    let unread = found.unread.iter().map(|&name| name.to_owned()).collect();
    let run = Run { rank, dropped: found.dropped, rows, undescribed: is_damaged, unread, ..run };
    Ok(Watched { signals, known, run, inputs: found.files.iter().map(input).collect(), apart })
}

/// Takes from `others` what `own` has nothing of.
fn stand_in(own: &mut Samples, others: &Samples) {
    for (own, other) in
        [(&mut own.gpu, &others.gpu), (&mut own.process, &others.process), (&mut own.system, &others.system)]
    {
        if own.is_empty() {
            own.append(other);
        }
    }
    if own.stacks.seen.is_empty() {
        own.stacks.append(&others.stacks);
    }
}

/// The start is noted beside the first samples, not before them.
const EARLY_NS: i64 = 1_000_000_000;

/// Rows from before the start of the watch are no samples of it: left out, and counted among the lines that make no
/// sense.
fn leave_out_before(found: &mut samples::Found, start_ns: i64) {
    let rows = |samples: &Samples| {
        samples.gpu.len()
            + samples.process.len()
            + samples.thread.len()
            + samples.system.len()
            + samples.stacks.seen.len()
    };
    let kept = found.samples.between(start_ns, i64::MAX);
    let early = rows(&found.samples) - rows(&kept);
    if early > 0 {
        found.dropped += early as u64;
        found.samples = kept;
    }
}

/// What a recording says of its run. `is_described`: it says anything at all.
pub(crate) fn about(recorded: Recording, is_described: bool, signals: &Signals) -> Run {
    // Without a description, a process that shows the work of several ranks is one of at least two.
    let is_rank = signals.main.as_ref().is_some_and(|main| main.is_rank);
    let seen = u32::try_from(recorded.drivers.len()).unwrap_or(u32::MAX);
    Run {
        observed_step_ns: recorded.observed_step_ms_mean.map(|ms| (ms * 1e6).round() as i64),
        timed_steps: recorded.timed_steps.unwrap_or(u32::try_from(recorded.steps_host_ms.len()).unwrap_or(0)),
        world: recorded.world.unwrap_or(seen.max(if is_rank { 2 } else { 1 })),
        world_known: recorded.world.is_some() || is_described && !is_rank,
        rank: recorded.rank,
        watched_ranks: recorded.drivers.len(),
        no_gpu: recorded
            .missing
            .iter()
            .any(|(what, code, _)| what == "gpu" && NO_GPU.contains(&code.as_str())),
        open_files_limit: recorded.open_files_limit,
        shm_bytes: recorded.shm_bytes,
        others_on_gpu: recorded.others_on_gpu,
        cut_short_ns: recorded.cut_short_s.map(ns),
        ended_ns: recorded.ended_s.map(ns),
        began: recorded.began,
        command: recorded.command,
        gpu: recorded.gpu,
        missing: recorded.missing,
        dropped: 0,
        undescribed: false,
        unread: Vec::new(),
        rows: 0,
    }
}

/// Several drivers that no description names: without a better word they drive the cards of the host in order.
fn undescribed(samples: &Samples) -> Vec<Driver> {
    let pids = drivers(samples);
    if pids.len() < 2 {
        return Vec::new();
    }
    let driver = |(at, pid)| Driver { pid, rank: u32::try_from(at).ok(), gpu: u32::try_from(at).ok() };
    pids.into_iter().enumerate().map(driver).collect()
}

/// Codes of a missing GPU that say that there is none to be seen, not that it could not be read.
const NO_GPU: [&str; 3] = ["no-nvml", "no-driver", "no-gpu"];

fn ns(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

/// What is known of a recording's processes and times, for its signals.
pub(crate) fn hints(recorded: &Recording, drivers: Vec<u32>, gpu: Option<u32>) -> Hints {
    let steady = recorded.steady.map(|(from, until)| (ns(from), ns(until)));
    Hints { drivers, gpu, steady, began: recorded.began }
}

/// Of several ranks the one whose GPU is idle most: a rank that waits for others sits in a collective, and its GPU
/// looks busy.
pub(crate) fn the_one_waited_for(samples: &Samples, recorded: &Recording) -> (Signals, Option<u32>) {
    let of = |pid: Option<u32>, gpu: Option<u32>| {
        signals(samples, &hints(recorded, pid.into_iter().collect(), gpu))
    };
    let mut all: Vec<(Signals, Option<u32>)> = recorded
        .drivers
        .iter()
        .map(|driver| (of(Some(driver.pid), driver.gpu), driver.rank.or(recorded.rank)))
        .collect();
    if all.is_empty() {
        // Without a better word, ranks of one host drive its cards in order.
        let several = recorded.world.is_some_and(|world| world > 1);
        return (of(None, recorded.rank.filter(|_| several)), recorded.rank);
    }
    let resident = |at: &usize| all[*at].0.gpu.as_ref().map_or(1.0, |gpu| gpu.resident);
    let least = (0..all.len()).min_by(|a, b| resident(a).total_cmp(&resident(b))).unwrap_or(0);
    // Ranks that are alike are judged by the first.
    let chosen = if resident(&0) - resident(&least) > ALIKE { least } else { 0 };
    all.swap_remove(chosen)
}

/// GPUs whose busy shares differ by no more are alike.
const ALIKE: f64 = 0.05;

/// The step without a profiler, ns: the time between batches as counted from outside, times the batches that the
/// trace shows per step. `None` where either cannot be told.
pub(crate) fn measured_step(dir: &Path, recorded: Option<&Recording>, trace: &Trace) -> Option<i64> {
    const FEWEST: usize = 2;
    const WHOLE: f64 = 0.2;
    let found = samples::read(dir).ok()?;
    let recorded = recorded.cloned().unwrap_or_default();
    let batches = signals(&found.samples, &hints(&recorded, recorded.pids.clone(), None)).batches?;
    let named = |prefix: &str| {
        let is = trace.names.map(|name| name.starts_with(prefix));
        trace.host.name.iter().filter(|name| is[name.index()]).count()
    };
    let (loads, steps) = (named("enumerate(DataLoader)#"), named("Optimizer.step#"));
    let per_step = loads as f64 / steps.max(1) as f64;
    let whole = per_step.round().max(1.0);
    if loads < FEWEST || steps < FEWEST || (per_step - whole).abs() > WHOLE * whole {
        return None;
    }
    Some(batches.period_ns * whole as i64)
}
