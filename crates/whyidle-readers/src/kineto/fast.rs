//! The fast parser: one pass over the bytes of an event.
//!
//! It accepts a part of JSON (values nested up to 63 deep, keys without escapes) and finds in
//! it exactly what [`reference`](super::reference) finds. Anything else is a surprise,
//! and so is the end of the bytes: then the reference decides.

use super::event::{Arg, Args, Event, Member};
use super::keys::Keys;
use super::strings::{digits_end, string_end};

/// The fast parser. What it remembers makes it faster and changes nothing else.
pub(crate) struct Fast {
    members: Keys<Member>,
    args: Keys<Arg>,
}

impl Fast {
    pub(crate) fn new() -> Self {
        Self { members: Keys::new(Member::by_key), args: Keys::new(Arg::by_key) }
    }

    /// Fills `event` and `args` (both empty) from the object at the start of `bytes` and
    /// returns how many bytes it takes; `None`: a surprise.
    #[inline]
    pub(crate) fn event<'a>(
        &mut self,
        bytes: &'a [u8],
        event: &mut Event<'a>,
        args: &mut Args<'a>,
    ) -> Option<usize> {
        let mut at = object_start(bytes, 0)?;
        let (mut context, mut before) = (0, 0);
        while bytes[at] != b'}' {
            let key = self.members.find(bytes, at, context, before)?;
            before = key.id;
            let value = blank_end(bytes, key.end)?;
            let end = if key.member == Some(Member::Args) && bytes[value] == b'{' {
                self.args(bytes, value, context, args)?
            } else {
                value_end(bytes, value)?
            };
            if let Some(member) = key.member {
                event[member] = &bytes[value..end];
                if matches!(member, Member::Ph | Member::Cat) {
                    // Any number that differs between the usual phases and categories.
                    context = bytes[value + 1].wrapping_add(bytes[end - 2]);
                }
            }
            at = member_end(bytes, end)?;
        }
        Some(at + 1)
    }

    #[inline(always)]
    fn args<'a>(&mut self, bytes: &'a [u8], at: usize, context: u8, args: &mut Args<'a>) -> Option<usize> {
        let mut at = object_start(bytes, at)?;
        let mut before = 0;
        while bytes[at] != b'}' {
            let key = self.args.find(bytes, at, context, before)?;
            before = key.id;
            let value = blank_end(bytes, key.end)?;
            let end = value_end(bytes, value)?;
            if let Some(arg) = key.member {
                args[arg] = &bytes[value..end];
            }
            at = member_end(bytes, end)?;
        }
        Some(at + 1)
    }
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

/// Where the first key of the object at `at` is, or its closing bracket.
#[inline(always)]
fn object_start(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    blank_end(bytes, at + 1)
}

/// After a member that ends at `at`: where the next key is, or the closing bracket.
#[inline(always)]
fn member_end(bytes: &[u8], at: usize) -> Option<usize> {
    let at = blank_end(bytes, at)?;
    match bytes[at] {
        b',' => blank_end(bytes, at + 1).filter(|&at| bytes[at] == b'"'),
        b'}' => Some(at),
        _ => None,
    }
}

/// Where the value of the key at `at` begins; the key itself is of no interest.
#[inline(always)]
fn key_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let colon = blank_end(bytes, string_end(bytes, at + 1)?.quote + 1)?;
    if bytes[colon] != b':' {
        return None;
    }
    blank_end(bytes, colon + 1)
}

/// The first byte at or after `at` that is no white space; it exists.
#[inline(always)]
pub(crate) fn blank_end(bytes: &[u8], mut at: usize) -> Option<usize> {
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
                        at = key_end(bytes, at)?;
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
                        at = key_end(bytes, at)?;
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
