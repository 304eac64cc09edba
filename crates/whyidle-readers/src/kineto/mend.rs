//! What to do with an event that is no JSON: find where the next one begins, and mend
//! this one if only its text is at fault.
//!
//! The profiler has written names with unescaped quotes, backslashes, line breaks and
//! bytes of other encodings, and numbers such as `nan`. All of it happens inside
//! values, so the frame of keys around them still tells where a string was meant to end.

use std::borrow::Cow;

/// Keys that an event may begin with, or that may follow a name.
const EVENT_KEYS: [&[u8]; 11] =
    [b"ph", b"cat", b"name", b"pid", b"tid", b"ts", b"dur", b"args", b"id", b"s", b"bp"];

/// Keys of the outermost object that may follow the list of events.
const HEADER_KEYS: [&[u8]; 7] = [
    b"traceName",
    b"displayTimeUnit",
    b"baseTimeNanoseconds",
    b"schemaVersion",
    b"deviceProperties",
    b"distributedInfo",
    b"traceEvents",
];

/// Where the damaged event at the start of `bytes` ends: before the comma and the start of
/// the next one, or before the end of the list. `all`: no more bytes will come.
pub(crate) fn event_end(bytes: &[u8], all: bool) -> Option<usize> {
    let ends = memchr::memchr2_iter(b'{', b']', bytes).filter(|&at| at > 0).find_map(|bracket| {
        let before = bytes[..bracket].trim_ascii_end();
        let after = &bytes[bracket + 1..];
        if bytes[bracket] == b'{' {
            let event = before.strip_suffix(b",")?.trim_ascii_end();
            starts_member(after, &EVENT_KEYS).then_some(event.len())
        } else {
            (before.ends_with(b"}") && ends_list(after, all)).then_some(before.len())
        }
    });
    if ends.is_some() || !all {
        return ends;
    }
    // At the end of the file any list of objects will do.
    memchr::memrchr_iter(b']', bytes).find_map(|bracket| {
        let before = bytes[..bracket].trim_ascii_end();
        before.ends_with(b"}").then_some(before.len())
    })
}

/// Where the next event begins in `bytes`, which begin with something else.
pub(crate) fn event_start(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'{', bytes).find(|&at| starts_member(&bytes[at + 1..], &EVENT_KEYS))
}

/// Whether `bytes` begin with one of `keys` as a key.
fn starts_member(bytes: &[u8], keys: &[&[u8]]) -> bool {
    let Some(text) = bytes.trim_ascii_start().strip_prefix(b"\"") else { return false };
    keys.iter().any(|key| {
        text.strip_prefix(*key)
            .and_then(|text| text.strip_prefix(b"\""))
            .is_some_and(|text| text.trim_ascii_start().starts_with(b":"))
    })
}

/// Whether `bytes` may follow the bracket that closes the list of events.
fn ends_list(bytes: &[u8], all: bool) -> bool {
    match bytes.trim_ascii_start() {
        [] => all,
        [b'}', rest @ ..] => all && rest.trim_ascii_start().is_empty(),
        [b',', rest @ ..] => starts_member(rest, &HEADER_KEYS),
        _ => false,
    }
}

/// A mended event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mended {
    /// JSON, as far as it could be mended.
    pub(crate) json: Vec<u8>,
    /// A string held something that had to be escaped.
    pub(crate) strings: bool,
    /// Bytes that were no UTF-8 were replaced.
    pub(crate) utf8: bool,
}

/// Mends the text of one event: escapes what strings must not hold, and replaces words
/// that are no JSON (`nan`, `inf`) by `null`. `None` where a string has no end.
pub(crate) fn mended(event: &[u8]) -> Option<Mended> {
    let text = String::from_utf8_lossy(event);
    let utf8 = matches!(text, Cow::Owned(_));
    let bytes = text.as_bytes();
    let mut json = Vec::with_capacity(bytes.len() + 16);
    let mut strings = false;
    // Open brackets, and whether a key is expected.
    let (mut open, mut key): (Vec<u8>, bool) = (Vec::new(), false);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let place = if key { Place::Key } else { Place::of(open.last()) };
                let end = closing_quote(bytes, at + 1, place)?;
                strings |= push_string(&mut json, &bytes[at + 1..end]);
                at = end;
            }
            b'a'..=b'z' | b'A'..=b'Z' => {
                let word = &bytes[at..];
                let word =
                    &word[..word.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(word.len())];
                if json.last() == Some(&b'-') {
                    json.pop();
                }
                let known = matches!(word, b"true" | b"false" | b"null");
                json.extend_from_slice(if known { word } else { b"null" });
                at += word.len() - 1;
            }
            b'0'..=b'9' => {
                // A whole number at once: the `e` of an exponent is no word.
                let number = &bytes[at..];
                let number = &number[..number
                    .iter()
                    .position(|b| !matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
                    .unwrap_or(number.len())];
                json.extend_from_slice(number);
                at += number.len() - 1;
            }
            _ => {
                match byte {
                    b'{' | b'[' => open.push(byte),
                    b'}' | b']' => drop(open.pop()),
                    _ => {}
                }
                key = match byte {
                    b'{' => true,
                    b',' => open.last() == Some(&b'{'),
                    _ if byte.is_ascii_whitespace() => key,
                    _ => false,
                };
                json.push(byte);
            }
        }
        at += 1;
    }
    Some(Mended { json, strings, utf8 })
}

/// What a string is, which tells what may follow it.
#[derive(Clone, Copy)]
enum Place {
    Key,
    InObject,
    InList,
}

impl Place {
    fn of(bracket: Option<&u8>) -> Self {
        if bracket == Some(&b'[') { Self::InList } else { Self::InObject }
    }
}

/// The quote that was meant to close the string whose text begins at `from`.
fn closing_quote(bytes: &[u8], from: usize, place: Place) -> Option<usize> {
    let mut escaped = false;
    for at in from..bytes.len() {
        match bytes[at] {
            b'"' => {
                let rest = bytes[at + 1..].trim_ascii_start();
                // After a backslash that was never meant as an escape, only a key that
                // is known makes this the end.
                if (!escaped && may_follow(rest, place))
                    || (escaped
                        && rest.strip_prefix(b",").is_some_and(|rest| starts_member(rest, &EVENT_KEYS)))
                {
                    return Some(at);
                }
                escaped = false;
            }
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

fn may_follow(rest: &[u8], place: Place) -> bool {
    match (place, rest) {
        (_, []) | (Place::Key, [b':', ..]) | (Place::InObject, [b'}', ..]) | (Place::InList, [b']', ..]) => {
            true
        }
        (Place::InObject, [b',', rest @ ..]) => starts_any_member(rest),
        (Place::InList, [b',', rest @ ..]) => rest
            .trim_ascii_start()
            .first()
            .is_some_and(|b| matches!(b, b'"' | b'[' | b'{' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')),
        _ => false,
    }
}

/// Whether `bytes` begin with a key of any name (without quotes in it).
fn starts_any_member(bytes: &[u8]) -> bool {
    let Some(text) = bytes.trim_ascii_start().strip_prefix(b"\"") else { return false };
    let Some(end) = memchr::memchr(b'"', text) else { return false };
    text[end + 1..].trim_ascii_start().starts_with(b":")
}

/// Appends a string with everything escaped that must be; true if something had to be.
fn push_string(json: &mut Vec<u8>, text: &[u8]) -> bool {
    json.push(b'"');
    let start = json.len();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' => {
                let length = escape_length(&text[at..]);
                if length > 0 {
                    json.extend_from_slice(&text[at..at + length]);
                    at += length;
                    continue;
                }
                json.extend_from_slice(b"\\\\");
            }
            b'"' => json.extend_from_slice(b"\\\""),
            b'\n' => json.extend_from_slice(b"\\n"),
            0..b' ' => json.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => json.push(byte),
        }
        at += 1;
    }
    let changed = json.len() - start != text.len();
    json.push(b'"');
    changed
}

/// Length of the escape at the start of `text`; 0: it is none.
fn escape_length(text: &[u8]) -> usize {
    match text {
        [_, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
        [_, b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|b| b.is_ascii_hexdigit()) => 6,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mend(text: &str) -> String {
        mended(text.as_bytes()).map_or_else(String::new, |m| String::from_utf8(m.json).unwrap_or_default())
    }

    #[test]
    fn names_are_escaped_up_to_the_quote_that_was_meant() {
        for (broken, whole) in [
            (r#"{"name": "a"b", "pid": 1}"#, r#"{"name": "a\"b", "pid": 1}"#),
            (r#"{"name": "C:\path", "pid": 1}"#, r#"{"name": "C:\\path", "pid": 1}"#),
            (r#"{"name": "dir\", "pid": 1}"#, r#"{"name": "dir\\", "pid": 1}"#),
            (r#"{"name": "say "hi", twice", "pid": 1}"#, r#"{"name": "say \"hi\", twice", "pid": 1}"#),
            (r#"{"name": "f("x"): y", "ts": 1}"#, r#"{"name": "f(\"x\"): y", "ts": 1}"#),
            ("{\"name\": \"a\nb\tc\"}", r#"{"name": "a\nb\u0009c"}"#),
            (
                r#"{"args": {"Concrete Inputs": ["a"b", "c"]}}"#,
                r#"{"args": {"Concrete Inputs": ["a\"b", "c"]}}"#,
            ),
            (
                r#"{"a": nan, "b": -inf, "c": Infinity, "d": true, "e": 1e5}"#,
                r#"{"a": null, "b": null, "c": null, "d": true, "e": 1e5}"#,
            ),
            (r#"{"name": "\u00e9\q"}"#, r#"{"name": "\u00e9\\q"}"#),
        ] {
            assert_eq!(mend(broken), whole);
        }
        assert_eq!(mended(b"{\"name\": \"endless"), None);
        let latin = mended(b"{\"name\": \"caf\xe9\"}");
        assert!(latin.is_some_and(|m| m.utf8 && !m.strings));
    }

    #[test]
    fn the_next_event_is_found() {
        fn end(text: &str) -> Option<&str> {
            event_end(text.as_bytes(), true).map(|end| &text[..end])
        }
        assert_eq!(end(r#"{"name": "a"b"} , {"ph": "X"}"#), Some(r#"{"name": "a"b"}"#));
        assert_eq!(
            end(r#"{"a": [{"x": 1}, {"y": 2}], "b" 3}, {"name": 1"#),
            Some(r#"{"a": [{"x": 1}, {"y": 2}], "b" 3}"#)
        );
        assert_eq!(end("{\"a\" 1}\n], \"traceName\": 1}"), Some("{\"a\" 1}"));
        assert_eq!(end("{\"a\" 1}]}\n"), Some("{\"a\" 1}"));
        assert_eq!(end("{\"a\" 1}]"), Some("{\"a\" 1}"));
        assert_eq!(end("{\"a\" 1"), None);
        assert_eq!(event_end(b"{\"a\" 1}]", false), None);
        assert_eq!(event_start(b"}, [ {\"x\": 1}, {\"ts\" : 1"), Some(15));
    }
}
