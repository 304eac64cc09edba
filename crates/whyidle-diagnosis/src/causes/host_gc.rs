//! `host.gc`: Python's garbage collector stops the host while the GPU is idle.
//!
//! Seen by `collect` frames (stacks) or `Python GC` events.

use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_replay::edits::remove_contexts;

use super::support::{change, finding, gain_by_replay, line_evidence, places, remedy, worth};
use crate::case::Case;
use crate::message::Message;
use crate::verdict::{Finding, Method};

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
    let gain = gain_by_replay(case, change("gc"), Method::Replay, |program, lengths| {
        remove_contexts(program, lengths, &[Context::Collect]);
    });
    let mut evidence = vec![line_evidence(case, Line::HostGc)];
    evidence.extend(places(case, Line::HostGc, 2));
    let steps = ["fix-gc-freeze", "fix-gc-trap"];
    Some(finding(case, "host.gc", cost, gain, evidence, remedy(Message::new("fix-host-gc"), &steps, CODE)))
}
