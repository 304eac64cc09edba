//! What is printed of the ranks together: who came late, speeds of collectives, clocks, the pipeline.

use serde::{Deserialize, Serialize};
use whyidle_analysis::ranks::Trait;
use whyidle_analysis::ranks::matching::Parties;

use super::Seen;
use super::findings::kind_name;
use super::ledger::{TRANSFER, WAIT};
use super::replay::Together as Replayed;
use crate::ids::{self, Id};
use crate::verdict::{Lateness, Line};

/// Facts about the ranks together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Together {
    /// Share of the collectives of the steps analysed that were found on all their ranks.
    pub matched: f64,
    /// How: `sequence`, `step` or `order`; the least sure of them.
    #[serde(deserialize_with = "ids::id")]
    pub matched_by: Id,
    /// Ranks that the job has and that were not read.
    pub missing: u32,
    /// Deviation of all ranks replayed together from the true step, as a share; `None` where they were not.
    pub replay_error: Option<f64>,
    /// Groups with their collectives, the most time first.
    pub groups: Vec<Group>,
    /// Clocks of the ranks against the first one's.
    pub clocks: Vec<Clock>,
    /// How the job is parallel, as the rank shown has it.
    pub strategy: Vec<Trait>,
}

/// A process group, or a pair of ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Its name or description; empty for a pair.
    pub name: String,
    /// Its ranks, ascending; of a pair the sender first.
    pub ranks: Vec<u32>,
    /// Its collectives by kind and size, the most time first.
    pub transfers: Vec<Transfer>,
}

/// Collectives of one kind and size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// `all-reduce`, `all-gather`, …
    #[serde(deserialize_with = "ids::id")]
    pub kind: Id,
    /// Bytes of the whole tensor.
    pub bytes: i64,
    /// How many were measured.
    pub count: u64,
    /// Median transfer, ns.
    pub transfer_ns: i64,
    /// Algorithm bandwidth, bytes/s.
    pub algorithm: f64,
    /// Bus bandwidth, bytes/s.
    pub bus: f64,
    /// Share that other work hides.
    pub hidden: f64,
}

/// The clock of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Rank.
    pub rank: u32,
    /// How far it is ahead of the first rank's, ns.
    pub ahead_ns: i64,
    /// How far that may be off, ns.
    pub error_ns: i64,
    /// How much faster it runs, as a share; 0 where the window is too short to tell.
    pub drift: f64,
}

/// How each rank stands to the others, from their ledgers with collectives split.
pub(super) fn lateness(seen: &Seen<'_>, ledgers: &[Vec<Line>]) -> Vec<Lateness> {
    let line = |rank: usize, id: Id| {
        ledgers[rank].iter().find(|line| line.id == id).map_or(0, |line| line.unprofiled.ns)
    };
    let mut caused = vec![0_i64; ledgers.len()];
    for (rank, exposed) in seen.waits.exposed.iter().enumerate() {
        let (wait, all) = (line(rank, WAIT), exposed.waited().max(1));
        for (&late, &ns) in &exposed.waiting {
            let part = i128::from(wait) * i128::from(ns) / i128::from(all);
            let caused = &mut caused[late as usize];
            *caused = i64::try_from(part).unwrap_or(0).max(*caused);
        }
    }
    (0..ledgers.len())
        .map(|rank| Lateness {
            last: seen.waits.late[rank].last,
            of: seen.waits.late[rank].of,
            caused_ns: caused[rank],
            waited_ns: line(rank, WAIT),
            transfer_ns: line(rank, TRANSFER),
            // A stage by itself has nothing to do: its pace says nothing.
            pace_ns: seen.paces.own[rank].filter(|_| seen.paces.replayed && seen.pipelines.is_empty()),
            straggler: seen.late.as_ref().is_some_and(|late| late.rank == rank),
        })
        .collect()
}

pub(super) fn together(seen: &Seen<'_>, replayed: &Replayed<'_>, shown: usize) -> Together {
    let matched = &seen.matched;
    let mut groups: Vec<Group> = matched
        .parties
        .iter()
        .enumerate()
        .map(|(at, parties)| {
            let (name, ranks) = match parties {
                Parties::Group { ranks, name } => (description(seen, ranks, name), ranks.clone()),
                Parties::Pair { from, to } => (String::new(), vec![*from, *to]),
                Parties::Exchange { low, high } => (String::new(), vec![*low, *high]),
            };
            let speeds = seen.speeds.iter().filter(|speed| speed.parties == at);
            let mut transfers: Vec<Transfer> = speeds
                .map(|speed| Transfer {
                    kind: kind_name(speed.kind),
                    bytes: speed.bytes,
                    count: speed.count,
                    transfer_ns: speed.transfer,
                    algorithm: speed.algorithm,
                    bus: speed.bus,
                    hidden: speed.hidden,
                })
                .collect();
            transfers.sort_by_key(|one| (std::cmp::Reverse(time(one)), one.bytes));
            Group { name, ranks, transfers }
        })
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.transfers.iter().map(time).sum::<i64>()));
    let clock = |offset: &whyidle_analysis::ranks::clock::Offset| Clock {
        rank: seen.ranks.facts[offset.rank as usize].rank,
        ahead_ns: offset.ahead,
        error_ns: offset.error,
        drift: offset.drift,
    };
    Together {
        matched: matched.share(&seen.ranks.facts),
        matched_by: matched.how.iter().map(|how| how.id()).max_by_key(|id| surest_last(id)).unwrap_or("step"),
        missing: seen.ranks.missing(),
        replay_error: replayed.error(seen.ranks.own[shown].verdict.step.unprofiled.ns),
        groups,
        clocks: seen.clocks.iter().flatten().map(clock).collect(),
        strategy: seen.ranks.facts[shown].strategy.clone(),
    }
}

/// The least sure way of matching comes last.
fn surest_last(how: &str) -> usize {
    ["sequence", "step", "order"].iter().position(|known| *known == how).unwrap_or(0)
}

fn time(one: &Transfer) -> i64 {
    one.transfer_ns.saturating_mul(i64::try_from(one.count).unwrap_or(i64::MAX))
}

/// The group's description where it has one, else its name.
fn description(seen: &Seen<'_>, ranks: &[u32], name: &str) -> String {
    let mut groups = seen.ranks.facts.iter().flat_map(|facts| &facts.groups);
    let known = groups.find(|group| group.name == name && group.ranks == ranks);
    known
        .map(|group| &group.description)
        .filter(|text| !text.is_empty())
        .map_or_else(|| name.to_owned(), Clone::clone)
}
