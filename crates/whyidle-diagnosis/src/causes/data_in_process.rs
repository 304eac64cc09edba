//! `data.in_process`: items are prepared in the training process, and the GPU waits meanwhile.
//!
//! Seen by `_SingleProcessDataLoaderIter` (or fetch frames) on the main thread inside gaps.
//! Cured by worker processes, or by preparing ahead of training.

use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_replay::edits::remove_contexts;

use super::support::{
    SLOWED_BY_WORKERS, allow_for_slower_host, finding, gain_by_replay, line_evidence, loader_code, places,
    remedy, worth,
};
use crate::case::Case;
use crate::message::Message;
use crate::verdict::{Change, Finding, Method};

/// Workers beyond what the mean item time asks for: items vary, and a drained queue stalls at once.
const RESERVE: f64 = 1.3;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = worth(case, Line::DataInProcess)?;
    let mut change = Change { what: "workers", from: Some("0".to_owned()), to: None };
    let edit = |program: &_, lengths: &mut _| remove_contexts(program, lengths, &[Context::LoadInProcess]);
    let mut gain = gain_by_replay(case, change.clone(), Method::Replay, edit);
    let workers = gain.as_ref().map_or(4, |gain| workers_needed(case, gain.step_after.ns));
    change.to = Some(workers.to_string());
    if let Some(gain) = gain.as_mut() {
        gain.change = change;
        allow_for_slower_host(case, gain, SLOWED_BY_WORKERS, edit);
    }
    let mut evidence = vec![line_evidence(case, Line::DataInProcess)];
    evidence.extend(places(case, Line::DataInProcess, 3));
    let summary = Message::new("fix-data-in-process").count("workers", workers);
    let steps = ["fix-data-ahead", "fix-data-main-guard", "fix-data-threads"];
    let remedy = remedy(summary, &steps, &loader_code(&workers.to_string()));
    Some(finding(case, "data.in_process", cost, gain, evidence, remedy))
}

/// Workers that deliver a batch per step, from the loader's own time per batch outside the profiler.
fn workers_needed(case: &Case<'_>, step_after: i64) -> i64 {
    let per_batch = case.replay.as_ref().map_or(0, |replayed| {
        whyidle_replay::unprofiled::context_time(
            &replayed.program,
            &replayed.lengths,
            replayed.steps.clone(),
            Context::LoadInProcess,
        )
    });
    ((per_batch as f64 * RESERVE / step_after.max(1) as f64).ceil() as i64 + 1).max(2)
}
