//! From the JSON text of a value to an interned name.

use std::borrow::Cow;

use whyidle_model::{Interner, Sym};

/// Longer text is not kept: no name needs it, and memory stays bounded.
pub(crate) const MAX_TEXT: usize = 1 << 16;

/// What a JSON string says; `None` where `raw` is no string. Bytes that are no UTF-8 and
/// halves of surrogate pairs become U+FFFD.
pub(crate) fn text(raw: &[u8]) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', inner).is_none() {
        return Some(String::from_utf8_lossy(inner));
    }
    let raw = String::from_utf8_lossy(raw);
    Some(Cow::Owned(match serde_json::from_str(&raw) {
        Ok(text) => text,
        Err(_) => raw[1..raw.len() - 1].replace('\\', "\u{fffd}"),
    }))
}

/// Longer lists are not remembered.
const MAX_REMEMBERED: usize = 1 << 10;

/// Remembered texts of either sort; a power of two.
const SLOTS: usize = 1 << 12;

/// Symbols of texts seen lately, by their JSON text: most events repeat one of a few
/// thousand names, which need neither be decoded nor hashed byte by byte again.
pub(crate) struct Symbols {
    /// Strings without escapes: their symbol alone, whose name is their text.
    plain: Vec<Sym>,
    /// Lists, as they are written.
    compact: Vec<(Box<[u8]>, Sym)>,
}

impl Default for Symbols {
    fn default() -> Self {
        Self { plain: vec![Sym::EMPTY; SLOTS], compact: vec![(Box::default(), Sym::EMPTY); SLOTS] }
    }
}

impl Symbols {
    /// The symbol of a JSON string; [`Sym::EMPTY`] where `raw` is none, or too long.
    #[inline]
    pub(crate) fn text(&mut self, names: &mut Interner, raw: &[u8]) -> Sym {
        let [b'"', inner @ .., b'"'] = raw else { return Sym::EMPTY };
        let slot = &mut self.plain[slot_of(inner)];
        // A remembered name holds no backslash, so text that equals it has no escapes.
        if names.get(*slot).as_bytes() == inner {
            return *slot;
        }
        if inner.len() > MAX_TEXT {
            return Sym::EMPTY;
        }
        let sym = text(raw).map_or(Sym::EMPTY, |text| names.intern(&text));
        if memchr::memchr(b'\\', inner).is_none() {
            *slot = sym;
        }
        sym
    }

    /// The symbol of a value's JSON text without the white space between its tokens.
    #[inline]
    pub(crate) fn compact(&mut self, names: &mut Interner, raw: &[u8]) -> Sym {
        if raw.is_empty() || raw.len() > MAX_TEXT {
            return Sym::EMPTY;
        }
        let (known, sym) = &mut self.compact[slot_of(raw)];
        if **known == *raw {
            return *sym;
        }
        let new = names.intern(&String::from_utf8_lossy(&compact(raw)));
        if raw.len() <= MAX_REMEMBERED {
            (*known, *sym) = (raw.into(), new);
        }
        new
    }
}

/// A slot from the length, the first, the last and two middle stretches of a text.
#[inline]
fn slot_of(text: &[u8]) -> usize {
    let eight = |at: usize| {
        let bytes = text.get(at..).and_then(|t| t.first_chunk::<8>());
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    };
    let n = text.len();
    let mut hash = n as u64;
    if n < 8 {
        for &byte in text {
            hash = hash << 8 | u64::from(byte);
        }
    }
    for part in [eight(0), eight(n / 3), eight(n / 3 * 2), eight(n.saturating_sub(8))] {
        hash = (hash.rotate_left(5) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    (hash >> 52) as usize % SLOTS
}

/// JSON without the white space between its tokens.
pub(crate) fn compact(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let (mut in_string, mut escaped) = (false, false);
    for &byte in raw {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if byte.is_ascii_whitespace() {
            continue;
        } else {
            in_string = byte == b'"';
        }
        out.push(byte);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_decoded() {
        assert_eq!(text(b"\"aten::mm\"").as_deref(), Some("aten::mm"));
        assert_eq!(text(br#""a\"b\\c\u00e9\n""#).as_deref(), Some("a\"b\\cé\n"));
        assert_eq!(text(br#""lone \ud800 half""#).as_deref(), Some("lone \u{fffd}ud800 half"));
        assert_eq!(text(b"\"caf\xe9\"").as_deref(), Some("caf\u{fffd}"));
        assert_eq!(text(b"12"), None);
        assert_eq!(text(b""), None);
        assert_eq!(text(b"\""), None);
    }

    #[test]
    fn white_space_goes_but_not_inside_strings() {
        assert_eq!(compact(b"[[16, 1024],\n []]"), b"[[16,1024],[]]");
        assert_eq!(compact(br#"["long int", "a\" b"]"#), br#"["long int","a\" b"]"#);
    }
}
