//! Facts about a CUDA memory snapshot: the peak and what makes it up, memory over time, pieces that lie free, calls of the
//! driver, and growth from step to step. One file per question.

mod advice;
mod churn;
mod fragmentation;
mod gaps;
mod growth;
mod opening;
mod peak;
mod periods;
mod sites;
mod state;
#[cfg(test)]
mod tests;
mod timeline;

use whyidle_model::{AllocatorAction, MemorySnapshot};

pub use advice::Advice;
pub use churn::Churn;
pub use fragmentation::{Failure, Fragmentation};
pub use gaps::{Apart, InGaps, in_gaps};
pub use growth::{Grown, Growth, GrowthKind, Seen};
pub use peak::{Part, Peak};
pub use periods::{Periods, PeriodsBy};
pub use sites::{Phase, Site, Sites};
pub use state::Totals;
pub use timeline::Stretch;

/// Stretches of a timeline.
const STRETCHES: usize = 240;

/// Failures whose pieces are looked at.
const LOOKED_AT: usize = 256;

/// A device's memory.
#[derive(Clone, Debug)]
pub struct DeviceMemory {
    /// Number of the device, as the program counts.
    pub device: u32,
    /// What the allocator held at the end, by its own count.
    pub end: Totals,
    /// The peak of the history, at least the end.
    pub peak: Peak,
    /// Most that was reserved in it, bytes.
    pub peak_reserved: u64,
    /// The peak is exact: the history leads to the end's figures, and no setting rounds sizes otherwise. Else it is an
    /// estimate.
    pub exact: bool,
    /// Allocations in the history.
    pub allocations: u64,
    /// Events in it.
    pub events: u64,
    /// Its first and last time, ns of Unix time; none without a history.
    pub span: Option<(i64, i64)>,
    /// What makes up the peak, largest first; it sums to it where the peak is exact.
    pub parts: Vec<Part>,
    /// Memory over time.
    pub timeline: Vec<Stretch>,
    /// Free memory in pieces.
    pub fragmentation: Fragmentation,
    /// Calls of the driver.
    pub churn: Churn,
    /// How periods were found, and how many there are – of its last part, where growth is of that –; none without a history.
    pub periods: Option<(PeriodsBy, usize)>,
    /// Growth across them.
    pub growth: Option<Growth>,
    /// What to change.
    pub advice: Vec<Advice>,
}

/// The facts of every device, ascending.
#[must_use]
pub fn facts(snapshot: &MemorySnapshot, sites: &Sites) -> Vec<DeviceMemory> {
    snapshot.devices().into_iter().map(|device| of_device(snapshot, device, sites)).collect()
}

fn of_device(snapshot: &MemorySnapshot, device: u32, sites: &Sites) -> DeviceMemory {
    let events = &snapshot.events;
    let opening = opening::Opening::new(snapshot, device);
    let times = || snapshot.history(device).map(|row| events.time(row));
    let span = times().min().zip(times().max());
    let (from, until) = span.unwrap_or_default();
    let mut walk = opening.walk(snapshot);
    let mut timeline = timeline::Timeline::new(from, until, STRETCHES);
    let mut fragmentation = Fragmentation::at_end(snapshot, device);
    let mut peak = Peak { totals: walk.totals(), time: None, row: None };
    let mut peak_reserved = peak.totals.reserved;
    let (mut allocations, mut count) = (0, 0_usize);
    let half = snapshot.history(device).count() / 2;
    // Blocks handed out and given back in either half.
    let mut halves = [(0_u64, 0_u64); 2];
    for row in snapshot.history(device) {
        let before = walk.totals();
        match events.action[row] {
            AllocatorAction::OutOfMemory => fragmentation.failures.push(Failure {
                time: events.time(row),
                bytes: events.bytes(row),
                device_free: events.address[row],
                allocated: before.allocated,
                cached: before.cached(),
                in_pages: if fragmentation.failures.len() < LOOKED_AT { walk.in_pages() } else { 0 },
                stack: events.stack[row],
            }),
            AllocatorAction::SegmentAlloc if before.cached() >= events.bytes(row) => {
                fragmentation.grew_while_free += 1;
                fragmentation.grew_bytes = fragmentation.grew_bytes.saturating_add(events.bytes(row));
            }
            AllocatorAction::Alloc => allocations += 1,
            _ => {}
        }
        let (out, back) = &mut halves[usize::from(count >= half)];
        *out += u64::from(events.action[row] == AllocatorAction::Alloc);
        *back += u64::from(walk.step(row));
        count += 1;
        let now = walk.totals();
        timeline.add(events.time(row), now.allocated, now.reserved);
        peak_reserved = peak_reserved.max(now.reserved);
        if now.allocated > peak.totals.allocated {
            peak = Peak { totals: now, time: Some(events.time(row)), row: Some(row) };
        }
    }
    let has_history = span.is_some();
    let periods = has_history.then(|| Periods::of(snapshot, device, sites));
    let steady = halves.iter().all(|&(out, back)| back * 2 >= out);
    let growth = periods.as_ref().and_then(|periods| {
        let seen = Seen::of(snapshot, device, sites, periods, steady);
        growth::growth(&walk.live, periods, sites, seen)
            .or_else(|| growth::of_its_end(snapshot, device, &walk.live, sites))
    });
    let mut memory = DeviceMemory {
        device,
        end: state::at_end(snapshot, device),
        parts: peak::parts(snapshot, device, &opening, &peak, sites),
        peak,
        peak_reserved,
        exact: opening.exact,
        allocations,
        events: count as u64,
        span,
        timeline: if has_history { timeline.finish() } else { Vec::new() },
        fragmentation,
        churn: Churn::of(snapshot, device),
        periods: match &growth {
            Some(growth) if growth.by == PeriodsBy::Part => Some((growth.by, growth.periods + 2)),
            _ => periods.as_ref().map(|periods| (periods.by, periods.count())),
        },
        growth,
        advice: Vec::new(),
    };
    let table = &snapshot.segments;
    let expandable = snapshot.settings.expandable
        || (0..table.len()).any(|row| table.device[row] == device && table.expandable[row]);
    memory.advice = advice::advice(&memory, expandable);
    memory
}
