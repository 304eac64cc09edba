//! Figures as people read them: the unit that fits and the digits that mean something.
//! Only digits and unit keys are decided here; how a language sets them is in the catalogue.

/// A figure and the catalogue key of the unit it is set in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quantity {
    /// Digits.
    pub(crate) value: String,
    /// `unit-ms`, `unit-percent`, …; its message takes `$value`.
    pub(crate) unit: &'static str,
}

/// Units of time: key, length in ns, the smallest figure (ns) that is set in it.
/// Figures that would round up to 1000 of a unit already take the next.
const TIME_UNITS: [(&str, f64, f64); 4] =
    [("unit-s", 1e9, 9.995e8), ("unit-ms", 1e6, 9.995e5), ("unit-us", 1e3, 999.5), ("unit-ns", 1.0, 0.0)];

/// Units of bytes, likewise.
const BYTE_UNITS: [(&str, f64, f64); 5] = [
    // Sums of many GPUs: up to ten thousand GiB compare better as such.
    ("unit-tib", 1_099_511_627_776.0, 1.073_7e13),
    ("unit-gib", 1_073_741_824.0, 1_073_200_000.0),
    ("unit-mib", 1_048_576.0, 1_048_000.0),
    ("unit-kib", 1024.0, 1023.5),
    ("unit-byte", 1.0, 0.0),
];

/// Digits with the minus of print, `−5.1`, as everything else that is set beside them.
fn signed(digits: String) -> String {
    match digits.strip_prefix('-') {
        Some(rest) => format!("−{rest}"),
        None => digits,
    }
}

/// A figure with so many decimals.
pub(crate) fn number(figure: f64, decimals: usize) -> String {
    signed(format!("{figure:.decimals$}"))
}

fn unit_for(units: &[(&'static str, f64, f64)], figure: f64) -> (&'static str, f64) {
    let fitting = units.iter().find(|(_, _, from)| figure.abs() >= *from);
    let &(key, size, _) = fitting.unwrap_or(&units[units.len() - 1]);
    (key, size)
}

/// Decimals for a figure of this size: two or three digits that mean something.
fn decimals(figure: f64, unit: &str) -> usize {
    let figure = figure.abs();
    match unit {
        "unit-ns" | "unit-byte" => 0,
        "unit-s" | "unit-gib" | "unit-tib" if figure < 9.995 => 2,
        "unit-s" | "unit-gib" | "unit-tib" if figure < 99.95 => 1,
        _ => usize::from(figure < 9.95),
    }
}

/// `5.1` and `unit-ms`.
pub(crate) fn time(ns: i64) -> Quantity {
    if ns == 0 {
        return Quantity { value: "0".to_owned(), unit: "unit-ms" };
    }
    scaled(&TIME_UNITS, ns as f64)
}

/// A part of `whole` in the unit of the whole, so that figures of a column compare: `0.6` and `unit-ms`.
pub(crate) fn time_like(ns: i64, whole_ns: i64) -> Quantity {
    let (unit, size) = unit_for(&TIME_UNITS, whole_ns as f64);
    let in_unit = ns as f64 / size;
    let places = decimals(in_unit, unit);
    let smallest = 10_f64.powi(-(places as i32));
    if ns > 0 && in_unit < smallest / 2.0 {
        return Quantity { value: format!("<{smallest:.places$}"), unit };
    }
    Quantity { value: number(in_unit, places), unit }
}

/// Three digits that mean something, without trailing zeros: `8.03`, `80.3`, `100`.
pub(crate) fn plain(figure: f64) -> String {
    let text = ratio(figure);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// How many times as much, three digits that mean something: `1.40`, `21.6`, `100`. Zeros stay, so that the ends of an
/// interval and the figures of a column compare.
pub(crate) fn ratio(figure: f64) -> String {
    match figure.abs() {
        small if small < 9.995 => number(figure, 2),
        middle if middle < 99.95 => number(figure, 1),
        _ => count(figure.round() as i64),
    }
}

/// `1.50` and `unit-gib`.
pub(crate) fn bytes(bytes: i64) -> Quantity {
    scaled(&BYTE_UNITS, bytes as f64)
}

fn scaled(units: &[(&'static str, f64, f64)], figure: f64) -> Quantity {
    let (unit, size) = unit_for(units, figure);
    let in_unit = figure / size;
    Quantity { value: number(in_unit, decimals(in_unit, unit)), unit }
}

/// `55–61` and `unit-ms`: both ends in the unit of the upper one; one figure where they read alike.
pub(crate) fn time_range(low_ns: i64, high_ns: i64) -> Quantity {
    joined(time_ends(low_ns, high_ns))
}

/// `55`, and `61` with `unit-ms`: the ends of an interval in the unit of the upper one, with as many
/// decimals as tell them apart.
pub(crate) fn time_ends(low_ns: i64, high_ns: i64) -> (String, Quantity) {
    ends(&TIME_UNITS, low_ns as f64, high_ns as f64)
}

/// `5.9–6.1` and `unit-gib`, likewise.
pub(crate) fn byte_range(low: i64, high: i64) -> Quantity {
    joined(byte_ends(low, high))
}

/// The ends of an interval of bytes, likewise.
pub(crate) fn byte_ends(low: i64, high: i64) -> (String, Quantity) {
    ends(&BYTE_UNITS, low as f64, high as f64)
}

fn joined((low, high): (String, Quantity)) -> Quantity {
    if low == high.value { high } else { Quantity { value: format!("{low}–{}", high.value), ..high } }
}

fn ends(units: &[(&'static str, f64, f64)], low: f64, high: f64) -> (String, Quantity) {
    let (unit, size) = unit_for(units, high);
    let (low, high) = (low / size, high / size);
    // Ends near each other are set as finely as the lower one would be alone.
    let usual = decimals(if high < 2.0 * low { low } else { high }, unit);
    for places in [usual, usual + 1] {
        let (low, high) = (format!("{low:.places$}"), format!("{high:.places$}"));
        if low != high {
            return (low, Quantity { value: high, unit });
        }
    }
    let alike = format!("{high:.usual$}");
    (alike.clone(), Quantity { value: alike, unit })
}

/// A change as percent with its direction, in the digits of [`share`]: `−31`, `+4.2`, `0`.
pub(crate) fn difference(difference: f64) -> Quantity {
    let sign = if difference > 0.0 { "+" } else { "−" };
    let size = share(difference.abs());
    if size.value == "0" { size } else { Quantity { value: format!("{sign}{}", size.value), ..size } }
}

/// Percent for a sentence: `31`, `4.2`, `0.03`.
pub(crate) fn share(share: f64) -> Quantity {
    let percent = share * 100.0;
    let size = percent.abs();
    let value = if size >= 9.95 {
        number(percent, 0)
    } else if size >= 0.095 {
        number(percent, 1).trim_end_matches(".0").to_owned()
    } else if size >= 0.005 {
        number(percent, 2)
    } else if size > 0.0 {
        "<0.01".to_owned()
    } else {
        "0".to_owned()
    };
    Quantity { value, unit: "unit-percent" }
}

/// Percent for a column of the ledger, whole: `31`, and `<1` for what is there but rounds to 0, if it is one nanosecond.
pub(crate) fn share_in_column(share: f64) -> Quantity {
    let percent = share * 100.0;
    let value =
        if percent > 0.0 && percent <= 0.5 { "<1".to_owned() } else { format!("{:.0}", percent.max(0.0)) };
    Quantity { value, unit: "unit-percent" }
}

/// `1234`, and from five digits on `12,345`.
pub(crate) fn count(count: i64) -> String {
    let digits = count.unsigned_abs().to_string();
    let sign = if count < 0 { "−" } else { "" };
    if digits.len() < 5 {
        return format!("{sign}{digits}");
    }
    let mut grouped = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(quantity: &Quantity) -> String {
        format!("{} {}", quantity.value, quantity.unit.trim_start_matches("unit-"))
    }

    #[test]
    fn times_take_the_unit_that_reads_best() {
        for (ns, expected) in [
            (0, "0 ms"),
            (1, "1 ns"),
            (999, "999 ns"),
            (1_000, "1.0 us"),
            (23_400, "23 us"),
            (999_499, "999 us"),
            (999_600, "1.0 ms"),
            (5_120_000, "5.1 ms"),
            (9_960_000, "10 ms"),
            (188_200_000, "188 ms"),
            (999_600_000, "1.00 s"),
            (1_234_000_000, "1.23 s"),
            (75_400_000_000, "75.4 s"),
            (754_000_000_000, "754 s"),
            (-5_120_000, "−5.1 ms"),
        ] {
            assert_eq!(shown(&time(ns)), expected);
        }
    }

    #[test]
    fn parts_take_the_unit_of_the_whole() {
        assert_eq!(shown(&time_like(600_000, 188_000_000)), "0.6 ms");
        assert_eq!(shown(&time_like(131_000_000, 188_000_000)), "131 ms");
        assert_eq!(shown(&time_like(40_000, 188_000_000)), "<0.1 ms");
        assert_eq!(shown(&time_like(131_000_000, 1_880_000_000)), "0.13 s");
        assert_eq!(shown(&time_like(0, 188_000_000)), "0.0 ms");
    }

    #[test]
    fn ranges_share_a_unit_and_collapse_when_they_read_alike() {
        assert_eq!(shown(&time_range(55_000_000, 61_000_000)), "55–61 ms");
        assert_eq!(shown(&time_range(9_800_000, 10_400_000)), "9.8–10.4 ms");
        assert_eq!(shown(&time_range(9_200_000, 10_100_000)), "9.2–10.1 ms");
        assert_eq!(shown(&time_range(8_000_000, 61_000_000)), "8–61 ms");
        assert_eq!(shown(&time_range(57_000_000, 57_000_000)), "57 ms");
        assert_eq!(shown(&time_range(900_000, 1_200_000)), "0.9–1.2 ms");
        assert_eq!(shown(&time_range(0, 1_200_000_000)), "0.00–1.20 s");
        assert_eq!(shown(&byte_range(59_000_000_000, 62_000_000_000)), "54.9–57.7 gib");
        assert_eq!(shown(&byte_range(1 << 30, 1 << 30)), "1.00 gib");
    }

    #[test]
    fn shares_keep_small_figures_apart() {
        for (value, expected) in [
            (0.314, "31"),
            (1.0, "100"),
            (0.042, "4.2"),
            (0.05, "5"),
            (0.0003, "0.03"),
            (0.000_01, "<0.01"),
            (0.0, "0"),
        ] {
            assert_eq!(share(value).value, expected);
        }
        for (value, expected) in
            [(-0.698, "−70"), (0.042, "+4.2"), (-0.000_01, "−<0.01"), (0.0, "0"), (-0.0, "0")]
        {
            assert_eq!(difference(value).value, expected);
        }
        assert_eq!(share(-0.031).value, "−3.1");
        assert_eq!(share_in_column(0.004).value, "<1");
        // One nanosecond of a step of 188 ms is there, and time and share both say so.
        assert_eq!(share_in_column(1.0 / 188e6).value, "<1");
        assert_eq!(shown(&time_like(1, 188_000_000)), "<0.1 ms");
        // A half is rounded to the even number: to none.
        assert_eq!((share_in_column(0.005).value, share_in_column(0.0051).value), ("<1".into(), "1".into()));
        assert_eq!(share_in_column(0.693).value, "69");
        assert_eq!(share_in_column(0.0).value, "0");
    }

    #[test]
    fn ratios_keep_their_zeros_and_plain_figures_do_not() {
        for (figure, as_ratio, as_figure) in [
            (1.4, "1.40", "1.4"),
            (1.0, "1.00", "1"),
            (21.04, "21.0", "21"),
            (100.0, "100", "100"),
            (9.996, "10.0", "10"),
        ] {
            assert_eq!((ratio(figure).as_str(), plain(figure).as_str()), (as_ratio, as_figure));
        }
    }

    #[test]
    fn bytes_and_counts() {
        assert_eq!(shown(&bytes(1_610_612_736)), "1.50 gib");
        assert_eq!(shown(&bytes(160_432_128)), "153 mib");
        assert_eq!(shown(&bytes(512)), "512 byte");
        assert_eq!(count(1_234), "1234");
        assert_eq!(count(1_080_000), "1,080,000");
        assert_eq!(count(-12_345), "−12,345");
    }
}
