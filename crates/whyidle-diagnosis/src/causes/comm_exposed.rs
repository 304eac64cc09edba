//! `comm.exposed`: collectives last longer than the work that hides them.
//!
//! On one rank's evidence the exposed time is an upper limit: it holds waiting for other ranks, and
//! the profiler delays the compute that would hide a transfer.

use whyidle_analysis::communication::{Kind, Use};
use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_replay::edits::{scale_activities, scale_host};

use super::support::{counted, finding, gain_by_replay, line_evidence, remedy, shared, timed};
use crate::case::Case;
use crate::message::{Arg, Message};
use crate::verdict::{Change, Evidence, Finding, Gain, Method};

const CODE: &str = "for micro, batch in enumerate(batches):
    last = micro == len(batches) - 1
    with contextlib.nullcontext() if last else model.no_sync():
        loss(model(batch)).backward()
optimizer.step()";

/// Exposed communication from this share of the step on is a cause.
const WORTH: f64 = 0.05;
/// Micro-batches per reduction that the gain is computed for.
const ACCUMULATE: u32 = 4;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = case.line(Line::Communication);
    let uses = case.collectives();
    let exposed =
        |kinds: &[Kind]| uses.iter().filter(|u| kinds.contains(&u.kind)).map(|u| u.exposed_ns).sum::<i64>();
    let all = uses.iter().map(|u| u.exposed_ns).sum::<i64>().max(1);
    // Gathers and scatters are `comm.sharding`, send and receive `pipeline.bubble`.
    let others = exposed(&[Kind::AllGather, Kind::ReduceScatter, Kind::SendReceive]);
    if case.share(cost.ns) < WORTH || 2 * others > all {
        return None;
    }
    let evidence = evidence(case, uses);
    if 2 * exposed(&[Kind::AllReduce]) < all {
        let steps = ["fix-comm-overlap-how", "fix-comm-ranks"];
        let remedy = remedy(Message::new("fix-comm-overlap"), &steps, "");
        return Some(finding(case, "comm.exposed", cost, hidden(case), evidence, remedy));
    }
    let steps = ["fix-comm-accumulate", "fix-comm-compress", "fix-comm-ranks"];
    let remedy = remedy(Message::new("fix-comm-exposed"), &steps, CODE);
    Some(finding(case, "comm.exposed", cost, accumulate(case), evidence, remedy))
}

/// The step if compute hid all collectives: an upper limit.
fn hidden(case: &Case<'_>) -> Option<Gain> {
    let change = Change { what: "overlap", from: None, to: None };
    gain_by_replay(case, change, Method::Bound, |program, lengths| {
        scale_activities(program, lengths, |id| {
            (case.facts.works[id.index()] == Work::Collective).then_some(0.01)
        });
    })
}

/// The step per today's samples when four micro-batches share a reduction and an optimizer step.
fn accumulate(case: &Case<'_>) -> Option<Gain> {
    let part = 1.0 / f64::from(ACCUMULATE);
    let change = Change { what: "accumulation", from: None, to: Some(ACCUMULATE.to_string()) };
    gain_by_replay(case, change, Method::Bound, |program, lengths| {
        scale_activities(program, lengths, |id| {
            matches!(case.facts.works[id.index()], Work::Collective | Work::Optimizer).then_some(part)
        });
        scale_host(program, lengths, Context::Optimizer, part);
        scale_host(program, lengths, Context::Collective, part);
    })
}

/// What is known of the collectives.
pub(super) fn evidence(case: &Case<'_>, uses: &[Use]) -> Vec<Evidence> {
    let steps = case.steps();
    let count = i64::try_from(uses.len()).unwrap_or(i64::MAX) / steps;
    let total: i64 = uses.iter().map(|u| u.ns).sum::<i64>() / steps;
    let exposed: i64 = uses.iter().map(|u| u.exposed_ns).sum::<i64>() / steps;
    let hidden = 1.0 - exposed as f64 / total.max(1) as f64;
    let mut evidence = vec![line_evidence(case, Line::Communication)];
    evidence.push(counted(Message::new("ev-collectives").count("count", count).time("time", total), count));
    evidence
        .push(shared(Message::new("ev-collectives-hidden").share("share", hidden.max(0.0)), hidden.max(0.0)));
    let bytes: i64 = uses.iter().filter_map(|u| u.bytes).sum::<i64>() / steps;
    if bytes > 0 {
        let text = Message::new("ev-collective-bytes").with("bytes", Arg::Bytes(bytes));
        evidence.push(Evidence { text, value: Some(bytes as f64), unit: "bytes", place: None });
    }
    if case.several_ranks() {
        evidence.push(timed(Message::new("ev-comm-one-rank"), exposed, None));
    }
    evidence
}
