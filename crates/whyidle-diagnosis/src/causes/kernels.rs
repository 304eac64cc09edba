//! What the causes in the GPU's own work share: a kernel model's change, replayed, and its evidence.

use rustc_hash::FxHashSet;
use whyidle_model::GpuId;
use whyidle_replay::models::{Evidence as Facts, KernelChange};

use super::support::finding;
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::{Arg, Message};
use crate::verdict::{Estimate, Evidence, Finding, Remedy};

/// Kernels that could be shortened by less than this share of the step are not worth a finding.
const WORTH: f64 = 0.03;

/// A finding from a kernel model; `None` if what it saves is too little.
pub(super) fn kernel_finding(
    case: &Case<'_>,
    cause: &'static str,
    change: &KernelChange,
    edit: Option<Edit<'_>>,
    mut evidence: Vec<Evidence>,
    remedy: Remedy,
) -> Option<Finding> {
    let saved = change.saved_ns_per_step;
    if case.share(saved) < WORTH {
        return None;
    }
    let cost = Estimate {
        ns: saved,
        low_ns: change.low_ns_per_step.max(0),
        high_ns: change.high_ns_per_step.max(saved),
    };
    let gain = edit.and_then(|edit| gain(case, &edit));
    let time = change.evidence.time_ns_per_step;
    evidence.insert(
        0,
        Evidence {
            text: Message::new("ev-kernels-time")
                .time("time", time)
                .with("count", Arg::Count(change.evidence.activities_per_step.round() as i64)),
            value: Some(time as f64),
            unit: "ns",
            place: None,
        },
    );
    evidence.extend(named(case, &change.evidence));
    Some(finding(case, cause, cost, gain, evidence, remedy))
}

/// A change without the activities that a more specific change `other` already cures.
///
/// What it saves shrinks in proportion to the kernel time that it no longer takes away.
pub(super) fn without(case: &Case<'_>, mut change: KernelChange, other: &KernelChange) -> KernelChange {
    let taken: FxHashSet<u32> = other.scaled.iter().map(|&(id, _)| id.0).collect();
    let saved = |rows: &[(GpuId, f64)]| -> f64 {
        rows.iter().map(|&(id, factor)| case.trace.gpu.dur[id.index()] as f64 * (1.0 - factor)).sum()
    };
    let before = saved(&change.scaled);
    change.scaled.retain(|(id, _)| !taken.contains(&id.0));
    let left = if before > 0.0 { (saved(&change.scaled) / before).clamp(0.0, 1.0) } else { 0.0 };
    for ns in [&mut change.saved_ns_per_step, &mut change.low_ns_per_step, &mut change.high_ns_per_step] {
        *ns = (*ns as f64 * left) as i64;
    }
    change
}

/// The operators, shapes and frames that a model names, largest first.
fn named(case: &Case<'_>, facts: &Facts) -> Vec<Evidence> {
    const SHOWN: usize = 2;
    let name = |sym| case.trace.names.get(sym).to_owned();
    let mut out = Vec::new();
    for row in facts.shapes.iter().filter(|row| row.ns_per_step * 10 >= facts.time_ns_per_step).take(SHOWN) {
        let inputs: Vec<String> = row
            .inputs
            .iter()
            .filter(|sides| !sides.is_empty())
            .map(|sides| sides.iter().map(i64::to_string).collect::<Vec<_>>().join("×"))
            .collect();
        let text = Message::new("ev-shape")
            .name("operator", name(row.operator))
            .name("inputs", inputs.join(", "))
            .time("time", row.ns_per_step);
        out.push(Evidence {
            text,
            value: Some(row.ns_per_step as f64),
            unit: "ns",
            place: Some(name(row.operator)),
        });
    }
    for row in facts.frames.iter().take(SHOWN) {
        let text = Message::new("ev-frame").name("frame", name(row.name)).time("time", row.ns_per_step);
        out.push(Evidence {
            text,
            value: Some(row.ns_per_step as f64),
            unit: "ns",
            place: Some(name(row.name)),
        });
    }
    out
}

/// Reached and possible rates as evidence, where the model compares them.
pub(super) fn rates(facts: &Facts) -> Option<Evidence> {
    let (achieved, possible) = facts.achieved.zip(facts.possible)?;
    let text = Message::new("ev-rates")
        .with("achieved", Arg::Number(achieved / 1e12, 0))
        .with("possible", Arg::Number(possible / 1e12, 0));
    Some(Evidence { text, value: Some(achieved), unit: "flop/s", place: None })
}
