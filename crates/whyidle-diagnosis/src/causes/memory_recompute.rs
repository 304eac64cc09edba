//! `memory.recompute`: activations are computed a second time in backward (gradient checkpointing).
//!
//! Seen by forward operators that track gradients inside a node of backward. Worth its price only
//! where memory would not suffice without it, which the peak tells where it is known.

use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::NONE;
use whyidle_model::{GpuId, HostId};
use whyidle_replay::edits::{drop_empty_launches, scale_activities};

use super::memory_headroom::traced_peak;
use super::support::{change, counted, finding, line_evidence, remedy, shared, worth};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Finding, Method};
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
    // Activations saved again are a multiple of what is held now; more than half full says no.
    let fits = used.is_none_or(|used| used < 0.5);
    if let Some(used) = used {
        evidence.push(shared(Message::new("ev-memory-used").share("share", used), used));
    }
    let gain = edit(case, None).filter(|_| fits).and_then(|edit| gain(case, &edit));
    let summary = match (used, fits) {
        (Some(_), true) => Message::new("fix-memory-recompute"),
        (Some(_), false) => Message::new("fix-memory-recompute-full"),
        (None, _) => Message::new("fix-memory-recompute-unknown"),
    };
    let steps = ["fix-recompute-selective", "fix-recompute-rule"];
    Some(finding(case, "memory.recompute", cost, gain, evidence, remedy(summary, &steps, "")))
}

/// Activations kept: the second forward goes, its kernels as well as the host's part.
pub(super) fn edit<'a>(case: &'a Case<'_>, _: Option<&Setting>) -> Option<Edit<'a>> {
    let again = |id: GpuId| case.facts.works[id.index()] == Work::Recompute;
    if !case.device.rows.iter().any(|&row| again(GpuId(row))) {
        return None;
    }
    let edit = Edit::new(change("no_recompute"), Method::Replay, move |program, lengths| {
        scale_activities(program, lengths, |id| again(id).then_some(0.0));
        drop_empty_launches(program, lengths);
        for (at, node) in program.host.iter().enumerate() {
            if node.leaf != NONE && case.facts.tree.is_recomputed(HostId(node.leaf)) {
                lengths.host[at] = 0;
            }
        }
    });
    Some(edit.shortening_kernels())
}
