//! What to vary: a name and its values, as they are given, or values that go on for as long as it pays.

/// Values of one variable at most.
pub const MOST_VALUES: usize = 64;
/// Values that go on end here.
const LARGEST: u64 = 1 << 20;

/// What to vary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vary {
    /// The setting, as [`super::setting::Setting::of`] takes it.
    pub name: String,
    /// Values, the smallest first where all are numbers.
    pub values: Vec<String>,
    /// More values follow, twice the last each, for as long as it pays.
    pub continues: bool,
}

/// Why a text names no values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unclear {
    /// No name.
    NoName,
    /// One of the values is empty.
    Empty,
    /// A value is given twice.
    Twice(String),
    /// More than [`MOST_VALUES`].
    TooMany,
    /// It is to go on from a value that is no whole number.
    NoNumber(String),
}

/// `NAME=V1,V2,…`: from `…`, `...` or `..` at the end on it goes on; `NAME` alone goes on from the start.
///
/// # Errors
/// Where that is no name with values.
pub fn vary(text: &str) -> Result<Vary, Unclear> {
    let (name, list) = text.split_once('=').map_or((text, None), |(name, list)| (name, Some(list)));
    if name.trim_start_matches('-').trim().is_empty() {
        return Err(Unclear::NoName);
    }
    let name = name.to_owned();
    let Some(list) = list else { return Ok(Vary { name, values: Vec::new(), continues: true }) };
    let mut parts: Vec<&str> = list.split(',').map(str::trim).collect();
    let continues = parts.last().is_some_and(|last| ["…", "...", ".."].contains(last));
    if continues {
        parts.pop();
    }
    if parts.len() > MOST_VALUES {
        return Err(Unclear::TooMany);
    }
    let mut values: Vec<String> = Vec::new();
    for part in parts {
        match part {
            "" => return Err(Unclear::Empty),
            part if values.iter().any(|known| known == part) => return Err(Unclear::Twice(part.to_owned())),
            part => values.push(part.to_owned()),
        }
    }
    sort(&mut values);
    match values.last() {
        Some(last) if continues && whole(last).is_none() => Err(Unclear::NoNumber(last.clone())),
        _ => Ok(Vary { name, values, continues }),
    }
}

/// Puts the smallest first, where all are numbers; others stay as they are.
pub fn sort(values: &mut [String]) {
    if values.iter().all(|value| number(value).is_some()) {
        values.sort_by(|a, b| number(a).unwrap_or(0.0).total_cmp(&number(b).unwrap_or(0.0)));
    }
}

/// The value as a number.
#[must_use]
pub fn number(value: &str) -> Option<f64> {
    value.parse().ok().filter(|number: &f64| number.is_finite())
}

fn whole(value: &str) -> Option<u64> {
    value.parse().ok().filter(|number| *number <= LARGEST)
}

/// The value after `last` of values that go on: 1 after 0, then twice as much. `None` at the end.
#[must_use]
pub fn next(last: &str) -> Option<String> {
    match whole(last)? {
        0 => Some("1".to_owned()),
        number if number >= LARGEST => None,
        number => Some((2 * number).to_string()),
    }
}

/// Whether values that go on have gone far enough: so many after the best one were no faster by what counts. `times`
/// are of the values so far, in order.
#[must_use]
pub fn is_over(times: &[f64], counts: f64, patience: usize) -> bool {
    let mut best = (f64::INFINITY, 0);
    for (at, time) in times.iter().enumerate() {
        if *time < best.0 * (1.0 - counts) {
            best = (*time, at);
        }
    }
    times.len() > best.1 + patience
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> (Vec<String>, bool) {
        vary(text).map(|found| (found.values, found.continues)).unwrap_or_default()
    }

    #[test]
    fn values_are_given_or_go_on() {
        let some = |all: &[&str]| all.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
        assert_eq!(values("num_workers=4,0,16"), (some(&["0", "4", "16"]), false));
        for end in ["…", "...", ".."] {
            assert_eq!(values(&format!("n=0,1,{end}")), (some(&["0", "1"]), true));
        }
        assert_eq!(values("n=…"), (Vec::new(), true));
        assert_eq!(values("n"), (Vec::new(), true));
        assert_eq!(values("--amp=fp32,bf16"), (some(&["fp32", "bf16"]), false));
        assert_eq!(vary("--amp=fp32").map(|found| found.name).as_deref(), Ok("--amp"));
        assert_eq!(values("file:c.yaml:data.n= 1 , 0.5"), (some(&["0.5", "1"]), false));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for (text, why) in [
            ("", Unclear::NoName),
            ("=1,2", Unclear::NoName),
            ("--=1", Unclear::NoName),
            ("n=", Unclear::Empty),
            ("n=1,,2", Unclear::Empty),
            ("n=1,2,", Unclear::Empty),
            ("n=2,1,2", Unclear::Twice("2".to_owned())),
            ("n=a,b,…", Unclear::NoNumber("b".to_owned())),
            ("n=1,2.5,…", Unclear::NoNumber("2.5".to_owned())),
            ("n=1,99999999999999999999,…", Unclear::NoNumber("99999999999999999999".to_owned())),
        ] {
            assert_eq!(vary(text), Err(why), "{text}");
        }
        let many: Vec<String> = (0..1_000_000).map(|at| at.to_string()).collect();
        assert_eq!(vary(&format!("n={}", many.join(","))), Err(Unclear::TooMany));
    }

    #[test]
    fn values_double_until_it_no_longer_pays() {
        let mut all = vec!["0".to_owned()];
        while let Some(next) = all.last().and_then(|last| next(last)) {
            all.push(next);
        }
        assert_eq!((all[1].as_str(), all[5].as_str(), all.len()), ("1", "16", 22));
        assert_eq!((next("x"), next("-1")), (None, None));
        // One worker is no better than none: that alone is no reason to stop.
        assert!(!is_over(&[64.0, 64.0], 0.02, 2));
        assert!(!is_over(&[64.0, 64.0, 33.0, 17.0], 0.02, 2));
        assert!(is_over(&[64.0, 64.0, 33.0, 17.0, 17.1, 16.9], 0.02, 2));
        assert!(is_over(&[8.0, 8.0, 8.0], 0.02, 2) && !is_over(&[], 0.02, 2));
        assert!(is_over(&[8.0, 4.0, 4.0], 0.02, 1));
    }
}
