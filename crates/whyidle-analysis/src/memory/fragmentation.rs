//! Memory that the allocator holds and nobody uses: how it lies at the end, and where it was of no use when memory was
//! asked for.

use whyidle_model::{BlockState, MemorySnapshot};

/// An allocation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// When, ns of Unix time.
    pub time: i64,
    /// Bytes that were asked for, rounded up.
    pub bytes: u64,
    /// Bytes that the device had free then.
    pub device_free: u64,
    /// Allocated then.
    pub allocated: u64,
    /// Free bytes that the allocator held.
    pub cached: u64,
    /// Of them, what whole pages of an expandable segment would hold: these could have been moved elsewhere. At least.
    pub in_pages: u64,
    /// Who asked, as a stack.
    pub stack: u32,
}

impl Failure {
    /// The allocator held enough free bytes, but in pieces.
    #[must_use]
    pub fn is_fragmented(&self) -> bool {
        self.cached >= self.bytes
    }

    /// Expandable segments would have had room: they give pages that are wholly free back to the driver, and no others.
    #[must_use]
    pub(crate) fn is_for_expandable(&self) -> bool {
        self.is_fragmented() && self.in_pages.saturating_add(self.device_free) >= self.bytes
    }
}

/// Free memory that the allocator holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fragmentation {
    /// Free bytes at the end: reserved − active.
    pub cached: u64,
    /// Of them in segments that are wholly free: `empty_cache` would return these.
    pub releasable: u64,
    /// Of them between blocks in use: nobody can return these.
    pub split: u64,
    /// The largest free block at the end, bytes.
    pub largest_free: u64,
    /// Allocations that failed.
    pub failures: Vec<Failure>,
    /// Segments that came from the driver although as many bytes lay free in pieces.
    pub grew_while_free: u64,
    /// Bytes of them.
    pub grew_bytes: u64,
}

impl Fragmentation {
    /// What the end shows.
    pub(super) fn at_end(snapshot: &MemorySnapshot, device: u32) -> Self {
        let (segments, blocks) = (&snapshot.segments, &snapshot.blocks);
        let mut found = Self::default();
        for row in (0..segments.len()).filter(|&row| segments.device[row] == device) {
            let free = segments.size[row].saturating_sub(segments.active[row]);
            found.cached = found.cached.saturating_add(free);
            if segments.active[row] == 0 {
                found.releasable = found.releasable.saturating_add(free);
            } else {
                found.split = found.split.saturating_add(free);
            }
            let inactive = segments.blocks[row].clone().map(|block| block as usize);
            let inactive = inactive.filter(|&block| blocks.state[block] == BlockState::Inactive);
            let largest = inactive.map(|block| blocks.size[block]).max().unwrap_or(0);
            found.largest_free = found.largest_free.max(largest);
        }
        found
    }
}
