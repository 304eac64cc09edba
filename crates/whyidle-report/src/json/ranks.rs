//! What several ranks say together, as JSON.

use serde_json::{Value, json};
use whyidle_diagnosis::{Clock, Group, Lateness, RankVerdict, TogetherFacts, Transfer};

use super::parts::{line, step};
use super::words::{ms, rounded};
use crate::Catalog;
use crate::strategy;

pub(super) fn rank(catalog: &Catalog, rank: &RankVerdict) -> Value {
    json!({
        "rank": rank.rank,
        "step": step(&rank.step),
        "working_share": rounded(rank.working_share),
        "ledger": rank.ledger.iter().map(|entry| line(catalog, entry)).collect::<Vec<_>>(),
        "lateness": rank.lateness.as_ref().map(lateness),
    })
}

fn lateness(late: &Lateness) -> Value {
    json!({
        "last": late.last,
        "of": late.of,
        "caused_ms": ms(late.caused_ns),
        "waited_ms": ms(late.waited_ns),
        "transfer_ms": ms(late.transfer_ns),
        "pace_ms": late.pace_ns.map(ms),
        "straggler": late.straggler,
    })
}

pub(super) fn together(catalog: &Catalog, facts: &TogetherFacts) -> Value {
    json!({
        "matched": rounded(facts.matched),
        "matched_by": facts.matched_by,
        "missing": facts.missing,
        "replay_error": facts.replay_error.map(rounded),
        "groups": facts.groups.iter().map(group).collect::<Vec<_>>(),
        "clocks": facts.clocks.iter().map(clock).collect::<Vec<_>>(),
        "strategy": facts.strategy.iter().map(|one| strategy::json(catalog, one)).collect::<Vec<_>>(),
    })
}

fn group(group: &Group) -> Value {
    json!({
        "name": group.name,
        "ranks": group.ranks,
        "transfers": group.transfers.iter().map(transfer).collect::<Vec<_>>(),
    })
}

fn transfer(transfer: &Transfer) -> Value {
    json!({
        "kind": transfer.kind,
        "bytes": transfer.bytes,
        "count": transfer.count,
        "transfer_ns": transfer.transfer_ns,
        "algorithm_bytes_per_s": transfer.algorithm.round(),
        "bus_bytes_per_s": transfer.bus.round(),
        "hidden": rounded(transfer.hidden),
    })
}

fn clock(clock: &Clock) -> Value {
    json!({
        "rank": clock.rank,
        "ahead_ns": clock.ahead_ns,
        "error_ns": clock.error_ns,
        "drift_ppm": rounded(clock.drift * 1e6),
    })
}
