//! `comm.exposed`: collectives last longer than the work that hides them.
//!
//! On one rank's evidence the exposed time is an upper limit: it holds waiting for other ranks, and
//! the profiler delays the compute that would hide a transfer.

use whyidle_analysis::communication::{Kind, Use};
use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::{Context, NONE};
use whyidle_model::HostId;
use whyidle_replay::edits::scale_activities;

use super::support::{counted, finding, line_evidence, remedy, shared, timed};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::{Arg, Message};
use crate::verdict::{Change, Evidence, Finding, Method};
use crate::what_if::Setting;

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
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    if 2 * exposed(&[Kind::AllReduce]) < all {
        let steps = ["fix-comm-overlap-how", "fix-comm-ranks"];
        let remedy = remedy(Message::new("fix-comm-overlap"), &steps, "");
        return Some(finding(case, "comm.exposed", cost, gain, evidence, remedy));
    }
    let steps = ["fix-comm-accumulate", "fix-comm-compress", "fix-comm-ranks"];
    let remedy = remedy(Message::new("fix-comm-exposed"), &steps, CODE);
    Some(finding(case, "comm.exposed", cost, gain, evidence, remedy))
}

/// Micro-batches per reduction and optimizer step; without reductions to hold back, collectives that compute hides.
pub(super) fn edit<'a>(case: &'a Case<'_>, setting: Option<&Setting>) -> Option<Edit<'a>> {
    let uses = case.collectives();
    if uses.is_empty() {
        return None;
    }
    let exposed = |reduces: bool| {
        let of_sort = uses.iter().filter(|u| (u.kind == Kind::AllReduce) == reduces);
        of_sort.map(|u| u.exposed_ns).sum::<i64>()
    };
    let accumulate = Setting::count(setting).is_some() || exposed(true) >= exposed(false);
    Some(if accumulate {
        accumulating(case, Setting::count(setting).unwrap_or(ACCUMULATE))
    } else {
        hidden(case)
    })
}

/// Collectives hidden by compute: an upper limit.
fn hidden<'a>(case: &'a Case<'_>) -> Edit<'a> {
    let change = Change { what: "overlap", from: None, to: None };
    let edit = Edit::new(change, Method::Bound, |program, lengths| {
        scale_activities(program, lengths, |id| {
            (case.facts.works[id.index()] == Work::Collective).then_some(0.01)
        });
    });
    edit.shortening_kernels()
}

/// The step per today's samples when `micro` micro-batches share a reduction and an optimizer step: each then has
/// its part of the collectives, of the optimizer, and of what DDP's reducer does for every parameter.
fn accumulating<'a>(case: &'a Case<'_>, micro: u32) -> Edit<'a> {
    let part = 1.0 / f64::from(micro.max(1));
    let change = Change { what: "accumulation", from: None, to: Some(micro.to_string()) };
    let edit = Edit::new(change, Method::Model, move |program, lengths| {
        scale_activities(program, lengths, |id| {
            let reduced = || case.facts.tree.launch_of(id).is_some_and(|call| is_reducers(case, call));
            let shared = matches!(case.facts.works[id.index()], Work::Collective | Work::Optimizer);
            (shared || reduced()).then_some(part)
        });
        for (at, node) in program.host.iter().enumerate() {
            let shared = matches!(node.context, Context::Optimizer | Context::Collective);
            if shared || node.leaf != NONE && is_reducers(case, HostId(node.leaf)) {
                lengths.host[at] = (lengths.host[at] as f64 * part) as i64;
            }
        }
    });
    edit.shortening_kernels()
}

/// What DDP's reducer does on the host for each parameter: scaling into a bucket and copying back.
fn is_reducers(case: &Case<'_>, id: HostId) -> bool {
    case.facts.tree.ancestry(id).any(|at| {
        let name = case.trace.names.get(case.trace.host.name[at.index()]);
        name.starts_with("torch.distributed.ddp.reducer") || name.starts_with("torch::distributed::reducer")
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
