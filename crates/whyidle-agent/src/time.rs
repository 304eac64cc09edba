//! Times as names of folders and as people write them: UTC, without a calendar library.

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400;

/// Days since 1970 of a date (after Howard Hinnant, *chrono-compatible low-level date algorithms*).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a day since 1970.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, of_year - (153 * shifted + 2) / 5 + 1)
}

/// Year, month, day, hour, minute, second in UTC of a Unix time.
fn parts(unix_ns: i64) -> (i64, i64, i64, i64, i64, i64) {
    let seconds = unix_ns.div_euclid(SECOND);
    let (year, month, day) = date(seconds.div_euclid(DAY));
    let of_day = seconds.rem_euclid(DAY);
    (year, month, day, of_day / 3_600, of_day / 60 % 60, of_day % 60)
}

/// A moment as the name of a folder: `20261130T031000Z`.
#[must_use]
pub fn stamp(unix_ns: i64) -> String {
    let (year, month, day, hour, minute, second) = parts(unix_ns);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// A moment for people: `2026-11-30 03:10:00Z`.
#[must_use]
pub fn written_out(unix_ns: i64) -> String {
    let (year, month, day, hour, minute, second) = parts(unix_ns);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

/// The moment of such a name, ns of Unix time.
#[must_use]
pub(crate) fn parse_stamp(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    if date.len() != 8 || time.len() != 6 || !text.is_ascii() {
        return None;
    }
    let number =
        |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<i64>().ok())?;
    moment(
        (number(&date[..4])?, number(&date[4..6])?, number(&date[6..])?),
        (number(&time[..2])?, number(&time[2..4])?, number(&time[4..])?),
    )
}

fn moment((year, month, day): (i64, i64, i64), (hour, minute, second): (i64, i64, i64)) -> Option<i64> {
    let fits =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    let found = days(year, month, day);
    // The 31st of a shorter month is none.
    let is_day = fits && date(found) == (year, month, day);
    // Years far away have no ns in 64 bits.
    is_day.then(|| (found * DAY + hour * 3_600 + minute * 60 + second).checked_mul(SECOND))?
}

/// A moment as people write it, in UTC: `2026-11-30T03:10`, `2026-11-30 03:10:20Z`, a folder's name, or `03:10` – the
/// last time that the clock showed it before `now`.
#[must_use]
pub fn parse(text: &str, now: i64) -> Option<i64> {
    let text = text.trim();
    if let Some(found) = parse_stamp(text) {
        return Some(found);
    }
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let (date_part, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (Some(date), time),
        None => (None, text),
    };
    let numbers = |text: &str, by: char| {
        let digits = |part: &str| {
            !part.is_empty() && part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        text.split(by)
            .map(|part| digits(part).then(|| part.parse::<i64>().ok())?)
            .collect::<Option<Vec<i64>>>()
    };
    let time = match numbers(time, ':')?[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    match date_part {
        Some(date) => match numbers(date, '-')?[..] {
            [year, month, day] => moment((year, month, day), time),
            _ => None,
        },
        None => {
            let (year, month, day, ..) = parts(now);
            let today = moment((year, month, day), time)?;
            Some(if today > now { today - DAY * SECOND } else { today })
        }
    }
}

/// The same as a stretch, from and until: a time without seconds is its whole minute.
#[must_use]
pub fn parse_stretch(text: &str, now: i64) -> Option<(i64, i64)> {
    let from = parse(text, now)?;
    let is_minute = parse_stamp(text.trim()).is_none() && text.matches(':').count() == 1;
    Some((from, from + if is_minute { 60 * SECOND - 1 } else { 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_moments_are_each_others() {
        // By `date -u -d @1795994140`.
        assert_eq!(stamp(1_795_994_140 * SECOND), "20261129T231540Z");
        assert_eq!(written_out(951_782_400 * SECOND), "2000-02-29 00:00:00Z");
        for seconds in (0..4_000_000_000_i64).step_by(86_399 * 97) {
            assert_eq!(parse_stamp(&stamp(seconds * SECOND)), Some(seconds * SECOND));
        }
        for wrong in [
            "",
            "20261130T001540",
            "20261330T001540Z",
            "20260230T001540Z",
            "2026é130T00154Z",
            "20261130T246000Z",
        ] {
            assert_eq!(parse_stamp(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn people_write_moments_in_their_own_ways() {
        let now = parse_stamp("20261130T120000Z").unwrap_or(0);
        let at = |text: &str| parse(text, now).map(stamp);
        for (text, wanted) in [
            ("03:12", "20261130T031200Z"),
            ("13:12", "20261129T131200Z"),
            ("03:12:05", "20261130T031205Z"),
            ("2026-11-28T03:12", "20261128T031200Z"),
            ("2026-11-28 03:12:59Z", "20261128T031259Z"),
            ("20261128T031259Z", "20261128T031259Z"),
        ] {
            assert_eq!(at(text).as_deref(), Some(wanted), "{text}");
        }
        let stretch = |text: &str| parse_stretch(text, now).map(|(from, until)| until - from);
        assert_eq!(stretch("03:12"), Some(60 * SECOND - 1));
        assert_eq!(stretch("2026-11-28T03:12Z"), Some(60 * SECOND - 1));
        assert_eq!(stretch("03:12:05"), Some(0));
        assert_eq!(stretch("20261128T031259Z"), Some(0));
        for wrong in
            ["", "3", "25:00", "03:60", "2026-02-30T03:12", "yesterday", "03:1x", "-1:00", "2026-11-28T"]
        {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
