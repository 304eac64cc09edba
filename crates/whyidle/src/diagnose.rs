//! `whyidle diagnose`: the verdict of a recording, from its traces and its samples together.

use std::path::Path;

use whyidle_analysis::signals::{Hints, Signals, signals};
use whyidle_diagnosis::{
    Input, Known, Message, QualityNote, Refusal, Run, Verdict, add_samples, judge_recording,
};
use whyidle_model::{Samples, Severity, Trace};
use whyidle_readers::recording::{self, Recording};
use whyidle_readers::{ReadError, find_traces, samples};

use crate::UNREADABLE;
use crate::args::{DiagnoseOptions, Format, Showing, TraceOptions};
use crate::output::Output;
use crate::trace::{self, NoVerdict};

pub(crate) fn run(options: &DiagnoseOptions, output: &Output) -> u8 {
    print(&options.dir, options.step_ms, options.showing, output)
}

/// Prints the verdict of the recording in `dir`.
pub(crate) fn print(dir: &Path, step_ms: Option<f64>, showing: Showing, output: &Output) -> u8 {
    let Showing { format, verbose } = showing;
    match verdict(dir, step_ms, output) {
        Ok(verdict) => trace::print(&verdict, format, verbose, output),
        Err(NoVerdict::Unread(error)) => {
            output.read_error(&error);
            UNREADABLE
        }
        Err(NoVerdict::NotUnderstood(wrong)) => {
            output.error(&wrong.reason, Some(&wrong.hint));
            UNREADABLE
        }
        Err(NoVerdict::Refused(refusal)) => trace::print_refusal(&refusal, format, verbose, output),
    }
}

/// A recording's samples, ready to be judged.
struct Watched {
    signals: Signals,
    known: Known,
    run: Run,
    inputs: Vec<Input>,
}

/// The verdict of the recording in `dir`.
pub(crate) fn verdict(dir: &Path, step_ms: Option<f64>, output: &Output) -> Result<Verdict, NoVerdict> {
    let watched = read(dir, step_ms).map_err(NoVerdict::Unread)?;
    let path = dir.display().to_string();
    match find_traces(dir) {
        Ok(_) => {}
        Err(ReadError::NoTrace { .. }) => {
            return judge_recording(&watched.signals, &watched.known, &watched.run, watched.inputs, &path)
                .map_err(NoVerdict::Refused);
        }
        Err(error) => return Err(NoVerdict::Unread(error)),
    }
    let options = TraceOptions {
        paths: vec![dir.to_owned()],
        step_ms,
        format: Format::Text,
        verbose: false,
        what_if: Vec::new(),
        critical_path: false,
        no_replay: false,
        step: None,
        rank: None,
        device: None,
    };
    let has_samples = watched.signals.gpu.is_some() || watched.signals.main.is_some();
    match trace::verdict(&options, output) {
        Ok(mut verdict) => {
            if has_samples {
                add_samples(&mut verdict, &watched.signals, &watched.known, &watched.run);
                verdict.inputs.extend(watched.inputs);
            }
            Ok(verdict)
        }
        // A trace that carries no verdict leaves the samples.
        Err(NoVerdict::Refused(refusal)) if has_samples => without_trace(watched, *refusal, &path),
        Err(none) => Err(none),
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

fn read(dir: &Path, step_ms: Option<f64>) -> Result<Watched, ReadError> {
    let recorded = recording::read(dir, None)?;
    let found = samples::read(dir)?;
    let known = trace::known(recorded.as_ref(), step_ms);
    let recorded = recorded.unwrap_or_default();
    let world = recorded.world.unwrap_or(1);
    let samples = steady(found.samples, &recorded);
    let (signals, rank) = the_one_waited_for(&samples, &recorded, world);
    let watched_ranks = recorded.drivers.len();
    let input = |(name, rows): &(&str, u64)| Input {
        path: dir.join(name).display().to_string(),
        kind: "samples",
        events: *rows,
        rank: None,
    };
    let inputs = found.files.iter().map(input).collect();
    Ok(Watched {
        signals,
        known,
        run: Run { rank, watched_ranks, ..about(recorded, world, found.dropped) },
        inputs,
    })
}

/// Of several ranks the one whose GPU is idle most: a rank that waits for others sits in a collective, and its GPU
/// looks busy.
pub(crate) fn the_one_waited_for(
    samples: &Samples,
    recorded: &Recording,
    world: u32,
) -> (Signals, Option<u32>) {
    let of = |pid: Option<u32>, gpu: Option<u32>| {
        signals(samples, &Hints { drivers: pid.into_iter().collect(), gpu, world })
    };
    let mut all: Vec<(Signals, Option<u32>)> = recorded
        .drivers
        .iter()
        .map(|driver| (of(Some(driver.pid), driver.gpu), driver.rank.or(recorded.rank)))
        .collect();
    if all.is_empty() {
        // Without a better word, ranks of one host drive its cards in order.
        return (of(None, recorded.rank.filter(|_| world > 1)), recorded.rank);
    }
    let resident = |at: &usize| all[*at].0.gpu.as_ref().map_or(1.0, |gpu| gpu.resident);
    let least = (0..all.len()).min_by(|a, b| resident(a).total_cmp(&resident(b))).unwrap_or(0);
    // Ranks that are alike are judged by the first.
    let chosen = if resident(&0) - resident(&least) > ALIKE { least } else { 0 };
    all.swap_remove(chosen)
}

/// GPUs whose busy shares differ by no more are alike.
const ALIKE: f64 = 0.05;

/// The stretch in which the run was steady, where the recording names one.
pub(crate) fn steady(samples: Samples, recorded: &Recording) -> Samples {
    let ns = |seconds: f64| (seconds * 1e9).round() as i64;
    match recorded.steady {
        Some((from, until)) => samples.between(ns(from), ns(until)),
        None => samples,
    }
}

/// The step without a profiler, ns: the time between batches as counted from outside, times the batches that the
/// trace shows per step. `None` where either cannot be told.
pub(crate) fn measured_step(dir: &Path, recorded: Option<&Recording>, trace: &Trace) -> Option<i64> {
    const FEWEST: usize = 2;
    const WHOLE: f64 = 0.2;
    let found = samples::read(dir).ok()?;
    let recorded = recorded.cloned().unwrap_or_default();
    let hints = Hints { drivers: recorded.pids.clone(), gpu: None, world: 1 };
    let batches = signals(&steady(found.samples, &recorded), &hints).batches?;
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

pub(crate) fn about(recorded: Recording, world: u32, dropped: u64) -> Run {
    Run {
        observed_step_ns: recorded.observed_step_ms_mean.map(|ms| (ms * 1e6).round() as i64),
        timed_steps: recorded.timed_steps.unwrap_or(u32::try_from(recorded.steps_host_ms.len()).unwrap_or(0)),
        command: recorded.command,
        gpu: recorded.gpu,
        world,
        rank: None,
        watched_ranks: 0,
        missing: recorded.missing,
        dropped,
    }
}
