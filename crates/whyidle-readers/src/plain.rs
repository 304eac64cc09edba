//! Text that tools print, as it comes to hand: redirected by PowerShell (UTF-16), coloured for a terminal, with a byte
//! order mark or Windows' line ends, gzipped, numbers in English or German form.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use crate::error::{Found, ReadError};
use crate::source;

/// No file of text is read beyond this, inflated: months of a line a second.
const LARGEST: u64 = 1 << 28;

/// The text in a file, cleaned.
///
/// # Errors
/// Where the file cannot be read or is no file.
pub(crate) fn read(path: &Path) -> Result<String, ReadError> {
    let failed = |error| ReadError::io(path, error);
    // Opening a pipe would wait for somebody to write into it.
    if path.exists() && !path.is_file() {
        return Err(ReadError::NotATrace { path: path.to_owned(), found: Found::Binary });
    }
    let mut inflate = source::Inflate::new(BufReader::new(File::open(path).map_err(failed)?));
    let mut bytes = Vec::new();
    match (&mut inflate).take(LARGEST).read_to_end(&mut bytes) {
        // What can be had of a damaged file is had.
        Err(error) if !inflate.is_damage(&error) => Err(failed(error)),
        _ => Ok(clean(&bytes)),
    }
}

/// Bytes as text: UTF-16 decoded, byte order mark, colours and carriage returns taken out.
pub(crate) fn clean(bytes: &[u8]) -> String {
    let text = decode(bytes);
    let text = if text.contains('\u{1b}') { Cow::Owned(without_escapes(&text)) } else { text };
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.into_owned() }
}

fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        Cow::Owned(String::from_utf16_lossy(&units))
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        // Without a mark: text of these tools begins in ASCII.
        [first, 0, second, 0, ..] if *first != 0 && *second != 0 => wide(bytes, u16::from_le_bytes),
        [0, first, 0, second, ..] if *first != 0 && *second != 0 => wide(bytes, u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes),
    }
}

/// Text without control sequences (ECMA-48: `ESC [ … letter`) and other escapes.
fn without_escapes(text: &str) -> String {
    let (mut out, mut chars) = (String::with_capacity(text.len()), text.chars().peekable());
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
            continue;
        }
        match chars.peek() {
            Some('[') => {
                chars.next();
                // Parameters and intermediates, then one final byte; anything else was no sequence.
                while chars.peek().is_some_and(|c| (' '..='?').contains(c)) {
                    chars.next();
                }
                chars.next_if(|c| ('@'..='~').contains(c));
            }
            // `ESC ( B`: a character set.
            Some('(' | ')') => {
                chars.next();
                chars.next_if(|c| !c.is_whitespace());
            }
            _ => {}
        }
    }
    out
}

/// Which mark stands before decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Decimal {
    /// `1,234.5`.
    #[default]
    Point,
    /// `1.234,5`.
    Comma,
}

impl Decimal {
    /// What the numbers of one file have in common. A number with a single mark before three digits may be either and
    /// does not count; without any that tells, the point.
    pub(crate) fn of<'a>(fields: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut points, mut commas) = (0_u32, 0_u32);
        for field in fields {
            match Self::told_by(field) {
                Some(Self::Point) => points += 1,
                Some(Self::Comma) => commas += 1,
                None => {}
            }
        }
        if commas > points { Self::Comma } else { Self::Point }
    }

    fn told_by(field: &str) -> Option<Self> {
        let number = field.split_whitespace().next().unwrap_or("").trim_start_matches(['+', '-']);
        if !number.bytes().all(|b| b.is_ascii_digit() || b == b',' || b == b'.') {
            return None;
        }
        let last = number.rfind([',', '.'])?;
        let mark = number.as_bytes()[last];
        let of = |mark| if mark == b'.' { Self::Point } else { Self::Comma };
        let other = if mark == b'.' { b',' } else { b'.' };
        let count = |wanted: u8| number.bytes().filter(|&b| b == wanted).count();
        match (count(mark), count(other)) {
            (1, 0) if number.len() - last - 1 == 3 && last > 0 && last <= 3 => None,
            (1, _) => Some(of(mark)),
            // Repeated: it groups digits, so the other one is for decimals.
            (_, 0) => Some(of(other)),
            _ => None,
        }
    }

    /// A number without its unit: the first word of a field. `None` for `N/A`, `-`, `nan` and what is no number.
    pub(crate) fn number(self, field: &str) -> Option<f64> {
        let field = field.trim();
        let word = field.split(|c: char| c.is_whitespace() || c == ';').next().unwrap_or("");
        let word = word.strip_suffix('%').unwrap_or(word);
        if let Some(hex) = word.strip_prefix("0x") {
            return u64::from_str_radix(hex, 16).ok().map(|value| value as f64);
        }
        let (group, mark) = match self {
            Self::Point => (',', '.'),
            Self::Comma => ('.', ','),
        };
        let is_plain = |b: u8| b.is_ascii_digit() || b",.+-eE".contains(&b);
        if !word.bytes().all(is_plain) || !word.bytes().any(|b| b.is_ascii_digit()) {
            return None;
        }
        let plain: String =
            word.chars().filter(|&c| c != group).map(|c| if c == mark { '.' } else { c }).collect();
        plain.parse().ok().filter(|value: &f64| value.is_finite())
    }
}

/// The fields of a line of values that `delimiter` separates. A field in quotes may hold delimiters; a quote in it is
/// doubled.
pub(crate) fn split(line: &str, delimiter: char) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            c if c == delimiter && !quoted => fields.push(std::mem::take(&mut field)),
            _ => field.push(c),
        }
    }
    fields.push(field);
    fields
}

/// Points in time as tools print them, without a zone: nanoseconds as if they were UTC. Understood are
/// `2026/11/29 17:00:40.953`, `2026-11-30T08:51:20+0000`, `20261129 17:00:40`, `11/30/26 08:51:18`,
/// `11/30/2026 08:51:18 AM`, `30.11.2026 08:51:18`, `Sun Nov 29 16:42:15 2026`.
pub(crate) fn local_time(text: &str) -> Option<i64> {
    let words: Vec<&str> = text.split([' ', 'T']).filter(|word| !word.is_empty()).collect();
    // `Sun Nov 29 16:42:15 2026`: the T of a weekday or month splits nothing that matters, so it is tried on its own.
    if let [_, month, day, time, year] = text.split_whitespace().collect::<Vec<_>>()[..] {
        const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
        let month = MONTHS.find(month).filter(|at| month.len() == 3 && at % 3 == 0)? / 3 + 1;
        return instant(year.parse().ok()?, month as i64, day.parse().ok()?, time, "");
    }
    let (date, time) = (words.first()?, words.get(1)?);
    let half = words.get(2).copied().unwrap_or("");
    let parts: Vec<i64> = if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) {
        vec![date[..4].parse().ok()?, date[4..6].parse().ok()?, date[6..].parse().ok()?]
    } else {
        date.split(['/', '-', '.']).map(|part| part.parse().ok()).collect::<Option<_>>()?
    };
    let [a, b, c] = parts[..] else { return None };
    let century = |year: i64| if year < 100 { year + 2000 } else { year };
    let (year, month, day) = if a > 31 {
        (a, b, c)
    } else if date.contains('.') || a > 12 {
        (century(c), b, a)
    } else {
        (century(c), a, b)
    };
    instant(year, month, day, time, half)
}

/// `08:51:18.25`, `08:51:18,25`, with what follows it (`AM`, `+0000`).
fn instant(year: i64, month: i64, day: i64, time: &str, half: &str) -> Option<i64> {
    if !(1970..=2200).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let seconds = time_of_day(time)?
        + if half.eq_ignore_ascii_case("PM") && !time.starts_with("12") { 12 * 3_600 * SECOND } else { 0 };
    let seconds = if half.eq_ignore_ascii_case("AM") && time.starts_with("12") {
        seconds - 12 * 3_600 * SECOND
    } else {
        seconds
    };
    // Days since 1970-01-01 (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil).
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let of_era = y.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some(days * 86_400 * SECOND + seconds)
}

const SECOND: i64 = 1_000_000_000;

/// `08:51:18.25` as nanoseconds since midnight.
pub(crate) fn time_of_day(text: &str) -> Option<i64> {
    let text = text.split(['+', 'Z']).next()?;
    let mut parts = text.splitn(3, ':');
    let (hours, minutes) = (parts.next()?.parse::<i64>().ok()?, parts.next()?.parse::<i64>().ok()?);
    let rest = parts.next().unwrap_or("0");
    let (seconds, decimals) = rest.split_once(['.', ',']).unwrap_or((rest, ""));
    let seconds: i64 = seconds.parse().ok()?;
    if !decimals.bytes().all(|b| b.is_ascii_digit())
        || !(0..24).contains(&hours)
        || !(0..60).contains(&minutes)
        || !(0..=60).contains(&seconds)
    {
        return None;
    }
    let decimals: i64 = format!("{decimals:0<9}")[..9].parse().ok()?;
    Some((hours * 3_600 + minutes * 60 + seconds) * SECOND + decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_had_however_it_was_redirected() {
        let wide = |bytes: &str, big: bool| -> Vec<u8> {
            bytes
                .encode_utf16()
                .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
                .collect()
        };
        let powershell = [&[0xff, 0xfe][..], &wide("a\r\nb ä", false)].concat();
        assert_eq!(clean(&powershell), "a\nb ä");
        assert_eq!(clean(&[&[0xfe, 0xff][..], &wide("ab", true)].concat()), "ab");
        assert_eq!(clean(&wide("abc", false)), "abc");
        assert_eq!(clean(b"\xef\xbb\xbf\x1b[4mGPU0\x1b[0m\x1b(B\r\nx\x1b[38;5;1my"), "GPU0\nxy");
        assert_eq!(clean(b"\xff\xfe\x41"), "");
        assert_eq!(clean(b"\x1b[\x1b"), "");
    }

    #[test]
    fn a_file_is_english_or_german_by_the_numbers_that_tell() {
        let of = |fields: &[&str]| Decimal::of(fields.iter().copied());
        assert_eq!(of(&["1,234", "0.5", "1,000,000"]), Decimal::Point);
        assert_eq!(of(&["1.234", "0,5 W", "1.000.000"]), Decimal::Comma);
        assert_eq!(of(&["1.234", "N/A", "(1, 2)"]), Decimal::Point);
        assert_eq!(Decimal::Point.number("3,161,849,710.98"), Some(3_161_849_710.98));
        assert_eq!(Decimal::Comma.number("3.161.849.710,98 hz"), Some(3_161_849_710.98));
        assert_eq!(Decimal::Point.number("89.04 W"), Some(89.04));
        assert_eq!(Decimal::Point.number("0x0000000000000004"), Some(4.0));
        for none in ["[N/A]", "N/A", "-", "nan", "", "no data", "Enabled", "[Not Supported]", "1e999"] {
            assert_eq!(Decimal::Point.number(none), None, "{none}");
        }
    }

    #[test]
    fn times_are_read_in_each_form() {
        let at = |text: &str| local_time(text).unwrap_or_else(|| panic!("{text}"));
        let day = 1_796_028_678 * SECOND;
        for text in [
            "2026/11/30 08:51:18.000",
            "2026-11-30T08:51:18+0000",
            "20261130 08:51:18",
            "11/30/26 08:51:18",
            "11/30/2026 08:51:18 AM",
            "30.11.2026 08:51:18",
            "Mon Nov 30 08:51:18 2026",
        ] {
            assert_eq!(at(text), day, "{text}");
        }
        assert_eq!(at("11/30/2026 08:51:18 PM") - day, 12 * 3_600 * SECOND);
        assert_eq!(at("2026/11/30 08:51:18.953") - day, 953_000_000);
        for none in
            ["", "2026/13/01 00:00:00", "x y", "Mon Foo 30 08:51:18 2026", "2026/11/30", "1/2/3/4 5:6:7"]
        {
            assert_eq!(local_time(none), None, "{none}");
        }
    }

    #[test]
    fn fields_in_quotes_hold_delimiters() {
        assert_eq!(split("a,\"b, \"\"c\"\"\",", ','), ["a", "b, \"c\"", ""]);
        assert_eq!(split("1;2,5", ';'), ["1", "2,5"]);
    }
}
