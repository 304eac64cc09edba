//! `host.python`: Python runs between launches and no operator is active.
//!
//! Pieces between operators are part of dispatching them and belong to a launch-bound program; a cause
//! of its own are long stretches, which one function owns. Only stacks can name it.

use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::{Context, NONE};
use whyidle_model::HostId;
use whyidle_replay::edits::LONG_STRETCH_NS;
use whyidle_replay::program::HostNode;

use super::support::{WORTH, change, finding, line_evidence, places, remedy, timed};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Estimate, Finding, Method};
use crate::what_if::Setting;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = case.line(Line::HostPython);
    let (long_ns, count) = long_stretches(case);
    let traced = case.traced(Line::HostPython).max(1);
    let long_cost = (cost.ns as f64 * long_ns as f64 / traced as f64) as i64;
    if case.share(long_cost) < WORTH {
        return None;
    }
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    let mut evidence = vec![line_evidence(case, Line::HostPython)];
    evidence.push(timed(
        Message::new("ev-python-long").time("time", long_ns).count("count", count),
        long_ns,
        None,
    ));
    evidence.extend(places(case, Line::HostPython, 3));
    let function = top_function(case);
    let summary = match &function {
        Some(function) => Message::new("fix-host-python-at").name("function", function),
        None => Message::new("fix-host-python"),
    };
    let steps: &[_] =
        if case.has_stacks() { &["fix-python-move"] } else { &["fix-python-stacks", "fix-python-move"] };
    let part = |ns: i64| (ns as f64 * long_ns as f64 / traced as f64) as i64;
    let cost = Estimate { ns: long_cost, low_ns: part(cost.low_ns), high_ns: part(cost.high_ns) };
    Some(finding(case, "host.python", cost, gain, evidence, remedy(summary, steps, "")))
}

/// Long stretches of Python gone; with a name, whatever runs in frames of that name instead.
pub(super) fn edit<'a>(case: &'a Case<'_>, setting: Option<&Setting>) -> Option<Edit<'a>> {
    let named = match setting {
        Some(Setting::Name(name)) => Some(name.clone()),
        _ => None,
    };
    let goes = move |node: &HostNode| match &named {
        Some(name) => node.leaf != NONE && case.is_inside(HostId(node.leaf), name),
        None => matches!(node.context, Context::Unnamed | Context::Frame) && node.length >= LONG_STRETCH_NS,
    };
    if !case.replay.iter().any(|replayed| replayed.program.host.iter().any(&goes)) {
        return None;
    }
    Some(Edit::new(change("removed"), Method::Replay, move |program, lengths| {
        for (at, _) in program.host.iter().enumerate().filter(|(_, node)| goes(node)) {
            lengths.host[at] = 0;
            lengths.waits[at] = false;
        }
    }))
}

/// Time per traced step in long stretches, ns, and how many there are per step.
pub(super) fn long_stretches(case: &Case<'_>) -> (i64, i64) {
    let (mut total, mut count) = (0, 0);
    let mut run: Option<(i64, i64)> = None;
    let mut close = |run: &mut Option<(i64, i64)>| {
        if let Some((start, end)) = run.take()
            && end - start >= LONG_STRETCH_NS
        {
            total += end - start;
            count += 1;
        }
    };
    for part in &case.device.ledger.gaps {
        match run.as_mut() {
            Some((_, end)) if part.line == Line::HostPython && part.start == *end => *end = part.end,
            _ => {
                close(&mut run);
                run = (part.line == Line::HostPython).then_some((part.start, part.end));
            }
        }
    }
    close(&mut run);
    (total / case.steps(), (count / case.steps()).max(i64::from(count > 0)))
}

/// The frame of the user's own that owns most of the line.
fn top_function(case: &Case<'_>) -> Option<String> {
    let mut totals: rustc_hash::FxHashMap<String, i64> = rustc_hash::FxHashMap::default();
    for part in
        case.device.ledger.gaps.iter().filter(|part| part.line == Line::HostPython && part.leaf != NONE)
    {
        if let Some(frame) = case.user_frame(HostId(part.leaf)) {
            *totals.entry(frame).or_default() += part.length();
        }
    }
    totals.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0))).map(|(frame, _)| frame)
}
