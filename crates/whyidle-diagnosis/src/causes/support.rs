//! What the causes share: thresholds, evidence about places, remedies.

use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;

use crate::case::{Case, Place};
use crate::message::Message;
use crate::verdict::{Change, Estimate, Evidence, Finding, Gain, Remedy};

/// A wait below this share of the step is not worth a finding.
pub(crate) const WORTH: f64 = 0.01;

/// The cost of a line, if it is worth a finding.
pub(crate) fn worth(case: &Case<'_>, line: Line) -> Option<Estimate> {
    let cost = case.line(line);
    (case.share(cost.ns) >= WORTH).then_some(cost)
}

/// A part of a whole, 0 to 1; 0 of nothing.
pub(crate) fn share_of(part: i64, whole: i64) -> f64 {
    if whole <= 0 { 0.0 } else { (part as f64 / whole as f64).clamp(0.0, 1.0) }
}

/// A change without a setting.
pub(crate) fn change(what: &'static str) -> Change {
    Change { what, from: None, to: None }
}

/// Worker processes compete with the training process for caches, memory bandwidth and the interpreter's lock of
/// its pin-memory thread: the same operators took 10–27 % longer on the host with four workers than with none
/// (kineto's ResNet-50 sample pair).
pub(crate) const SLOWED_BY_WORKERS: f64 = 1.25;

/// A piece of evidence with a time in it.
pub(crate) fn timed(text: Message, ns: i64, place: Option<String>) -> Evidence {
    Evidence { text, value: Some(ns as f64), unit: "ns", place }
}

/// A piece of evidence with a count in it.
pub(crate) fn counted(text: Message, count: i64) -> Evidence {
    Evidence { text, value: Some(count as f64), unit: "count", place: None }
}

/// A piece of evidence with a share in it.
pub(crate) fn shared(text: Message, share: f64) -> Evidence {
    Evidence { text, value: Some(share), unit: "share", place: None }
}

/// A piece of evidence with bytes in it.
pub(crate) fn sized(text: Message, bytes: f64) -> Evidence {
    Evidence { text, value: Some(bytes), unit: "bytes", place: None }
}

/// Where a line's time goes, as evidence: the largest places, at most `most`.
pub(crate) fn places(case: &Case<'_>, line: Line, most: usize) -> Vec<Evidence> {
    let total = case.traced(line).max(1);
    case.places(line)
        .into_iter()
        .filter(|place| place.ns * 20 >= total)
        .take(most)
        .map(|place| {
            let text = place_message(&place);
            timed(text, place.ns, place.frame.clone().or_else(|| Some(place.name.clone())))
        })
        .collect()
}

fn place_message(place: &Place) -> Message {
    let base = match (&place.frame, place.name.is_empty()) {
        (Some(frame), true) => Message::new("ev-place-frame").name("frame", frame),
        (Some(frame), false) => Message::new("ev-place-both").name("name", &place.name).name("frame", frame),
        (None, true) => Message::new("ev-place-unnamed"),
        (None, false) => Message::new("ev-place").name("name", &place.name),
    };
    base.time("time", place.ns).count("count", place.count)
}

/// The line of a cause as evidence: its time in the traced step.
pub(crate) fn line_evidence(case: &Case<'_>, line: Line) -> Evidence {
    let traced = case.traced(line);
    let share = traced as f64 / case.traced_step().max(1) as f64;
    timed(Message::new("ev-line").time("time", traced).share("share", share), traced, None)
}

/// Host time per step in a context, without the profiler, ns.
pub(crate) fn host_time(case: &Case<'_>, context: Context) -> i64 {
    case.replay.as_ref().map_or(0, |replayed| {
        let steps = replayed.steps.clone();
        whyidle_replay::unprofiled::context_time(&replayed.program, &replayed.lengths, steps, context)
    })
}

/// Whether the replayed steps have host nodes in a context.
pub(crate) fn has_context(case: &Case<'_>, context: Context) -> bool {
    let nodes = case.replay.iter().flat_map(|replayed| &replayed.program.host);
    nodes.into_iter().any(|node| node.context == context)
}

/// A finding about a line.
pub(crate) fn finding(
    case: &Case<'_>,
    cause: &'static str,
    cost: Estimate,
    gain: Option<Gain>,
    evidence: Vec<Evidence>,
    remedy: Remedy,
) -> Finding {
    Finding { cause, rank: case.rank(), cost, share: case.share(cost.ns), gain, evidence, remedy }
}

/// A remedy.
pub(crate) fn remedy(summary: Message, steps: &[&'static str], code: &str) -> Remedy {
    Remedy { summary, steps: steps.iter().map(|id| Message::new(id)).collect(), code: code.to_owned() }
}

/// A loader with worker processes; `workers` is a number, or a name where none can be given.
pub(crate) fn loader_code(workers: &str) -> String {
    format!(
        "loader = DataLoader(
    dataset,
    batch_size=batch_size,
    num_workers={workers},
    pin_memory=True,
    persistent_workers=True,
    prefetch_factor=4,
)"
    )
}
