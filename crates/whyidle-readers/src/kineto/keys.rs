//! Which key comes next: events of one kind have the same keys in the same order, so the
//! key that followed last time is tried first, sixteen bytes at once.

use super::strings::string_end;

/// Keys that are remembered; more than any trace uses.
const SEEN: usize = 96;
/// Contexts (sorts of events) that have an order of their own.
const CONTEXTS: usize = 16;

/// A key that was met, and what it stands for.
struct Seen<M> {
    /// The key in quotes, and the colon.
    text: Box<[u8]>,
    /// Its first sixteen bytes and which of them count.
    first: [u64; 2],
    mask: [u64; 2],
    member: Option<M>,
}

/// Finds keys.
pub(crate) struct Keys<M> {
    seen: Vec<Seen<M>>,
    /// By context and key: the key that followed it last.
    follows: Vec<u8>,
    by_key: fn(&[u8]) -> Option<M>,
}

/// A key that was found.
#[derive(Clone, Copy)]
pub(crate) struct Found<M> {
    /// What it stands for.
    pub(crate) member: Option<M>,
    /// Its number, by which the next one is found.
    pub(crate) id: u8,
    /// Just behind its colon.
    pub(crate) end: usize,
}

impl<M: Copy> Keys<M> {
    /// Keys that mean what `by_key` says.
    pub(crate) fn new(by_key: fn(&[u8]) -> Option<M>) -> Self {
        // Number 0 stands before the first key, and for keys that are not remembered.
        let none = Seen { text: Box::default(), first: [0, 1], mask: [0; 2], member: None };
        Self { seen: vec![none], follows: vec![0; CONTEXTS * SEEN], by_key }
    }

    /// The key at `at`, where one must be, after the key with number `before`.
    #[inline(always)]
    pub(crate) fn find(&mut self, bytes: &[u8], at: usize, context: u8, before: u8) -> Option<Found<M>> {
        let place = usize::from(context) % CONTEXTS * SEEN + usize::from(before);
        let id = *self.follows.get(place)?;
        let seen = self.seen.get(usize::from(id))?;
        let here = bytes.get(at..)?.first_chunk::<16>()?;
        let (low, high) = here.split_at(8);
        let low = u64::from_le_bytes(*low.first_chunk()?);
        let high = u64::from_le_bytes(*high.first_chunk()?);
        if low & seen.mask[0] == seen.first[0] && high & seen.mask[1] == seen.first[1] {
            let n = seen.text.len();
            if n <= 16 || bytes.get(at + 16..at + n) == seen.text.get(16..) {
                return Some(Found { member: seen.member, id, end: at + n });
            }
        }
        self.look_up(bytes, at, place)
    }

    #[cold]
    fn look_up(&mut self, bytes: &[u8], at: usize, place: usize) -> Option<Found<M>> {
        if bytes[at] != b'"' {
            return None;
        }
        let end = string_end(bytes, at + 1)?;
        let colon = super::fast::blank_end(bytes, end.quote + 1)?;
        if end.escapes || bytes[colon] != b':' {
            return None;
        }
        let key = &bytes[at + 1..end.quote];
        let known = self
            .seen
            .iter()
            .position(|seen| seen.text.len() == key.len() + 3 && seen.text[1..].starts_with(key));
        let id = known.unwrap_or_else(|| self.remember(key));
        let member = if id > 0 { self.seen[id].member } else { (self.by_key)(key) };
        // Fewer than 256 keys are remembered.
        let id = id as u8;
        self.follows[place] = id;
        Some(Found { member, id, end: colon + 1 })
    }

    /// The number of a new key, or 0.
    fn remember(&mut self, key: &[u8]) -> usize {
        if self.seen.len() == SEEN {
            return 0;
        }
        let text = [b"\"", key, b"\":"].concat();
        let (mut first, mut mask) = ([0; 2], [0; 2]);
        for (at, &byte) in text.iter().take(16).enumerate() {
            first[at / 8] |= u64::from(byte) << (at % 8 * 8);
            mask[at / 8] |= 0xff << (at % 8 * 8);
        }
        self.seen.push(Seen { text: text.into(), first, mask, member: (self.by_key)(key) });
        self.seen.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_whether_expected_or_not() {
        let mut keys = Keys::new(|key| (key.len() != 3).then_some(key.len()));
        let long = "\"a key of more than sixteen bytes\": 1                ";
        let other = "\"a key of more than sixteen bites\": 1                ";
        for _ in 0..3 {
            for (text, member, end) in [
                ("\"ph\": 1                ", Some(2), 5),
                ("\"cat\"  : 1               ", None, 8),
                (long, Some(32), 35),
                (other, Some(32), 35),
                ("\"\":1                   ", Some(0), 3),
            ] {
                let found = keys.find(text.as_bytes(), 0, 3, 0).map(|found| (found.member, found.end));
                assert_eq!(found, Some((member, end)), "{text}");
            }
        }
        for text in [
            "\"a\\\"b\": 1                ",
            "{\"a\": 1                ",
            "\"ph\"; 1                ",
            "\"ph\": ",
        ] {
            assert!(keys.find(text.as_bytes(), 0, 3, 0).is_none());
        }
        for n in 0..1000 {
            let text = format!("\"key {n}\": 1                ");
            assert!(
                keys.find(text.as_bytes(), 0, 3, 0)
                    .is_some_and(|found| found.end == text.trim_end().len() - 2)
            );
        }
    }
}
