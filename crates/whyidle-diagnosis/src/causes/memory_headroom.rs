//! `memory.headroom`: launches set the pace, memory is mostly empty, and a larger batch would make
//! every kernel longer at the same number of launches.
//!
//! Not a wait. Needs a known peak: from the recording or from the trace's own allocation events.

use whyidle_analysis::ledger::{Kind, Line};

use super::support::{around, finding, remedy, shared};
use crate::case::Case;
use crate::message::Message;
use crate::verdict::{Change, Estimate, Finding, Gain, Method};

/// Memory may be filled to this share: 10–15 % stay free for fragmentation and spikes.
const FILL: f64 = 0.85;
/// More than this share of the memory in use leaves no room for a batch twice as large.
const ROOM: f64 = 0.4;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let capacity = case.properties().map(|gpu| gpu.memory_bytes).filter(|&bytes| bytes > 0)?;
    let peak = case.known.peak_memory.or_else(|| traced_peak(case))?;
    let used = peak as f64 / capacity as f64;
    let host =
        case.line(Line::HostLaunch).ns + case.line(Line::HostPython).ns + case.line(Line::HostOptimizer).ns;
    if used > ROOM || case.share(host) < 0.25 {
        return None;
    }
    let working: i64 =
        Line::ALL.iter().filter(|line| line.kind() == Kind::Working).map(|&line| case.line(line).ns).sum();
    // With k times the batch the host's work stays and the GPU's grows at most k times; beyond the
    // knee, where both are equal, more batch brings no more.
    let knee = (case.step.ns as f64 / working.max(1) as f64).floor().max(1.0);
    let factor = [2.0, 4.0, 8.0].into_iter().rev().find(|&k| k <= knee && used * k <= FILL)?;
    let after = ((case.step.ns as f64 / factor) as i64).max(working);
    let gain = Gain {
        step_after: around(case, after, 0.2),
        method: Method::Bound,
        change: Change { what: "batch", from: None, to: Some(format!("× {factor:.0}")) },
        next_limit: "compute.bound",
    };
    let evidence = vec![shared(Message::new("ev-memory-used").share("share", used), used)];
    let summary = Message::new("fix-memory-headroom").count("factor", factor as i64);
    let steps = ["fix-headroom-rate", "fix-headroom-knee"];
    Some(finding(
        case,
        "memory.headroom",
        Estimate::exact(0),
        Some(gain),
        evidence,
        remedy(summary, &steps, ""),
    ))
}

/// Highest memory in use on the device that the trace's allocation events show, bytes.
pub(super) fn traced_peak(case: &Case<'_>) -> Option<u64> {
    let memory = &case.trace.memory;
    (0..memory.time.len())
        .filter(|&at| memory.device[at] == case.device.device && memory.total_allocated[at] > 0)
        .map(|at| memory.total_allocated[at])
        .max()
        .and_then(|bytes| u64::try_from(bytes).ok())
}
