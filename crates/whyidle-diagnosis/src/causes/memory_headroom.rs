//! `memory.headroom`: launches set the pace, memory is mostly empty, and a larger batch would make
//! every kernel longer at the same number of launches.
//!
//! Not a wait. Needs a known peak: from the recording or from the trace's own allocation events.

use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_planner::{Larger, larger_batch};
use whyidle_replay::edits::{scale_activities, scale_host};

use super::support::{finding, remedy, shared, sized};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::give_back::recognised;
use crate::message::{Arg, Message};
use crate::verdict::{Change, Estimate, Finding, Method};
use crate::what_if::Setting;

/// This share of the memory stays free for fragmentation and spikes: of the usual 10–15 % the larger.
pub(super) const FREE: f64 = 0.15;
/// More than this share of the memory in use leaves no room for a batch twice as large.
const ROOM: f64 = 0.4;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let room = room(case)?;
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    let mut evidence = vec![shared(Message::new("ev-memory-used").share("share", room.used), room.used)];
    let mut summary = Message::new("fix-memory-headroom").count("factor", room.times);
    if let Some((batch, larger)) = &room.planned {
        let bytes = |bytes: f64| Arg::Bytes(bytes as i64);
        let text = Message::new("ev-headroom-fits")
            .with("used", bytes(room.used * room.capacity))
            .with("capacity", bytes(room.capacity))
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
    Some(finding(case, "memory.headroom", Estimate::exact(0), gain, evidence, remedy(summary, &steps, "")))
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

/// Room for a larger batch.
struct Room {
    /// Share of the memory in use.
    used: f64,
    /// Memory of the device, bytes.
    capacity: f64,
    /// How many times the batch fits and pays.
    times: u32,
    /// Today's batch and the larger one, where the planner recognises the network.
    planned: Option<(u64, Larger)>,
}

/// The room there is, if launches set the pace.
///
/// With k times the batch the host's work stays and the GPU's grows at most k times; beyond the knee, where both are
/// equal, more batch brings no more.
fn room(case: &Case<'_>) -> Option<Room> {
    let capacity = case.properties().map(|gpu| gpu.memory_bytes).filter(|&bytes| bytes > 0)? as f64;
    let peak = case.known.peak_memory.or_else(|| traced_peak(case))?;
    let used = peak as f64 / capacity;
    let host =
        case.line(Line::HostLaunch).ns + case.line(Line::HostPython).ns + case.line(Line::HostOptimizer).ns;
    if used > ROOM || case.share(host) < 0.25 {
        return None;
    }
    let knee = (case.step.ns as f64 / case.kernels_ns().max(1) as f64).floor();
    let Some(planner) = recognised(case) else {
        // Of an unknown network all memory is taken to grow with the batch.
        let fits = |k: u32| f64::from(k) <= knee && used * f64::from(k) <= 1.0 - FREE;
        let times = [8, 4, 2].into_iter().find(|&k| fits(k))?;
        return Some(Room { used, capacity, times, planned: None });
    };
    let larger = larger_batch(&planner, FREE, knee.min(8.0) as u64)?;
    let times = u32::try_from(larger.factor).ok()?;
    Some(Room { used, capacity, times, planned: Some((planner.observed.setup.batch, larger)) })
}

/// Batches so many times as large: the host launches as before; kernels, copies and the loader's work per item take
/// that many times as long; the optimizer and collectives, whose sizes are the model's, stay.
///
/// Kernels that leave multiprocessors empty grow less than that, so this is the least that a larger batch brings;
/// at most they do not grow at all.
pub(super) fn edit<'a>(case: &'a Case<'_>, setting: Option<&Setting>) -> Option<Edit<'a>> {
    let asked = Setting::count(setting);
    let room = if asked.is_none() { room(case) } else { None };
    let times = f64::from(asked.or(room.as_ref().map(|room| room.times)).unwrap_or(2));
    let change = match room.and_then(|room| room.planned) {
        Some((batch, larger)) => {
            Change { what: "batch", from: Some(batch.to_string()), to: Some(larger.setup.batch.to_string()) }
        }
        None => Change { what: "batch", from: None, to: Some(format!("× {times:.0}")) },
    };
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
