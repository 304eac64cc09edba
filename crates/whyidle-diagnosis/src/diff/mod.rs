//! What changed from one piece of evidence to another: steps, ledgers, kernels and operators by name, instruments, stacks.
//!
//! The figures of a verdict are of the step without a profiler; those by name are of the traced steps. A difference is
//! *clear* where the two intervals are apart by more than runs of one program differ. An interval is that of the verdict,
//! and at least what the traced steps differ by among themselves.

mod caveats;
mod side;

use std::collections::BTreeMap;

pub use caveats::Caveat;
pub use side::{Figure, Place, Side};

use crate::edit::RUNS_DIFFER;
use crate::verdict::{LineKind, Reading};

/// A figure on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Id of a ledger's line, or a name of the trace.
    pub name: String,
    /// Of a line: work, waiting or rest.
    pub kind: Option<LineKind>,
    /// On the first side; `None`: it is not there.
    pub a: Option<Figure>,
    /// On the second side.
    pub b: Option<Figure>,
    /// The difference is larger than chance explains; always so where only one side has it.
    pub clear: bool,
}

impl Row {
    fn new(name: String, kind: Option<LineKind>, a: Option<Figure>, b: Option<Figure>) -> Self {
        let clear = match (&a, &b) {
            (Some(a), Some(b)) => is_clear(a, b),
            _ => true,
        };
        Self { name, kind, a, b, clear }
    }

    /// From the first side to the second, ns; what is not there counts as 0.
    #[must_use]
    pub fn difference_ns(&self) -> i64 {
        let ns = |figure: &Option<Figure>| figure.map_or(0, |figure| figure.ns);
        ns(&self.b) - ns(&self.a)
    }

    /// Only the second side has it.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.a.is_none()
    }

    /// Only the first side has it.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.b.is_none()
    }
}

/// The intervals are apart by more than runs of one program differ.
fn is_clear(a: &Figure, b: &Figure) -> bool {
    let apart = (b.low_ns - a.high_ns).max(a.low_ns - b.high_ns);
    apart > (RUNS_DIFFER * a.ns.max(b.ns) as f64) as i64
}

/// Rows by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ByName {
    /// Kernels, copies, memsets, per traced step.
    pub kernels: Vec<Row>,
    /// Operators by the GPU time they own, per traced step.
    pub operators: Vec<Row>,
    /// What the host was in, per traced step: the profiler's cost is in it.
    pub host: Vec<Row>,
}

/// What an instrument says on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Readings {
    /// Stable id of the instrument.
    pub id: &'static str,
    /// Unit of the values.
    pub unit: &'static str,
    /// On the first side.
    pub a: Option<f64>,
    /// On the second side.
    pub b: Option<f64>,
}

/// A place of the main thread on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Places {
    /// `validate (train.py:60)`.
    pub name: String,
    /// Share of the main thread's samples on the first side.
    pub a: f64,
    /// On the second side.
    pub b: f64,
    /// The difference is larger than that of two draws from the same program.
    pub clear: bool,
}

/// What changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    /// The first side.
    pub a: Side,
    /// The second side.
    pub b: Side,
    /// Why the two are not of one measure.
    pub caveats: Vec<Caveat>,
    /// The step without a profiler.
    pub step: Row,
    /// The ledger, per step without a profiler, what changed most first.
    pub ledger: Vec<Row>,
    /// By name, what changed most first; `None` where a side has no trace.
    pub names: Option<ByName>,
    /// Instruments, where both sides are recordings.
    pub readings: Vec<Readings>,
    /// Places of the main thread, where both sides have stacks.
    pub places: Vec<Places>,
}

/// What changed from `a` to `b`.
#[must_use]
pub fn diff(a: Side, b: Side) -> Diff {
    let caveats = caveats::caveats(&a, &b);
    let step = Row::new("step".to_owned(), None, Some(a.step()), Some(b.step()));
    let names = match (&a.names, &b.names) {
        (Some(from), Some(to)) => Some(ByName {
            kernels: rows(&from.kernels, &to.kernels),
            operators: rows(&from.operators, &to.operators),
            host: rows(&from.host, &to.host),
        }),
        _ => None,
    };
    let (ledger, readings, places) = (ledger(&a, &b), readings(&a, &b), places(&a, &b));
    Diff { a, b, caveats, step, ledger, names, readings, places }
}

/// What changed most first.
fn sort(rows: &mut [Row]) {
    rows.sort_by(|x, y| {
        let size = |row: &Row| std::cmp::Reverse(row.difference_ns().abs());
        size(x).cmp(&size(y)).then_with(|| x.name.cmp(&y.name))
    });
}

fn rows(from: &BTreeMap<String, Figure>, to: &BTreeMap<String, Figure>) -> Vec<Row> {
    let new = to.iter().filter(|(name, _)| !from.contains_key(*name));
    let known = from.iter().map(|(name, figure)| (name, Some(*figure), to.get(name).copied()));
    let all = known.chain(new.map(|(name, figure)| (name, None, Some(*figure))));
    let mut rows: Vec<Row> = all.map(|(name, a, b)| Row::new(name.clone(), None, a, b)).collect();
    sort(&mut rows);
    rows
}

fn ledger(a: &Side, b: &Side) -> Vec<Row> {
    let coarse = a.has_trace() != b.has_trace();
    let (from, to) = (a.lines(coarse), b.lines(coarse));
    let mut rows = rows(&from, &to);
    let kinds = a.verdict.ledger.iter().chain(&b.verdict.ledger);
    let kinds: BTreeMap<&str, LineKind> = kinds.map(|line| (line.id, line.kind)).collect();
    for row in &mut rows {
        row.kind = kinds.get(row.name.as_str()).copied();
        // A line that a ledger does not have is empty there.
        let empty = Figure { ns: 0, low_ns: 0, high_ns: 0, calls: None };
        let (from, to) = (row.a.unwrap_or(empty), row.b.unwrap_or(empty));
        row.clear = is_clear(&from, &to);
        (row.a, row.b) = (Some(from), Some(to));
    }
    rows
}

fn readings(a: &Side, b: &Side) -> Vec<Readings> {
    let of = |side: &Side| -> Vec<Reading> {
        side.verdict.details.instruments.as_ref().map(|all| all.readings.clone()).unwrap_or_default()
    };
    let (from, to) = (of(a), of(b));
    let both = from.iter().filter_map(|one| {
        let other = to.iter().find(|other| other.id == one.id)?;
        (one.value.is_some() || other.value.is_some()).then_some(Readings {
            id: one.id,
            unit: one.unit,
            a: one.value,
            b: other.value,
        })
    });
    both.collect()
}

fn places(a: &Side, b: &Side) -> Vec<Places> {
    let (Some((from, n)), Some((to, m))) = (&a.places, &b.places) else { return Vec::new() };
    let share = |places: &[Place], name: &str| {
        places.iter().filter(|place| place.name == name).map(|place| place.share).sum::<f64>()
    };
    let mut names: Vec<&String> = from.iter().chain(to).map(|place| &place.name).collect();
    names.sort();
    names.dedup();
    let mut rows: Vec<Places> = names
        .into_iter()
        .map(|name| {
            let (from, to) = (share(from, name), share(to, name));
            let error = whyidle_analysis::signals::share_error;
            let clear = (to - from).abs() > error(from, *n) + error(to, *m);
            Places { name: name.clone(), a: from, b: to, clear }
        })
        .collect();
    rows.sort_by(|x, y| (y.b - y.a).abs().total_cmp(&(x.b - x.a).abs()).then_with(|| x.name.cmp(&y.name)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(ns: i64, spread: i64) -> Figure {
        Figure { ns, low_ns: ns - spread, high_ns: ns + spread, calls: None }
    }

    #[test]
    fn a_difference_within_the_intervals_is_not_clear() {
        for (a, b, clear) in [
            (figure(1_000, 0), figure(1_000, 0), false),
            // As much as two runs of one program differ.
            (figure(1_000, 0), figure(1_014, 0), false),
            (figure(1_000, 0), figure(1_100, 0), true),
            (figure(1_100, 0), figure(1_000, 0), true),
            (figure(1_000, 60), figure(1_100, 60), false),
            (figure(0, 0), figure(5, 0), true),
        ] {
            assert_eq!(is_clear(&a, &b), clear, "{a:?} {b:?}");
        }
    }

    #[test]
    fn rows_are_matched_by_name_and_ordered_by_what_changed() {
        let named = |rows: &[(&str, i64)]| -> BTreeMap<String, Figure> {
            rows.iter().map(|&(name, ns)| (name.to_owned(), figure(ns, 0))).collect()
        };
        let rows = rows(
            &named(&[("mm", 100), ("gone", 30), ("same", 7)]),
            &named(&[("mm", 150), ("new", 20), ("same", 7)]),
        );
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (&*row.name, row.difference_ns(), row.is_new(), row.is_gone(), row.clear))
            .collect();
        assert_eq!(
            shown,
            [
                ("mm", 50, false, false, true),
                ("gone", -30, false, true, true),
                ("new", 20, true, false, true),
                ("same", 0, false, false, false),
            ]
        );
    }
}
