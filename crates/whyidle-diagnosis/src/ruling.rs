//! The ruling: does anything wait, what is the first thing to change, and how sure is that.

use whyidle_analysis::ledger::Line;
use whyidle_analysis::steps::FoundBy;
use whyidle_replay::simulate::Fidelity;
use whyidle_replay::unprofiled::Refused;

use crate::case::{Case, REPLAY_LIMIT};
use crate::message::Message;
use crate::ranks::words;
use crate::refuse::lost_share;
use crate::verdict::{self, Basis, Confidence, Estimate, Finding, Gain, LineKind, Method, Ruling};

/// Waits below this share of the unprofiled step, all together, are health.
pub(crate) const HEALTHY: f64 = 0.10;
/// A decision this near its threshold, relative to it, is uncertain.
const NEAR: f64 = 0.10;

/// The step and where it goes: what a ruling weighs findings against.
#[derive(Clone, Copy)]
pub(crate) struct Standing<'a> {
    /// The unprofiled step.
    pub step: Estimate,
    /// Its ledger.
    pub ledger: &'a [verdict::Line],
}

impl Standing<'_> {
    fn share(&self, ns: i64) -> f64 {
        ns as f64 / self.step.ns.max(1) as f64
    }

    fn of_kind(&self, kind: LineKind) -> i64 {
        self.ledger.iter().filter(|line| line.kind == kind).map(|line| line.unprofiled.ns).sum()
    }

    fn line(&self, line: Line) -> i64 {
        self.ledger.iter().filter(|one| one.id == line.id()).map(|one| one.unprofiled.ns).sum()
    }

    /// All waits together, as a share of the unprofiled step.
    fn waiting_share(&self) -> f64 {
        self.share(self.of_kind(LineKind::Waiting))
    }

    /// Time that is neither work nor a named wait, beyond the pauses of any stream of kernels: nobody can call a run
    /// healthy on it.
    fn unaccounted_share(&self) -> f64 {
        let unknown = self.line(Line::Unexplained) + self.line(Line::Outside);
        self.share(unknown) + (self.share(self.line(Line::Latency)) - PAUSES).max(0.0)
    }

    /// Waits and what is unaccounted for, which decide on health.
    pub(crate) fn not_working(&self) -> f64 {
        self.waiting_share() + self.unaccounted_share()
    }

    /// The gain is larger than its own interval is wide to the wrong side, and than noise.
    fn is_clear(&self, gain: &Gain) -> bool {
        let saved = self.step.ns - gain.step_after.ns;
        let doubt = gain.step_after.high_ns - gain.step_after.ns - (self.step.high_ns - self.step.ns);
        saved > doubt.max(0) && self.share(saved) >= CLEAR
    }
}

/// What a ruling decides before it is worded.
pub(crate) struct Decided {
    /// The first thing to change.
    pub primary: &'static str,
    /// Nothing to speak of waits.
    pub healthy: bool,
    /// An inefficiency of the GPU's own work gains clearly.
    pub inefficient: bool,
}

/// Rules on a case with its ledger and its findings, which are sorted by gain.
pub(crate) fn rule(case: &Case<'_>, ledger: &[verdict::Line], findings: &[Finding]) -> Ruling {
    let standing = Standing { step: case.step, ledger };
    let Decided { primary, healthy, inefficient } = decide(&standing, findings);
    let efficient = if inefficient {
        Some(false)
    } else if case.trace.meta.record_shapes {
        Some(true)
    } else {
        // Without shapes the kernels' efficiency cannot be judged.
        None
    };
    let (confidence, doubts) = confidence(case, &standing);
    let sentence = sentence(&standing, healthy, findings.iter().find(|finding| finding.cause == primary));
    Ruling { primary, healthy, efficient, confidence, doubts, sentence }
}

/// What is first to change, and whether anything waits. Findings are sorted by gain.
pub(crate) fn decide(standing: &Standing<'_>, findings: &[Finding]) -> Decided {
    let healthy = standing.not_working() < HEALTHY;
    let clear = |finding: &&Finding| {
        // Where nothing to speak of waits, no wait is worth being the first thing to change.
        let candidate = !healthy || is_work(finding.cause);
        candidate && finding.gain.as_ref().is_some_and(|gain| standing.is_clear(gain))
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
        own && finding.gain.as_ref().is_some_and(|gain| standing.is_clear(gain))
    });
    Decided { primary, healthy, inefficient }
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

/// Pauses between kernels take 1–6 % of a step; CUDA graphs of tiny kernels show the most.
const PAUSES: f64 = 0.10;

/// Steps of one program differ by this much between runs.
pub(crate) const CLEAR: f64 = 0.03;

/// More than this share of a trace's records in doubt puts its figures in doubt.
const SUSPICIOUS: f64 = 0.03;

fn confidence(case: &Case<'_>, standing: &Standing<'_>) -> (Confidence, Vec<Message>) {
    let mut doubts = Vec::new();
    let mut confidence = Confidence::High;
    let mut doubt = |level: Confidence, message: Message| {
        confidence = confidence.min(level);
        doubts.push(message);
    };
    if case.device.steps.found_by == FoundBy::Window {
        doubt(Confidence::Low, Message::new("doubt-no-steps"));
    }
    if let Some(message) = near_threshold(standing) {
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

/// The doubt that health is decided within 10 % of its threshold.
pub(crate) fn near_threshold(standing: &Standing<'_>) -> Option<Message> {
    let waits = standing.not_working();
    let near = (waits - HEALTHY).abs() <= NEAR * HEALTHY;
    near.then(|| Message::new("doubt-near-threshold").share("share", waits).share("threshold", HEALTHY))
}

/// What is said first: whether anything waits, and what to change.
pub(crate) fn sentence(standing: &Standing<'_>, healthy: bool, primary: Option<&Finding>) -> Vec<Message> {
    let step = standing.step.ns;
    let working = standing.of_kind(LineKind::Working);
    let mut sentence = Vec::new();
    let waiting_for = primary.filter(|finding| finding.cost.ns > 0 && !is_work(finding.cause));
    match (healthy, waiting_for) {
        (true, _) => sentence
            .push(Message::new("say-healthy").time("step", step).share("working", standing.share(working))),
        (false, Some(finding)) => {
            let because = words(finding.cause).map_or("because-unknown", |(because, _)| because);
            sentence.push(
                Message::new("say-waits")
                    .time("step", step)
                    .time("working", working)
                    .time("waiting", finding.cost.ns)
                    .message("because", Message::new(because)),
            );
        }
        (false, None) => sentence.push(
            Message::new("say-waits-somewhere")
                .time("step", step)
                .time("working", working)
                .share("waiting", standing.waiting_share()),
        ),
    }
    let Some(finding) = primary else { return sentence };
    if is_work(finding.cause)
        && let Some((because, _)) = words(finding.cause)
    {
        sentence.push(Message::new("say-inefficient").message("because", Message::new(because)));
    }
    sentence.extend(finding.gain.as_ref().map(|gain| promise(standing, finding, gain)));
    sentence
}

/// What the remedy brings, in words that promise no more than the method carries.
fn promise(standing: &Standing<'_>, finding: &Finding, gain: &Gain) -> Message {
    let limit = words(gain.next_limit).map_or("limit-compute.bound", |(_, limit)| limit);
    let change = finding.remedy.summary.clone();
    if !standing.is_clear(gain) {
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
