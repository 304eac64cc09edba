//! `memory.recompute`: activations are computed a second time in backward (gradient checkpointing).
//!
//! Seen by forward operators that track gradients inside a node of backward. Worth its price only
//! where memory would not suffice without it, which the peak tells where it is known.

use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::NONE;
use whyidle_model::HostId;
use whyidle_replay::edits::{drop_empty_launches, scale_activities};

use super::memory_headroom::traced_peak;
use super::support::{change, counted, finding, gain_by_replay, line_evidence, remedy, shared, worth};
use crate::case::Case;
use crate::message::Message;
use crate::verdict::{Finding, Method};

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
    let gain = fits.then(|| {
        gain_by_replay(case, change("no_recompute"), Method::Replay, |program, lengths| {
            scale_activities(program, lengths, |id| {
                (case.facts.works[id.index()] == Work::Recompute).then_some(0.0)
            });
            drop_empty_launches(program, lengths);
            // The host runs that forward a second time as well.
            for (at, node) in program.host.iter().enumerate() {
                if node.leaf != NONE && case.facts.tree.is_recomputed(HostId(node.leaf)) {
                    lengths.host[at] = 0;
                }
            }
        })
    });
    let summary = match (used, fits) {
        (Some(_), true) => Message::new("fix-memory-recompute"),
        (Some(_), false) => Message::new("fix-memory-recompute-full"),
        (None, _) => Message::new("fix-memory-recompute-unknown"),
    };
    let steps = ["fix-recompute-selective", "fix-recompute-rule"];
    Some(finding(case, "memory.recompute", cost, gain.flatten(), evidence, remedy(summary, &steps, "")))
}
