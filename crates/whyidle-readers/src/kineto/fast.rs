//! The fast parser: one pass over the bytes of an event.
//!
//! It accepts a part of JSON (values nested up to 63 deep, keys without escapes) and finds in
//! it exactly what [`reference`](super::reference) finds. Anything else is a surprise,
//! and so is the end of the bytes: then the reference decides.

use super::event::{Arg, Args, Event, Member};
use super::strings::{digits_end, string_end};

/// Fills `event` and `args` (both empty) from the object at the start of `bytes` and
/// returns how many bytes it takes; `None`: a surprise.
#[inline]
pub(crate) fn event<'a>(bytes: &'a [u8], event: &mut Event<'a>, args: &mut Args<'a>) -> Option<usize> {
    members(bytes, 0, |key, at| {
        let member = Member::by_key(key);
        let end = match member {
            Some(Member::Args) if bytes.get(at) == Some(&b'{') => members(bytes, at, |key, at| {
                let end = value_end(bytes, at)?;
                if let Some(arg) = Arg::by_key(key) {
                    args[arg] = &bytes[at..end];
                }
                Some(end)
            }),
            _ => value_end(bytes, at),
        }?;
        if let Some(member) = member {
            event[member] = &bytes[at..end];
        }
        Some(end)
    })
}

/// Where the next event begins after one that ended at `at`, if a comma alone is between them.
#[inline]
pub(crate) fn next_event(bytes: &[u8], at: usize) -> Option<usize> {
    let comma = blank_end(bytes, at)?;
    if bytes[comma] != b',' {
        return None;
    }
    let next = blank_end(bytes, comma + 1)?;
    (bytes[next] == b'{').then_some(next)
}

/// Walks the members of the object at `at`; `take` gets each key and where its value
/// begins, and returns where the value ends. Returns where the object ends.
#[inline(always)]
fn members<'a>(
    bytes: &'a [u8],
    at: usize,
    mut take: impl FnMut(&'a [u8], usize) -> Option<usize>,
) -> Option<usize> {
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    let mut at = blank_end(bytes, at + 1)?;
    if bytes[at] == b'}' {
        return Some(at + 1);
    }
    loop {
        let (key, value) = key(bytes, at)?;
        at = blank_end(bytes, take(key, value)?)?;
        match bytes[at] {
            b',' => at = blank_end(bytes, at + 1)?,
            b'}' => return Some(at + 1),
            _ => return None,
        }
    }
}

/// The key at `at`, and where its value begins.
#[inline(always)]
fn key(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let end = string_end(bytes, at + 1)?;
    if end.escapes {
        return None;
    }
    let colon = blank_end(bytes, end.quote + 1)?;
    if bytes[colon] != b':' {
        return None;
    }
    Some((&bytes[at + 1..end.quote], blank_end(bytes, colon + 1)?))
}

/// The first byte at or after `at` that is no white space; it exists.
#[inline(always)]
fn blank_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *bytes.get(at)? {
            b' ' | b'\n' | b'\r' | b'\t' => at += 1,
            _ => return Some(at),
        }
    }
}

#[inline(always)]
fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
    match *bytes.get(at)? {
        b'"' => Some(string_end(bytes, at + 1)?.quote + 1),
        b'[' | b'{' => nested_end(bytes, at),
        _ => scalar_end(bytes, at),
    }
}

/// Where the number or literal at `at` ends; a byte follows it.
#[inline(always)]
fn scalar_end(bytes: &[u8], at: usize) -> Option<usize> {
    match *bytes.get(at)? {
        b'0'..=b'9' | b'-' => number_end(bytes, at),
        b't' => literal_end(bytes, at, b"true"),
        b'f' => literal_end(bytes, at, b"false"),
        b'n' => literal_end(bytes, at, b"null"),
        _ => None,
    }
}

fn literal_end(bytes: &[u8], at: usize, literal: &[u8]) -> Option<usize> {
    bytes.get(at..)?.starts_with(literal).then_some(at + literal.len())
}

#[inline(always)]
fn number_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    if bytes[at] == b'-' {
        at += 1;
    }
    let first = at;
    at = digits_end(bytes, at)?;
    if at == first || (bytes[first] == b'0' && at > first + 1) {
        return None;
    }
    if bytes[at] == b'.' {
        let fraction = at + 1;
        at = digits_end(bytes, fraction)?;
        if at == fraction {
            return None;
        }
    }
    if matches!(bytes[at], b'e' | b'E') {
        at += 1;
        if matches!(bytes.get(at)?, b'+' | b'-') {
            at += 1;
        }
        let exponent = at;
        at = digits_end(bytes, exponent)?;
        if at == exponent {
            return None;
        }
    }
    Some(at)
}

/// Where the list or object at `at` ends.
fn nested_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    // One bit per open bracket, the innermost lowest: 1 for an object; a 1 on top of all.
    let mut open: u64 = 1;
    loop {
        // A value begins here.
        match *bytes.get(at)? {
            bracket @ (b'[' | b'{') => {
                if open >> 63 == 1 {
                    return None;
                }
                let object = bracket == b'{';
                open = open << 1 | u64::from(object);
                at = blank_end(bytes, at + 1)?;
                // `]` and `}` are two above their opening brackets.
                if bytes[at] != bracket + 2 {
                    if object {
                        at = key(bytes, at)?.1;
                    }
                    continue;
                }
                open >>= 1;
                at += 1;
            }
            b'"' => at = string_end(bytes, at + 1)?.quote + 1,
            _ => at = scalar_end(bytes, at)?,
        }
        // A value ended here.
        loop {
            if open == 1 {
                return Some(at);
            }
            at = blank_end(bytes, at)?;
            let object = open & 1 == 1;
            match bytes[at] {
                b',' => {
                    at = blank_end(bytes, at + 1)?;
                    if object {
                        at = key(bytes, at)?.1;
                    }
                    break;
                }
                b']' if !object => {}
                b'}' if object => {}
                _ => return None,
            }
            open >>= 1;
            at += 1;
        }
    }
}
