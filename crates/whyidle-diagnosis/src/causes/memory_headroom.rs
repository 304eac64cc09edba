//! `memory.headroom`: launches set the pace, memory is mostly empty, and a larger batch would make
//! every kernel longer at the same number of launches.
//!
//! Not a wait. Needs a known peak: from the recording or from the trace's own allocation events.

use whyidle_analysis::ledger::{Kind, Line};
use whyidle_planner::{Larger, larger_batch};

use super::support::{around, finding, remedy, shared, sized};
use crate::case::Case;
use crate::give_back::recognised;
use crate::message::{Arg, Message};
use crate::verdict::{Change, Estimate, Finding, Gain, Method};

/// This share of the memory stays free for fragmentation and spikes: of the usual 10–15 % the larger.
pub(super) const FREE: f64 = 0.15;
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
    // Where the network is known, the planner says what a larger batch takes; otherwise all memory grows with it.
    let planned = recognised(case).map(|planner| {
        let most = if knee >= 8.0 { 8 } else { knee as u64 };
        (larger_batch(&planner, FREE, most), planner.observed.setup.batch)
    });
    let factor = match &planned {
        Some((larger, _)) => larger.as_ref()?.factor as f64,
        None => [2.0, 4.0, 8.0].into_iter().rev().find(|&k| k <= knee && used * k <= 1.0 - FREE)?,
    };
    let after = ((case.step.ns as f64 / factor) as i64).max(working);
    let gain = Gain {
        step_after: around(case, after, 0.2),
        method: Method::Bound,
        change: batch_change(&planned, factor),
        next_limit: "compute.bound",
    };
    let mut evidence = vec![shared(Message::new("ev-memory-used").share("share", used), used)];
    let mut summary = Message::new("fix-memory-headroom").count("factor", factor as i64);
    if let Some((Some(larger), batch)) = &planned {
        let bytes = |bytes: f64| Arg::Bytes(bytes as i64);
        let text = Message::new("ev-headroom-fits")
            .with("used", bytes(peak as f64))
            .with("capacity", bytes(capacity as f64))
            .count("from", *batch)
            .count("to", larger.setup.batch)
            .with("bytes", bytes(larger.memory.allocated))
            .with("low", bytes(larger.allocated.low))
            .with("high", bytes(larger.allocated.high));
        evidence.push(sized(text, larger.memory.allocated));
        summary = Message::new("fix-memory-headroom-planned")
            .count("from", *batch)
            .count("to", larger.setup.batch)
            .with("bytes", bytes(larger.memory.allocated));
    }
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

/// From today's batch to the larger one, where it is known; else how many times today's.
fn batch_change(planned: &Option<(Option<Larger>, u64)>, factor: f64) -> Change {
    match planned {
        Some((Some(larger), batch)) => {
            Change { what: "batch", from: Some(batch.to_string()), to: Some(larger.setup.batch.to_string()) }
        }
        _ => Change { what: "batch", from: None, to: Some(format!("× {factor:.0}")) },
    }
}

/// Highest memory in use on the device that the trace's allocation events show, bytes.
pub(crate) fn traced_peak(case: &Case<'_>) -> Option<u64> {
    let memory = &case.trace.memory;
    (0..memory.time.len())
        .filter(|&at| memory.device[at] == case.device.device && memory.total_allocated[at] > 0)
        .map(|at| memory.total_allocated[at])
        .max()
        .and_then(|bytes| u64::try_from(bytes).ok())
}
