//! Findings of a recording: each wait with what it costs, the least a cure leaves, and its remedy.

use super::View;
use whyidle_analysis::signals::Doing;

use super::evidence;
use super::phases;
use super::ranks::{Ranked, ranked};
use super::waits::{Wait, Waits};
use crate::message::Message;
use crate::verdict::{Change, Estimate, Finding, Gain, Method, Remedy};

pub(crate) fn findings(view: &View<'_>, waits: &Waits) -> Vec<Finding> {
    let mut findings: Vec<Finding> = waits.charged.iter().map(|wait| finding(view, waits, wait)).collect();
    let waits_inside = match ranked(view) {
        Some(Ranked::Pipeline) => Some("pipeline.bubble"),
        Some(Ranked::WaitsForRank) => Some("rank.straggler"),
        _ => None,
    };
    if let Some(cause) = waits_inside {
        let nothing = Estimate::exact(0);
        let (evidence, remedy) = (evidence::of_ranks(view), remedy(view, cause));
        let rank = view.run.rank;
        findings.push(Finding { cause, rank, cost: nothing, share: 0.0, gain: None, evidence, remedy });
    }
    findings.extend(phases::causes(view).into_iter().map(|(cause, share)| of_run(view, cause, share)));
    findings.extend(inefficiencies(view));
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.cost.ns), finding.cause));
    findings
}

fn finding(view: &View<'_>, waits: &Waits, wait: &Wait) -> Finding {
    let ns = view.ns(wait.charged);
    let cost = Estimate { ns, low_ns: view.ns(wait.low).min(ns), high_ns: view.ns(wait.high).max(ns) };
    Finding {
        cause: wait.cause,
        rank: view.run.rank,
        cost,
        share: wait.charged,
        gain: gain(view, wait),
        evidence: evidence::of_wait(view, waits, wait.cause),
        remedy: remedy(view, wait.cause),
    }
}

/// A phase of the run: its cost is its share of the time, whatever the GPU does meanwhile.
fn of_run(view: &View<'_>, cause: &'static str, share: f64) -> Finding {
    let (evidence, remedy) = (phases::evidence(view, cause), remedy(view, cause));
    let cost = Estimate::exact(view.ns(share));
    Finding { cause, rank: view.run.rank, cost, share, gain: None, evidence, remedy }
}

/// What is left of the step at least: the GPU's own work, and the main thread's own time.
fn gain(view: &View<'_>, wait: &Wait) -> Option<Gain> {
    let resident = view.resident.filter(|_| view.has_steps())?;
    // Phases of the run are no part of a step that the program itself timed, and a core that others take away comes
    // back in part only.
    if matches!(wait.cause, "host.launch" | "host.optimizer" | "host.contention")
        || wait.cause.starts_with("run.")
    {
        return None;
    }
    let host = 1.0 - wait.share;
    let (after, next_limit) =
        if resident >= host { (resident, "compute.bound") } else { (host, "host.launch") };
    let ns = view.ns(after).clamp(1, view.step.ns.max(1));
    let step_after = Estimate { ns, low_ns: ns, high_ns: view.step.ns };
    let change = change(view, wait.cause);
    Some(Gain { step_after, method: Method::Bound, change, next_limit })
}

fn change(view: &View<'_>, cause: &str) -> Change {
    let what = match cause {
        "data.workers" | "data.in_process" => "workers",
        "host.gc" => "gc",
        "memory.allocator" => "allocator",
        "data.transfer" => "pinned",
        "io.checkpoint" => "async_checkpoint",
        "io.logging" => "log_interval",
        "compile.recompile" => "dynamic_shapes",
        _ => "removed",
    };
    let (from, to) = match wanted_workers(view, cause) {
        Some((now, wanted)) => (Some(now.to_string()), Some(wanted.to_string())),
        None => (None, None),
    };
    Change { what, from, to }
}

/// Workers beyond the bare ratio of rates: items vary, and a drained queue stalls at once.
const RESERVE: f64 = 1.2;

/// Loader workers today, and as many as would deliver at the GPU's own pace if each delivers as it does now.
fn wanted_workers(view: &View<'_>, cause: &str) -> Option<(u32, u32)> {
    let now = workers_now(view).filter(|&now| now > 0 && cause == "data.workers")?;
    if evidence::pin_thread_is_the_limit(view) || view.is_host_only() {
        return None;
    }
    let after = view.resident?.max(1.0 - view.main(Doing::WaitsForWorkers)).max(0.01);
    Some((now, ((f64::from(now) / after * RESERVE).ceil() as u32).max(now + 1)))
}

/// Loader workers today.
pub(crate) fn workers_now(view: &View<'_>) -> Option<u32> {
    let seen = || view.signals.workers.as_ref().and_then(|workers| u32::try_from(workers.pids.len()).ok());
    view.known.workers.or_else(seen)
}

pub(crate) fn remedy(view: &View<'_>, cause: &str) -> Remedy {
    let place = evidence::place(view, cause);
    let pinning = cause == "data.workers" && evidence::pin_thread_is_the_limit(view);
    let (summary, steps): (Message, &[&'static str]) = match cause {
        "data.workers" if pinning => {
            (Message::new("fix-live-pin-thread"), &["fix-transfer-smaller", "fix-transfer-trap"])
        }
        "data.workers" => (
            match wanted_workers(view, cause) {
                Some((from, to)) => Message::new("fix-data-workers").count("from", from).count("to", to),
                None => Message::new("fix-data-workers-unknown"),
            },
            &[
                "fix-data-ahead",
                "fix-data-cores",
                "fix-data-threads",
                "fix-data-shards",
                "fix-live-persistent",
            ],
        ),
        "data.storage" => (Message::new("fix-data-storage"), &["fix-data-storage-pack", "fix-data-cores"]),
        "data.in_process" => (
            Message::new("fix-live-in-process"),
            &["fix-data-ahead", "fix-data-main-guard", "fix-data-threads"],
        ),
        "data.transfer" => (
            Message::new("fix-data-transfer-pageable"),
            &["fix-transfer-stream", "fix-transfer-smaller", "fix-transfer-trap"],
        ),
        "host.python" => (
            match &place {
                Some(place) => Message::new("fix-host-python-at").name("function", place),
                None => Message::new("fix-host-python"),
            },
            &["fix-python-move"],
        ),
        "host.gc" => (Message::new("fix-host-gc"), &["fix-gc-freeze", "fix-gc-trap"]),
        "host.optimizer" => {
            (Message::new("fix-host-optimizer"), &["fix-optimizer-foreach", "fix-optimizer-trap"])
        }
        "host.gil" => (
            match &place {
                Some(place) => Message::new("fix-host-gil-at").name("function", place),
                None => Message::new("fix-host-gil"),
            },
            &["fix-gil-process", "fix-gil-native"],
        ),
        "gpu.shared" => (Message::new("fix-gpu-shared"), &["fix-shared-split"]),
        "run.startup" => (Message::new("fix-run-startup"), &["fix-startup-cache"]),
        "run.epoch" => (Message::new("fix-run-epoch"), &["fix-epoch-sampler"]),
        "run.eval" => (Message::new("fix-run-eval"), &["fix-eval-batch"]),
        "run.checkpoint" => {
            (Message::new("fix-run-checkpoint"), &["fix-checkpoint-async", "fix-checkpoint-less"])
        }
        "host.contention" => (Message::new("fix-host-contention"), &["fix-data-threads"]),
        "memory.allocator" => {
            (Message::new("fix-memory-allocator"), &["fix-allocator-shapes", "fix-allocator-trap"])
        }
        "compile.recompile" => {
            (Message::new("fix-compile-recompile"), &["fix-recompile-logs", "fix-recompile-buckets"])
        }
        "io.checkpoint" => {
            (Message::new("fix-io-checkpoint"), &["fix-checkpoint-async", "fix-checkpoint-less"])
        }
        "io.logging" => (Message::new("fix-io-logging"), &["fix-logging-buffer", "fix-logging-values"]),
        "rank.straggler" => (Message::new("fix-rank-straggler"), &["fix-unsplit-all-ranks"]),
        "pipeline.bubble" => (
            Message::new("fix-live-bubble"),
            &["fix-bubble-interleave", "fix-bubble-balance", "fix-bubble-memory"],
        ),
        "memory.recompute" => {
            (Message::new("fix-memory-recompute-unknown"), &["fix-recompute-selective", "fix-recompute-rule"])
        }
        "compute.precision" => {
            (Message::new("fix-live-precision"), &["fix-precision-tf32", "fix-precision-loss"])
        }
        "power.throttle" => (Message::new("fix-power-throttle"), &[]),
        _ => (Message::new("fix-host-launch"), &["fix-launch-batch", "fix-launch-static"]),
    };
    Remedy { summary, steps: steps.iter().map(|id| Message::new(id)).collect(), code: String::new() }
}

/// Hints at inefficient work, without a gain: the instruments see that, not how much.
fn inefficiencies(view: &View<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |cause: &'static str, evidence| {
        let (cost, remedy) = (Estimate::exact(0), remedy(view, cause));
        found.push(Finding { cause, rank: view.run.rank, cost, share: 0.0, gain: None, evidence, remedy });
    };
    let Some(gpu) = &view.signals.gpu else { return found };
    let others: Vec<&(u32, u32, Option<u64>)> =
        view.run.others_on_gpu.iter().filter(|(index, _, _)| *index == gpu.index).collect();
    if !others.is_empty() {
        add(
            "gpu.shared",
            others.into_iter().map(|(_, pid, memory)| evidence::shares_gpu(*pid, *memory)).collect(),
        );
    }
    if let (Some(fp32), Some(tensor)) = (gpu.fp32, gpu.tensor)
        && fp32 > 0.3
        && fp32 > 4.0 * tensor
    {
        add("compute.precision", vec![evidence::units(fp32, tensor)]);
    }
    if let Some(main) = view.signals.main.as_ref().filter(|main| main.recomputes >= 0.1) {
        add("memory.recompute", vec![evidence::recomputes(main.recomputes, gpu.memory)]);
    }
    if gpu.trouble != 0 {
        add("power.throttle", vec![evidence::throttled(gpu)]);
    }
    found
}
