//! Numbers from their decimal digits, exactly: a time in microseconds since 1970 with
//! three decimals does not fit an `f64`.
//!
//! Accepted wherever a number is expected: integers, decimals with any number of
//! digits, exponents, and any of these in quotes. What is finer than the result's unit
//! (a nanosecond, an integer) is cut off, towards zero.

use super::strings;

/// Why text is not a number that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotANumber {
    /// It is missing, null, or no number at all.
    Missing,
    /// It is too large for 64 bits.
    TooLarge,
}

/// Microseconds as whole nanoseconds.
pub(crate) fn nanoseconds(raw: &[u8]) -> Result<i64, NotANumber> {
    decimal(raw, 3)
}

/// A whole number.
pub(crate) fn integer(raw: &[u8]) -> Result<i64, NotANumber> {
    decimal(raw, 0)
}

/// `raw` × 10^`shift`, cut off towards zero.
fn decimal(raw: &[u8], shift: u32) -> Result<i64, NotANumber> {
    if raw.is_empty() {
        return Err(NotANumber::Missing);
    }
    if let Some(value) = plain(raw, shift) {
        return Ok(value);
    }
    any_decimal(unquoted(raw), shift)
}

/// The usual case: up to 16 digits before the point, no exponent, no quotes, no sign.
#[inline]
fn plain(raw: &[u8], shift: u32) -> Option<i64> {
    let (whole, mut rest) = digits(raw);
    if rest.len() == raw.len() || raw.len() - rest.len() > 16 {
        return None;
    }
    let mut value = whole;
    let mut places = shift;
    if let [b'.', fraction @ ..] = rest {
        rest = fraction;
        while let [digit @ b'0'..=b'9', tail @ ..] = rest {
            if places > 0 {
                value = value * 10 + u64::from(digit - b'0');
                places -= 1;
            }
            rest = tail;
        }
    }
    if !rest.is_empty() {
        return None;
    }
    i64::try_from(value * 10_u64.pow(places)).ok()
}

/// The number that the leading digits of `text` make (wrapping beyond 19 of them), and what
/// follows them. Eight digits are read in three multiplications.
#[inline]
fn digits(mut text: &[u8]) -> (u64, &[u8]) {
    let mut value = 0_u64;
    while let Some((eight, tail)) = text.split_first_chunk::<8>() {
        let eight = u64::from_le_bytes(*eight);
        if strings::non_digits(eight) != 0 {
            break;
        }
        let pairs = (eight & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul((10 << 8) + 1) >> 8;
        let fours = (pairs & 0x00ff_00ff_00ff_00ff).wrapping_mul((100 << 16) + 1) >> 16;
        let number = (fours & 0x0000_ffff_0000_ffff).wrapping_mul((10_000 << 32) + 1) >> 32;
        value = value.wrapping_mul(100_000_000).wrapping_add(number);
        text = tail;
    }
    while let [digit @ b'0'..=b'9', tail @ ..] = text {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        text = tail;
    }
    (value, text)
}

/// Numbers in quotes may end with a tab, which CANN puts after them for spreadsheets.
fn unquoted(raw: &[u8]) -> &[u8] {
    match raw {
        [b'"', inner @ .., b'"'] => {
            let inner = inner.trim_ascii();
            inner.strip_suffix(b"\\t").unwrap_or(inner)
        }
        other => other,
    }
}

fn any_decimal(text: &[u8], shift: u32) -> Result<i64, NotANumber> {
    let (negative, mut rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    // value = mantissa × 10^scale; digits beyond what 128 bits hold only move the scale.
    let mut mantissa: u128 = 0;
    let mut scale: i64 = i64::from(shift);
    let (mut digits, mut after_point) = (0_usize, false);
    loop {
        match rest {
            [digit @ b'0'..=b'9', tail @ ..] => {
                if mantissa < u128::MAX / 100 {
                    mantissa = mantissa * 10 + u128::from(digit - b'0');
                    scale -= i64::from(after_point);
                } else {
                    scale += i64::from(!after_point);
                }
                digits += 1;
                rest = tail;
            }
            [b'.', tail @ ..] if !after_point => {
                after_point = true;
                rest = tail;
            }
            _ => break,
        }
    }
    if digits == 0 {
        return Err(NotANumber::Missing);
    }
    match rest {
        [] => {}
        [b'e' | b'E', exponent @ ..] => scale += exponent_of(exponent)?,
        _ => return Err(NotANumber::Missing),
    }
    let mut value = mantissa;
    while scale < 0 && value > 0 {
        value /= 10;
        scale += 1;
    }
    while scale > 0 && value > 0 {
        value = value.checked_mul(10).ok_or(NotANumber::TooLarge)?;
        scale -= 1;
    }
    let value = i64::try_from(value).map_err(|_| NotANumber::TooLarge)?;
    Ok(if negative { -value } else { value })
}

fn exponent_of(text: &[u8]) -> Result<i64, NotANumber> {
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(NotANumber::Missing);
    }
    let size = digits.iter().fold(0_i64, |n, d| (n * 10 + i64::from(d - b'0')).min(1 << 40));
    Ok(sign * size)
}

/// A correlation or external id. Ids are 32 bits wide in the profiler; a larger number
/// keeps its low 32 bits, on both sides of a link alike. Missing and negative ones are 0.
pub(crate) fn link(raw: &[u8]) -> u32 {
    u32::try_from(integer(raw).unwrap_or(0).max(0) & i64::from(u32::MAX)).unwrap_or(0)
}

/// A process, thread or stream number, which may be a number, a numeric string, or a
/// name that ends in one (`stream 7`).
pub(crate) fn identity(raw: &[u8]) -> Option<i64> {
    if let Ok(number) = integer(raw) {
        return Some(number);
    }
    let text = unquoted(raw);
    let digits = text.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let number = &text[text.len() - digits..];
    (digits > 0 && text[..text.len() - digits].ends_with(b" ")).then(|| integer(number).ok()).flatten()
}

/// The product of the whole numbers of a list, saturating; 0 where there is none.
pub(crate) fn product(raw: &[u8]) -> u32 {
    let Some(inner) = raw.strip_prefix(b"[").and_then(|r| r.strip_suffix(b"]")) else {
        return 0;
    };
    let mut product: u32 = 1;
    for side in inner.split(|&b| b == b',') {
        let Ok(side) = integer(side.trim_ascii()) else { return 0 };
        product = product.saturating_mul(u32::try_from(side.max(0)).unwrap_or(u32::MAX));
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_become_exact_nanoseconds() {
        for (text, ns) in [
            ("0", 0),
            ("15", 15_000),
            ("5113547124035.760", 5_113_547_124_035_760),
            ("1712195495876224.8", 1_712_195_495_876_224_800),
            ("1683564902133354", 1_683_564_902_133_354_000),
            ("12345678.9", 12_345_678_900),
            ("9223372036854775", 9_223_372_036_854_775_000),
            ("12345678901234567e-1", 1_234_567_890_123_456_700),
            ("1.2345678", 1_234),
            ("-1.9999", -1_999),
            ("-1", -1_000),
            ("1.5e3", 1_500_000),
            ("15E-1", 1_500),
            ("1e-9", 0),
            ("0e99999999999999999999", 0),
            ("\"5113547124035.760\"", 5_113_547_124_035_760),
            ("\" 7 \"", 7_000),
            ("\"168.320\\t\"", 168_320),
            ("00000000000000000000000000000000000000000000000000012.5", 12_500),
        ] {
            assert_eq!(nanoseconds(text.as_bytes()), Ok(ns), "{text}");
        }
        for text in ["", "null", "true", "\"\"", "\"abc\"", "1.2.3", "-", ".", "1e", "1e+", "[1]", "12x"] {
            assert_eq!(nanoseconds(text.as_bytes()), Err(NotANumber::Missing), "{text}");
        }
        for text in [
            "9223372036854775808",
            "9999999999999999",
            "1e400",
            "123456789012345678901234567890123456789012345",
        ] {
            assert_eq!(nanoseconds(text.as_bytes()), Err(NotANumber::TooLarge), "{text}");
        }
    }

    #[test]
    fn identities_and_links() {
        assert_eq!(identity(b"25738"), Some(25738));
        assert_eq!(identity(b"\"25738\""), Some(25738));
        assert_eq!(identity(b"\"stream 7\""), Some(7));
        assert_eq!(identity(b"-3"), Some(-3));
        assert_eq!(identity(b"\"Spans\""), None);
        assert_eq!(identity(b"\"gpu7\""), None);
        assert_eq!(identity(b""), None);
        assert_eq!(link(b"863350"), 863_350);
        assert_eq!(link(b"4294967297"), 1);
        assert_eq!(link(b"-1"), 0);
        assert_eq!(product(b"[24, 2, 1]"), 48);
        assert_eq!(product(b"[2147483647,65535,65535]"), u32::MAX);
        assert_eq!(product(b"[]"), 0);
        assert_eq!(product(b"7"), 0);
    }
}
