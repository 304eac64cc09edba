//! Which collectives of different ranks are one and the same.
//!
//! By the group's sequence number where every rank recorded it; else by the program's step number and the place in
//! that step, in the order of launch, which all ranks of a group share because a communicator demands it; else, where
//! steps carry no numbers, by the order in which kinds and sizes follow each other.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Channel, RankFacts};
use crate::communication::Kind;

/// How collectives were matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum How {
    /// Sequence numbers of the group.
    Sequence,
    /// Step number and place in the step.
    Step,
    /// Order of kinds and sizes: the least sure.
    Order,
}

impl How {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Sequence => "sequence",
            Self::Step => "step",
            Self::Order => "order",
        }
    }
}

/// Who takes part: the same on every rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Parties {
    /// A process group.
    Group {
        /// Members, ascending.
        ranks: Vec<u32>,
        /// Name: several groups may have the same members.
        name: String,
    },
    /// A transfer from one rank to another.
    Pair {
        /// Who sends.
        from: u32,
        /// Who receives.
        to: u32,
    },
    /// Transfers in both directions.
    Exchange {
        /// The lower rank.
        low: u32,
        /// The higher one.
        high: u32,
    },
}

impl Parties {
    /// How many ranks take part.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Group { ranks, .. } => ranks.len(),
            _ => 2,
        }
    }
}

/// One collective on all its ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Met {
    /// Index into [`Matched::parties`].
    pub parties: usize,
    /// Its step, and its place there, or its sequence number.
    pub step: i64,
    /// Place in the step.
    pub index: i64,
    /// Kind.
    pub kind: Kind,
    /// Bytes of the whole tensor, where recorded.
    pub bytes: Option<i64>,
    /// Rank, as index into the ranks given, and row there; ascending.
    pub rows: Vec<(u32, u32)>,
    /// Every member is there.
    pub complete: bool,
}

/// Ranks that do something different in the same place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Index into [`Matched::parties`].
    pub parties: usize,
    /// Step.
    pub step: i64,
    /// Place in the step.
    pub index: i64,
    /// Rank, as index, kind and bytes.
    pub seen: Vec<(u32, Kind, Option<i64>)>,
}

/// All collectives of all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// Who takes part, each once.
    pub parties: Vec<Parties>,
    /// How each of them was matched.
    pub how: Vec<How>,
    /// Collectives, by parties, step and index.
    pub met: Vec<Met>,
    /// Where ranks do something different.
    pub mismatches: Vec<Mismatch>,
    /// Collectives whose group is not recorded, per rank.
    pub unknown: Vec<u64>,
}

impl Matched {
    /// Share of the collectives of the steps analysed that were found on all their ranks.
    #[must_use]
    pub fn share(&self, ranks: &[RankFacts]) -> f64 {
        let mut all = 0_u64;
        for facts in ranks {
            all += facts.rows.step.iter().filter(|step| is_used(facts, **step)).count() as u64;
        }
        let complete = self.met.iter().filter(|met| met.complete);
        let found: usize = complete
            .map(|met| met.rows.iter().filter(|&&(rank, row)| used_row(ranks, rank, row)).count())
            .sum();
        if all == 0 { 1.0 } else { found as f64 / all as f64 }
    }
}

fn used_row(ranks: &[RankFacts], rank: u32, row: u32) -> bool {
    let facts = &ranks[rank as usize];
    is_used(facts, facts.rows.step[row as usize])
}

fn is_used(facts: &RankFacts, number: i64) -> bool {
    facts.steps.iter().any(|step| step.number == number)
}

/// Matches the collectives of ranks, each of which is there once.
#[must_use]
pub fn matched(ranks: &[RankFacts]) -> Matched {
    let mut by_parties: BTreeMap<Parties, Vec<Vec<u32>>> = BTreeMap::new();
    let mut unknown = vec![0_u64; ranks.len()];
    for (at, facts) in ranks.iter().enumerate() {
        let mut of_channel: Vec<(Channel, Option<Parties>)> = Vec::new();
        for row in 0..facts.rows.len() {
            let channel = facts.class_of(row).channel;
            let parties = match of_channel.iter().find(|(known, _)| *known == channel) {
                Some((_, parties)) => parties.clone(),
                None => {
                    let parties = parties(facts, channel);
                    of_channel.push((channel, parties.clone()));
                    parties
                }
            };
            match parties {
                Some(parties) => {
                    let rows = by_parties.entry(parties).or_insert_with(|| vec![Vec::new(); ranks.len()]);
                    rows[at].push(u32::try_from(row).unwrap_or(u32::MAX));
                }
                None => unknown[at] += 1,
            }
        }
    }
    let mut out = Matched { unknown, ..Matched::default() };
    for (parties, rows) in by_parties {
        match_one(ranks, &parties, &rows, &mut out);
        out.parties.push(parties);
    }
    out
}

fn parties(facts: &RankFacts, channel: Channel) -> Option<Parties> {
    let own = facts.rank;
    Some(match channel {
        Channel::Group(group) => {
            let group = &facts.groups[group as usize];
            Parties::Group { ranks: group.ranks.clone(), name: group.name.clone() }
        }
        Channel::To(peer) => Parties::Pair { from: own, to: peer },
        Channel::From(peer) => Parties::Pair { from: peer, to: own },
        Channel::Both(peer) => Parties::Exchange { low: own.min(peer), high: own.max(peer) },
        Channel::Unknown => return None,
    })
}

/// Key of a collective on a rank: step and index.
type Key = (i64, i64);

fn match_one(ranks: &[RankFacts], parties: &Parties, rows: &[Vec<u32>], out: &mut Matched) {
    let at = out.parties.len();
    let sequences = |rank: usize| rows[rank].iter().map(move |&row| ranks[rank].rows.sequence[row as usize]);
    let present: Vec<usize> = (0..ranks.len()).filter(|&rank| !rows[rank].is_empty()).collect();
    let how = if present.iter().all(|&rank| sequences(rank).all(|number| number >= 0)) {
        How::Sequence
    } else if present.iter().all(|&rank| ranks[rank].numbered) {
        How::Step
    } else {
        How::Order
    };
    let shifts = if how == How::Order { shifts(ranks, &present, rows) } else { vec![0; ranks.len()] };
    let mut by_key: BTreeMap<Key, Vec<(u32, u32)>> = BTreeMap::new();
    for &rank in &present {
        let facts = &ranks[rank];
        for (place, &row) in rows[rank].iter().enumerate() {
            let at = row as usize;
            let key = match how {
                How::Sequence => (facts.rows.step[at], facts.rows.sequence[at]),
                How::Step => (facts.rows.step[at], facts.rows.index[at]),
                How::Order => (0, i64::try_from(place).unwrap_or(i64::MAX) + shifts[rank]),
            };
            // The number alone decides; the step is for reading.
            let key = if how == How::Sequence { (i64::MIN, key.1) } else { key };
            by_key.entry(key).or_default().push((u32::try_from(rank).unwrap_or(u32::MAX), row));
        }
    }
    for ((_, index), rows) in by_key {
        add_met(ranks, parties, at, index, rows, out);
    }
    out.how.push(how);
}

fn add_met(
    ranks: &[RankFacts],
    parties: &Parties,
    at: usize,
    index: i64,
    rows: Vec<(u32, u32)>,
    out: &mut Matched,
) {
    let class = |&(rank, row): &(u32, u32)| ranks[rank as usize].class_of(row as usize);
    let step = ranks[rows[0].0 as usize].rows.step[rows[0].1 as usize];
    // Arguments are missing on what was launched before the window: there the kernel's name alone says the kind.
    let known = rows.iter().find(|row| class(row).bytes.is_some()).unwrap_or(&rows[0]);
    let (kind, bytes) = (class(known).kind, class(known).bytes);
    let differs = |row: &(u32, u32)| {
        let other = class(row);
        other.kind != kind && other.kind != Kind::Other && kind != Kind::Other
            || other.bytes.is_some() && bytes.is_some() && other.bytes != bytes
    };
    if rows.iter().any(differs) {
        let seen = rows.iter().map(|row| (row.0, class(row).kind, class(row).bytes)).collect();
        out.mismatches.push(Mismatch { parties: at, step, index, seen });
        return;
    }
    let complete = rows.len() == parties.size();
    out.met.push(Met { parties: at, step, index, kind, bytes, rows, complete });
}

/// How far each rank's rows are shifted against the first's so that kinds and sizes agree best, at the nearest shift.
fn shifts(ranks: &[RankFacts], present: &[usize], rows: &[Vec<u32>]) -> Vec<i64> {
    /// More than a step's worth of collectives between the beginnings of two windows is not tried.
    const FARTHEST: i64 = 512;
    let mut shifts = vec![0_i64; ranks.len()];
    let Some((&first, others)) = present.split_first() else { return shifts };
    let signature = |rank: usize| -> Vec<(Kind, Option<i64>)> {
        rows[rank]
            .iter()
            .map(|&row| ranks[rank].class_of(row as usize))
            .map(|class| (class.kind, class.bytes))
            .collect()
    };
    let reference = signature(first);
    for &rank in others {
        let own = signature(rank);
        let agreement = |shift: i64| {
            let pairs = own.iter().enumerate().filter_map(|(at, one)| {
                let place = usize::try_from(i64::try_from(at).unwrap_or(i64::MAX) + shift).ok()?;
                Some(reference.get(place)? == one)
            });
            pairs.map(|same| if same { 1_i64 } else { -4 }).sum::<i64>()
        };
        let farthest = FARTHEST.min(i64::try_from(reference.len().max(own.len())).unwrap_or(FARTHEST));
        shifts[rank] = (-farthest..=farthest)
            .max_by_key(|&shift| (agreement(shift), std::cmp::Reverse(shift.abs()), shift))
            .unwrap_or(0);
    }
    shifts
}
