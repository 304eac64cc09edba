//! The sentences: whether a step takes longer, where that goes, and why the two sides may not be of one measure.

use whyidle_diagnosis::diff::{Caveat, Diff, Row};
use whyidle_diagnosis::{Arg, Basis, Message};

/// Lines that the answer names.
const NAMED: usize = 2;
/// Lines that it names where they do not add up to the difference.
const NAMED_APART: usize = 3;
/// A line is named where it makes up at least this share of the step's difference, or of the step where that is the same.
const WORTH_NAMING: f64 = 0.1;
/// Lines are most of a difference from this share of it, and up to as much above it.
const MOST: f64 = 0.5;

/// What changed, first of all.
pub(crate) fn answer(diff: &Diff) -> Vec<Message> {
    let (a, b) = (ns(&diff.step.a), ns(&diff.step.b));
    let difference = diff.step.difference_ns();
    let worth = |of: i64| move |row: &&Row| row.difference_ns().abs() as f64 >= WORTH_NAMING * of as f64;
    let clear = || diff.ledger.iter().filter(|row| row.clear);
    if !diff.step.clear {
        let same = Message::new("diff-same").time("a", a).time("b", b);
        let moved: Vec<&Row> = clear().filter(worth(a.max(b))).take(NAMED_APART).collect();
        return std::iter::once(same).chain(lines("diff-shifted", &moved)).collect();
    }
    let id = if difference > 0 { "diff-longer" } else { "diff-shorter" };
    let first = Message::new(id)
        .time("a", a)
        .time("b", b)
        .time("difference", difference.abs())
        .share("share", difference.abs() as f64 / a.max(1) as f64);
    let same_way = |row: &&Row| row.difference_ns().signum() == difference.signum();
    let mostly: Vec<&Row> = clear().filter(same_way).filter(worth(difference.abs())).take(NAMED).collect();
    let sum = mostly.iter().map(|row| row.difference_ns()).sum::<i64>() as f64 / difference as f64;
    let second = if (MOST..=2.0 - MOST).contains(&sum) {
        lines("diff-mostly", &mostly)
    } else {
        let apart: Vec<&Row> = clear().filter(worth(difference.abs())).take(NAMED_APART).collect();
        lines("diff-clearly", &apart)
    };
    std::iter::once(first).chain(second).collect()
}

fn lines(id: &'static str, rows: &[&Row]) -> Option<Message> {
    let one = |row: &&Row| {
        let id = if row.difference_ns() > 0 { "diff-line-more" } else { "diff-line-less" };
        Arg::Message(Box::new(
            Message::new(id).name("line", row.name.as_str()).time("difference", row.difference_ns().abs()),
        ))
    };
    (!rows.is_empty()).then(|| Message::new(id).with("lines", Arg::List(rows.iter().map(one).collect())))
}

fn ns(figure: &Option<whyidle_diagnosis::diff::Figure>) -> i64 {
    figure.map_or(0, |figure| figure.ns)
}

/// Why the two sides are not of one measure.
pub(super) fn caveat(caveat: &Caveat) -> Message {
    let both = |id: &'static str, a: &str, b: &str| Message::new(id).name("a", a).name("b", b);
    match caveat {
        Caveat::Basis(a, b) => {
            Message::new("diff-caveat-basis").message("a", basis(*a)).message("b", basis(*b))
        }
        Caveat::FoundBy(a, b) => both("diff-caveat-found-by", a, b),
        Caveat::Gpu(a, b) => both("diff-caveat-gpu", a, b),
        Caveat::Ranks(a, b) => Message::new("diff-caveat-ranks").count("a", *a).count("b", *b),
        Caveat::RankShown(a, b) => both("diff-caveat-rank-shown", &a.to_string(), &b.to_string()),
        Caveat::Version(name, a, b) => both("diff-caveat-version", a, b).name("name", name),
        Caveat::OneTrace(second) => Message::new("diff-caveat-one-trace").name("side", side(*second)),
        Caveat::OneFrames(second) => Message::new("diff-caveat-one-frames").name("side", side(*second)),
        Caveat::OneStep(second) => Message::new("diff-caveat-one-step").name("side", side(*second)),
    }
}

fn basis(basis: Basis) -> Message {
    Message::new(match basis {
        Basis::Given => "basis-given",
        Basis::Measured => "basis-measured",
        Basis::Estimated => "basis-estimated",
        Basis::Traced => "basis-traced",
    })
}

/// What a side is called.
pub(super) fn side(is_second: bool) -> &'static str {
    if is_second { "B" } else { "A" }
}
