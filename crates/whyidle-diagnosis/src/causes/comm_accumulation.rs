//! `comm.accumulation`: gradients are reduced in every micro-batch although the optimizer steps once.
//!
//! Seen by several backward passes with reductions per `Optimizer.step`.

use whyidle_analysis::communication::Kind;
use whyidle_analysis::hostclass::HostClass;
use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::Line;
use whyidle_model::HostId;
use whyidle_replay::edits::scale_activities;

use super::comm_exposed;
use super::support::{change, counted, finding, remedy};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Finding, Method};
use crate::what_if::Setting;

const CODE: &str = "for micro, batch in enumerate(batches):
    last = micro == len(batches) - 1
    with contextlib.nullcontext() if last else model.no_sync():
        loss(model(batch)).backward()
optimizer.step()";

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let micro = reductions_per_update(case)?;
    let cost = case.line(Line::Communication);
    if case.share(cost.ns) < 0.02 {
        return None;
    }
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    let mut evidence = comm_exposed::evidence(case, case.collectives());
    evidence.insert(0, counted(Message::new("ev-micro-batches").count("count", micro), micro));
    let summary = Message::new("fix-comm-accumulation").count("micro", micro);
    let remedy = remedy(summary, &["fix-no-sync-memory"], CODE);
    Some(finding(case, "comm.accumulation", cost, gain, evidence, remedy))
}

/// Reductions in the last micro-batch only.
pub(super) fn edit<'a>(case: &'a Case<'_>, _: Option<&Setting>) -> Option<Edit<'a>> {
    let part = 1.0 / reductions_per_update(case)? as f64;
    let edit = Edit::new(change("no_sync"), Method::Bound, move |program, lengths| {
        scale_activities(program, lengths, |id| {
            (case.facts.works[id.index()] == Work::Collective).then_some(part)
        });
    });
    Some(edit.shortening_kernels())
}

/// How often the gradients are reduced per update, if more than once.
fn reductions_per_update(case: &Case<'_>) -> Option<i64> {
    let forwards = spans(case, "DistributedDataParallel.forward");
    let updates = updates(case);
    if updates == 0 || forwards < 2 * updates {
        return None;
    }
    let reduces = case.collectives().iter().filter(|u| u.kind == Kind::AllReduce && u.in_backward);
    // Reductions of the same bytes that come back with every forward are not held back by `no_sync`.
    let mut sizes: rustc_hash::FxHashMap<Option<i64>, i64> = rustc_hash::FxHashMap::default();
    for reduce in reduces {
        *sizes.entry(reduce.bytes).or_default() += 1;
    }
    let repeated = sizes.values().all(|&count| count % forwards == 0) && !sizes.is_empty();
    repeated.then_some(forwards / updates)
}

fn spans(case: &Case<'_>, name: &str) -> i64 {
    let Some(sym) = case.trace.names.find(name) else { return 0 };
    count(case, |id| case.trace.host.name[id.index()] == sym)
}

fn updates(case: &Case<'_>) -> i64 {
    count(case, |id| case.facts.tree.class(case.trace, id) == HostClass::OptimizerStep)
}

/// Host events of a sort that begin in the steps analysed.
fn count(case: &Case<'_>, of_sort: impl Fn(HostId) -> bool) -> i64 {
    let rows = (0..case.trace.host.len()).map(HostId::from_index).filter(|&id| of_sort(id));
    let inside = rows.filter(|id| case.device.steps.launched_at(case.trace.host.start[id.index()]).is_some());
    i64::try_from(inside.count()).unwrap_or(i64::MAX)
}
