//! The allocator's calls of the driver, and the gaps of a trace: in which gaps of the GPU did it ask for memory or give
//! some back?
//!
//! That one lies in the other is no proof that it is the cause, but `cudaMalloc` and `cudaFree` take time on the thread
//! that launches, and `cudaFree` waits for the device.

use whyidle_model::{AllocatorAction, MemorySnapshot, Span};

use crate::ledger::GapPart;

/// Why a snapshot and a trace cannot be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// The trace's times are not of Unix time.
    NoClock,
    /// The device has no history.
    NoHistory,
    /// They are of different times: this far apart, ns.
    Times(i64),
}

/// What the allocator did in the gaps of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InGaps {
    /// Segments that came from the driver in a gap.
    pub came: u64,
    /// Segments that went back in one.
    pub went: u64,
    /// Allocations that failed in one.
    pub failed: u64,
    /// Gaps with any of these.
    pub gaps: u64,
    /// Length of those gaps, ns.
    pub with_ns: i64,
    /// Length of all gaps, ns.
    pub all_ns: i64,
}

impl InGaps {
    /// Share of the gaps' time that lies in gaps with such calls.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.all_ns == 0 { 0.0 } else { self.with_ns as f64 / self.all_ns as f64 }
    }
}

/// What the allocator did in the gaps of a device. `parts`: its gaps on the trace's clock; `base_unix_ns`: Unix time of that
/// clock's 0.
///
/// # Errors
/// Where the times of both do not overlap, or one has none.
pub fn in_gaps(
    parts: &[GapPart],
    base_unix_ns: i64,
    snapshot: &MemorySnapshot,
    device: u32,
) -> Result<InGaps, Apart> {
    let times = || snapshot.history(device).map(|row| snapshot.events.time(row));
    let (Some(first), Some(last)) = (times().min(), times().max()) else { return Err(Apart::NoHistory) };
    let gaps = joined(parts, base_unix_ns);
    let (Some(from), Some(until)) = (gaps.first(), gaps.last()) else { return Ok(InGaps::default()) };
    if until.end < YEAR_2000_NS {
        return Err(Apart::NoClock);
    }
    if until.end < first || from.start > last {
        return Err(Apart::Times((first - until.end).max(from.start - last)));
    }
    let mut found = InGaps { all_ns: gaps.iter().map(|gap| gap.length()).sum(), ..InGaps::default() };
    let mut has_call = vec![false; gaps.len()];
    for row in snapshot.history(device) {
        let time = snapshot.events.time(row);
        let at = gaps.partition_point(|gap| gap.start <= time).checked_sub(1);
        let Some(at) = at.filter(|&at| time < gaps[at].end) else { continue };
        match snapshot.events.action[row] {
            AllocatorAction::SegmentAlloc | AllocatorAction::SegmentMap => found.came += 1,
            AllocatorAction::SegmentFree | AllocatorAction::SegmentUnmap => found.went += 1,
            AllocatorAction::OutOfMemory => found.failed += 1,
            _ => continue,
        }
        has_call[at] = true;
    }
    for (gap, _) in gaps.iter().zip(&has_call).filter(|(_, has)| **has) {
        found.gaps += 1;
        found.with_ns += gap.length();
    }
    Ok(found)
}

/// Times before this are no Unix times.
const YEAR_2000_NS: i64 = 946_684_800_000_000_000;

/// Whole gaps, in Unix time: parts that follow each other are one.
fn joined(parts: &[GapPart], base_unix_ns: i64) -> Vec<Span> {
    let mut spans: Vec<Span> = parts
        .iter()
        .map(|part| Span::new(part.start.saturating_add(base_unix_ns), part.end.saturating_add(base_unix_ns)))
        .collect();
    spans.sort_unstable();
    let mut gaps: Vec<Span> = Vec::new();
    for span in spans {
        match gaps.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => gaps.push(span),
        }
    }
    gaps
}
