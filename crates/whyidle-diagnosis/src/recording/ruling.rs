//! The ruling on a recording: refuse → several ranks → GPU-bound → contention → explicit wait → launching.

use super::ranks::{Ranked, ranked};
use super::waits::Waits;
use super::{FEWEST_SAMPLES, View, phases};
use crate::causes::cause;
use crate::message::Message;
use crate::ruling::HEALTHY;
use crate::verdict::{Confidence, Finding, Ruling};
use whyidle_analysis::signals::GpuSignals;

/// A decision this near its threshold, relative to it, is uncertain.
const NEAR: f64 = 0.10;
/// A watcher that is killed leaves a last line of each file cut off.
const CUT_OFF: u64 = 6;
/// More than this share of lines that make no sense: what they said is missing, or wrong.
const DAMAGED: f64 = 0.02;
/// Samples that begin a moment late and end a moment early speak for the whole watch.
const WHOLE: f64 = 0.75;
/// Samples from which on half is told from a quarter: ± 15 points.
const ENOUGH_SAMPLES: u32 = 40;

pub(crate) fn rule(view: &View<'_>, waits: &Waits, findings: &[Finding]) -> Ruling {
    let primary = primary(view, waits);
    let healthy = if view.is_host_only() {
        waits.charged.iter().map(|wait| wait.charged).sum::<f64>() < HEALTHY
    } else {
        waits.idle < HEALTHY
            && !matches!(ranked(view), Some(Ranked::WaitsForRank | Ranked::Pipeline | Ranked::Launches))
            && !view.shares_its_gpu()
    };
    let (confidence, doubts) = confidence(view, waits, primary);
    let sentence = sentence(view, waits, primary, healthy, findings);
    Ruling { primary, healthy, efficient: None, confidence, doubts, sentence }
}

fn primary(view: &View<'_>, waits: &Waits) -> &'static str {
    if let Some(cause) = phase_of_the_run(view, waits) {
        return cause;
    }
    if view.is_host_only() {
        let largest = waits.charged.iter().max_by(|a, b| a.charged.total_cmp(&b.charged));
        return largest.filter(|wait| wait.charged >= HEALTHY).map_or("compute.bound", |wait| wait.cause);
    }
    match ranked(view) {
        Some(Ranked::Pipeline) => return "pipeline.bubble",
        Some(Ranked::WaitsForRank) => return "rank.straggler",
        _ => {}
    }
    // A rank that never waits for room in its queue is its own limit, however long its GPU sits in collectives.
    if waits.idle < HEALTHY && ranked(view) != Some(Ranked::Launches) {
        if view.shares_its_gpu() {
            return "gpu.shared";
        }
        return "compute.bound";
    }
    if waits.contention().is_some() {
        return "host.contention";
    }
    if let Some(wait) = waits.main_cause() {
        return wait.cause;
    }
    let launching = waits.charged.iter().find(|wait| matches!(wait.cause, "host.launch" | "host.optimizer"));
    launching.map_or("host.launch", |wait| wait.cause)
}

/// A phase of the run that takes more of the time than the wait that comes first in the steps, and more than health
/// allows.
fn phase_of_the_run(view: &View<'_>, waits: &Waits) -> Option<&'static str> {
    let wait = waits.charged.iter().map(|wait| wait.charged).fold(0.0, f64::max);
    let largest = phases::causes(view).into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    largest.filter(|(_, share)| *share >= HEALTHY && *share > wait).map(|(cause, _)| cause)
}

fn confidence(view: &View<'_>, waits: &Waits, primary: &'static str) -> (Confidence, Vec<Message>) {
    let mut doubts = Vec::new();
    let mut confidence = Confidence::High;
    let mut doubt = |level: Confidence, message: Message| {
        confidence = confidence.min(level);
        doubts.push(message);
    };
    if view.is_host_only() {
        doubt(Confidence::Medium, Message::new("doubt-live-host-only"));
    } else if (waits.idle - HEALTHY).abs() <= NEAR * HEALTHY {
        let message =
            Message::new("doubt-near-threshold").share("share", waits.idle).share("threshold", HEALTHY);
        doubt(Confidence::Low, message);
    }
    if let Some(gpu) = view.signals.gpu.as_ref().filter(|gpu| !gpu.is_counted) {
        let message = Message::new("doubt-live-sampled").count("count", i64::from(gpu.samples));
        doubt(Confidence::Medium, message);
    }
    if let Some(covered) = view.signals.gpu.as_ref().map(|gpu| covered(gpu, view.signals.watched_ns))
        && covered < WHOLE
    {
        let level = if covered < 0.5 { Confidence::Low } else { Confidence::Medium };
        doubt(level, Message::new("doubt-live-gpu-part").share("share", covered));
    }
    let largest = waits.all.first().map_or(0.0, |wait| wait.charged / waits.idle.max(1e-9));
    if !view.is_host_only() && waits.idle >= HEALTHY && (largest - 0.5).abs() <= NEAR * 0.5 {
        doubt(Confidence::Low, Message::new("doubt-live-half").share("share", largest));
    }
    match &view.signals.main {
        None => doubt(Confidence::Low, Message::new("doubt-live-no-stacks")),
        Some(main) if main.samples < FEWEST_SAMPLES => {
            doubt(Confidence::Low, Message::new("doubt-live-few").count("count", i64::from(main.samples)));
        }
        Some(main) if main.samples < ENOUGH_SAMPLES => {
            doubt(Confidence::Medium, Message::new("doubt-live-few").count("count", i64::from(main.samples)));
        }
        Some(_) => {}
    }
    let damaged = view.run.dropped as f64 / (view.run.dropped + view.run.rows).max(1) as f64;
    let implausible = view.signals.gpu.as_ref().map_or(0, |gpu| gpu.implausible);
    if view.run.dropped > CUT_OFF && damaged > DAMAGED || implausible > 0 {
        let lines = view.run.dropped + u64::from(implausible);
        doubt(
            Confidence::Low,
            Message::new("doubt-live-damaged").count("count", i64::try_from(lines).unwrap_or(i64::MAX)),
        );
    }
    if view.signals.process.is_none() && !view.is_host_only() {
        doubt(Confidence::Medium, Message::new("doubt-live-no-counters"));
    }
    if view.shares_its_gpu() && !view.is_host_only() {
        doubt(Confidence::Low, Message::new("doubt-live-shared"));
    }
    if !view.run.world_known {
        let level = if view.run.world > 1 { Confidence::Low } else { Confidence::Medium };
        doubt(level, Message::new("doubt-live-undescribed"));
    }
    if view.run.cut_short_ns.is_some()
        && view.signals.main.as_ref().is_none_or(|main| main.samples < ENOUGH_SAMPLES)
    {
        doubt(Confidence::Low, Message::new("doubt-live-cut-short"));
    }
    if matches!(primary, "host.launch" | "compute.bound") && !view.is_host_only() {
        doubt(Confidence::Medium, Message::new("doubt-live-kinds"));
    }
    if view.run.world > 1 && view.run.watched_ranks < view.run.world as usize {
        doubt(Confidence::Medium, Message::new("doubt-live-ranks"));
    }
    (confidence, doubts)
}

/// Share of the watch for which the GPU's samples speak.
fn covered(gpu: &GpuSignals, watched_ns: i64) -> f64 {
    /// Samples further apart leave a hole: the slowest pace is one in three seconds, and a round may fail.
    const HOLE: i64 = 7_000_000_000;
    let between = gpu.series.windows(2).map(|pair| pair[1].0 - pair[0].0).filter(|length| *length <= HOLE);
    between.sum::<i64>() as f64 / watched_ns.max(1) as f64
}

fn sentence(
    view: &View<'_>,
    waits: &Waits,
    primary: &'static str,
    healthy: bool,
    findings: &[Finding],
) -> Vec<Message> {
    let mut sentence = Vec::new();
    // Counters show that the GPU waits for the host; what the host did they do not show.
    if view.signals.main.is_none()
        && !view.is_host_only()
        && matches!(primary, "host.launch" | "host.optimizer")
    {
        let resident = view.resident.unwrap_or(0.0);
        return vec![Message::new("say-live-unseen").share("working", resident).share("waiting", waits.idle)];
    }
    let because = Message::new(cause(primary).map_or(because_outside(primary), |cause| cause.because));
    let wait = waits.charged.iter().find(|wait| wait.cause == primary);
    let charged = wait.map_or(waits.idle, |wait| wait.charged);
    let resident = view.resident.unwrap_or(0.0);
    if view.is_host_only() {
        sentence.push(match (healthy, wait) {
            (false, Some(wait)) => {
                Message::new("say-live-host-waits").share("waiting", wait.charged).message("because", because)
            }
            _ => Message::new("say-live-host-works"),
        });
    } else if primary == "gpu.shared" {
        sentence.push(Message::new("say-live-shared").share("resident", resident));
    } else if matches!(primary, "rank.straggler" | "pipeline.bubble") || waits.idle < HEALTHY && !healthy {
        sentence.push(Message::new("say-live-ranks").share("resident", resident).message("because", because));
    } else if healthy && view.has_steps() {
        sentence
            .push(Message::new("say-live-healthy").time("step", view.step.ns).share("resident", resident));
    } else if healthy {
        sentence.push(Message::new("say-live-healthy-share").share("resident", resident));
    } else if view.has_steps() {
        sentence.push(
            Message::new("say-live-waits")
                .time("step", view.step.ns)
                .time("working", view.ns(resident))
                .time("waiting", view.ns(charged))
                .message("because", because),
        );
    } else {
        sentence.push(
            Message::new("say-live-waits-share")
                .share("working", resident)
                .share("waiting", charged)
                .message("because", because),
        );
    }
    let Some(finding) = findings.iter().find(|finding| finding.cause == primary) else { return sentence };
    if primary == "run.eval" {
        sentence.push(Message::new("say-run-eval").share("share", finding.share));
    }
    if let Some(place) = super::evidence::place(view, primary) {
        sentence.push(Message::new("say-live-where").name("place", place));
    }
    if let Some(gain) = finding.gain.as_ref().filter(|_| view.has_steps()) {
        let limit = cause(gain.next_limit).map_or("limit-compute.bound", |cause| cause.limit);
        sentence.push(
            Message::new("say-live-change")
                .message("change", finding.remedy.summary.clone())
                .time("after", gain.step_after.ns)
                .message("limit", Message::new(limit)),
        );
    } else {
        sentence.push(Message::new("say-live-do").message("change", finding.remedy.summary.clone()));
    }
    sentence
}

/// Causes that one trace cannot show.
fn because_outside(cause: &str) -> &'static str {
    match cause {
        "data.storage" => "because-data-storage",
        "host.gil" => "because-host-gil",
        "run.epoch" => "because-run-epoch",
        "run.eval" => "because-run-eval",
        "run.checkpoint" => "because-io.checkpoint",
        "host.contention" => "because-host-contention",
        "rank.straggler" => "because-rank-straggler",
        _ => "because-unknown",
    }
}
