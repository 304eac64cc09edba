//! Damage to files and requests, the same every time. Tests of other crates take it from here.

/// A small generator: the same damage every time.
pub(crate) struct Dice(pub(crate) u64);

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

pub(crate) fn damage(dice: &mut Dice, seed: &[u8]) -> Vec<u8> {
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
