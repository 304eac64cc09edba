//! What was allocated and reserved over time, in so many stretches of equal length, each with its least and its most.

/// A stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Its start, ns of Unix time.
    pub start: i64,
    /// Least allocated in it, bytes.
    pub low: u64,
    /// Most allocated in it, bytes.
    pub high: u64,
    /// Most reserved in it, bytes.
    pub reserved: u64,
}

/// Collects a timeline.
pub(super) struct Timeline {
    from: i64,
    length: i64,
    stretches: Vec<Option<Stretch>>,
}

impl Timeline {
    pub(super) fn new(from: i64, until: i64, count: usize) -> Self {
        let count = count.max(1);
        let length = until.saturating_sub(from) / i64::try_from(count).unwrap_or(1) + 1;
        Self { from, length, stretches: vec![None; count] }
    }

    /// At `time` so much was allocated and reserved. Times out of order count where they belong.
    pub(super) fn add(&mut self, time: i64, allocated: u64, reserved: u64) {
        let last = self.stretches.len() - 1;
        let at = usize::try_from(time.saturating_sub(self.from) / self.length).unwrap_or(0).min(last);
        let start = self.from + self.length * at as i64;
        let stretch =
            self.stretches[at].get_or_insert(Stretch { start, low: allocated, high: allocated, reserved });
        stretch.low = stretch.low.min(allocated);
        stretch.high = stretch.high.max(allocated);
        stretch.reserved = stretch.reserved.max(reserved);
    }

    /// The stretches in which something happened.
    pub(super) fn finish(self) -> Vec<Stretch> {
        self.stretches.into_iter().flatten().collect()
    }
}
