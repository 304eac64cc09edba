//! The ruling: does anything wait, what is the first thing to change, and how sure is that.

use whyidle_analysis::ledger::{Kind, Line};

use whyidle_replay::simulate::Fidelity;
use whyidle_replay::unprofiled::Refused;

use crate::case::{Case, REPLAY_LIMIT};
use crate::causes::cause;
use crate::message::Message;
use crate::refuse::lost_share;
use crate::verdict::{Basis, Confidence, Finding, Gain, Method, Ruling};

/// Waits below this share of the unprofiled step, all together, are health.
pub(crate) const HEALTHY: f64 = 0.10;
/// A decision this near its threshold, relative to it, is uncertain.
const NEAR: f64 = 0.10;

/// Rules on a case with its findings, which are sorted by gain.
pub(crate) fn rule(case: &Case<'_>, findings: &[Finding]) -> Ruling {
    let waits = waiting_share(case);
    let healthy = waits + unaccounted_share(case) < HEALTHY;
    let clear = |finding: &&Finding| {
        // Where nothing to speak of waits, no wait is worth being the first thing to change.
        let candidate = !healthy || is_work(finding.cause);
        candidate && finding.gain.as_ref().is_some_and(|gain| is_clear(case, gain))
    };
    // A larger batch changes the training; it comes first only where nothing else helps.
    let best = findings
        .iter()
        .filter(|finding| finding.cause != "memory.headroom")
        .find(clear)
        .or_else(|| findings.iter().find(clear));
    let costly = findings.iter().max_by_key(|finding| finding.cost.ns);
    let primary = match (best, healthy) {
        (Some(best), _) => best.cause,
        // Something waits and nothing can be said of its cure: name what costs most.
        (None, false) => costly.map_or("compute.bound", |finding| finding.cause),
        (None, true) => "compute.bound",
    };
    let inefficient = findings.iter().any(|finding| {
        let own = finding.cause.starts_with("compute.") || finding.cause == "memory.recompute";
        own && finding.gain.as_ref().is_some_and(|gain| is_clear(case, gain))
    });
    let efficient = if inefficient {
        Some(false)
    } else if case.trace.meta.record_shapes {
        Some(true)
    } else {
        // Without shapes the kernels' efficiency cannot be judged.
        None
    };
    let (confidence, doubts) = confidence(case, waits + unaccounted_share(case));
    let sentence = sentence(case, healthy, findings.iter().find(|finding| finding.cause == primary));
    Ruling { primary, healthy, efficient, confidence, doubts, sentence }
}

/// What a finding weighs in the ranking, ns: what its remedy saves, with three reservations.
///
/// An upper limit weighs half: the gain lies anywhere below it. And a wait weighs at most a quarter more than it
/// costs: a remedy that saves more does so by hiding another wait, and that other one comes first.
pub(crate) fn weight(finding: &Finding, step_ns: i64) -> i64 {
    let Some(gain) = &finding.gain else { return 0 };
    let saved = finding.saved_ns(step_ns);
    let saved = if gain.method == Method::Bound { saved / 2 } else { saved };
    if !is_work(finding.cause) {
        return saved.min(finding.cost.ns + finding.cost.ns / 4);
    }
    // A kernel model knows nothing of the host; where that sets the pace afterwards, its word is worth half.
    if gain.next_limit == "compute.bound" { saved } else { saved / 2 }
}

/// All waits together, as a share of the unprofiled step.
pub(crate) fn waiting_share(case: &Case<'_>) -> f64 {
    let waiting: i64 =
        Line::ALL.iter().filter(|line| line.kind() == Kind::Waiting).map(|&line| case.line(line).ns).sum();
    case.share(waiting)
}

/// Time that is neither work nor a named wait, beyond the pauses of any stream of kernels: nobody can call a run
/// healthy on it.
fn unaccounted_share(case: &Case<'_>) -> f64 {
    let unknown = case.line(Line::Unexplained).ns + case.line(Line::Outside).ns;
    let pauses = case.share(case.line(Line::Latency).ns);
    case.share(unknown) + (pauses - PAUSES).max(0.0)
}

/// Pauses between kernels take 1–6 % of a step; CUDA graphs of tiny kernels show the most.
const PAUSES: f64 = 0.10;

/// The gain is larger than its own interval is wide to the wrong side, and than noise.
fn is_clear(case: &Case<'_>, gain: &Gain) -> bool {
    let saved = case.step.ns - gain.step_after.ns;
    let doubt = gain.step_after.high_ns - gain.step_after.ns - (case.step.high_ns - case.step.ns);
    saved > doubt.max(0) && case.share(saved) >= CLEAR
}

/// Steps of one program differ by this much between runs.
pub(crate) const CLEAR: f64 = 0.03;

/// More than this share of a trace's records in doubt puts its figures in doubt.
const SUSPICIOUS: f64 = 0.03;

fn confidence(case: &Case<'_>, waits: f64) -> (Confidence, Vec<Message>) {
    let mut doubts = Vec::new();
    let mut confidence = Confidence::High;
    let mut doubt = |level: Confidence, message: Message| {
        confidence = confidence.min(level);
        doubts.push(message);
    };
    if (waits - HEALTHY).abs() <= NEAR * HEALTHY {
        let message = Message::new("doubt-near-threshold").share("share", waits).share("threshold", HEALTHY);
        doubt(Confidence::Low, message);
    }
    match (case.basis, case.refused) {
        (Basis::Traced, Some(Refused::Starved)) => {
            doubt(Confidence::Low, Message::new("doubt-starved"));
        }
        (Basis::Traced, Some(Refused::Ranks)) => doubt(Confidence::Low, Message::new("doubt-ranks")),
        (Basis::Traced, Some(Refused::Items)) => doubt(Confidence::Low, Message::new("doubt-items")),
        (Basis::Traced, Some(Refused::Uncalibrated)) => {
            doubt(Confidence::Low, Message::new("doubt-uncalibrated"));
        }
        (Basis::Traced, _) => doubt(Confidence::Low, Message::new("doubt-traced")),
        (Basis::Estimated, _) if !case.device_bound => {
            doubt(Confidence::Medium, Message::new("doubt-estimated"));
        }
        (Basis::Estimated, _) if case.replay.as_ref().is_some_and(|replayed| replayed.has_workers) => {
            doubt(Confidence::Medium, Message::new("doubt-queues").count("steps", case.steps()));
        }
        _ => {}
    }
    match &case.replay {
        Some(replayed) if !replayed.is_usable() => {
            let Fidelity { error, slack, unrecorded } = replayed.fidelity;
            let (id, share) =
                [("doubt-replay", error), ("doubt-slack", slack), ("doubt-unrecorded", unrecorded)]
                    .into_iter()
                    .max_by(|a, b| a.1.total_cmp(&b.1))
                    .expect("three are listed");
            doubt(Confidence::Low, Message::new(id).share("error", share).share("limit", REPLAY_LIMIT));
        }
        None if case.refused == Some(Refused::NotWanted) => {
            doubt(Confidence::Low, Message::new("doubt-not-replayed"));
        }
        None => doubt(Confidence::Low, Message::new("doubt-no-replay")),
        _ => {}
    }
    for (share, id) in [
        (lost_share(case.trace, case.facts, &case.device), "doubt-lost-activities"),
        (case.early_share(), "doubt-early-activities"),
        (case.lengthless_share(), "doubt-lengthless"),
        (case.share(case.line(Line::Unexplained).ns), "doubt-unexplained"),
    ] {
        if share > SUSPICIOUS {
            doubt(Confidence::Low, Message::new(id).share("share", share));
        }
    }
    if case.is_suspected_loader() {
        let outside = case.line(Line::DataWorkers).ns;
        doubt(Confidence::Low, Message::new("doubt-suspected-loader").time("time", outside));
    }
    let outside = case.step.ns - case.traced_step();
    if matches!(case.basis, Basis::Given | Basis::Measured) && case.share(outside) > 0.05 {
        let message = Message::new("doubt-unrepresentative")
            .time("step", case.step.ns)
            .time("traced", case.traced_step());
        doubt(Confidence::Medium, message);
    }
    if case.several_ranks() && case.share(case.line(Line::Communication).ns) > 0.05 {
        doubt(Confidence::Medium, Message::new("doubt-one-rank"));
    }
    (confidence, doubts)
}

fn sentence(case: &Case<'_>, healthy: bool, primary: Option<&Finding>) -> Vec<Message> {
    let working = case.kernels_ns();
    let mut sentence = Vec::new();
    let waiting_for = primary.filter(|finding| finding.cost.ns > 0 && !is_work(finding.cause));
    match (healthy, waiting_for) {
        (true, _) => sentence.push(
            Message::new("say-healthy").time("step", case.step.ns).share("working", case.share(working)),
        ),
        (false, Some(finding)) => {
            let because = cause(finding.cause).map_or("because-unknown", |cause| cause.because);
            sentence.push(
                Message::new("say-waits")
                    .time("step", case.step.ns)
                    .time("working", working)
                    .time("waiting", finding.cost.ns)
                    .message("because", Message::new(because)),
            );
        }
        (false, None) => sentence.push(
            Message::new("say-waits-somewhere")
                .time("step", case.step.ns)
                .time("working", working)
                .share("waiting", waiting_share(case)),
        ),
    }
    let Some(finding) = primary else { return sentence };
    if is_work(finding.cause)
        && let Some(cause) = cause(finding.cause)
    {
        sentence.push(Message::new("say-inefficient").message("because", Message::new(cause.because)));
    }
    sentence.extend(finding.gain.as_ref().map(|gain| promise(case, finding, gain)));
    sentence
}

/// What the remedy brings, in words that promise no more than the method carries.
fn promise(case: &Case<'_>, finding: &Finding, gain: &Gain) -> Message {
    let limit = cause(gain.next_limit).map_or("limit-compute.bound", |cause| cause.limit);
    let change = finding.remedy.summary.clone();
    if !is_clear(case, gain) {
        return Message::new("say-no-gain").message("change", change).message("limit", Message::new(limit));
    }
    let id = if gain.method == Method::Bound { "say-change-bound" } else { "say-change" };
    Message::new(id)
        .message("change", change)
        .time("after", gain.step_after.ns)
        .time("low", gain.step_after.low_ns)
        .time("high", gain.step_after.high_ns)
        .message("limit", Message::new(limit))
}

/// A cause in the GPU's own work rather than a wait.
pub(crate) fn is_work(cause: &str) -> bool {
    cause.starts_with("compute.") || matches!(cause, "memory.recompute" | "memory.headroom")
}
