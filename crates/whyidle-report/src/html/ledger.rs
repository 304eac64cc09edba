//! Where a step goes, as bars and as a table.

use fluent_bundle::FluentValue;
use whyidle_diagnosis::{Line, LineKind, Step, Verdict};

use super::both::{Both, Tongues};
use super::colours::class;
use super::drawn::Drawn;

/// Width of a whole bar in the units of its picture.
const WHOLE: f64 = 1000.0;
/// Traced steps that get a bar of their own.
const BARS: usize = 12;

/// A bar of segments side by side.
pub(crate) struct Bar {
    pub(crate) name: Both,
    pub(crate) time: Both,
    pub(crate) segments: Vec<Segment>,
}

/// A segment of a bar; places are in thousandths of the widest bar.
pub(crate) struct Segment {
    pub(crate) class: &'static str,
    pub(crate) x: String,
    pub(crate) width: String,
    pub(crate) says: Both,
}

/// Lines of one kind.
pub(crate) struct Group {
    pub(crate) name: Both,
    pub(crate) time: Both,
    pub(crate) share: Both,
    pub(crate) rows: Vec<Row>,
}

/// A line of the ledger.
pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) class: &'static str,
    pub(crate) label: Both,
    pub(crate) time: Both,
    pub(crate) range: Both,
    pub(crate) share: Both,
    pub(crate) traced: Both,
    pub(crate) details: Both,
}

/// Thousandths of the whole, with as many digits as a pixel needs.
pub(crate) fn thousandths(part: f64, whole: f64) -> String {
    format!("{:.1}", (part / whole.max(1.0) * WHOLE).clamp(0.0, WHOLE))
}

/// The true step first, then the traced ones, all on one scale.
pub(super) fn bars(t: &Tongues<'_>, verdict: &Verdict, drawn: &Drawn) -> Vec<Bar> {
    let step_ns = verdict.step.unprofiled.ns;
    let shown = &drawn.traced[..drawn.traced.len().min(BARS)];
    let length = |lines: &[(&str, i64)]| lines.iter().map(|(_, ns)| ns).sum::<i64>();
    let widest = shown.iter().map(|(_, lines)| length(lines)).chain([step_ns]).max().unwrap_or(0);
    let bar = |name: Both, lines: &[(&'static str, i64)]| {
        let mut now = 0;
        let whole = length(lines);
        let segments = lines.iter().filter(|(_, ns)| *ns > 0).map(|&(id, ns)| {
            let from = now;
            now += ns;
            let says = t.say(|c| {
                let share = c.share(ns as f64 / whole.max(1) as f64);
                format!("{} {} · {share}", c.line(id), c.time_like(ns, whole))
            });
            Segment {
                class: class(id),
                x: thousandths(from as f64, widest as f64),
                width: thousandths(ns as f64, widest as f64),
                says,
            }
        });
        let segments = segments.collect();
        Bar { name, time: t.time(whole), segments }
    };
    let own: Vec<(&'static str, i64)> =
        verdict.ledger.iter().map(|line| (line.id, line.unprofiled.ns)).collect();
    let mut bars = vec![bar(t.word("html-true-step"), &own)];
    bars.extend(shown.iter().map(|(number, lines)| {
        let args = [("number", FluentValue::from(number.to_string()))];
        bar(t.format("html-traced-step", &args), lines)
    }));
    bars
}

pub(super) fn groups(t: &Tongues<'_>, verdict: &Verdict) -> Vec<Group> {
    let step_ns = verdict.step.unprofiled.ns;
    [
        (LineKind::Working, "report-group-working"),
        (LineKind::Waiting, "report-group-waiting"),
        (LineKind::Rest, "report-group-rest"),
    ]
    .into_iter()
    .filter_map(|(kind, key)| {
        let is_shown = |line: &&Line| line.kind == kind && (line.traced_ns != 0 || line.unprofiled.ns != 0);
        let lines: Vec<&Line> = verdict.ledger.iter().filter(is_shown).collect();
        if lines.is_empty() {
            return None;
        }
        let ns = lines.iter().map(|line| line.unprofiled.ns).sum();
        let whole: f64 = lines.iter().map(|line| line.share).sum();
        Some(Group {
            name: t.word(key),
            time: t.say(|c| c.time_like(ns, step_ns)),
            share: column(t, whole),
            rows: lines.iter().map(|line| row(t, line, &verdict.step)).collect(),
        })
    })
    .collect()
}

/// A share as a column of the ledger sets it.
pub(crate) fn column(t: &Tongues<'_>, share: f64) -> Both {
    t.say(|c| c.share_in_column(share))
}

fn row(t: &Tongues<'_>, line: &Line, step: &Step) -> Row {
    let steps = i64::try_from(step.count.max(1)).unwrap_or(i64::MAX);
    Row {
        id: line.id,
        class: class(line.id),
        label: t.say(|c| c.line(line.id)),
        time: t.say(|c| c.time_like(line.unprofiled.ns, step.unprofiled.ns)),
        range: t.say(|c| c.range_if_wide(&line.unprofiled).unwrap_or_default()),
        share: column(t, line.share),
        traced: t.say(|c| c.time_like(line.traced_ns / steps, step.traced_ns)),
        details: t
            .say(|c| line.details.iter().map(|detail| c.message(detail)).collect::<Vec<_>>().join(" · ")),
    }
}
