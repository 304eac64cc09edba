//! `memory.headroom`: launches set the pace, memory is mostly empty, and a larger batch would make
//! every kernel longer at the same number of launches.
//!
//! Not a wait. Needs a known peak: from the recording or from the trace's own allocation events.

use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_replay::edits::{scale_activities, scale_host};

use super::support::{finding, remedy, shared};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Change, Estimate, Finding, Method};
use crate::what_if::Setting;

/// Memory may be filled to this share: 10–15 % stay free for fragmentation and spikes.
const FILL: f64 = 0.85;
/// More than this share of the memory in use leaves no room for a batch twice as large.
const ROOM: f64 = 0.4;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let (used, times) = room(case)?;
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    let evidence = vec![shared(Message::new("ev-memory-used").share("share", used), used)];
    let summary = Message::new("fix-memory-headroom").count("factor", times);
    let steps = ["fix-headroom-rate", "fix-headroom-knee"];
    Some(finding(case, "memory.headroom", Estimate::exact(0), gain, evidence, remedy(summary, &steps, "")))
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

/// Share of the memory in use, and how many times the batch fits and pays, if launches set the pace.
///
/// With k times the batch the host's work stays and the GPU's grows at most k times; beyond the knee, where both are
/// equal, more batch brings no more.
fn room(case: &Case<'_>) -> Option<(f64, u32)> {
    let capacity = case.properties().map(|gpu| gpu.memory_bytes).filter(|&bytes| bytes > 0)?;
    let peak = case.known.peak_memory.or_else(|| traced_peak(case))?;
    let used = peak as f64 / capacity as f64;
    let host =
        case.line(Line::HostLaunch).ns + case.line(Line::HostPython).ns + case.line(Line::HostOptimizer).ns;
    if used > ROOM || case.share(host) < 0.25 {
        return None;
    }
    let knee = (case.step.ns as f64 / case.kernels_ns().max(1) as f64).floor();
    let times = [8, 4, 2].into_iter().find(|&k| f64::from(k) <= knee && used * f64::from(k) <= FILL)?;
    Some((used, times))
}

/// Batches so many times as large: the host launches as before; kernels, copies and the loader's work per item take
/// that many times as long; the optimizer and collectives, whose sizes are the model's, stay.
///
/// Kernels that leave multiprocessors empty grow less than that, so this is the least that a larger batch brings;
/// at most they do not grow at all.
pub(super) fn edit<'a>(case: &'a Case<'_>, setting: Option<&Setting>) -> Option<Edit<'a>> {
    let proposed = || room(case).map_or(2, |(_, times)| times);
    let times = f64::from(Setting::count(setting).unwrap_or_else(proposed));
    let change = Change { what: "batch", from: None, to: Some(format!("× {times:.0}")) };
    let edit = Edit::new(change, Method::Bound, move |program, lengths| {
        scale_activities(program, lengths, |id| {
            let fixed = matches!(case.facts.works[id.index()], Work::Optimizer | Work::Collective);
            (!fixed).then_some(times)
        });
        for context in [Context::LoadInProcess, Context::LoadFromWorkers, Context::Transfer] {
            scale_host(program, lengths, context, times);
        }
    });
    Some(edit.per_sample(1.0 / times).shortening_kernels().doubted(0.2))
}
