//! The allocator's state along its history.
//!
//! From what there was when it began (see [`opening`](super::opening)) the history is walked forwards.
//!
//! Events carry what was asked for. Its block is that, rounded up to 512 bytes; in a segment of large blocks a rest of at
//! most 1 MiB is not split off and belongs to the block (`CUDACachingAllocator.cpp`, `kMinBlockSize`, `should_split`).
//! Free pieces of large segments are therefore never that small, so that the room to the next block tells such a rest
//! exactly: on the recordings at hand the peak is `max_memory_allocated` to the byte.

use std::collections::BTreeMap;

use whyidle_model::{AllocatorAction, MemorySnapshot};

/// Blocks are multiples of this, bytes.
const BLOCK: u64 = 512;
/// Rests up to this are not split off in segments of large blocks, bytes.
const REST: u64 = 1 << 20;
/// Segments up to this hold small blocks, bytes.
pub(super) const SMALL_SEGMENT: u64 = 2 << 20;

/// Pages of expandable segments of large blocks, bytes (`kLargeBuffer`).
const PAGE: u64 = 20 << 20;

/// What the allocator holds at one moment, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// In blocks of tensors: what `memory_allocated` counts.
    pub allocated: u64,
    /// The same with blocks that streams still use.
    pub active: u64,
    /// What tensors asked for, before rounding.
    pub requested: u64,
    /// From the driver: what `memory_reserved` counts.
    pub reserved: u64,
}

impl Totals {
    /// Free bytes that the allocator holds.
    #[must_use]
    pub fn cached(&self) -> u64 {
        self.reserved.saturating_sub(self.active)
    }
}

/// The totals at the end, as the allocator itself counts them per segment.
pub(super) fn at_end(snapshot: &MemorySnapshot, device: u32) -> Totals {
    let segments = &snapshot.segments;
    let mut totals = Totals::default();
    for row in (0..segments.len()).filter(|&row| segments.device[row] == device) {
        totals.allocated = totals.allocated.saturating_add(segments.allocated[row]);
        totals.active = totals.active.saturating_add(segments.active[row]);
        totals.requested = totals.requested.saturating_add(segments.requested[row]);
        totals.reserved = totals.reserved.saturating_add(segments.size[row]);
    }
    totals
}

/// A block that somebody holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Live {
    pub(super) size: u64,
    pub(super) requested: u64,
    pub(super) stack: u32,
    /// The event that handed it out; `None`: it was there before the history began.
    pub(super) row: Option<u32>,
    /// Its owner gave it back, but a stream may still use it.
    pub(super) pending: bool,
}

/// A segment: where it ends, and whether rests stay with blocks in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) end: u64,
    pub(super) keeps_rests: bool,
}

/// What is not split off behind a block of this size, if the next one begins at `next`.
pub(super) fn rest(segments: &BTreeMap<u64, Segment>, address: u64, size: u64, next: Option<u64>) -> u64 {
    let Some((_, segment)) = segments.range(..=address).next_back() else { return 0 };
    let Some(end) = address.checked_add(size) else { return 0 };
    if !segment.keeps_rests || end > segment.end {
        return 0;
    }
    let room = next.map_or(segment.end, |next| next.min(segment.end)).saturating_sub(end);
    if room <= REST { room } else { 0 }
}

pub(super) fn rounded(size: u64) -> u64 {
    size.div_ceil(BLOCK).saturating_mul(BLOCK)
}

pub(super) fn new_segment(snapshot: &MemorySnapshot, row: usize) -> Segment {
    let size = snapshot.events.bytes(row);
    let keeps_rests = size > SMALL_SEGMENT && !snapshot.settings.expandable;
    Segment { end: snapshot.events.address[row].saturating_add(size), keeps_rests }
}

/// A walk along a history.
pub(super) struct Walk<'a> {
    pub(super) snapshot: &'a MemorySnapshot,
    pub(super) live: BTreeMap<u64, Live>,
    pub(super) segments: BTreeMap<u64, Segment>,
    pub(super) counted: [i128; 4],
    pub(super) unseen: [i128; 4],
    pub(super) completes: bool,
}

impl Walk<'_> {
    /// Takes an event. `true`: a block was given back.
    pub(super) fn step(&mut self, row: usize) -> bool {
        let events = &self.snapshot.events;
        let (address, bytes) = (events.address[row], events.bytes(row));
        match events.action[row] {
            AllocatorAction::Alloc => self.alloc(row, address, bytes),
            AllocatorAction::FreeRequested => return self.give_back(address, !self.completes),
            AllocatorAction::FreeCompleted => return self.give_back(address, true),
            AllocatorAction::SegmentAlloc => {
                self.counted[3] += i128::from(bytes);
                self.segments.insert(address, new_segment(self.snapshot, row));
            }
            AllocatorAction::SegmentFree => {
                self.counted[3] -= i128::from(bytes);
                self.segments.remove(&address);
            }
            AllocatorAction::SegmentMap => self.counted[3] += i128::from(bytes),
            AllocatorAction::SegmentUnmap => self.counted[3] -= i128::from(bytes),
            AllocatorAction::OutOfMemory | AllocatorAction::Other => {}
        }
        false
    }

    fn alloc(&mut self, row: usize, address: u64, requested: u64) {
        // Its free was not recorded.
        self.give_back(address, true);
        let size = rounded(requested);
        let next = self.live.range(address.saturating_add(1)..).next().map(|(&next, _)| next);
        let size = size.saturating_add(rest(&self.segments, address, size, next));
        let stack = self.snapshot.events.stack[row];
        self.live
            .insert(address, Live { size, requested, stack, row: u32::try_from(row).ok(), pending: false });
        self.counted[0] += i128::from(size);
        self.counted[1] += i128::from(size);
        self.counted[2] += i128::from(requested);
    }

    /// `true`: its owner had not given it back before.
    fn give_back(&mut self, address: u64, complete: bool) -> bool {
        let Some(live) = self.live.get_mut(&address) else { return false };
        let is_first = !live.pending;
        if is_first {
            live.pending = true;
            self.counted[0] -= i128::from(live.size);
            self.counted[2] -= i128::from(live.requested);
        }
        if complete {
            self.counted[1] -= i128::from(live.size);
            self.live.remove(&address);
        }
        is_first
    }

    /// Free bytes in segments of large blocks that whole pages of expandable segments would hold, wherever pages begin.
    pub(super) fn in_pages(&self) -> u64 {
        let mut pages = 0_u64;
        for (&from, segment) in
            self.segments.iter().filter(|(from, segment)| segment.end - **from > SMALL_SEGMENT)
        {
            let mut at = from;
            let blocks = self.live.range(from..segment.end).map(|(&address, live)| (address, live.size));
            for (address, size) in blocks.chain([(segment.end, 0)]) {
                pages += (address.saturating_sub(at) / PAGE).saturating_sub(1);
                at = at.max(address.saturating_add(size));
            }
        }
        pages.saturating_mul(PAGE)
    }

    /// What the allocator holds now.
    pub(super) fn totals(&self) -> Totals {
        let of = |at: usize| u64::try_from((self.counted[at] + self.unseen[at]).max(0)).unwrap_or(u64::MAX);
        Totals { allocated: of(0), active: of(1), requested: of(2), reserved: of(3) }
    }
}
