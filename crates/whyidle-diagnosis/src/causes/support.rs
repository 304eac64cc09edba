//! What the causes share: thresholds, gains by replay, evidence about places.

use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_replay::program::Program;
use whyidle_replay::simulate::{Lengths, steady};
use whyidle_replay::unprofiled::is_device_bound;

use crate::case::{Case, Place};
use crate::message::Message;
use crate::verdict::{Change, Estimate, Evidence, Finding, Gain, Method, Remedy};

/// A wait below this share of the step is not worth a finding.
pub(crate) const WORTH: f64 = 0.01;

/// Relative uncertainty of a replayed step: where the device sets the pace afterwards, kernels keep their length;
/// where the host does, its speed outside the profiler is an estimate.
const AFTER_DEVICE_BOUND: f64 = 0.04;
const AFTER_HOST_BOUND: f64 = 0.15;

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

/// Changes that take away or shorten work of the GPU itself.
const SHORTENS_KERNELS: [&str; 10] = [
    "autocast",
    "compile",
    "sdpa",
    "padded",
    "no_recompute",
    "accumulation",
    "fused",
    "no_sync",
    "sharding",
    "overlap",
];

/// The gain of an edit, by replay.
pub(crate) fn gain_by_replay(
    case: &Case<'_>,
    change: Change,
    method: Method,
    edit: impl Fn(&Program, &mut Lengths),
) -> Option<Gain> {
    let replayed = case.replay.as_ref().filter(|replayed| replayed.is_usable())?;
    let mut lengths = replayed.lengths.clone();
    edit(&replayed.program, &mut lengths);
    let after = steady(&replayed.program, &lengths, replayed.steps.clone());
    let mut ns = (case.step.ns - (replayed.period - after.period)).clamp(1, case.step.ns.max(1));
    let device_bound = is_device_bound(after);
    if !SHORTENS_KERNELS.contains(&change.what) {
        // No change on the host makes kernels shorter.
        ns = ns.max(case.kernels_ns()).min(case.step.ns.max(1));
    }
    let mut next_limit = if device_bound { "compute.bound" } else { next_host_limit(case, change.what) };
    if case.is_paced_by_loader() && !matches!(change.what, "workers" | "pretokenise") {
        // The loader delivers at its own pace, whatever else becomes faster.
        ns = case.step.ns;
        next_limit = "data.workers";
    }
    if case.is_paced_by_neighbours() && change.what != "micro_batches" {
        // A stage that waits for its neighbours only waits longer when its own work shrinks; what the
        // others would gain is not in this trace.
        ns = case.step.ns;
        next_limit = "pipeline.bubble";
    }
    let spread = if device_bound { AFTER_DEVICE_BOUND } else { AFTER_HOST_BOUND };
    Some(Gain { step_after: around(case, ns, spread), method, change, next_limit })
}

/// Raises the upper end of a gain to what a host slower by `factor` would reach after the change.
pub(crate) fn allow_for_slower_host(
    case: &Case<'_>,
    gain: &mut Gain,
    factor: f64,
    edit: impl FnOnce(&Program, &mut Lengths),
) {
    let slowed = case.replay_with(|program, lengths| {
        edit(program, lengths);
        for (at, node) in program.host.iter().enumerate() {
            let own = matches!(
                node.context,
                Context::Operator
                    | Context::Optimizer
                    | Context::Collective
                    | Context::Unnamed
                    | Context::Frame
            );
            if own {
                lengths.host[at] = (lengths.host[at] as f64 * factor) as i64;
            }
        }
    });
    gain.step_after.high_ns = gain.step_after.high_ns.max(slowed.unwrap_or(0));
}

/// Worker processes compete with the training process for caches, memory bandwidth and the interpreter's lock of
/// its pin-memory thread: the same operators took 10–27 % longer on the host with four workers than with none
/// (kineto's ResNet-50 sample pair).
pub(crate) const SLOWED_BY_WORKERS: f64 = 1.25;

/// A step after a change with its interval: relative to itself, but nothing is doubtful where nothing is saved.
pub(crate) fn around(case: &Case<'_>, ns: i64, spread: f64) -> Estimate {
    let saved = (case.step.ns - ns).max(0);
    let doubt = ((ns as f64 * spread) as i64).min(saved);
    let (low, high) = (case.step.low_ns - case.step.ns, case.step.high_ns - case.step.ns);
    let part = ns as f64 / case.step.ns.max(1) as f64;
    Estimate {
        ns,
        low_ns: (ns - doubt + (low as f64 * part) as i64).max(1),
        high_ns: ns + doubt + (high as f64 * part) as i64,
    }
}

/// The largest wait that a remedy leaves.
fn next_host_limit(case: &Case<'_>, cured: &'static str) -> &'static str {
    let other = |line: &Line| match cured {
        "workers" | "pretokenise" => !matches!(line, Line::DataWorkers | Line::DataInProcess),
        _ => true,
    };
    let candidates = [
        Line::HostLaunch,
        Line::DataWorkers,
        Line::DataInProcess,
        Line::Communication,
        Line::Recompile,
        Line::Allocator,
        Line::HostGc,
        Line::Checkpoint,
    ];
    let left = candidates.iter().filter(|line| other(line) && case.line(**line).ns > 0);
    left.max_by_key(|&&line| case.line(line).ns).map_or("host.launch", |&line| line.id())
}

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
