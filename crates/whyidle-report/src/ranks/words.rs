//! The sentences: what hangs and where, or that nothing does.

use whyidle_analysis::flight::{Difference, FlightFacts, Hang, HangKind, Mismatch, Operation, Pace, Waiting};
use whyidle_diagnosis::{Arg, Message, slow_path, why_slow};

use super::RanksReport;

/// Runs of ranks that are listed before the rest is only counted.
const MOST_RUNS: usize = 6;

/// Ranks of a circle that are described.
const MOST_PARTS: usize = 4;

/// `0–3, 7`; of many runs the first ones and `…`.
pub(super) fn runs(ranks: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => runs.push((rank, rank)),
        }
    }
    let one = |&(from, to): &(u32, u32)| match to - from {
        0 => from.to_string(),
        1 => format!("{from}, {to}"),
        _ => format!("{from}–{to}"),
    };
    let mut listed: Vec<String> = runs.iter().take(MOST_RUNS).map(one).collect();
    if runs.len() > MOST_RUNS {
        listed.push("…".to_owned());
    }
    listed.join(", ")
}

/// `rank 1`, `ranks 0–3, 7`.
pub(super) fn ranks(ranks: &[u32]) -> Message {
    let id = if ranks.len() == 1 { "ranks-one" } else { "ranks-several" };
    Message::new(id).name("list", runs(ranks))
}

/// The same at the start of a sentence.
fn first(ranks: &[u32]) -> Message {
    let id = if ranks.len() == 1 { "ranks-one-first" } else { "ranks-several-first" };
    Message::new(id).name("list", runs(ranks))
}

/// `all_reduce #205 (1.0 MiB)`.
pub(super) fn operation(operation: &Operation) -> Message {
    let named = |id| Message::new(id).name("name", &operation.name).name("seq", operation.seq.to_string());
    match operation.bytes {
        Some(bytes) => named("ranks-operation").with("bytes", Arg::Bytes(bytes)),
        None => named("ranks-operation-bare"),
    }
}

/// What an operation is without its number: `broadcast (4.0 MiB)`.
fn kind(operation: &Operation, difference: Difference) -> Message {
    match difference {
        Difference::Operation => Message::new("ranks-kind-bare").name("name", &operation.name),
        Difference::Size => {
            let (inputs, outputs) = &operation.sizes;
            let sizes = if inputs == outputs { inputs.clone() } else { format!("{inputs} → {outputs}") };
            Message::new("ranks-kind").name("name", &operation.name).name("what", sizes)
        }
        Difference::Type => {
            Message::new("ranks-kind").name("name", &operation.name).name("what", &operation.types.0)
        }
    }
}

/// A group as the program calls it.
pub(super) fn group(facts: &FlightFacts, number: usize) -> String {
    facts.groups.get(number).map(|facts| facts.group.label().to_owned()).unwrap_or_default()
}

/// In what ranks disagree, in a sentence.
pub(super) fn mismatch(facts: &FlightFacts, mismatch: &Mismatch) -> Message {
    let members = &facts.groups[mismatch.group].group.dumps.len();
    let usual = members.saturating_sub(mismatch.others.len());
    let usual_ranks = if usual == 1 {
        Message::new("ranks-one").name("list", mismatch.usual.rank.to_string())
    } else {
        Message::new("ranks-number").count("count", usual)
    };
    Message::new("ranks-mismatch")
        .name("group", group(facts, mismatch.group))
        .name("seq", mismatch.seq.to_string())
        .message("usual", usual_ranks)
        .message("a", kind(&mismatch.usual, mismatch.difference))
        .message("others", ranks(&mismatch.others))
        .message("b", kind(&mismatch.other, mismatch.difference))
}

/// The answer, sentence by sentence.
pub(super) fn answer(report: &RanksReport) -> Vec<Message> {
    let Some(facts) = &report.flight else { return links(report) };
    if let Some(hang) = &facts.hang {
        return self::hang(facts, hang);
    }
    let matched: usize = facts.groups.iter().map(|group| group.matched).sum();
    let mut said = vec![match (&facts.mismatches[..], report.dumps.len()) {
        ([first, ..], _) => mismatch(facts, first),
        ([], 1) => Message::new("ranks-alone").message("rank", first_rank(report)),
        ([], _) => Message::new("ranks-no-hang")
            .count("count", matched)
            .message("ranks", ranks(&report.dumps.iter().map(|dump| dump.rank).collect::<Vec<_>>())),
    }];
    if let Some((_, Pace::Steps { median, count, .. })) = slowest(report) {
        said.push(Message::new("ranks-step").time("step", *median).count("count", *count));
    }
    if report.pairs.iter().any(|pair| pair.slow.is_some()) {
        said.extend(links(report));
    }
    said
}

fn first_rank(report: &RanksReport) -> Message {
    ranks(&report.dumps.iter().map(|dump| dump.rank).take(1).collect::<Vec<_>>())
}

/// The rank whose steps are longest, with its pace.
pub(super) fn slowest(report: &RanksReport) -> Option<(u32, &Pace)> {
    let facts = report.flight.as_ref()?;
    let length = |pace: &Pace| if let Pace::Steps { median, .. } = pace { *median } else { i64::MIN };
    let steps = |(_, pace): &(u32, &Pace)| matches!(pace, Pace::Steps { .. });
    report
        .dumps
        .iter()
        .map(|dump| dump.rank)
        .zip(&facts.paces)
        .filter(steps)
        .max_by_key(|(_, pace)| length(pace))
}

fn hang(facts: &FlightFacts, hang: &Hang) -> Vec<Message> {
    let mut said = Vec::new();
    let group = group(facts, hang.group);
    let about =
        |id| Message::new(id).name("group", group.clone()).message("operation", operation(&hang.operation));
    match (hang.kind, &hang.mismatch) {
        (HangKind::NeverEntered, _) => {
            said.push(about("ranks-never-entered").message("guilty", first(&hang.guilty)));
        }
        (HangKind::Mismatched, Some(found)) => said.push(mismatch(facts, found)),
        (HangKind::NoMessage, _) => said.push(
            about("ranks-no-message")
                .message("waiting", first(&hang.waiting))
                .message("guilty", ranks(&hang.guilty)),
        ),
        (HangKind::Circle, _) => {
            let part = |waiting: &Waiting| {
                Message::new("ranks-circle-part")
                    .message("rank", first(&[waiting.operation.rank]))
                    .message("operation", operation(&waiting.operation))
                    .message("for", ranks(&waiting.for_ranks))
            };
            let parts = hang.waits.iter().filter(|waiting| !waiting.for_ranks.is_empty()).take(MOST_PARTS);
            said.push(Message::new("ranks-circle"));
            said.extend(parts.map(part));
            said.push(Message::new("ranks-circle-end"));
        }
        (kind, _) => {
            let id = if kind == HangKind::Together { "ranks-together" } else { "ranks-stuck" };
            said.push(about(id).message("waiting", first(&hang.waiting)));
            let unknown: Vec<u32> = facts.groups[hang.group].damaged.clone();
            let unknown: Vec<u32> = unknown.into_iter().filter(|rank| !hang.waiting.contains(rank)).collect();
            if !unknown.is_empty() {
                said.push(Message::new("ranks-damaged").message("ranks", ranks(&unknown)));
            }
        }
    }
    if matches!(hang.kind, HangKind::NeverEntered | HangKind::Mismatched) {
        let waits = |id| Message::new(id).message("waiting", first(&hang.waiting));
        said.push(match hang.waited {
            Some(waited) => waits("ranks-waits-for").time("time", waited),
            None if hang.timed_out => waits("ranks-waits-given-up"),
            None => waits("ranks-waits"),
        });
    }
    if let [last, ..] = &hang.last[..]
        && hang.kind != HangKind::Mismatched
    {
        let about =
            |id| Message::new(id).message("rank", ranks(&[last.rank])).message("operation", operation(last));
        said.push(match last.place() {
            Some((function, file, line)) => {
                about("ranks-last-at").name("place", place(function, file, *line))
            }
            None => about("ranks-last"),
        });
    }
    if !hang.without_dump.is_empty() {
        said.push(Message::new("ranks-no-dump").message("ranks", ranks(&hang.without_dump)));
    }
    said
}

/// `train (train.py:88)`, the file by its last two parts.
pub(crate) fn place(function: &str, file: &str, line: u32) -> String {
    let parts: Vec<&str> = file.rsplit('/').take(2).collect();
    let short: Vec<&str> = parts.into_iter().rev().filter(|part| !part.is_empty()).collect();
    format!("{function} ({}:{line})", short.join("/"))
}

/// What is said of paths.
fn links(report: &RanksReport) -> Vec<Message> {
    let slow: Vec<_> = report.pairs.iter().filter(|pair| pair.slow.is_some()).collect();
    let Some(first) = slow.first() else {
        let id = if report.pairs.is_empty() { "ranks-links-none" } else { "ranks-links-fine" };
        return vec![Message::new(id).count("count", report.pairs.len())];
    };
    let mut said = vec![
        Message::new("ranks-links-slow")
            .count("count", slow.len())
            .count("all", report.pairs.len())
            .message("what", first.slow.map_or_else(|| Message::new("ranks-why-unknown"), slow_path)),
    ];
    said.extend(first.why.iter().map(why_slow));
    said
}
