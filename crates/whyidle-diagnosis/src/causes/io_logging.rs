//! `io.logging`: a log is written while the GPU is idle.

use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_replay::edits::remove_contexts;

use super::support::{change, finding, gain_by_replay, line_evidence, places, remedy, worth};
use crate::case::Case;
use crate::message::Message;
use crate::verdict::{Finding, Method};

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = worth(case, Line::Logging)?;
    let gain = gain_by_replay(case, change("log_interval"), Method::Replay, |program, lengths| {
        remove_contexts(program, lengths, &[Context::Log]);
    });
    let mut evidence = vec![line_evidence(case, Line::Logging)];
    evidence.extend(places(case, Line::Logging, 3));
    let remedy = remedy(Message::new("fix-io-logging"), &["fix-logging-buffer", "fix-logging-values"], "");
    Some(finding(case, "io.logging", cost, gain, evidence, remedy))
}
