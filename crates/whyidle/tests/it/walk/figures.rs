//! The other way round: every figure with a unit that a text shows is one of the JSON's, rounded to the digits shown.

use serde_json::Value;

/// What may stand in prose without being a result: the level of every interval.
const LEVEL: f64 = 95.0;

/// The figures of a report, in ns, as shares, in bytes.
#[derive(Default)]
pub(super) struct Figures {
    times: Vec<f64>,
    shares: Vec<f64>,
    bytes: Vec<f64>,
}

/// Units that are read, their size, and whether they are of time or of bytes.
const UNITS: [(&str, f64, Kind); 9] = [
    ("ms", 1e6, Kind::Time),
    ("µs", 1e3, Kind::Time),
    ("ns", 1.0, Kind::Time),
    ("s", 1e9, Kind::Time),
    ("%", 0.01, Kind::Share),
    ("TiB", 1_099_511_627_776.0, Kind::Bytes),
    ("GiB", 1_073_741_824.0, Kind::Bytes),
    ("MiB", 1_048_576.0, Kind::Bytes),
    ("KiB", 1024.0, Kind::Bytes),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Time,
    Share,
    Bytes,
}

impl Figures {
    pub(super) fn of(report: &Value) -> Self {
        let mut figures = Self::default();
        figures.collect("", report);
        figures
    }

    /// A figure that follows from those of the JSON by a rule that the text states.
    pub(super) fn and_share(mut self, share: f64) -> Self {
        self.shares.push(share.abs());
        self
    }

    fn collect(&mut self, key: &str, value: &Value) {
        match value {
            Value::Object(members) => members.iter().for_each(|(key, value)| self.collect(key, value)),
            // Ranges and lists of times carry the name of the list.
            Value::Array(items) => items.iter().for_each(|item| self.collect(key, item)),
            Value::Number(number) => {
                let figure = number.as_f64().unwrap().abs();
                if key.ends_with("ms") || key.contains("_ms") {
                    self.times.push(figure * 1e6);
                } else if key.ends_with("ns") {
                    self.times.push(figure);
                } else {
                    self.shares.push(figure);
                    self.bytes.push(figure);
                }
            }
            _ => {}
        }
    }

    fn has(&self, shown: &Shown) -> bool {
        let figures = match shown.kind {
            Kind::Time => &self.times,
            Kind::Share => &self.shares,
            Kind::Bytes => &self.bytes,
        };
        let half = 0.5 * 10_f64.powi(-shown.decimals) * (1.0 + 1e-9);
        figures.iter().map(|figure| figure / shown.unit).any(|figure| {
            if shown.is_below { figure < shown.value } else { (figure - shown.value).abs() <= half }
        })
    }

    /// Figures of `text` that are none of the report's.
    pub(super) fn unknown_in(&self, name: &str, text: &str) -> Vec<String> {
        let unknown = shown(text).into_iter().filter(|shown| !self.has(shown));
        let unknown = unknown.filter(|shown| shown.kind != Kind::Share || shown.value != LEVEL);
        unknown.map(|shown| format!("{name}: {} is no figure of the JSON", shown.text)).collect()
    }
}

/// A figure as it is printed.
struct Shown {
    value: f64,
    decimals: i32,
    unit: f64,
    kind: Kind,
    /// `<0.1 ms`.
    is_below: bool,
    text: String,
}

/// Every figure with a unit; both ends of an interval.
fn shown(text: &str) -> Vec<Shown> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out = Vec::new();
    let mut low: Option<(String, bool)> = None;
    let (mut at, bytes) = (0, text.as_bytes());
    while at < bytes.len() {
        let before = text[..at].chars().next_back();
        let begins = bytes[at].is_ascii_digit()
            && !before.is_some_and(|c| c.is_alphanumeric() && c.is_ascii() || "._/-:#=".contains(c));
        if !begins {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let end = text[at..].find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
        let end = end.map_or(text.len(), |end| at + end);
        let digits = text[at..end].trim_end_matches(['.', ',']).to_owned();
        let rest = &text[end..];
        let unit = rest.strip_prefix(' ').unwrap_or(rest);
        let is_whole = |unit: &&str, name: &str| {
            unit.strip_prefix(name).is_some_and(|rest| {
                !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/' || c == '_')
            })
        };
        let found = UNITS.iter().find(|(name, ..)| is_whole(&unit, name));
        if rest.starts_with('–') && rest['–'.len_utf8()..].starts_with(|c: char| c.is_ascii_digit()) {
            low = Some((digits, before == Some('<')));
        } else {
            if let Some((name, size, kind)) = found {
                let mut put = |digits: &str, is_below| {
                    let plain = digits.replace(',', "");
                    let decimals = plain.split_once('.').map_or(0, |(_, after)| after.len() as i32);
                    let Ok(value) = plain.parse() else { return };
                    let text = format!("{digits} {name}");
                    out.push(Shown { value, decimals, unit: *size, kind: *kind, is_below, text });
                };
                if let Some((low, is_below)) = &low {
                    put(low, *is_below);
                }
                put(&digits, before == Some('<'));
            }
            low = None;
        }
        at = end;
    }
    out
}

#[test]
fn figures_are_read_as_they_are_printed() {
    let report = serde_json::json!({ "step_ms": 187.912, "share": 0.694, "low_ns": 55_218_265 });
    let figures = Figures::of(&report);
    let unknown = |text: &str| figures.unknown_in("", text).len();
    assert_eq!(unknown("of 188 ms, 69 % or 69.4% (95 %), 55.2–188 ms and 55 ms; <70 %, train.py:41 s"), 0);
    assert_eq!((unknown("187 ms"), unknown("69.5 %"), unknown("54–188 ms"), unknown("0.19 s")), (1, 1, 1, 0));
}
