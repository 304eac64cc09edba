//! `host.sync`: the host waits for a value of the device, and loses the run-ahead that would have
//! hidden its own work.
//!
//! A synchronisation is charged only what it took away, not its length: where the GPU is the limit it
//! costs nothing. `torch.cuda.memory_allocated()` does not synchronise; `.item()`, `.tolist()`,
//! `nonzero`, boolean masks, printing a tensor and clipping by a norm that is read back do.

use whyidle_analysis::hostclass::HostClass;
use whyidle_analysis::kernelclass::{CopyKind, Work};
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_model::{GpuId, HostId};
use whyidle_replay::edits::scale_activities;
use whyidle_replay::program::{HostNode, HostStep};

use super::support::{change, counted, finding, line_evidence, places, remedy, worth};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Evidence, Finding, Method};
use crate::what_if::Setting;

const CODE: &str = "total_loss += loss.detach()
if step % 100 == 0:
    print(total_loss.item() / 100)";

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = worth(case, Line::HostSync)?;
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    let mut evidence = vec![line_evidence(case, Line::HostSync)];
    evidence.extend(callers(case));
    evidence.extend(places(case, Line::HostSync, 2));
    let steps = ["fix-sync-where", "fix-sync-masks", "fix-sync-limit"];
    Some(finding(
        case,
        "host.sync",
        cost,
        gain,
        evidence,
        remedy(Message::new("fix-host-sync"), &steps, CODE),
    ))
}

/// Values read later, or kept on the device: the host no longer waits, and the copies that fetched them are gone.
pub(super) fn edit<'a>(case: &'a Case<'_>, _: Option<&Setting>) -> Option<Edit<'a>> {
    let waits = |node: &HostNode| {
        matches!(node.step, HostStep::Wait { .. }) && node.context != Context::Allocate
            || node.context == Context::Synchronise
    };
    if !case.replay.iter().any(|replayed| replayed.program.host.iter().any(waits)) {
        return None;
    }
    Some(Edit::new(change("deferred"), Method::Replay, move |program, lengths| {
        for (at, node) in program.host.iter().enumerate() {
            if node.context == Context::Synchronise {
                lengths.host[at] = 0;
            }
            lengths.waits[at] &= !waits(node);
        }
        scale_activities(program, lengths, |id| is_read_back(case, id).then_some(0.0));
    }))
}

/// A copy to the host that a read-back asked for.
fn is_read_back(case: &Case<'_>, id: GpuId) -> bool {
    case.facts.works[id.index()] == Work::HostCopy
        && case
            .facts
            .tree
            .launch_of(id)
            .is_some_and(|call| case.facts.tree.context(call) == Context::Synchronise)
}

/// Who synchronises how often per step: operator or call, and the user's frame.
fn callers(case: &Case<'_>) -> Vec<Evidence> {
    let (trace, tree) = (case.trace, &case.facts.tree);
    let mut callers: rustc_hash::FxHashMap<(String, Option<String>), i64> = rustc_hash::FxHashMap::default();
    for row in 0..trace.host.len() {
        let id = HostId::from_index(row);
        let blocks = match tree.class(trace, id) {
            HostClass::Synchronise => trace.host.kind[row] != whyidle_model::HostKind::Python,
            HostClass::Copy => match tree.copy_kind(trace, id) {
                Some(CopyKind::DeviceToHostPageable) => true,
                Some(CopyKind::DeviceToHost) => tree.outlasts_its_copy(trace, id),
                _ => false,
            },
            _ => false,
        };
        let inside = || case.device.steps.launched_at(trace.host.start[row]).is_some();
        if blocks && inside() && case.facts.chain.threads.contains(&trace.host.thread[row].index()) {
            let owner = tree
                .ancestry(id)
                .find(|&at| trace.host.kind[at.index()] == whyidle_model::HostKind::Op)
                .map(|first| outermost_read_back(case, first))
                .unwrap_or(id);
            let name = trace.names.get(trace.host.name[owner.index()]).to_owned();
            *callers.entry((name, case.user_frame(id))).or_default() += 1;
        }
    }
    let mut callers: Vec<_> = callers.into_iter().collect();
    callers.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    callers
        .into_iter()
        .take(3)
        .map(|((name, frame), count)| {
            let per_step = (count / case.steps()).max(1);
            let message = Message::new(if frame.is_some() { "ev-sync-at" } else { "ev-sync" });
            let message = message.name("name", &name).count("count", per_step);
            let message = if let Some(frame) = &frame { message.name("frame", frame) } else { message };
            Evidence { place: frame.or(Some(name)), ..counted(message, per_step) }
        })
        .collect()
}

/// `aten::item` rather than the `aten::_local_scalar_dense` inside it.
fn outermost_read_back(case: &Case<'_>, from: HostId) -> HostId {
    let copies = |id: &HostId| {
        matches!(case.facts.tree.class(case.trace, *id), HostClass::ReadBack | HostClass::CopyOp)
    };
    case.facts.tree.ancestry(from).take_while(copies).last().unwrap_or(from)
}
