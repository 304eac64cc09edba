//! The allocator's state along its history.
//!
//! The end is known: segments and blocks. What was there when the history began follows from both: blocks of the end that
//! the history never handed out, and whatever it frees without having handed it out. From there the history is walked
//! forwards.
//!
//! Events carry what was asked for. Its block is that, rounded up to 512 bytes; in a segment of large blocks a rest of at
//! most 1 MiB is not split off and belongs to the block (`CUDACachingAllocator.cpp`, `kMinBlockSize`, `should_split`).
//! Free pieces of large segments are therefore never that small, so that the room to the next block tells such a rest
//! exactly: on the recordings at hand the peak is `max_memory_allocated` to the byte.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use whyidle_model::{AllocatorAction, BlockState, MemorySnapshot};

/// Blocks are multiples of this, bytes.
const BLOCK: u64 = 512;
/// Rests up to this are not split off in segments of large blocks, bytes.
const REST: u64 = 1 << 20;
/// Segments up to this hold small blocks, bytes.
const SMALL_SEGMENT: u64 = 2 << 20;

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
struct Segment {
    end: u64,
    keeps_rests: bool,
}

/// What there was when the history began.
#[derive(Clone)]
pub(super) struct Opening {
    live: BTreeMap<u64, Live>,
    segments: BTreeMap<u64, Segment>,
    /// Bytes that no block of the file shows, so that the walk ends where the allocator says it ended.
    unseen: [i128; 4],
    /// Frees are noted when they are complete.
    completes: bool,
    /// The walk ended at the allocator's own figure without help.
    pub(super) exact: bool,
}

impl Opening {
    pub(super) fn new(snapshot: &MemorySnapshot, device: u32) -> Self {
        let events = &snapshot.events;
        let actions = || snapshot.history(device).map(|row| events.action[row]);
        let mut opening = Self {
            live: BTreeMap::new(),
            segments: segments_before(snapshot, device),
            unseen: [0; 4],
            completes: actions().any(|action| action == AllocatorAction::FreeCompleted),
            exact: false,
        };
        let requests = actions().any(|action| action == AllocatorAction::FreeRequested);
        opening.live = live_before(snapshot, device, requests);
        opening.add_rests();
        let end = at_end(snapshot, device);
        let mut walk = opening.walk(snapshot);
        for row in snapshot.history(device) {
            walk.step(row);
        }
        let of = |totals: Totals| [totals.allocated, totals.active, totals.requested, totals.reserved];
        let walked = walk.counted();
        opening.unseen = std::array::from_fn(|at| i128::from(of(end)[at]) - walked[at]);
        let settings = &snapshot.settings;
        opening.exact = opening.unseen[0] == 0
            && opening.unseen[3] == 0
            && settings.max_split.is_none()
            && !settings.rounds_up;
        opening
    }

    pub(super) fn walk<'a>(&self, snapshot: &'a MemorySnapshot) -> Walk<'a> {
        let mut counted = [0_i128; 4];
        for live in self.live.values() {
            if !live.pending {
                counted[0] += i128::from(live.size);
                counted[2] += i128::from(live.requested);
            }
            counted[1] += i128::from(live.size);
        }
        counted[3] =
            self.segments.iter().map(|(from, segment)| i128::from(segment.end) - i128::from(*from)).sum();
        Walk {
            snapshot,
            live: self.live.clone(),
            segments: self.segments.clone(),
            counted,
            unseen: self.unseen,
            completes: self.completes,
        }
    }

    /// Bytes allocated then that no block shows.
    pub(super) fn unseen_bytes(&self) -> u64 {
        u64::try_from(self.unseen[0].max(0)).unwrap_or(u64::MAX)
    }

    /// Rests of blocks whose size only their free tells.
    fn add_rests(&mut self) {
        let starts: Vec<u64> = self.live.keys().copied().collect();
        for (at, &address) in starts.iter().enumerate() {
            let next = starts.get(at + 1).copied();
            let Some(live) = self.live.get_mut(&address) else { continue };
            live.size += rest(&self.segments, address, live.size, next);
        }
    }
}

/// What is not split off behind a block of this size, if the next one begins at `next`.
fn rest(segments: &BTreeMap<u64, Segment>, address: u64, size: u64, next: Option<u64>) -> u64 {
    let Some((_, segment)) = segments.range(..=address).next_back() else { return 0 };
    let Some(end) = address.checked_add(size) else { return 0 };
    if !segment.keeps_rests || end > segment.end {
        return 0;
    }
    let room = next.map_or(segment.end, |next| next.min(segment.end)).saturating_sub(end);
    if room <= REST { room } else { 0 }
}

fn rounded(size: u64) -> u64 {
    size.div_ceil(BLOCK).saturating_mul(BLOCK)
}

/// Segments that were there when the history began: those of the end, its events undone.
fn segments_before(snapshot: &MemorySnapshot, device: u32) -> BTreeMap<u64, Segment> {
    let table = &snapshot.segments;
    let of_device = (0..table.len()).filter(|&row| table.device[row] == device);
    let mut segments: BTreeMap<u64, Segment> = of_device
        .map(|row| {
            let (from, size) = (table.address[row], table.size[row]);
            let keeps_rests = !table.expandable[row] && size > SMALL_SEGMENT;
            (from, Segment { end: from.saturating_add(size), keeps_rests })
        })
        .collect();
    let rows: Vec<usize> = snapshot
        .history(device)
        .filter(|&row| {
            matches!(
                snapshot.events.action[row],
                AllocatorAction::SegmentAlloc | AllocatorAction::SegmentFree
            )
        })
        .collect();
    for row in rows.into_iter().rev() {
        let address = snapshot.events.address[row];
        if snapshot.events.action[row] == AllocatorAction::SegmentAlloc {
            segments.remove(&address);
        } else {
            segments.insert(address, new_segment(snapshot, row));
        }
    }
    segments
}

fn new_segment(snapshot: &MemorySnapshot, row: usize) -> Segment {
    let size = snapshot.events.bytes(row);
    let keeps_rests = size > SMALL_SEGMENT && !snapshot.settings.expandable;
    Segment { end: snapshot.events.address[row].saturating_add(size), keeps_rests }
}

/// Blocks that somebody held when the history began.
fn live_before(snapshot: &MemorySnapshot, device: u32, requests: bool) -> BTreeMap<u64, Live> {
    let (events, table, blocks) = (&snapshot.events, &snapshot.segments, &snapshot.blocks);
    let mut before: BTreeMap<u64, Live> = BTreeMap::new();
    // By address: the history handed it out, and somebody may hold it still.
    let mut known: FxHashMap<u64, bool> = FxHashMap::default();
    for row in snapshot.history(device) {
        let address = events.address[row];
        match events.action[row] {
            AllocatorAction::Alloc => {
                known.insert(address, true);
            }
            action @ (AllocatorAction::FreeRequested | AllocatorAction::FreeCompleted) => {
                if !known.contains_key(&address) {
                    let requested = events.bytes(row);
                    let pending = action == AllocatorAction::FreeCompleted && requests;
                    let live = Live {
                        size: rounded(requested),
                        requested,
                        stack: events.stack[row],
                        row: None,
                        pending,
                    };
                    before.insert(address, live);
                }
                known.insert(address, false);
            }
            _ => {}
        }
    }
    for row in (0..table.len()).filter(|&row| table.device[row] == device) {
        for block in table.blocks[row].clone().map(|block| block as usize) {
            if blocks.state[block] == BlockState::Inactive {
                continue;
            }
            let address = blocks.address[block];
            let live = Live {
                size: blocks.size[block],
                requested: blocks.requested[block],
                stack: blocks.stack[block],
                row: None,
                pending: blocks.state[block] == BlockState::PendingFree && !known.contains_key(&address),
            };
            match known.get(&address) {
                None => {
                    before.insert(address, live);
                }
                // Given back in the history, but still there: its size is known exactly.
                Some(false)
                    if before.contains_key(&address) && blocks.state[block] == BlockState::PendingFree =>
                {
                    before.insert(address, live);
                }
                Some(_) => {}
            }
        }
    }
    before
}

/// A walk along a history.
pub(super) struct Walk<'a> {
    snapshot: &'a MemorySnapshot,
    pub(super) live: BTreeMap<u64, Live>,
    segments: BTreeMap<u64, Segment>,
    counted: [i128; 4],
    unseen: [i128; 4],
    completes: bool,
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

    fn counted(&self) -> [i128; 4] {
        self.counted
    }

    /// What the allocator holds now.
    pub(super) fn totals(&self) -> Totals {
        let of = |at: usize| u64::try_from((self.counted[at] + self.unseen[at]).max(0)).unwrap_or(u64::MAX);
        Totals { allocated: of(0), active: of(1), requested: of(2), reserved: of(3) }
    }
}
