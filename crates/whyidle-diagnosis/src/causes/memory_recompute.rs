//! `memory.recompute`: activations are computed a second time in backward (gradient checkpointing).
//!
//! Seen by forward operators that track gradients inside a node of backward. Worth its price only
//! where memory would not suffice without it, which the planner tells where it recognises the network, and
//! the peak, roughly, where it does not.

use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::NONE;
use whyidle_model::{GpuId, HostId};
use whyidle_planner::{SaverId, savers};
use whyidle_replay::edits::{drop_empty_launches, scale_activities};
use whyidle_replay::program::Program;
use whyidle_replay::simulate::Lengths;

use super::memory_headroom::{FREE, traced_peak};
use super::support::{change, counted, finding, line_evidence, remedy, shared, sized, worth};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::give_back::recognised;
use crate::message::{Arg, Message};
use crate::verdict::{Finding, Gain, Method};
use crate::what_if::Setting;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = worth(case, Line::Recompute)?;
    let kernels =
        case.device.rows.iter().filter(|&&row| case.facts.works[row as usize] == Work::Recompute).count();
    let mut evidence = vec![line_evidence(case, Line::Recompute)];
    evidence.push(counted(
        Message::new("ev-recompute-kernels").count("count", kernels),
        i64::try_from(kernels).unwrap_or(i64::MAX),
    ));
    let capacity = case.properties().map(|gpu| gpu.memory_bytes).filter(|&bytes| bytes > 0);
    let used = case
        .known
        .peak_memory
        .or_else(|| traced_peak(case))
        .zip(capacity)
        .map(|(peak, capacity)| peak as f64 / capacity as f64);
    let planned = recognised(case);
    let without = planned.as_ref().and_then(|planner| {
        savers(planner, FREE).into_iter().find(|saver| saver.id == SaverId::Checkpointing)
    });
    if let Some(used) = used {
        evidence.push(shared(Message::new("ev-memory-used").share("share", used), used));
    }
    if let (Some(saver), Some(capacity)) = (&without, capacity) {
        let text = Message::new("ev-recompute-without")
            .with("bytes", Arg::Bytes(saver.memory.allocated as i64))
            .with("low", Arg::Bytes(saver.allocated.low as i64))
            .with("high", Arg::Bytes(saver.allocated.high as i64))
            .with("capacity", Arg::Bytes(i64::try_from(capacity).unwrap_or(i64::MAX)));
        evidence.push(sized(text, saver.memory.allocated));
    }
    // Where the network is known, what would be kept is planned. Otherwise activations saved again are a multiple
    // of what is held now: more than half full says no.
    let fits = match &without {
        Some(saver) => saver.missing == 0.0,
        None => used.is_none_or(|used| used < 0.5),
    };
    let gain = if fits { recomputation(case) } else { None };
    let summary = match (used.is_some() || without.is_some(), fits) {
        (true, true) => Message::new("fix-memory-recompute"),
        (true, false) => Message::new("fix-memory-recompute-full"),
        (false, _) => Message::new("fix-memory-recompute-unknown"),
    };
    let steps = ["fix-recompute-selective", "fix-recompute-rule"];
    Some(finding(case, "memory.recompute", cost, gain, evidence, remedy(summary, &steps, "")))
}

/// Activations kept: the second forward goes, its kernels as well as the host's part.
pub(super) fn edit<'a>(case: &'a Case<'_>, _: Option<&Setting>) -> Option<Edit<'a>> {
    let again = |&row: &u32| case.facts.works[GpuId(row).index()] == Work::Recompute;
    if !case.device.rows.iter().any(again) {
        return None;
    }
    let edit = Edit::new(change("no_recompute"), Method::Replay, move |program, lengths| {
        without_recomputation(case, program, lengths);
    });
    Some(edit.shortening_kernels())
}

/// The step without recomputation.
pub(crate) fn recomputation(case: &Case<'_>) -> Option<Gain> {
    edit(case, None).and_then(|edit| gain(case, &edit))
}

/// Takes the second forward out of a replay.
pub(crate) fn without_recomputation(case: &Case<'_>, program: &Program, lengths: &mut Lengths) {
    scale_activities(program, lengths, |id| (case.facts.works[id.index()] == Work::Recompute).then_some(0.0));
    drop_empty_launches(program, lengths);
    for (at, node) in program.host.iter().enumerate() {
        if node.leaf != NONE && case.facts.tree.is_recomputed(HostId(node.leaf)) {
            lengths.host[at] = 0;
        }
    }
}
