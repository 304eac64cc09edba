//! Where a JSON string ends, and where digits end: eight bytes at a time, in plain integer
//! arithmetic.

/// The end of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StringEnd {
    /// Where its closing quote is.
    pub(crate) quote: usize,
    /// Whether there are escapes before it.
    pub(crate) escapes: bool,
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The end of the string whose first byte after the opening quote is at `at`. `None`
/// where the string is not proper JSON and UTF-8, or ends near the end of `bytes`.
#[inline(always)]
pub(crate) fn string_end(bytes: &[u8], mut at: usize) -> Option<StringEnd> {
    loop {
        let (eight, _) = bytes.get(at..)?.split_first_chunk::<8>()?;
        let special = special(u64::from_le_bytes(*eight));
        if special != 0 {
            at += (special.trailing_zeros() / 8) as usize;
            if bytes[at] == b'"' {
                return Some(StringEnd { quote: at, escapes: false });
            }
            return unusual_end(bytes, at);
        }
        at += 8;
    }
}

/// The high bit of every byte that is a quote, a backslash, a control byte or no ASCII;
/// bytes above the first of them may be marked wrongly.
#[inline(always)]
fn special(eight: u64) -> u64 {
    let quotes = eight ^ (ONES * b'"' as u64);
    let backslashes = eight ^ (ONES * b'\\' as u64);
    let zeros = quotes.wrapping_sub(ONES) & !quotes | backslashes.wrapping_sub(ONES) & !backslashes;
    let controls = eight.wrapping_sub(ONES * b' ' as u64) & !eight;
    (zeros | controls | eight) & HIGHS
}

/// The high bit of every byte that is no decimal digit; bytes above the first of them
/// may be marked wrongly.
#[inline(always)]
pub(crate) fn non_digits(eight: u64) -> u64 {
    ((eight ^ (ONES * b'0' as u64)).wrapping_add(ONES * (0x80 - 10)) | eight) & HIGHS
}

/// The first byte at or after `at` that is no digit; it exists.
#[inline(always)]
pub(crate) fn digits_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    while let Some((eight, _)) = bytes.get(at..)?.split_first_chunk::<8>() {
        let others = non_digits(u64::from_le_bytes(*eight));
        if others != 0 {
            return Some(at + (others.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    while bytes.get(at)?.is_ascii_digit() {
        at += 1;
    }
    Some(at)
}

/// The rest of a string from a special byte on, byte by byte.
#[cold]
fn unusual_end(bytes: &[u8], start: usize) -> Option<StringEnd> {
    let (mut at, mut escapes) = (start, false);
    loop {
        match *bytes.get(at)? {
            b'"' => break,
            b'\\' => {
                escapes = true;
                at += match bytes.get(at + 1)? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                    b'u' if bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => 6,
                    _ => return None,
                };
            }
            0..b' ' => return None,
            _ => at += 1,
        }
    }
    // What comes before `start` is ASCII.
    std::str::from_utf8(&bytes[start..at]).ok()?;
    Some(StringEnd { quote: at, escapes })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end by the book.
    fn slow(bytes: &[u8]) -> Option<StringEnd> {
        unusual_end(bytes, 0)
    }

    #[test]
    fn every_special_byte_is_found_at_every_place() {
        for place in 0..20 {
            for byte in 0..=255_u8 {
                let mut bytes = vec![b'a'; 20];
                bytes.extend_from_slice(b"\" followed by more");
                bytes[place] = byte;
                assert_eq!(string_end(&bytes, 0), slow(&bytes), "{byte:#x} at {place}");
            }
        }
    }

    #[test]
    fn digits_end_where_they_do() {
        for place in 0..20 {
            for byte in 0..=255_u8 {
                let mut bytes = vec![b'0' + (place % 10) as u8; 24];
                bytes.push(b'.');
                bytes[place] = byte;
                let end = bytes.iter().position(|b| !b.is_ascii_digit());
                assert_eq!(digits_end(&bytes, 0), end, "{byte:#x} at {place}");
            }
        }
        assert_eq!(digits_end(b"123456789", 0), None);
    }

    #[test]
    fn escapes_and_utf8_are_checked() {
        let end =
            |text: &[u8]| string_end(&[text, b"\"        "].concat(), 0).map(|end| (end.quote, end.escapes));
        assert_eq!(end(br#"a\"b"#), Some((4, true)));
        assert_eq!(end(br"\\"), Some((2, true)));
        assert_eq!(end(br"\u00e9"), Some((6, true)));
        assert_eq!(end("café".as_bytes()), Some((5, false)));
        assert_eq!(end(b"caf\xe9"), None);
        assert_eq!(end(br"C:\path"), None);
        assert_eq!(end(br"\u00"), None);
        assert_eq!(end(b"a\nb"), None);
        assert_eq!(string_end(b"short\"", 0), None);
    }
}
