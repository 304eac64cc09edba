//! The reference parser: serde_json finds where an event ends and which members it has.
//! Slow and plainly right; the fast parser is checked against it, and falls back to it.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::event::{Arg, Args, Event, Member};

/// What was found at the start of a stretch of bytes.
#[derive(Debug, PartialEq)]
pub(crate) enum Parsed<T> {
    /// A value, and how many bytes it takes.
    Value(T, usize),
    /// The value does not end within these bytes.
    Incomplete,
    /// No JSON from about this byte on.
    Broken(usize),
}

/// The event at the start of `bytes`.
pub(crate) fn event(bytes: &[u8]) -> Parsed<(Event<'_>, Args<'_>)> {
    match value::<Members<'_>>(bytes) {
        Parsed::Value(members, used) => {
            let (mut event, mut args) = (Event::default(), Args::default());
            for (key, raw) in &members.0 {
                let Some(member) = Member::by_key(key.as_bytes()) else { continue };
                event[member] = raw.get().as_bytes();
                if member == Member::Args {
                    // Arguments that are no object are no arguments.
                    let inner = serde_json::from_str::<Members<'_>>(raw.get());
                    for (key, raw) in inner.iter().flat_map(|members| &members.0) {
                        if let Some(arg) = Arg::by_key(key.as_bytes()) {
                            args[arg] = raw.get().as_bytes();
                        }
                    }
                }
            }
            Parsed::Value((event, args), used)
        }
        Parsed::Incomplete => Parsed::Incomplete,
        Parsed::Broken(at) => Parsed::Broken(at),
    }
}

/// The JSON text of the value at the start of `bytes`.
pub(crate) fn raw(bytes: &[u8]) -> Parsed<&[u8]> {
    match value::<&RawValue>(bytes) {
        Parsed::Value(raw, used) => Parsed::Value(raw.get().as_bytes(), used),
        Parsed::Incomplete => Parsed::Incomplete,
        Parsed::Broken(at) => Parsed::Broken(at),
    }
}

fn value<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Parsed<T> {
    let mut stream = serde_json::Deserializer::from_slice(bytes).into_iter::<T>();
    match stream.next() {
        Some(Ok(value)) => Parsed::Value(value, stream.byte_offset()),
        None => Parsed::Incomplete,
        Some(Err(error)) if error.is_eof() => Parsed::Incomplete,
        // A number cut after its point or sign is called invalid, not cut.
        Some(Err(error)) => match byte_of(bytes, &error) {
            at if at + 1 >= bytes.len() => Parsed::Incomplete,
            at => Parsed::Broken(at),
        },
    }
}

/// Where in `bytes` an error was met.
fn byte_of(bytes: &[u8], error: &serde_json::Error) -> usize {
    let before: usize =
        bytes.split_inclusive(|&b| b == b'\n').take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    (before + error.column().saturating_sub(1)).min(bytes.len())
}

/// The members of an object in their order, values as text.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(Key(key)) = map.next_key()? {
            members.push((key, map.next_value()?));
        }
        Ok(Members(members))
    }
}

/// A key, borrowed unless it holds escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_in_any_order_last_one_counts() {
        let bytes = br#"{"args": {"correlation": 5, "x": [1]}, "ts": 1.50, "ph":"X", "ts": "2" } , {"#;
        let Parsed::Value((event, args), used) = event(bytes) else { panic!() };
        assert_eq!(
            (event[Member::Ts], event[Member::Ph], event[Member::Dur], args[Arg::Correlation]),
            (&b"\"2\""[..], &b"\"X\""[..], &b""[..], &b"5"[..])
        );
        assert_eq!(&bytes[used..], b" , {");
    }

    #[test]
    fn cut_and_broken_events() {
        assert_eq!(event(br#"{"ph": "X", "name": "ab"#), Parsed::Incomplete);
        assert_eq!(event(b""), Parsed::Incomplete);
        let whole = br#"{"a": -1.5e+3, "b": [true, null, "\u00e9\""]}"#;
        for end in 0..whole.len() {
            assert_eq!(event(&whole[..end]), Parsed::Incomplete, "cut at {end}");
        }
        assert_eq!(event(b"{\"ph\": \"X\",\n \"name\": \"a\"b\"}"), Parsed::Broken(24));
        assert!(matches!(event(b"{\"name\": \"a\nb\"}"), Parsed::Broken(_)));
        assert_eq!(raw(b"  [1, 2] ,"), Parsed::Value(&b"[1, 2]"[..], 8));
    }
}
