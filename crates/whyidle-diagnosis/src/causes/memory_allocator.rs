//! `memory.allocator`: the step takes memory from the driver or gives it back.
//!
//! Seen by cudaMalloc, cudaFree and mapping calls inside steps: `empty_cache()`, changing shapes,
//! retries when memory is nearly full. cudaFree waits for the device.

use whyidle_analysis::hostclass::HostClass;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_model::{HostId, HostKind, Vendor};
use whyidle_replay::edits::remove_contexts;

use super::support::{change, counted, finding, has_context, line_evidence, places, remedy, worth};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Finding, Method};
use crate::what_if::Setting;

const CODE: &str = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python train.py";

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = worth(case, Line::Allocator)?;
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    let (takes, returns) = calls(case);
    let mut evidence = vec![line_evidence(case, Line::Allocator)];
    evidence.push(counted(
        Message::new("ev-allocator-calls").count("takes", takes).count("returns", returns),
        takes + returns,
    ));
    evidence.extend(places(case, Line::Allocator, 2));
    // Segments that expand rest on CUDA's virtual memory.
    let expands = case.facts.vendor == Vendor::Nvidia;
    let summary = Message::new(match (returns > 0, expands) {
        (true, _) => "fix-memory-allocator",
        (false, true) => "fix-memory-allocator-grow",
        (false, false) => "fix-memory-allocator-shapes",
    });
    let steps = ["fix-allocator-shapes", "fix-allocator-trap"];
    let code = if expands { CODE } else { "" };
    Some(finding(case, "memory.allocator", cost, gain, evidence, remedy(summary, &steps, code)))
}

/// Memory neither taken from the driver nor given back in the steps; with it go the waits that this forces.
pub(super) fn edit<'a>(case: &'a Case<'_>, _: Option<&Setting>) -> Option<Edit<'a>> {
    has_context(case, Context::Allocate).then(|| {
        Edit::new(change("allocator"), Method::Replay, |program, lengths| {
            remove_contexts(program, lengths, &[Context::Allocate]);
        })
    })
}

/// Calls per step that take memory and that give it back.
fn calls(case: &Case<'_>) -> (i64, i64) {
    let (mut takes, mut returns) = (0, 0);
    for row in 0..case.trace.host.len() {
        let id = HostId::from_index(row);
        let inside = || case.device.steps.launched_at(case.trace.host.start[row]).is_some();
        let call = matches!(case.trace.host.kind[row], HostKind::Runtime | HostKind::Driver);
        if call && case.facts.tree.class(case.trace, id) == HostClass::Allocate && inside() {
            let name = case.trace.names.get(case.trace.host.name[row]);
            let gives_back = name.contains("Free") || name.contains("Unmap") || name.contains("Release");
            if gives_back { returns += 1 } else { takes += 1 }
        }
    }
    (takes / case.steps(), returns / case.steps())
}
