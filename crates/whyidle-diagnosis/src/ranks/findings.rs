//! The findings of the rank shown, with what only all ranks together tell: transfers without waiting, gains replayed
//! across ranks, the pipeline.

use whyidle_analysis::communication::Kind;
use whyidle_analysis::ranks::pipeline::{Pipeline, Schedule, bubble};

use super::ledger::{TRANSFER, WAIT};
use super::replay::Together;
use super::set::Ranks;
use crate::causes::support::{counted, remedy, share_of, shared};
use crate::edit::Terms;
use crate::message::Message;
use crate::verdict::{Change, Estimate, Evidence, Finding, Gain, Line, LineKind, Method};

/// Exposed transfers below this share of the step are no cause.
pub(super) const WORTH: f64 = 0.02;
/// A remedy that saves less than this share of the step saves nothing.
const NOTHING: f64 = 0.005;
/// More micro-batches by this factor: what a pipeline's gain is computed for.
const MORE: i64 = 4;
/// Formula against measured pipelines: 1 % on the one pair that was measured; stages of other shapes may differ.
const PIPELINE_DOUBT: f64 = 0.05;

/// A gain with the replay of all ranks in place of one rank's: its interval keeps its relative width.
pub(crate) fn replayed(
    own: &Gain,
    base: i64,
    after: i64,
    step: Estimate,
    terms: Option<&Terms>,
    change: Change,
) -> Gain {
    let raw = step.ns - base + after;
    let (ns, next_limit) = match terms {
        Some(terms) => terms.step(raw, own.next_limit),
        None => (raw.clamp(1, step.ns.max(1)), own.next_limit),
    };
    let scaled = |other: i64| (other as f64 * ns as f64 / own.step_after.ns.max(1) as f64) as i64;
    let step_after = if own.method == Method::Bound {
        Estimate { ns, low_ns: ns, high_ns: step.high_ns.max(ns) }
    } else {
        Estimate {
            ns,
            low_ns: scaled(own.step_after.low_ns).min(ns),
            high_ns: scaled(own.step_after.high_ns).max(ns),
        }
    };
    Gain { step_after, method: own.method, change, next_limit }
}

/// The findings of the rank shown: gains replayed across ranks, communication with its transfers alone.
pub(crate) fn adjusted(
    ranks: &Ranks,
    shown: usize,
    together: &Together<'_>,
    ledger: &[Line],
    step: Estimate,
) -> Vec<Finding> {
    let own = &ranks.own[shown].verdict;
    let line = |id: &str| ledger.iter().find(|line| line.id == id).map(|line| line.unprofiled);
    let transfer = line(TRANSFER);
    let whole = transfer.map_or(0, |transfer| transfer.ns) + line(WAIT).map_or(0, |wait| wait.ns);
    let usable = together.is_usable(step.ns);
    let mut findings = Vec::new();
    for finding in &own.findings {
        let mut finding = finding.clone();
        let split = transfer.is_some() || line(WAIT).is_some();
        if finding.cause == "comm.unsplit" && split && 2 * whole > finding.cost.ns {
            continue;
        }
        if finding.cause.starts_with("comm.") && split {
            let transfer = transfer.unwrap_or(Estimate::exact(0));
            finding.cost.ns = finding.cost.ns.min(transfer.ns);
            finding.cost.low_ns = finding.cost.low_ns.min(transfer.low_ns);
            finding.cost.high_ns = finding.cost.high_ns.min(transfer.high_ns).max(finding.cost.ns);
            finding.share = share_of(finding.cost.ns, step.ns);
            finding.evidence.retain(|evidence| !matches!(evidence.text.id, "ev-comm-one-rank" | "ev-line"));
            finding.remedy.steps.retain(|step| step.id != "fix-comm-ranks");
            if finding.share < WORTH {
                continue;
            }
        }
        // The line of a cause may have got shorter or longer by what is now known of the collectives.
        let before =
            own.ledger.iter().find(|line| line.id == finding.cause && line.unprofiled == finding.cost);
        if let Some(now) = before.and_then(|before| line(before.id)) {
            finding.cost = now;
            finding.share = share_of(now.ns, step.ns);
        }
        if usable
            && let (Some(gain), Some(base)) = (&finding.gain, together.base)
            && let Some(remedied) = ranks.own[shown].remedies.iter().find(|one| one.cause == finding.cause)
            && let Some(after) = together.after(finding.cause)
        {
            let change = gain.change.clone();
            let gain = replayed(gain, base, after, step, Some(&remedied.terms), change);
            // Work that the others' waiting hides: less of it on every rank changes nothing.
            let saved = share_of(step.ns - gain.step_after.ns, step.ns);
            if finding.cause.starts_with("compute.") && saved < NOTHING {
                continue;
            }
            finding.gain = Some(gain);
        }
        findings.push(finding);
    }
    findings
}

/// `pipeline.bubble` from all its stages.
pub(crate) fn pipeline(
    ranks: &Ranks,
    shown: usize,
    pipeline: &Pipeline,
    ledger: &[Line],
    step: Estimate,
) -> Finding {
    let waiting = ledger.iter().filter(|line| matches!(line.id, WAIT | TRANSFER)).map(|line| line.unprofiled);
    let sum = |of: fn(Estimate) -> i64| waiting.clone().map(of).sum::<i64>();
    let cost = Estimate { ns: sum(|e| e.ns), low_ns: sum(|e| e.low_ns), high_ns: sum(|e| e.high_ns) };
    let (stages, micro) = (pipeline.stages.len(), pipeline.micro);
    let p = i64::try_from(stages).unwrap_or(i64::MAX);
    let to = micro * MORE;
    let ideal = bubble(p, micro);
    let mut evidence = vec![counted(Message::new("ev-micro-batches").count("count", micro), micro)];
    let text = Message::new("ev-bubble-ideal").share("share", ideal).count("stages", p).count("micro", micro);
    evidence.push(shared(text, ideal));
    for &stage in &pipeline.stages {
        evidence.push(idle_of(ranks, stage));
    }
    let slowest = pipeline.slowest();
    let mean = pipeline.micro_ns.iter().sum::<i64>() / p.max(1);
    let uneven = pipeline.micro_ns[slowest] as f64 / mean.max(1) as f64 - 1.0;
    let balanced = pipeline.step_balanced(step.ns);
    let rank = ranks.facts[pipeline.stages[slowest] as usize].rank;
    let text = Message::new("ev-stage-slowest").name("rank", rank.to_string()).share("share", uneven);
    evidence.push(shared(text.time("balanced", balanced), uneven));
    if pipeline.schedule != Schedule::Unknown {
        evidence.push(counted(Message::new("ev-schedule").name("schedule", pipeline.schedule.id()), 1));
    }
    let ns = pipeline.step_with(to, step.ns).clamp(1, step.ns);
    let doubt = (ns as f64 * PIPELINE_DOUBT) as i64;
    let high_ns = (ns + doubt + (step.high_ns - step.ns)).min(step.high_ns);
    let gain = Gain {
        step_after: Estimate { ns, low_ns: ns - doubt, high_ns: high_ns.max(ns) },
        method: Method::Model,
        change: Change { what: "micro_batches", from: Some(micro.to_string()), to: Some(to.to_string()) },
        next_limit: "compute.bound",
    };
    let steps = ["fix-bubble-balance", "fix-bubble-interleave", "fix-bubble-memory"];
    let code = format!("schedule = Schedule1F1B(stage, n_microbatches={to}, loss_fn=loss_fn)");
    Finding {
        cause: "pipeline.bubble",
        rank: Some(ranks.facts[shown].rank),
        share: share_of(cost.ns, step.ns),
        cost,
        gain: Some(gain),
        evidence,
        remedy: remedy(Message::new("fix-pipeline-bubble").count("micro", to), &steps, &code),
    }
}

/// Share of its traced steps that a stage does not work.
fn idle_of(ranks: &Ranks, stage: u32) -> Evidence {
    let verdict = &ranks.own[stage as usize].verdict;
    let working: i64 =
        verdict.ledger.iter().filter(|line| line.kind == LineKind::Working).map(|line| line.traced_ns).sum();
    let all: i64 = verdict.ledger.iter().map(|line| line.traced_ns).sum();
    let idle = 1.0 - share_of(working, all);
    let text = Message::new("ev-stage-idle").name("rank", ranks.facts[stage as usize].rank.to_string());
    shared(text.share("share", idle), idle)
}

/// The kind as the field writes it.
pub(crate) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::AllReduce => "all-reduce",
        Kind::AllGather => "all-gather",
        Kind::ReduceScatter => "reduce-scatter",
        Kind::Broadcast => "broadcast",
        Kind::AllToAll => "all-to-all",
        Kind::SendReceive => "send/recv",
        Kind::Other => "collective",
    }
}
