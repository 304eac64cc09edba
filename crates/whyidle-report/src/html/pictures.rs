//! What a document draws without a script: the effect of each change, the step with each feed, what a job waits for.

use whyidle_diagnosis::diff::Diff;
use whyidle_experiment::comparison::Comparison;
use whyidle_experiment::differential::Differential;
use whyidle_experiment::fix::{Attempt, Fix, Outcome};
use whyidle_experiment::gate::Gate;
use whyidle_experiment::job::Job;
use whyidle_experiment::stats::paired::Effect;

use super::both::{Both, Tongues};
use super::colours::class;
use super::data::shortened;
use super::spans::{Span, set};
use crate::experiment::{differential, fix, gpu_time};
use crate::{Document, FleetReport};

/// Lines of a difference that are drawn: the largest.
const LINES: usize = 12;

/// The picture of a document; nothing where it has none.
pub(crate) fn of(t: &Tongues<'_>, document: &Document<'_>) -> String {
    match document {
        Document::Comparison(found, _) => comparison(t, found),
        Document::Fix(found, _) => attempts(t, found),
        Document::Differential(found, _) => fed(t, found),
        Document::Gate(gate, _) => gated(t, gate),
        Document::Job(job) => waits(t, job),
        Document::Diff(diff) => lines(t, diff),
        Document::Fleet(report) => jobs(t, report),
        Document::Run(..) | Document::Sweep(..) | Document::History(_) | Document::Plan(_) => String::new(),
    }
}

fn interval(t: &Tongues<'_>, low: f64, high: f64) -> Both {
    t.say(|c| {
        c.format("html-interval", &[("low", c.difference(low).into()), ("high", c.difference(high).into())])
    })
}

/// The colour of an effect: shorter steps, longer ones, or neither for certain.
fn colour(effect: &Effect) -> &'static str {
    match (effect.low, effect.high) {
        (_, high) if high < 0.0 => "better",
        (low, _) if low > 0.0 => "worse",
        _ => "k-rest",
    }
}

/// The span of a share that steps or a metric changed by, with its interval where it was proven.
fn changed(t: &Tongues<'_>, name: Both, share: f64, range: Option<(f64, f64)>, class: &'static str) -> Span {
    let says = range.map_or_else(Both::default, |(low, high)| interval(t, low, high));
    Span { name, value: share, range, figure: t.say(|c| c.difference(share)), says, class }
}

/// The span of a proven effect.
fn proven(t: &Tongues<'_>, name: Both, effect: &Effect) -> Span {
    changed(t, name, effect.effect, Some((effect.low, effect.high)), colour(effect))
}

fn comparison(t: &Tongues<'_>, found: &Comparison) -> String {
    let Some(effect) = &found.effect else { return String::new() };
    let span = proven(t, t.word("html-effect-of-b"), effect);
    set(&t.word("html-title-effect"), &[span], &[])
}

fn attempts(t: &Tongues<'_>, found: &Fix) -> String {
    let span = |attempt: &Attempt| {
        let says = t.say(|c| c.message(&fix::outcome(attempt)));
        let name = Both::same(attempt.candidate.change.to_string());
        let is_known = !matches!(attempt.outcome, Outcome::NotApplied(_));
        match (&attempt.effect, attempt.looked.filter(|_| is_known)) {
            (Some(effect), _) => Some(Span { says, ..proven(t, name, effect) }),
            // One run, no interval.
            (None, Some(looked)) => Some(Span { says, ..changed(t, name, looked, None, "k-rest") }),
            (None, None) => None,
        }
    };
    let spans: Vec<Span> = found.attempts.iter().filter_map(span).collect();
    set(&t.word("html-title-attempts"), &spans, &[])
}

fn fed(t: &Tongues<'_>, found: &Differential) -> String {
    let span = |fed: &whyidle_experiment::differential::Fed| Span {
        name: t.message(&differential::feed(fed.feed)),
        value: fed.step_ns as f64,
        range: Some((fed.range_ns.0 as f64, fed.range_ns.1 as f64)),
        figure: t.time(fed.step_ns),
        says: Both::default(),
        class: "k-element",
    };
    let spans: Vec<Span> = found.fed.iter().map(span).collect();
    set(&t.word("html-title-fed"), &spans, &[])
}

fn gated(t: &Tongues<'_>, gate: &Gate) -> String {
    let Some(change) = &gate.change else { return String::new() };
    // What costs more is worse, of rates what is less.
    let allowed = if gate.metric.is_cost() { gate.limit } else { -gate.limit };
    let is_beyond = |value: f64| if gate.metric.is_cost() { value > allowed } else { value < allowed };
    let class = match (is_beyond(change.low), is_beyond(change.high)) {
        (true, true) => "worse",
        (false, false) => "better",
        _ => "k-rest",
    };
    let range = Some((change.low, change.high));
    let span = changed(t, t.word("html-gate-change"), change.change, range, class);
    set(&t.word("html-title-gate"), &[span], &[allowed])
}

fn waits(t: &Tongues<'_>, job: &Job) -> String {
    let span = |wait: &whyidle_experiment::job::Wait| Span {
        name: t.say(|c| c.line(&wait.line)),
        value: wait.share,
        range: None,
        figure: t.say(|c| c.share(wait.share)),
        says: Both::default(),
        class: class(&wait.line),
    };
    let spans: Vec<Span> = job.waits.iter().take(LINES).map(span).collect();
    set(&t.word("job-title-waits"), &spans, &[])
}

/// GPU time without a kernel, by job.
fn jobs(t: &Tongues<'_>, report: &FleetReport) -> String {
    let span = |job: &whyidle_diagnosis::fleet::FleetJob| Span {
        name: Both::same(shortened(&job.id)),
        value: job.idle_gpu_ms as f64,
        range: None,
        figure: t.say(|c| c.message(&gpu_time(job.idle_gpu_ms as f64 * 1e6))),
        says: Both::default(),
        class: "k-data",
    };
    let spans: Vec<Span> = report.fleet.jobs.iter().take(report.limit.min(LINES)).map(span).collect();
    set(&t.word("html-title-jobs"), &spans, &[])
}

fn lines(t: &Tongues<'_>, diff: &Diff) -> String {
    let mut rows: Vec<_> = diff.ledger.iter().filter(|row| row.difference_ns() != 0).collect();
    rows.sort_by_key(|row| -row.difference_ns().abs());
    let span = |row: &&whyidle_diagnosis::diff::Row| {
        let ns = row.difference_ns();
        let sign = if ns < 0 { "−" } else { "+" };
        Span {
            name: t.say(|c| c.line(&row.name)),
            value: ns as f64,
            range: None,
            figure: t.say(|c| format!("{sign}{}", c.time(ns.abs()))),
            says: if row.clear { Both::default() } else { t.word("html-unclear") },
            class: if row.clear { class(&row.name) } else { "k-rest" },
        }
    };
    let spans: Vec<Span> = rows.iter().take(LINES).map(span).collect();
    set(&t.word("html-title-lines"), &spans, &[])
}
