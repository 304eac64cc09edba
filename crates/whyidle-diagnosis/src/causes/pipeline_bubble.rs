//! `pipeline.bubble`: a pipeline stage waits for its neighbours while the pipeline fills and drains.
//!
//! Seen by point-to-point kernels that nothing hides. Ideal share of a step with p stages and m
//! micro-batches: (p − 1)/(m + p − 1) (GPipe, Huang et al. 2019; 1F1B has the same). Imbalance between
//! stages comes on top and needs the other ranks' traces.

use whyidle_analysis::communication::Kind;
use whyidle_analysis::ledger::Line;

use super::comm_exposed;
use super::support::{around, counted, finding, remedy, shared};
use crate::case::Case;
use crate::message::Message;
use crate::verdict::{Change, Estimate, Finding, Gain, Method};

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
    let stages = i64::from(case.trace.meta.distributed.as_ref().map_or(2, |job| job.world_size)).max(2);
    let micro = micro_batches(case, uses);
    let mut evidence = comm_exposed::evidence(case, uses);
    let bubble = |micro: i64| (stages - 1) as f64 / (micro + stages - 1) as f64;
    let gain = micro.map(|micro| {
        evidence.insert(0, counted(Message::new("ev-micro-batches").count("count", micro), micro));
        let ideal = bubble(micro);
        evidence.push(shared(
            Message::new("ev-bubble-ideal")
                .share("share", ideal)
                .count("stages", stages)
                .count("micro", micro),
            ideal,
        ));
        // Work per sample stays; only fill and drain shrink.
        let after = case.step.ns as f64 * (1.0 - ideal) / (1.0 - bubble(micro * MORE));
        let change = Change {
            what: "micro_batches",
            from: Some(micro.to_string()),
            to: Some((micro * MORE).to_string()),
        };
        Gain {
            step_after: around(case, after as i64, 0.08),
            method: Method::Model,
            change,
            next_limit: "compute.bound",
        }
    });
    let to = micro.map_or(8, |micro| micro * MORE);
    let summary = Message::new("fix-pipeline-bubble").count("micro", to);
    let steps = ["fix-bubble-interleave", "fix-bubble-balance", "fix-bubble-memory"];
    let remedy = remedy(summary, &steps, &CODE.replace("{micro}", &to.to_string()));
    Some(finding(case, "pipeline.bubble", cost, gain, evidence, remedy))
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
