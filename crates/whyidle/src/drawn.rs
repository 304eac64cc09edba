//! What a page shows beyond the verdict: a step of the trace that was judged, and the signals of its recording. The files
//! are read again for it, one trace and the samples: a verdict keeps neither.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use whyidle_analysis::curves::{Chosen, Curves, curves};
use whyidle_analysis::facts::Facts;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::timeline::{Timeline, representative, timeline};
use whyidle_diagnosis::Verdict;
use whyidle_experiment::result::typed;
use whyidle_model::Samples;
use whyidle_readers::recording::{self, Recording};
use whyidle_readers::{ReadOptions, read_trace, samples};
use whyidle_report::Drawn;
use whyidle_tables::export::stacks::Stacks;

use crate::diagnose;
use crate::page;

/// Blocks of a lane at most, about.
const BLOCKS: usize = 1_200;
/// Columns of a curve.
const COLUMNS: usize = 480;
/// Stacks below this share of the samples are left out.
const RARE: f64 = 0.002;
/// Frames at most.
const FRAMES: usize = 1_500;

/// Where what is drawn comes from.
#[derive(Default)]
pub(crate) struct Sources<'a> {
    /// The recording.
    pub(crate) recording: Option<&'a Path>,
    /// Samples of other tools, where the recording has none.
    pub(crate) samples: Option<&'a Samples>,
    /// Steps that were asked for.
    pub(crate) step: Option<RangeInclusive<i64>>,
    /// The recording is about to be removed: no command can name it.
    pub(crate) is_temporary: bool,
}

/// What can be drawn beside `verdict`. What cannot be read any more is left out.
pub(crate) fn drawn(verdict: &Verdict, sources: &Sources<'_>) -> Drawn {
    let mut drawn = Drawn { command: page::command(), ..Drawn::default() };
    if let Some(path) = trace_shown(verdict) {
        let keep = |number: i64| sources.step.as_ref().is_none_or(|range| range.contains(&number));
        if let Some((one, traced)) = of_trace(&path, verdict.subject.device, keep) {
            (drawn.timeline, drawn.traced) = (Some(one), traced);
            let words = [
                "whyidle",
                "export",
                &path.display().to_string(),
                "--to",
                "perfetto",
                "-o",
                "explained.json.gz",
            ];
            let command = typed(&words.map(str::to_owned));
            drawn.export = (!sources.is_temporary).then_some(command);
        }
    }
    let rank = verdict.subject.rank_shown;
    let recorded = sources.recording.and_then(|dir| recording::read_if_sound(dir, rank).ok()?.0);
    let recorded = recorded.unwrap_or_default();
    let ns = |ms: &f64| (ms * 1e6).round() as i64;
    drawn.steps = recorded.steps_host_ms.iter().map(ns).filter(|&ns| ns > 0).collect();
    let own = sources.recording.and_then(|dir| samples::read(dir).ok()).map(|found| found.samples);
    if let Some(samples) = own.as_ref().filter(|own| !own.is_empty()).or(sources.samples) {
        drawn.curves = of_samples(samples, &recorded, verdict);
        drawn.stacks = Stacks::of_samples(samples).tree(RARE, FRAMES);
    }
    drawn
}

/// The trace of the rank that the verdict shows.
fn trace_shown(verdict: &Verdict) -> Option<PathBuf> {
    let rank = verdict.subject.rank_shown;
    let traces =
        || verdict.inputs.iter().filter(|input| input.kind != "samples" && Path::new(&input.path).is_file());
    let found = traces().find(|input| input.rank == rank).or_else(|| traces().next());
    found.map(|input| PathBuf::from(&input.path))
}

/// The traced steps by number, each by ledger line.
type Traced = Vec<(i64, Vec<(&'static str, i64)>)>;

fn of_trace(path: &Path, device: i32, keep: impl Fn(i64) -> bool) -> Option<(Timeline, Traced)> {
    let options = ReadOptions { device: Some(device), ..ReadOptions::default() };
    let trace = read_trace(path, &options).ok()?;
    let facts = Facts::new(&trace);
    let device = facts.device(&trace, device, keep);
    let drawn = timeline(&trace, &facts, &device, representative(&device)?, BLOCKS)?;
    let traced = device.steps.used.iter().zip(&device.ledger.steps).map(|(step, row)| {
        let lines = Line::ALL.iter().map(|&line| (line.id(), row[line as usize]));
        (step.number, lines.filter(|(_, ns)| *ns > 0).collect())
    });
    let traced = traced.collect();
    Some((drawn, traced))
}

fn of_samples(samples: &Samples, recorded: &Recording, verdict: &Verdict) -> Curves {
    let (signals, _) = diagnose::the_one_waited_for(samples, recorded);
    let chosen = Chosen {
        gpu: verdict.details.instruments.as_ref().and_then(|found| found.gpu),
        driver: signals.driver,
        workers: signals.workers.map(|workers| workers.pids).unwrap_or_default(),
    };
    curves(samples, &chosen, COLUMNS)
}
