//! What the allocator held when a history began.
//!
//! The end is known: segments and blocks. What was there at the beginning follows from both: blocks of the end that the
//! history never handed out, and whatever it frees without having handed it out.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use whyidle_model::{AllocatorAction, BlockState, MemorySnapshot};

use super::state::{Live, SMALL_SEGMENT, Segment, Totals, Walk, at_end, new_segment, rest, rounded};

/// What there was when the history began.
#[derive(Clone)]
pub(super) struct Opening {
    live: BTreeMap<u64, Live>,
    segments: BTreeMap<u64, Segment>,
    /// Bytes that no block of the file shows, so that the walk ends where the allocator says it ended.
    unseen: [i128; 4],
    /// Frees are noted when they are complete.
    completes: bool,
    /// Bytes by which expandable segments grew in the history: their sizes are those of its end.
    grown: i128,
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
            grown: snapshot.history(device).map(|row| grows(snapshot, row)).sum(),
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
        let walked = walk.counted;
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
        counted[3] -= self.grown;
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

/// By how many bytes an event makes an expandable segment grow.
fn grows(snapshot: &MemorySnapshot, row: usize) -> i128 {
    let bytes = i128::from(snapshot.events.bytes(row));
    match snapshot.events.action[row] {
        AllocatorAction::SegmentMap => bytes,
        AllocatorAction::SegmentUnmap => -bytes,
        _ => 0,
    }
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
