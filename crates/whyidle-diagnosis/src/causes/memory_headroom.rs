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
use crate::verdict::{Change, Estimate, Evidence, Finding, Method};
use crate::what_if::Setting;

/// This share of the memory stays free for fragmentation and spikes: of the usual 10–15 % the larger.
pub(super) const FREE: f64 = 0.15;
/// Batches this many times today's are the most that is proposed at once.
const MOST: f64 = 8.0;
/// More than this share of the memory in use leaves no room for a batch twice as large.
const ROOM: f64 = 0.4;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let room = room(case)?;
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    let mut evidence = vec![shared(Message::new("ev-memory-used").share("share", room.used), room.used)];
    let mut summary = Message::new("fix-memory-headroom").count("factor", room.times);
    if let Some(planned) = &room.planned {
        evidence.push(planned.evidence(&room));
        summary = Message::new("fix-memory-headroom-planned")
            .count("from", planned.batch)
            .count("to", planned.larger.setup.batch)
            .with("bytes", Arg::Bytes(planned.larger.memory.allocated as i64));
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

/// How much larger the batch may be, where launches set the pace and memory allows it.
struct Room {
    peak: u64,
    capacity: u64,
    /// Share of the memory in use.
    used: f64,
    /// How many times today's batch fits and pays.
    times: u32,
    /// What the planner says of it, where the network is known.
    planned: Option<Planned>,
}

/// A larger batch by the planner.
struct Planned {
    larger: Larger,
    /// Today's batch.
    batch: u64,
}

impl Planned {
    fn evidence(&self, room: &Room) -> Evidence {
        let bytes = |bytes: f64| Arg::Bytes(bytes as i64);
        let text = Message::new("ev-headroom-fits")
            .with("used", bytes(room.peak as f64))
            .with("capacity", bytes(room.capacity as f64))
            .count("from", self.batch)
            .count("to", self.larger.setup.batch)
            .with("bytes", bytes(self.larger.memory.allocated))
            .with("low", bytes(self.larger.allocated.low))
            .with("high", bytes(self.larger.allocated.high));
        sized(text, self.larger.memory.allocated)
    }
}

/// With k times the batch the host's work stays and the GPU's grows at most k times; beyond the knee, where both are
/// equal, more batch brings no more. Where the network is known, the planner says what a larger batch takes; otherwise
/// all memory grows with it.
fn room(case: &Case<'_>) -> Option<Room> {
    let capacity = case.properties().map(|gpu| gpu.memory_bytes).filter(|&bytes| bytes > 0)?;
    let peak = case.known.peak_memory.or_else(|| traced_peak(case))?;
    let used = peak as f64 / capacity as f64;
    let host =
        case.line(Line::HostLaunch).ns + case.line(Line::HostPython).ns + case.line(Line::HostOptimizer).ns;
    if used > ROOM || case.share(host) < 0.25 {
        return None;
    }
    let knee = (case.step.ns as f64 / case.kernels_ns().max(1) as f64).floor();
    let (times, planned) = match recognised(case) {
        Some(planner) => {
            let larger = larger_batch(&planner, FREE, knee.clamp(1.0, MOST) as u64)?;
            let batch = planner.observed.setup.batch;
            (u32::try_from(larger.factor).ok()?, Some(Planned { larger, batch }))
        }
        None => {
            let fits = |&k: &u32| f64::from(k) <= knee && used * f64::from(k) <= 1.0 - FREE;
            ([8, 4, 2].into_iter().find(fits)?, None)
        }
    };
    Some(Room { peak, capacity, used, times, planned })
}

/// Batches so many times as large: the host launches as before; kernels, copies and the loader's work per item take
/// that many times as long; the optimizer and collectives, whose sizes are the model's, stay.
///
/// Kernels that leave multiprocessors empty grow less than that, so this is the least that a larger batch brings;
/// at most they do not grow at all.
pub(super) fn edit<'a>(case: &'a Case<'_>, setting: Option<&Setting>) -> Option<Edit<'a>> {
    let proposed = || room(case).map_or((2, None), |room| (room.times, room.planned));
    let (times, planned) = Setting::count(setting).map_or_else(proposed, |times| (times, None));
    let times = f64::from(times);
    let change = match planned {
        Some(Planned { larger, batch }) => {
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
