//! `data.workers`: the loader's workers deliver more slowly than the GPU consumes.
//!
//! Seen by waits in `_MultiProcessingDataLoaderIter.__next__` inside gaps. A short trace can hide them:
//! queues fill while the profiler starts. Workers themselves are not in a trace.

use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_replay::edits::remove_contexts;

use super::support::{
    SLOWED_BY_WORKERS, finding, has_context, line_evidence, loader_code, places, remedy, timed, worth,
};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Change, Finding, Method};
use crate::what_if::Setting;

/// Workers beyond the bare ratio of rates: items vary, and a drained queue stalls at once.
const RESERVE: f64 = 1.2;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = worth(case, Line::DataWorkers)?;
    let edit = edit(case, None);
    let gain = edit.as_ref().and_then(|edit| gain(case, edit));
    let number = |text: Option<String>| text.and_then(|text| text.parse::<u32>().ok());
    let wanted = edit.and_then(|edit| number(edit.change.from).zip(number(edit.change.to)));
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

/// So many workers: the wait goes, and the step gets no shorter than their pace. Where they set the pace today,
/// that is today's step divided by how many times as many there are, or can run on the cores there are; the loader's
/// queue evens out its batches and does not raise its rate.
pub(super) fn edit<'a>(case: &'a Case<'_>, setting: Option<&Setting>) -> Option<Edit<'a>> {
    if !has_context(case, Context::LoadFromWorkers) {
        return None;
    }
    let change = Change { what: "workers", from: None, to: None };
    let method = if case.is_suspected_loader() { Method::Bound } else { Method::Replay };
    let mut edit = Edit::new(change, method, |program, lengths| {
        remove_contexts(program, lengths, &[Context::LoadFromWorkers]);
    })
    .feeding()
    .slowing_host(SLOWED_BY_WORKERS);
    let now = case.known.workers.filter(|&now| now > 0);
    edit.change.from = now.map(|now| now.to_string());
    let wanted = match (Setting::count(setting), now) {
        (Some(workers), _) => Some(workers),
        (None, Some(now)) => Some(workers_needed(now, case.step.ns, gain(case, &edit)?.step_after.ns)),
        (None, None) => None,
    };
    edit.change.to = wanted.map(|wanted| wanted.to_string());
    let (Some(now), Some(wanted)) = (now, wanted) else { return Some(edit) };
    if !case.is_paced_by_loader() {
        return Some(edit);
    }
    let at_once = case.known.cpus.map_or(wanted, |cores| wanted.min(cores)).max(1);
    let pace = (case.step.ns as f64 * f64::from(now) / f64::from(at_once)) as i64;
    Some(edit.not_below(pace, "data.workers"))
}

/// Workers that deliver a batch per step after the cure, if `now` of them deliver one per step today.
fn workers_needed(now: u32, step_ns: i64, step_after_ns: i64) -> u32 {
    let ratio = step_ns as f64 / step_after_ns.max(1) as f64;
    ((f64::from(now) * ratio * RESERVE).ceil() as u32).max(now + 1)
}
