//! Step times that were recorded of a real program, and chance that comes out the same every time.

use std::path::Path;

/// Recordings: a small network on two CPU cores on which others compiled all the time.
pub(crate) const RECORDINGS: [&str; 2] = ["noise_shared_cpu.txt", "noise_shared_cpu_later.txt"];

/// Step times of a recording, ns.
pub(crate) fn recording(name: &str) -> Vec<i64> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| line.parse::<i64>().unwrap() * 1_000).collect()
}

/// A small generator: the same experiments every time.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below
    }
}
