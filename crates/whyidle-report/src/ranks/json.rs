//! The report as `whyidle.ranks/1`: every group, rank and pair; `schema/whyidle.ranks-1.schema.json` describes it.

use serde_json::{Value, json};
use whyidle_analysis::flight::{FlightFacts, GroupFacts, Hang, Mismatch, Operation, Pace};
use whyidle_analysis::links::{Pair, Why};
use whyidle_diagnosis::why_slow;
use whyidle_model::NcclLog;

use super::{RanksReport, words};
use crate::Catalog;
use crate::json::{pretty, sentences, text, tool, worded_notes};

const SCHEMA: &str = "whyidle.ranks/1";

/// The report as JSON, indented. Times are whole nanoseconds; points in time are of Unix time.
#[must_use]
pub fn render_ranks_json(report: &RanksReport, catalog: &Catalog) -> String {
    pretty(&value(report, catalog))
}

/// As [`render_ranks_json`], not yet printed.
pub(crate) fn value(report: &RanksReport, catalog: &Catalog) -> Value {
    let present: Vec<u32> = report.dumps.iter().map(|dump| dump.rank).collect();
    json!({
        "schema": SCHEMA,
        "tool": tool(),
        "inputs": report.inputs,
        "ranks": present,
        "sentence": sentences(catalog, &words::answer(report)),
        "hang": report.flight.as_ref().and_then(|facts| Some(hang(facts, facts.hang.as_ref()?))),
        "mismatches": report.flight.iter().flat_map(|facts| {
            facts.mismatches.iter().map(|found| mismatch(facts, found))
        }).collect::<Vec<_>>(),
        "groups": report.flight.iter().flat_map(|facts| facts.groups.iter().map(group)).collect::<Vec<_>>(),
        "steps": report.flight.iter().flat_map(|facts| {
            present.iter().zip(&facts.paces).map(|(rank, found)| pace(*rank, found))
        }).collect::<Vec<_>>(),
        "links": report.pairs.iter().map(|found| pair(found, catalog)).collect::<Vec<_>>(),
        "nccl": report.nccl.as_ref().map(nccl),
        "quality": worded_notes(catalog, &report.quality),
    })
}

fn operation(operation: &Operation) -> Value {
    let frame = |(function, file, line): &(String, String, u32)| json!({ "function": function, "file": file, "line": line });
    json!({
        "rank": operation.rank,
        "name": operation.name,
        "seq": operation.seq,
        "bytes": operation.bytes,
        "input_sizes": operation.sizes.0,
        "output_sizes": operation.sizes.1,
        "input_types": operation.types.0,
        "output_types": operation.types.1,
        "created_ns": operation.created,
        "group": operation.group,
        "thread": operation.thread,
        "over": operation.over,
        "stack": operation.stack.iter().map(frame).collect::<Vec<_>>(),
    })
}

fn hang(facts: &FlightFacts, hang: &Hang) -> Value {
    json!({
        "kind": hang.kind.id(),
        "group": facts.groups[hang.group].group.name,
        "operation": operation(&hang.operation),
        "guilty": hang.guilty,
        "waiting": hang.waiting,
        "blocked": hang.blocked,
        "without_dump": hang.without_dump,
        "last": hang.last.iter().map(operation).collect::<Vec<_>>(),
        "waits": hang.waits.iter().map(|waiting| json!({
            "operation": operation(&waiting.operation),
            "for": waiting.for_ranks,
        })).collect::<Vec<_>>(),
        "mismatch": hang.mismatch.as_ref().map(|found| mismatch(facts, found)),
        "timed_out": hang.timed_out,
        "waited_ns": hang.waited,
        "may_be_under_way": hang.may_be_under_way(),
    })
}

fn mismatch(facts: &FlightFacts, mismatch: &Mismatch) -> Value {
    json!({
        "group": facts.groups[mismatch.group].group.name,
        "seq": mismatch.seq,
        "difference": mismatch.difference.id(),
        "usual": operation(&mismatch.usual),
        "other": operation(&mismatch.other),
        "others": mismatch.others,
    })
}

fn group(facts: &GroupFacts) -> Value {
    let group = &facts.group;
    json!({
        "name": group.name,
        "description": group.description,
        "ranks": group.ranks,
        "ranks_seen_only": group.ranks_seen_only,
        "missing": group.missing,
        "entries": group.entries,
        "matched": facts.matched,
        "mismatched": facts.mismatched,
        "first": facts.span.map(|(first, _)| first),
        "last": facts.span.map(|(_, last)| last),
        "entered": facts.entered.iter().map(|(rank, seq)| json!({ "rank": rank, "seq": seq })).collect::<Vec<_>>(),
        "lateness": facts.lateness.iter().map(|late| json!({
            "rank": late.rank,
            "median_ns": late.median,
            "p90_ns": late.high,
            "last": late.last,
            "steps": late.steps,
        })).collect::<Vec<_>>(),
        "transfers": facts.transfers.iter().map(|transfer| json!({
            "name": transfer.name,
            "bytes": transfer.bytes,
            "count": transfer.count,
            "transfer_ns": transfer.transfer,
            "waiting_ns": transfer.waiting,
            "last_rank": transfer.last.map(|(rank, _)| rank),
            "last_count": transfer.last.map(|(_, count)| count),
        })).collect::<Vec<_>>(),
    })
}

fn pace(rank: u32, pace: &Pace) -> Value {
    let known = |id: &str| json!({ "rank": rank, "found": id, "step": null });
    match pace {
        Pace::Steps { operations, count, median, low, high, .. } => json!({
            "rank": rank,
            "found": "steps",
            "step": { "median_ns": median, "p10_ns": low, "p90_ns": high, "count": count, "operations": operations },
        }),
        Pace::TooShort => known("too-short"),
        Pace::Irregular => known("irregular"),
        Pace::Alike => known("alike"),
        Pace::Profiled => known("profiled"),
    }
}

fn pair(pair: &Pair, catalog: &Catalog) -> Value {
    let why = |why: &Why| {
        let id = match why {
            Why::Setting(..) => "setting",
            Why::Said(_) => "said",
            Why::NoCard => "no-card",
            Why::Unknown => "unknown",
        };
        json!({ "id": id, "text": text(catalog, &why_slow(why)) })
    };
    json!({
        "comm": pair.comm,
        "ranks": [pair.ranks.0, pair.ranks.1],
        "path": pair.path.id(),
        "as_printed": pair.text,
        "channels": pair.channels,
        "same_host": pair.same_host,
        "slow": pair.slow.map(|slow| slow.id()),
        "why": pair.why.iter().map(why).collect::<Vec<_>>(),
    })
}

fn nccl(log: &NcclLog) -> Value {
    json!({
        "version": log.version,
        "ranks": log.ranks.iter().map(|rank| json!({
            "comm": rank.comm,
            "rank": rank.rank,
            "size": rank.size,
            "device": rank.device,
            "bus": rank.bus,
            "host": rank.host,
            "pid": rank.pid,
            "complete": rank.complete,
        })).collect::<Vec<_>>(),
        "rings": log.rings.iter().map(|(channel, ranks)| json!({ "channel": channel, "ranks": ranks })).collect::<Vec<_>>(),
        "trees": log.trees,
        "channels": log.channels,
        "network": log.network,
        "cards": log.cards,
        "paths_found": log.found.as_ref().map(|(inside, between)| json!({ "inside": inside, "between": between })),
        "settings": log.settings.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect::<Vec<_>>(),
        "fallbacks": log.fallbacks,
        "warnings": log.warnings.iter().map(|warning| json!({
            "host": warning.host,
            "text": warning.text,
            "count": warning.count,
        })).collect::<Vec<_>>(),
        "lines": log.lines,
    })
}
