//! A CUDA memory snapshot: what the caching allocator held when it was taken, and what it did before, as far as its
//! history goes back.
//!
//! Sizes are bytes, times ns of Unix time by the host's clock (the allocator writes whole microseconds).

use std::ops::Range;

use crate::{Frame, ImportNotes, Interner};

/// What the allocator did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllocatorAction {
    /// A tensor's memory was handed out.
    Alloc,
    /// It was given back by its owner.
    FreeRequested,
    /// It is free: no stream uses it any more.
    FreeCompleted,
    /// `cudaMalloc`: a segment came from the driver.
    SegmentAlloc,
    /// `cudaFree`: a segment went back to it.
    SegmentFree,
    /// An expandable segment grew.
    SegmentMap,
    /// An expandable segment gave pages back.
    SegmentUnmap,
    /// An allocation failed.
    OutOfMemory,
    /// A snapshot was taken, or something that a later version writes.
    Other,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockState {
    /// A tensor's.
    Allocated,
    /// Given back by its owner, but a stream may still use it.
    PendingFree,
    /// Free.
    Inactive,
}

/// Segments at the end: what the driver handed out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    /// Number of the device, as the program counts.
    pub device: Vec<u32>,
    /// First byte.
    pub address: Vec<u64>,
    /// Size.
    pub size: Vec<u64>,
    /// Of it, tensors'. As the allocator itself counts, which blocks may not show in full.
    pub allocated: Vec<u64>,
    /// Of it, tensors' and what streams still use.
    pub active: Vec<u64>,
    /// Of it, what tensors asked for, before rounding.
    pub requested: Vec<u64>,
    /// It can grow (`expandable_segments`).
    pub expandable: Vec<bool>,
    /// Its blocks, as rows of [`MemorySnapshot::blocks`].
    pub blocks: Vec<Range<u32>>,
}

impl Segments {
    /// Segments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.address.len()
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.address.is_empty()
    }
}

/// Blocks at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// First byte.
    pub address: Vec<u64>,
    /// Size.
    pub size: Vec<u64>,
    /// What was asked for.
    pub requested: Vec<u64>,
    /// What it is.
    pub state: Vec<BlockState>,
    /// Who asked for it, as a row of [`MemorySnapshot::stacks`].
    pub stack: Vec<u32>,
}

/// What the allocator did, in the order of the file: a device's events are together and oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocatorEvents {
    /// What.
    pub action: Vec<AllocatorAction>,
    /// First byte; of [`AllocatorAction::OutOfMemory`] the bytes that the device had free.
    pub address: Vec<u64>,
    /// Bytes, as an index into `sizes`: of tensors what was asked for, of segments their size.
    pub size: Vec<u32>,
    /// Distinct sizes.
    pub sizes: Vec<u64>,
    /// When.
    pub times: Times,
    /// Who asked for it, as a row of [`MemorySnapshot::stacks`].
    pub stack: Vec<u32>,
}

/// Times of events in four bytes each: µs since a base that holds from some row on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// µs since the base.
    since: Vec<u32>,
    /// The first row of each base, and its time, µs of Unix time.
    bases: Vec<(u32, i64)>,
}

impl Times {
    /// Adds a time, µs of Unix time.
    pub fn push(&mut self, us: i64) {
        let since = self.bases.last().and_then(|&(_, base)| u32::try_from(us.checked_sub(base)?).ok());
        let since = since.unwrap_or_else(|| {
            self.bases.push((u32::try_from(self.since.len()).unwrap_or(u32::MAX), us));
            0
        });
        self.since.push(since);
    }

    /// The time of a row, ns of Unix time.
    #[must_use]
    pub fn ns(&self, row: usize) -> i64 {
        let base = self.bases.partition_point(|&(from, _)| from as usize <= row) - 1;
        self.bases[base].1.saturating_add(i64::from(self.since[row])).saturating_mul(1000)
    }
}

impl AllocatorEvents {
    /// When an event was, ns of Unix time.
    #[must_use]
    pub fn time(&self, row: usize) -> i64 {
        self.times.ns(row)
    }

    /// Events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.action.len()
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.action.is_empty()
    }

    /// Bytes of an event.
    #[must_use]
    pub fn bytes(&self, row: usize) -> u64 {
        self.sizes[self.size[row] as usize]
    }
}

/// Distinct stacks as runs of frames, the innermost frame first. The first is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryStacks {
    /// Distinct frames.
    pub frames: Vec<Frame>,
    /// Frames of all stacks, one stack after the other, as rows of `frames`.
    pub members: Vec<u32>,
    /// Where each stack ends in `members`.
    pub ends: Vec<u32>,
}

impl Default for MemoryStacks {
    fn default() -> Self {
        Self { frames: Vec::new(), members: Vec::new(), ends: vec![0] }
    }
}

impl MemoryStacks {
    /// Stacks, the empty one included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never true: the empty stack is always there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Frames of a stack, the innermost first.
    pub fn get(&self, stack: u32) -> impl DoubleEndedIterator<Item = &Frame> {
        let row = stack as usize;
        let from = if row == 0 { 0 } else { self.ends[row - 1] };
        self.members[from as usize..self.ends[row] as usize].iter().map(|&frame| &self.frames[frame as usize])
    }
}

/// How the allocator was set up, as far as it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocatorSettings {
    /// The settings are in the file at all.
    pub known: bool,
    /// `PYTORCH_CUDA_ALLOC_CONF`, as it was given.
    pub text: String,
    /// `expandable_segments`.
    pub expandable: bool,
    /// `max_split_size`, bytes; `None` where there is no limit.
    pub max_split: Option<u64>,
    /// Sizes are rounded up to parts of powers of two (`roundup_power2_divisions`).
    pub rounds_up: bool,
}

/// A mark that the program or its profiler set (`ProfilerStep#3`, `Optimizer.step#AdamW.step`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryMark {
    /// Its name.
    pub name: String,
    /// The device that it was set for.
    pub device: u32,
    /// When it began, ns of Unix time.
    pub time: i64,
}

/// A snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemorySnapshot {
    /// Names.
    pub names: Interner,
    /// Segments.
    pub segments: Segments,
    /// Blocks.
    pub blocks: Blocks,
    /// The history of all devices.
    pub events: AllocatorEvents,
    /// Per device, its rows of `events` in order.
    pub histories: Vec<Vec<Range<u32>>>,
    /// Stacks.
    pub stacks: MemoryStacks,
    /// Settings.
    pub settings: AllocatorSettings,
    /// Marks, in order.
    pub marks: Vec<MemoryMark>,
    /// What was wrong with the input.
    pub notes: ImportNotes,
}

impl MemorySnapshot {
    /// Rows of a device's history, oldest first.
    pub fn history(&self, device: u32) -> impl Iterator<Item = usize> + Clone {
        let ranges = self.histories.get(device as usize).map_or(&[][..], Vec::as_slice);
        ranges.iter().flat_map(|range| range.start as usize..range.end as usize)
    }

    /// Devices that hold memory or have a history, ascending.
    #[must_use]
    pub fn devices(&self) -> Vec<u32> {
        let with_history = self.histories.iter().enumerate().filter(|(_, ranges)| !ranges.is_empty());
        let mut devices: Vec<u32> =
            with_history.filter_map(|(device, _)| u32::try_from(device).ok()).collect();
        devices.extend(&self.segments.device);
        devices.sort_unstable();
        devices.dedup();
        devices
    }
}

/// A figure of `torch.cuda.memory_summary()`: now, most ever, handed out and given back since the start.
///
/// Bytes are rounded down to the unit that the table prints, KiB to PiB by the size of the row's first figure; counts
/// likewise to thousands or millions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SummaryRow {
    /// Now.
    pub current: u64,
    /// Most ever.
    pub peak: u64,
    /// Handed out since the start.
    pub allocated: u64,
    /// Given back since the start.
    pub freed: u64,
    /// What the coarsest of the four is rounded down to.
    pub unit: u64,
}

/// What `torch.cuda.memory_summary()` prints of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemorySummary {
    /// Number of the device.
    pub device: u32,
    /// Allocations that failed.
    pub out_of_memory: u64,
    /// `cudaMalloc` was tried again after giving back what was cached.
    pub retries: u64,
    /// Bytes in tensors.
    pub allocated: Option<SummaryRow>,
    /// Bytes in tensors and in blocks that streams still use.
    pub active: Option<SummaryRow>,
    /// Bytes that tensors asked for.
    pub requested: Option<SummaryRow>,
    /// Bytes held from the driver.
    pub reserved: Option<SummaryRow>,
    /// Free bytes in segments that are partly in use: they cannot be given back.
    pub non_releasable: Option<SummaryRow>,
    /// Segments.
    pub segments: Option<SummaryRow>,
    /// What was wrong with the input.
    pub notes: ImportNotes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_kept_whatever_their_order() {
        let given = [1_760_000_000_000_000, 1_760_000_000_000_007, 5, i64::MAX / 1000, -3, -2, 1 << 40];
        let mut times = Times::default();
        given.iter().for_each(|&us| times.push(us));
        for (row, us) in given.into_iter().enumerate() {
            assert_eq!(times.ns(row), us * 1000);
        }
        assert_eq!(times.bases.len(), 5);
    }
}
