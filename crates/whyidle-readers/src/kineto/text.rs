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

/// The symbol of a JSON string; [`Sym::EMPTY`] where `raw` is none, or too long.
pub(crate) fn intern_text(names: &mut Interner, raw: &[u8]) -> Sym {
    if raw.len() > MAX_TEXT {
        return Sym::EMPTY;
    }
    text(raw).map_or(Sym::EMPTY, |text| names.intern(&text))
}

/// The symbol of a value's JSON text without the white space between its tokens.
pub(crate) fn intern_compact(names: &mut Interner, raw: &[u8]) -> Sym {
    if raw.is_empty() || raw.len() > MAX_TEXT {
        return Sym::EMPTY;
    }
    let compact = compact(raw);
    names.intern(&String::from_utf8_lossy(&compact))
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
