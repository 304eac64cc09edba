//! Ten thousand damaged traces: none may panic, hang, or take more memory than it should.

use std::time::{Duration, Instant};

use super::{CURRENT, LIST, OF_2021, read};

/// A small generator: the same damage every time.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below.max(1)
    }
}

/// Words that damage is made of.
const WORDS: [&[u8]; 24] = [
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"null",
    b"NaN",
    b"-1",
    b"1e999",
    b"\xff",
    b"\0",
    b"\n",
    b"99999999999999999999999",
    b"\"ts\": ",
    b"\"dur\": -1",
    b"\"ph\": \"X\"",
    b"},{\"ph\":\"X\"",
    b"\\u12",
    b"/",
    b"\"traceEvents\": [",
    b"                                ",
];

pub(super) fn damage(dice: &mut Dice, seed: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(bytes.len());
        let to = (at + 1 + dice.roll(40)).min(bytes.len());
        match dice.roll(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.roll(8),
            1 if at < bytes.len() => bytes[at] = dice.roll(256) as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..to)),
            4 => {
                let copied = bytes[at..to].to_vec();
                let place = dice.roll(bytes.len());
                bytes.splice(place..place, copied);
            }
            _ => {
                let word = WORDS[dice.roll(WORDS.len())];
                // In place of a value, or in between.
                let end = if dice.roll(2) == 0 { at } else { (at + word.len()).min(bytes.len()) };
                bytes.splice(at..end, word.iter().copied());
            }
        }
    }
    bytes
}

#[test]
fn damaged_traces_are_read_or_refused() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let start = Instant::now();
    let (mut read_well, mut refused) = (0, 0);
    // The long seed is worth fewer turns: it is as many events again each time.
    let seeds = [LIST, OF_2021, LIST, OF_2021, LIST, OF_2021, LIST, OF_2021, CURRENT];
    for turn in 0..12_000 {
        let seed = seeds[turn % seeds.len()];
        let bytes = damage(&mut dice, seed);
        let before = Instant::now();
        match read(&bytes) {
            Ok(trace) => {
                read_well += 1;
                let rows = trace.host.len() + trace.gpu.len() + trace.syncs.len() + trace.memory.time.len();
                assert!(rows as u64 <= trace.events && trace.events <= bytes.len() as u64);
                let text: usize = trace.names.map(str::len).iter().sum();
                // A byte that is no UTF-8 takes three.
                assert!(text <= 3 * bytes.len());
            }
            Err(error) => {
                refused += 1;
                assert!(!error.args().is_empty());
            }
        }
        assert!(before.elapsed() < Duration::from_secs(5), "turn {turn} hangs");
    }
    assert!(
        read_well > 6_000 && refused > 100,
        "{read_well} read, {refused} refused in {:?}",
        start.elapsed()
    );
}
