//! `compile.recompile`: the compiler runs inside training steps.
//!
//! Seen by dynamo, AOT and inductor events in the steps: shapes or values that change make a guard
//! fail, and the graph is compiled again.

use whyidle_analysis::hostclass::HostClass;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_model::HostId;
use whyidle_replay::edits::remove_contexts;

use super::support::{change, counted, finding, has_context, line_evidence, places, remedy, worth};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Finding, Method};
use crate::what_if::Setting;

const CODE: &str = "model = torch.compile(model, dynamic=True)
torch._dynamo.mark_dynamic(tokens, 1)";

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = worth(case, Line::Recompile)?;
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    let compilations = (0..case.trace.host.len())
        .map(HostId::from_index)
        .filter(|&id| case.facts.tree.class(case.trace, id) == HostClass::Compile)
        .filter(|&id| {
            case.facts.tree.parent(id).is_none_or(|up| case.facts.tree.context(up) != Context::Compile)
        })
        .count();
    let mut evidence = vec![line_evidence(case, Line::Recompile)];
    evidence.push(counted(
        Message::new("ev-compilations").count("count", compilations),
        i64::try_from(compilations).unwrap_or(i64::MAX),
    ));
    evidence.extend(places(case, Line::Recompile, 2));
    let steps = ["fix-recompile-logs", "fix-recompile-buckets", "fix-recompile-warm-up"];
    let remedy = remedy(Message::new("fix-compile-recompile"), &steps, CODE);
    Some(finding(case, "compile.recompile", cost, gain, evidence, remedy))
}

/// Everything compiled before the steps.
pub(super) fn edit<'a>(case: &'a Case<'_>, _: Option<&Setting>) -> Option<Edit<'a>> {
    has_context(case, Context::Compile).then(|| {
        Edit::new(change("dynamic_shapes"), Method::Replay, |program, lengths| {
            remove_contexts(program, lengths, &[Context::Compile]);
        })
    })
}
