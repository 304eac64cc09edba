//! `compute.elementwise`: memory-bound operations between matrix products, each of which reads and writes
//! whole tensors, that a compiler would fuse.

use whyidle_replay::models::{Fact, attention, elementwise};

use super::kernels::{kernel_finding, without};
use super::support::{change, remedy, timed};
use crate::case::Case;
use crate::message::{Arg, Message};
use crate::verdict::{Evidence, Finding};

const CODE: &str = "model = torch.compile(model)";

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let models = case.models();
    let found = elementwise::elementwise(case.trace, case.facts, &case.device, models)?;
    // Softmax, masks and scaling over written-out scores belong to attention.
    let found = match attention::attention(case.trace, case.facts, &case.device, models) {
        Some(attention) => without(case, found, &attention),
        None => found,
    };
    let mut evidence = Vec::new();
    let bytes = found.evidence.bytes_per_step;
    if bytes > 0.0 {
        let text = Message::new("ev-bytes-moved")
            .with("now", Arg::Bytes(bytes as i64))
            .with("after", Arg::Bytes(found.evidence.bytes_after_per_step as i64));
        evidence.push(Evidence { text, value: Some(bytes), unit: "bytes", place: None });
    }
    if let Some(ns) = found.evidence.fact(Fact::CastNs).filter(|&ns| ns > 0.0) {
        evidence.push(timed(Message::new("ev-casts-time").time("time", ns as i64), ns as i64, None));
    }
    for copies in elementwise::layout_copies(case.trace, case.facts, models).into_iter().take(2) {
        if case.share(copies.ns_per_step) >= 0.01 {
            let name = case.trace.names.get(copies.name).to_owned();
            let text = Message::new("ev-layout-copies")
                .name("caller", &name)
                .count("count", copies.per_step.round() as i64)
                .time("time", copies.ns_per_step);
            evidence.push(timed(text, copies.ns_per_step, Some(name)));
        }
    }
    let steps = ["fix-elementwise-warm-up", "fix-elementwise-breaks", "fix-elementwise-library"];
    let remedy = remedy(Message::new("fix-compute-elementwise"), &steps, CODE);
    kernel_finding(case, "compute.elementwise", &found, change("compile"), evidence, remedy)
}
