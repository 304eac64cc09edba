//! `data.in_process`: items are prepared in the training process, and the GPU waits meanwhile.
//!
//! Seen by `_SingleProcessDataLoaderIter` (or fetch frames) on the main thread inside gaps.
//! Cured by worker processes, or by preparing ahead of training.

use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_replay::edits::remove_contexts;

use super::support::{
    SLOWED_BY_WORKERS, finding, has_context, host_time, line_evidence, loader_code, places, remedy, worth,
};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Change, Finding, Method};
use crate::what_if::Setting;

/// Workers beyond what the mean item time asks for: items vary, and a drained queue stalls at once.
const RESERVE: f64 = 1.3;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = worth(case, Line::DataInProcess)?;
    let edit = edit(case, None);
    let gain = edit.as_ref().and_then(|edit| gain(case, edit));
    let workers = edit.and_then(|edit| edit.change.to?.parse().ok()).unwrap_or(FEW);
    let mut evidence = vec![line_evidence(case, Line::DataInProcess)];
    evidence.extend(places(case, Line::DataInProcess, 3));
    let summary = Message::new("fix-data-in-process").count("workers", workers);
    let steps = ["fix-data-ahead", "fix-data-main-guard", "fix-data-threads"];
    let remedy = remedy(summary, &steps, &loader_code(&workers.to_string()));
    Some(finding(case, "data.in_process", cost, gain, evidence, remedy))
}

/// Items prepared in so many workers instead: the training process no longer prepares them, and the step gets no
/// shorter than the workers' time per batch divided by their number, or by the cores that there are.
pub(super) fn edit<'a>(case: &'a Case<'_>, setting: Option<&Setting>) -> Option<Edit<'a>> {
    if !has_context(case, Context::LoadInProcess) {
        return None;
    }
    let change = Change { what: "workers", from: Some("0".to_owned()), to: None };
    let mut edit = Edit::new(change, Method::Replay, |program, lengths| {
        remove_contexts(program, lengths, &[Context::LoadInProcess]);
    })
    .feeding()
    .slowing_host(SLOWED_BY_WORKERS);
    let per_batch = host_time(case, Context::LoadInProcess);
    let workers = match Setting::count(setting) {
        Some(workers) => workers,
        None => workers_needed(per_batch, gain(case, &edit)?.step_after.ns),
    };
    edit.change.to = Some(workers.to_string());
    let at_once = case.known.cpus.map_or(workers, |cores| workers.min(cores)).max(1);
    let pace = (per_batch as f64 * SLOWED_BY_WORKERS / f64::from(at_once)) as i64;
    Some(edit.not_below(pace, "data.workers"))
}

/// Without any figure, begin with these.
const FEW: u32 = 4;

/// Workers that deliver a batch per step, from the loader's own time per batch outside the profiler.
fn workers_needed(per_batch_ns: i64, step_after_ns: i64) -> u32 {
    ((per_batch_ns as f64 * RESERVE / step_after_ns.max(1) as f64).ceil() as u32 + 1).max(2)
}
