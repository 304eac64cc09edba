//! `pipeline.bubble`: a pipeline stage waits for its neighbours while the pipeline fills and drains.
//!
//! Seen by point-to-point kernels that nothing hides. Ideal share of a step with p stages and m
//! micro-batches: (p − 1)/(m + p − 1) (GPipe, Huang et al. 2019; 1F1B has the same). Imbalance between
//! stages comes on top and needs the other ranks' traces.

use whyidle_analysis::communication::Kind;
use whyidle_analysis::ledger::Line;

use super::comm_exposed;
use super::support::{counted, finding, remedy, shared};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Change, Estimate, Finding, Method};
use crate::what_if::Setting;

const CODE: &str = "schedule = Schedule1F1B(stage, n_microbatches={micro}, loss_fn=loss_fn)";

const WORTH: f64 = 0.05;
/// More micro-batches by this factor: what the gain is computed for.
const MORE: i64 = 4;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let uses = case.collectives();
    let point_to_point = case.point_to_point_ns();
    let line = case.line(Line::Communication);
    let part = |ns: i64| (ns as f64 * point_to_point as f64 / line.ns.max(1) as f64) as i64;
    let cost = Estimate { ns: part(line.ns), low_ns: part(line.low_ns), high_ns: part(line.high_ns) };
    if case.share(cost.ns) < WORTH {
        return None;
    }
    let stages = stages(case);
    let micro = micro_batches(case, uses);
    let mut evidence = comm_exposed::evidence(case, uses);
    if let Some(micro) = micro {
        evidence.insert(0, counted(Message::new("ev-micro-batches").count("count", micro), micro));
        let ideal = bubble(stages, micro);
        let text = Message::new("ev-bubble-ideal").share("share", ideal);
        evidence.push(shared(text.count("stages", stages).count("micro", micro), ideal));
    }
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    let to = micro.map_or(8, |micro| micro * MORE);
    let summary = Message::new("fix-pipeline-bubble").count("micro", to);
    let steps = ["fix-bubble-interleave", "fix-bubble-balance", "fix-bubble-memory"];
    let remedy = remedy(summary, &steps, &CODE.replace("{micro}", &to.to_string()));
    Some(finding(case, "pipeline.bubble", cost, gain, evidence, remedy))
}

/// So many micro-batches: work per sample stays, fill and drain take their smaller part.
pub(super) fn edit<'a>(case: &'a Case<'_>, setting: Option<&Setting>) -> Option<Edit<'a>> {
    if case.point_to_point_ns() == 0 {
        return None;
    }
    let now = micro_batches(case, case.collectives())?;
    let to = Setting::count(setting).map_or(now * MORE, i64::from);
    let change = Change { what: "micro_batches", from: Some(now.to_string()), to: Some(to.to_string()) };
    let stages = stages(case);
    let part = (1.0 - bubble(stages, now)) / (1.0 - bubble(stages, to));
    Some(
        Edit::new(change, Method::Model, |_, _| {})
            .per_sample(part)
            .shortening_kernels()
            .filling()
            .doubted(0.08),
    )
}

/// Share of a step that filling and draining take at equal stages: (p − 1) / (m + p − 1) (GPipe, Huang et al. 2019;
/// the same for 1F1B, Narayanan et al. 2021).
fn bubble(stages: i64, micro: i64) -> f64 {
    (stages - 1) as f64 / (micro + stages - 1) as f64
}

fn stages(case: &Case<'_>) -> i64 {
    i64::from(case.trace.meta.distributed.as_ref().map_or(2, |job| job.world_size)).max(2)
}

/// Micro-batches per step: by the framework's own annotations, else by transfers per step and direction.
fn micro_batches(case: &Case<'_>, uses: &[whyidle_analysis::communication::Use]) -> Option<i64> {
    let mut marks: rustc_hash::FxHashMap<&str, i64> = rustc_hash::FxHashMap::default();
    for row in 0..case.trace.host.len() {
        let name = case.trace.names.get(case.trace.host.name[row]);
        if let Some((what, number)) = name.split_once(' ')
            && matches!(what, "Forward" | "Backward")
            && number.parse::<u32>().is_ok()
            && case.device.steps.launched_at(case.trace.host.start[row]).is_some()
        {
            *marks.entry(what).or_default() += 1;
        }
    }
    if let Some(&forwards) = marks.get("Forward") {
        return Some(forwards / case.steps()).filter(|&micro| micro > 0);
    }
    let transfers = uses.iter().filter(|u| u.kind == Kind::SendReceive).count();
    // One transfer forward and one backward per micro-batch at an end of the pipeline.
    Some(i64::try_from(transfers).unwrap_or(0) / case.steps() / 2).filter(|&micro| micro > 0)
}
