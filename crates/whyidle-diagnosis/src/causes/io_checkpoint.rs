//! `io.checkpoint`: a checkpoint is written while the GPU is idle.

use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_replay::edits::remove_contexts;

use super::support::{change, finding, gain_by_replay, line_evidence, places, remedy, worth};
use crate::case::Case;
use crate::message::Message;
use crate::verdict::{Finding, Method};

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = worth(case, Line::Checkpoint)?;
    let gain = gain_by_replay(case, change("async_checkpoint"), Method::Replay, |program, lengths| {
        remove_contexts(program, lengths, &[Context::Checkpoint]);
    });
    let mut evidence = vec![line_evidence(case, Line::Checkpoint)];
    evidence.extend(places(case, Line::Checkpoint, 3));
    let remedy =
        remedy(Message::new("fix-io-checkpoint"), &["fix-checkpoint-async", "fix-checkpoint-less"], "");
    Some(finding(case, "io.checkpoint", cost, gain, evidence, remedy))
}
