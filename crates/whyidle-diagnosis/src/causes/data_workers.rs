//! `data.workers`: the loader's workers deliver more slowly than the GPU consumes.
//!
//! Seen by waits in `_MultiProcessingDataLoaderIter.__next__` inside gaps. A short trace can hide them:
//! queues fill while the profiler starts. Workers themselves are not in a trace.

use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_replay::edits::remove_contexts;

use super::support::{
    SLOWED_BY_WORKERS, allow_for_slower_host, finding, gain_by_replay, line_evidence, loader_code, places,
    remedy, timed, worth,
};
use crate::case::Case;
use crate::message::Message;
use crate::verdict::{Change, Finding, Method};

/// Workers beyond the bare ratio of rates: items vary, and a drained queue stalls at once.
const RESERVE: f64 = 1.2;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = worth(case, Line::DataWorkers)?;
    let edit = |program: &_, lengths: &mut _| remove_contexts(program, lengths, &[Context::LoadFromWorkers]);
    let mut change = Change { what: "workers", from: None, to: None };
    let method = if case.is_suspected_loader() { Method::Bound } else { Method::Replay };
    let mut gain = gain_by_replay(case, change.clone(), method, edit);
    let wanted = case.known.workers.filter(|&now| now > 0).zip(gain.as_ref()).map(|(now, gain)| {
        let ratio = case.step.ns as f64 / gain.step_after.ns.max(1) as f64;
        (now, ((f64::from(now) * ratio * RESERVE).ceil() as u32).max(now + 1))
    });
    if let Some((from, to)) = wanted {
        change.from = Some(from.to_string());
        change.to = Some(to.to_string());
    }
    if let Some(gain) = gain.as_mut() {
        gain.change = change;
        allow_for_slower_host(case, gain, SLOWED_BY_WORKERS, edit);
    }
    let mut evidence = vec![line_evidence(case, Line::DataWorkers)];
    let outside = case.line(Line::DataWorkers).ns - case.traced(Line::DataWorkers);
    if case.share(outside) > 0.03 {
        evidence.push(timed(Message::new("ev-data-outside").time("time", outside), outside, None));
    }
    evidence.extend(places(case, Line::DataWorkers, 2));
    let summary = match wanted {
        Some((from, to)) => Message::new("fix-data-workers").count("from", from).count("to", to),
        None => Message::new("fix-data-workers-unknown"),
    };
    let code = loader_code(&wanted.map_or_else(|| "workers".to_owned(), |(_, to)| to.to_string()));
    let steps = ["fix-data-ahead", "fix-data-cores", "fix-data-threads", "fix-data-shards"];
    Some(finding(case, "data.workers", cost, gain, evidence, remedy(summary, &steps, &code)))
}
