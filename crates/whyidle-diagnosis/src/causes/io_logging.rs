//! `io.logging`: a log is written while the GPU is idle.

use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_replay::edits::remove_contexts;

use super::support::{change, finding, has_context, line_evidence, places, remedy, worth};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Finding, Method};
use crate::what_if::Setting;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = worth(case, Line::Logging)?;
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    let mut evidence = vec![line_evidence(case, Line::Logging)];
    evidence.extend(places(case, Line::Logging, 3));
    let remedy = remedy(Message::new("fix-io-logging"), &["fix-logging-buffer", "fix-logging-values"], "");
    Some(finding(case, "io.logging", cost, gain, evidence, remedy))
}

/// Nothing written in the steps.
pub(super) fn edit<'a>(case: &'a Case<'_>, _: Option<&Setting>) -> Option<Edit<'a>> {
    has_context(case, Context::Log).then(|| {
        Edit::new(change("log_interval"), Method::Replay, |program, lengths| {
            remove_contexts(program, lengths, &[Context::Log]);
        })
    })
}
