//! `compute.elementwise`: memory-bound operations between matrix products, each of which reads and writes
//! whole tensors, that a compiler would fuse.

use whyidle_replay::models::{Fact, KernelChange, elementwise};

use super::compute_attention;
use super::kernels::{kernel_finding, without};
use super::support::{change, remedy, timed};
use crate::case::Case;
use crate::edit::Edit;
use crate::message::{Arg, Message};
use crate::verdict::{Evidence, Finding};
use crate::what_if::Setting;

const CODE: &str = "model = torch.compile(model)";

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let models = case.models();
    let found = model(case)?;
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
    kernel_finding(case, "compute.elementwise", &found, edit(case, None), evidence, remedy)
}

/// Element-wise operators fused into kernels that move each tensor once.
pub(super) fn edit<'a>(case: &'a Case<'_>, _: Option<&Setting>) -> Option<Edit<'a>> {
    Some(Edit::of_kernels(case, change("compile"), model(case)?))
}

/// Softmax, masks and scaling over written-out scores belong to attention.
fn model(case: &Case<'_>) -> Option<KernelChange> {
    let found = elementwise::elementwise(case.trace, case.facts, case.models())?;
    Some(match compute_attention::model(case) {
        Some(attention) => without(case, found, &attention),
        None => found,
    })
}
