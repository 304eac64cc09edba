//! `host.gc`: Python's garbage collector stops the host while the GPU is idle.
//!
//! Seen by `collect` frames (stacks) or `Python GC` events.

use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_replay::edits::remove_contexts;

use super::support::{change, finding, has_context, line_evidence, places, remedy, worth};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Finding, Method};
use crate::what_if::Setting;

const CODE: &str = "import gc
gc.collect()
gc.freeze()
gc.disable()
for step, batch in enumerate(loader):
    ...
    if step % 1000 == 0:
        gc.collect()";

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = worth(case, Line::HostGc)?;
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    let mut evidence = vec![line_evidence(case, Line::HostGc)];
    evidence.extend(places(case, Line::HostGc, 2));
    let steps = ["fix-gc-freeze", "fix-gc-trap"];
    Some(finding(case, "host.gc", cost, gain, evidence, remedy(Message::new("fix-host-gc"), &steps, CODE)))
}

/// No collection in the steps.
pub(super) fn edit<'a>(case: &'a Case<'_>, _: Option<&Setting>) -> Option<Edit<'a>> {
    has_context(case, Context::Collect).then(|| {
        Edit::new(change("gc"), Method::Replay, |program, lengths| {
            remove_contexts(program, lengths, &[Context::Collect]);
        })
    })
}
