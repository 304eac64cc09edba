//! Values of options: text in, a value out, or a message that says what does.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use whyidle_diagnosis::{Arg, Message};

/// Why a value does not do; a message of the catalogue.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unfit(pub(crate) Message);

impl Unfit {
    /// The message `id`, which takes no arguments.
    pub(crate) fn new(id: &'static str) -> Self {
        Self(Message::new(id))
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.id)
    }
}

impl std::error::Error for Unfit {}

/// No step is shorter than a kernel's launch.
pub(crate) const SHORTEST_STEP_MS: f64 = 0.01;
/// An hour.
pub(crate) const LONGEST_STEP_MS: f64 = 3_600_000.0;
/// Amounts beyond these are slips.
const LEAST: f64 = 1e-3;
const MOST: f64 = 1e9;

/// A whole number within `range`.
pub(crate) fn whole<T>(range: RangeInclusive<i64>) -> impl Fn(&str) -> Result<T, Unfit> + Clone
where
    T: TryFrom<i64> + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            Unfit(Message::new("cli-value-whole").count("least", *range.start()).count("most", *range.end()))
        })
    }
}

/// A number from `least` to `most`, as `example`.
fn within(text: &str, least: f64, most: f64, example: &str) -> Result<f64, Unfit> {
    let plain = |bound: f64| Arg::Name(bound.to_string());
    match text.parse::<f64>() {
        Ok(value) if (least..=most).contains(&value) => Ok(value),
        _ => Err(Unfit(
            Message::new("cli-value-number")
                .with("least", plain(least))
                .with("most", plain(most))
                .name("example", example),
        )),
    }
}

/// An amount.
pub(crate) fn positive(text: &str) -> Result<f64, Unfit> {
    within(text, LEAST, MOST, "100")
}

/// A share of a peak rate.
pub(crate) fn efficiency(text: &str) -> Result<f64, Unfit> {
    within(text, 0.01, 1.0, "0.5")
}

/// A share that stays free.
pub(crate) fn share(text: &str) -> Result<f64, Unfit> {
    within(text, 0.0, 0.9, "0.1")
}

/// Milliseconds of a step.
pub(crate) fn step_ms(text: &str) -> Result<f64, Unfit> {
    within(text, SHORTEST_STEP_MS, LONGEST_STEP_MS, "57.4")
}

/// `30s`, `5m`, or seconds alone.
pub(crate) fn duration(text: &str) -> Result<Duration, Unfit> {
    let unfit = || Unfit::new("cli-value-duration");
    let (number, factor) = match text.strip_suffix('m') {
        Some(minutes) => (minutes, 60.0),
        None => (text.strip_suffix('s').unwrap_or(text), 1.0),
    };
    let seconds = number.trim().parse::<f64>().map_err(|_| unfit())? * factor;
    if (1.0..=86_400.0).contains(&seconds) { Ok(Duration::from_secs_f64(seconds)) } else { Err(unfit()) }
}

/// `90m`, `12h`, `7d` or `4w`: how far to look back.
#[cfg(all(feature = "agent", target_os = "linux"))]
pub(crate) fn span(text: &str) -> Result<Duration, Unfit> {
    let unfit = || Unfit::new("cli-value-span");
    let text = text.trim();
    let unit = text.chars().last().filter(char::is_ascii).ok_or_else(unfit)?;
    let seconds: u64 = match unit {
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err(unfit()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| unfit())?;
    let seconds = number.checked_mul(seconds).filter(|seconds| (300..=34_560_000).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(unfit)
}

/// `3..7` or `5`: both ends are included.
pub(crate) fn step_range(text: &str) -> Result<RangeInclusive<i64>, Unfit> {
    let number = |part: &str| part.trim().parse::<i64>().map_err(|_| Unfit::new("cli-value-steps"));
    let (from, to) = match text.split_once("..") {
        Some((from, to)) => (number(from)?, number(to.trim_start_matches('='))?),
        None => (number(text)?, number(text)?),
    };
    if from > to { Err(Unfit::new("cli-value-steps-empty")) } else { Ok(from..=to) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_seconds_or_minutes() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("7"), Ok(Duration::from_secs(7)));
        assert!(duration("0s").is_err() && duration("soon").is_err() && duration("9999m").is_err());
    }

    #[cfg(all(feature = "agent", target_os = "linux"))]
    #[test]
    fn spans_are_minutes_to_weeks() {
        assert_eq!(span("90m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(span("4w"), span("28d"));
        for text in ["", "7", "d", "4m", "401d", "-1d", "1.5h", "7天", "99999999999999999999w"] {
            assert!(span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn step_ranges_include_both_ends() {
        assert_eq!(step_range("3..7"), Ok(3..=7));
        assert_eq!(step_range("5"), Ok(5..=5));
        assert_eq!(step_range("3..=7"), Ok(3..=7));
        assert!(step_range("7..3").is_err());
        assert!(step_range("a").is_err());
    }

    #[test]
    fn numbers_keep_within_their_bounds() {
        assert!(step_ms("-1").is_err() && step_ms("nan").is_err() && step_ms("1e400").is_err());
        assert_eq!(whole::<u32>(1..=8)("8"), Ok(8));
        for text in ["0", "9", "", "x", "1.5", "-1", "99999999999999999999"] {
            assert!(whole::<u32>(1..=8)(text).is_err(), "{text}");
        }
    }
}
