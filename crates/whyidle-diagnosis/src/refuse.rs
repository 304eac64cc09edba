//! When no verdict is reached: evidence that cannot carry one is said first, in one sentence.

use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::hostclass::HostClass;
use whyidle_analysis::steps::FoundBy;
use whyidle_model::{NoteCode, Trace};

use crate::case::Case;
use crate::message::Message;
use crate::verdict::{Basis, Input, QualityNote, Refusal};

/// More than this share of GPU records at time 0 leaves no picture of a step.
const ZERO_TIMES: f64 = 0.2;
/// A window without steps in which the GPU hardly works is a start-up, not training.
const TOO_LITTLE: f64 = 0.05;
/// With more than this share of the kernels lost, what remains is another program's picture.
const LOST: f64 = 0.15;
/// GPU activities must cover this share of the steps' launches in time.
const COVERED: f64 = 0.5;

/// Why `trace` cannot carry a verdict at all.
#[must_use]
pub fn refuse_trace(trace: &Trace, inputs: &[Input]) -> Option<Refusal> {
    let zero = trace.notes.count(NoteCode::ZeroTime);
    let zero_share = zero as f64 / (zero + trace.gpu.len() as u64).max(1) as f64;
    let (code, reason, hint) = if trace.events == 0 {
        ("empty", Message::new("refusal-empty"), Message::new("refusal-empty-hint"))
    } else if is_cut_off(trace) {
        ("truncated", Message::new("refusal-truncated"), Message::new("refusal-truncated-hint"))
    } else if zero_share > ZERO_TIMES {
        let reason = Message::new("refusal-zero-times").share("share", zero_share);
        ("zero-times", reason, Message::new("refusal-zero-times-hint"))
    } else if trace.gpu.is_empty() {
        match &trace.meta.foreign_device {
            Some(device) => {
                let reason = Message::new("refusal-foreign-device").name("device", device);
                ("foreign-device", reason, Message::new("refusal-foreign-device-hint"))
            }
            None => (
                "no-gpu-activity",
                Message::new("refusal-no-gpu-activity"),
                Message::new("refusal-no-gpu-activity-hint"),
            ),
        }
    } else if trace.host.is_empty() {
        (
            "no-host-activity",
            Message::new("refusal-no-host-activity"),
            Message::new("refusal-no-host-activity-hint"),
        )
    } else {
        return None;
    };
    Some(Refusal { code, reason, hint, inputs: inputs.to_vec(), quality: QualityNote::all_of(&trace.notes) })
}

/// The file ends before the trace does. Calls and kernels stand in it in no order of time, so what is missing may be
/// of any step, and no step is whole for certain.
fn is_cut_off(trace: &Trace) -> bool {
    [NoteCode::Truncated, NoteCode::DamagedCompression, NoteCode::DamagedDatabase]
        .iter()
        .any(|&code| trace.notes.count(code) > 0)
}

/// Why the steps of a device cannot carry a verdict.
#[must_use]
pub fn refuse_device(
    trace: &Trace,
    facts: &Facts,
    device: &DeviceFacts,
    inputs: &[Input],
) -> Option<Refusal> {
    let refusal = |code, reason, hint| {
        Some(Refusal {
            code,
            reason,
            hint,
            inputs: inputs.to_vec(),
            quality: QualityNote::all_of(&trace.notes),
        })
    };
    if device.steps.used.is_empty() {
        return refusal("no-steps", Message::new("refusal-no-steps"), Message::new("refusal-no-steps-hint"));
    }
    let working = device.occupancy.working_ns as f64 / device.ledger.length().max(1) as f64;
    if facts.found_by == FoundBy::Window && working < TOO_LITTLE {
        let reason = Message::new("refusal-too-little").share("share", working);
        return refusal("too-little", reason, Message::new("refusal-too-little-hint"));
    }
    let lost = lost_share(trace, facts, device);
    if lost > LOST {
        let reason = Message::new("refusal-lost-activities").share("share", lost);
        return refusal("lost-activities", reason, Message::new("refusal-lost-activities-hint"));
    }
    let covered = covered_share(trace, facts);
    if covered < COVERED {
        let reason = Message::new("refusal-half-window").share("share", covered);
        return refusal("half-window", reason, Message::new("refusal-half-window-hint"));
    }
    None
}

/// Why a step that was given or measured cannot belong to this trace: the GPU alone works longer.
#[must_use]
pub fn refuse_step(case: &Case<'_>, inputs: &[Input]) -> Option<Refusal> {
    let known = matches!(case.basis, Basis::Given | Basis::Measured);
    let kernels = case.traced_kernels_ns();
    if !known || case.step.ns as f64 >= CONTRADICTED * kernels as f64 {
        return None;
    }
    Some(Refusal {
        code: "step-contradicted",
        reason: Message::new("refusal-step-contradicted").time("step", case.step.ns).time("kernels", kernels),
        hint: Message::new("refusal-step-contradicted-hint"),
        inputs: inputs.to_vec(),
        quality: QualityNote::all_of(&case.trace.notes),
    })
}

/// Kernels keep their length under the profiler; a step shorter than this part of them is not this trace's.
const CONTRADICTED: f64 = 0.9;

/// Share of the kernel launches in the steps analysed whose kernel is not in the trace.
pub(crate) fn lost_share(trace: &Trace, facts: &Facts, device: &DeviceFacts) -> f64 {
    let (mut lost, mut all) = (0_u32, 0_u32);
    for row in 0..trace.host.len() {
        let id = whyidle_model::HostId::from_index(row);
        // Memsets of no bytes leave no activity.
        let launches = facts.tree.class(trace, id) == HostClass::Launch
            && !trace.names.get(trace.host.name[row]).contains("Memset");
        if launches && device.steps.launched_at(trace.host.start[row]).is_some() {
            all += 1;
            lost += u32::from(facts.tree.activity_of(id).is_none());
        }
    }
    if all == 0 { 0.0 } else { f64::from(lost) / f64::from(all) }
}

/// Share of the time between the first and the last launch whose activities are in the trace.
fn covered_share(trace: &Trace, facts: &Facts) -> f64 {
    let (Some(first), Some(last)) = (facts.host_steps.first(), facts.host_steps.last()) else { return 1.0 };
    let mut launches: Vec<(i64, bool)> = (0..trace.host.len())
        .map(whyidle_model::HostId::from_index)
        .filter(|&id| matches!(facts.tree.class(trace, id), HostClass::Launch | HostClass::GraphLaunch))
        .map(|id| (trace.host.start[id.index()], facts.tree.activity_of(id).is_some()))
        .filter(|&(start, _)| first.host.start <= start && start < last.host.end)
        .collect();
    launches.sort_unstable();
    let length = |keep: fn(bool) -> bool| {
        let mut kept = launches.iter().filter(|&&(_, linked)| keep(linked)).map(|&(start, _)| start);
        let first = kept.next()?;
        Some(kept.next_back().unwrap_or(first) - first)
    };
    match (length(|linked| linked), length(|_| true)) {
        (Some(linked), Some(all)) if all > 0 => linked as f64 / all as f64,
        _ => 1.0,
    }
}
