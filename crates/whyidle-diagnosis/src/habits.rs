//! Further figures for `-v`: what `nsys analyze` would list, and what the operating system recorded of the waits.

use whyidle_analysis::habits::{CHUNKS, Habits, LITTLE, LONG_GAP_NS, Tally, habits};
use whyidle_analysis::os::{OsFacts, os_facts};
use whyidle_model::Sym;

use crate::case::Case;
use crate::message::{Arg, Message};

/// Names that are listed.
const NAMES: usize = 4;

/// The figures of a case.
pub(crate) fn figures(case: &Case<'_>) -> Vec<Message> {
    let found = habits(case.trace, &case.facts.tree, &case.device.rows);
    let mut out = listed(&found);
    let os = os_facts(case.trace, &case.facts.tree, &case.device.rows, &case.device.ledger);
    out.extend(os.iter().flat_map(|facts| recorded(case, facts)));
    out
}

fn listed(found: &Habits) -> Vec<Message> {
    let tally = |message: Message, tally: Tally| {
        (tally.count > 0).then(|| {
            message.count("count", tally.count).time("time", tally.total_ns).time("longest", tally.longest_ns)
        })
    };
    let mut out: Vec<Message> = [
        tally(Message::new("stat-pageable-copies"), found.pageable_copies),
        tally(Message::new("stat-sync-copies"), found.sync_copies),
        tally(Message::new("stat-sync-memsets"), found.sync_memsets),
        tally(Message::new("stat-blocking-calls"), found.blocking_calls),
        tally(Message::new("stat-long-gaps").time("least", LONG_GAP_NS), found.long_gaps),
    ]
    .into_iter()
    .flatten()
    .collect();
    if found.little_used > 0 {
        out.push(
            Message::new("stat-little-used")
                .count("count", found.little_used)
                .count("all", CHUNKS)
                .time("length", found.chunk_ns)
                .share("share", LITTLE),
        );
    }
    out
}

/// What the system recorded of the launching thread while the GPU waited, per step.
fn recorded(case: &Case<'_>, facts: &OsFacts) -> Vec<Message> {
    let per_step = |ns: i64| ns / case.steps().max(1);
    let name = |sym: Sym| match case.trace.names.get(sym) {
        "" => Arg::Message(Box::new(Message::new("stat-os-unnamed"))),
        name => Arg::Name(name.to_owned()),
    };
    let mut out = Vec::new();
    if facts.in_calls_ns > 0 {
        let calls = facts.calls.iter().take(NAMES).map(|&(call, ns, _)| {
            Arg::Message(Box::new(
                Message::new("stat-os-call").with("name", name(call)).time("time", per_step(ns)),
            ))
        });
        out.push(
            Message::new("stat-os-calls")
                .time("waits", per_step(facts.waits_ns))
                .time("time", per_step(facts.in_calls_ns))
                .with("calls", Arg::List(calls.collect())),
        );
    }
    if facts.preempted_ns > 0 {
        out.push(Message::new("stat-os-preempted").time("time", per_step(facts.preempted_ns)));
    }
    let samples: u64 = facts.samples.iter().map(|(_, count)| count).sum();
    if samples > 0 {
        let functions = facts.samples.iter().take(NAMES).map(|&(function, count)| {
            let share = count as f64 / samples as f64;
            Arg::Message(Box::new(
                Message::new("stat-os-function").with("name", name(function)).share("share", share),
            ))
        });
        out.push(
            Message::new("stat-os-samples")
                .count("count", samples)
                .with("functions", Arg::List(functions.collect())),
        );
    }
    out
}
