//! At what pace ranks ask for collectives: the length of a step, how late a rank's host is, and, where the recorder timed
//! the GPU, what a transfer takes.
//!
//! * A *step* is found by repetition: the shortest run of operations after which the same ones come again. Its length is
//!   the time between the creations of one and the same operation in consecutive steps, without any profiler – unless the
//!   ring holds only steps that were profiled.
//! * *Lateness* is how much later than the first rank a rank's host asked for a step's first collective. It means arrival
//!   only where the host does not run ahead of the GPU, and across hosts only as far as their clocks agree.
//! * *Transfer* is the shortest duration of a collective on any rank, *waiting* what a rank's duration is longer. Without
//!   timing there are no durations: completion is a watchdog's poll and is never taken for one.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::matching::Matched;
use super::{Group, RankDump};

/// Steps of fewer repetitions than this are not told.
const FEWEST_STEPS: usize = 3;
/// Operations that may differ from step to step, of all.
const IRREGULAR: f64 = 0.02;
/// The longest step that is looked for, operations.
const LONGEST: usize = 4096;
/// Arrivals closer than this are equal, ns (two hosts' threads start no closer).
const TIE: i64 = 20_000;

/// The pace of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Steps were found.
    Steps {
        /// Operations of a step.
        operations: usize,
        /// Steps that were measured.
        count: usize,
        /// Their median, ns, and the tenth and ninetieth percentile.
        median: i64,
        /// Tenth percentile, ns.
        low: i64,
        /// Ninetieth percentile, ns.
        high: i64,
        /// Numbers of the entries with which the steps begin.
        starts: Vec<usize>,
    },
    /// The ring holds too few operations, or too few steps.
    TooShort,
    /// Nothing repeats.
    Irregular,
    /// Every operation is the same: where a step begins is not told.
    Alike,
    /// All its steps were profiled.
    Profiled,
}

/// The pace of each rank, in the order of `dumps`. Steps that overlap one of `profiled` (ns of Unix time) are left out.
#[must_use]
pub fn pace(dumps: &[RankDump], profiled: &[(i64, i64)]) -> Vec<Pace> {
    // The same program runs everywhere: what repeats is looked for once and then only verified.
    let mut known = None;
    dumps.iter().map(|dump| pace_of(dump, profiled, &mut known)).collect()
}

fn pace_of(dump: &RankDump, profiled: &[(i64, i64)], known: &mut Option<usize>) -> Pace {
    let kinds = kinds(dump);
    if kinds.len() < 2 * FEWEST_STEPS {
        return Pace::TooShort;
    }
    let recent = &kinds[kinds.len() / 2..];
    let Some(period) = known.filter(|&period| repeats(recent, period)).or_else(|| shortest(recent)) else {
        return if shortest_loosely(recent) { Pace::TooShort } else { Pace::Irregular };
    };
    *known = Some(period);
    if period == 1 {
        return Pace::Alike;
    }
    let created = &dump.dump.entries.created;
    let Some(starts) = starts(&kinds, created, period) else { return Pace::Irregular };
    let whole = starts.windows(2).filter(|pair| pair[1] - pair[0] == period);
    let spans: Vec<(i64, i64)> = whole.map(|pair| (created[pair[0]], created[pair[1]])).collect();
    if spans.len() < FEWEST_STEPS {
        return Pace::TooShort;
    }
    let overlaps = |span: &&(i64, i64)| profiled.iter().any(|window| span.0 < window.1 && window.0 < span.1);
    let mut lengths: Vec<i64> = spans.iter().filter(|span| !overlaps(span)).map(|(a, b)| b - a).collect();
    if lengths.len() < FEWEST_STEPS {
        return Pace::Profiled;
    }
    lengths.sort_unstable();
    Pace::Steps {
        operations: period,
        count: lengths.len(),
        median: quantile(&lengths, 0.5),
        low: quantile(&lengths, 0.1),
        high: quantile(&lengths, 0.9),
        starts,
    }
}

/// What each operation is, as a number: the same for the same group, name, sizes and types.
fn kinds(dump: &RankDump) -> Vec<u32> {
    let entries = &dump.dump.entries;
    let mut known = FxHashMap::default();
    let kind = |entry: usize| {
        let key = (
            entries.group[entry],
            entries.name[entry],
            entries.inputs[entry],
            entries.outputs[entry],
            entries.input_types[entry],
        );
        let next = known.len() as u32;
        *known.entry(key).or_insert(next)
    };
    (0..entries.len()).map(kind).collect()
}

fn shortest(kinds: &[u32]) -> Option<usize> {
    (1..=(kinds.len() / FEWEST_STEPS).min(LONGEST)).find(|&period| repeats(kinds, period))
}

/// Something repeats, but not often enough to be measured.
fn shortest_loosely(kinds: &[u32]) -> bool {
    let from = kinds.len() / FEWEST_STEPS + 1;
    (from..kinds.len() * 3 / 4).any(|period| repeats(kinds, period))
}

/// Each operation comes again after `period` others, but for a few.
fn repeats(kinds: &[u32], period: usize) -> bool {
    // Another rank's period may be longer than what this one holds.
    if period >= kinds.len() {
        return false;
    }
    let allowed = ((kinds.len() - period) as f64 * IRREGULAR) as usize;
    let mut differing = 0;
    kinds.iter().zip(&kinds[period..]).all(|(a, b)| {
        differing += usize::from(a != b);
        differing <= allowed
    })
}

/// Where steps begin: of the operations that come once a step, the one before which the longest pause is.
fn starts(kinds: &[u32], created: &[i64], period: usize) -> Option<Vec<usize>> {
    // What an operation is, together with those before it: one of several equal ones is told by its neighbours.
    (1..=4.min(period)).find_map(|length| {
        let gram = |at: usize| kinds[at + 1 - length..=at].to_vec();
        let mut places: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
        (length - 1..kinds.len()).for_each(|at| places.entry(gram(at)).or_default().push(at));
        let once = |places: &&Vec<usize>| {
            let regular = places.windows(2).filter(|pair| pair[1] - pair[0] == period).count();
            places.len() > FEWEST_STEPS && regular * 10 >= (places.len() - 1) * 9
        };
        let pause = |places: &&Vec<usize>| {
            let mut before: Vec<i64> =
                places.iter().filter(|&&at| at > 0).map(|&at| created[at] - created[at - 1]).collect();
            before.sort_unstable();
            (quantile(&before, 0.5), std::cmp::Reverse(places[0]))
        };
        places.values().filter(once).max_by_key(pause).cloned()
    })
}

/// The value below which a share of sorted values lies; 0 of none.
fn quantile(sorted: &[i64], share: f64) -> i64 {
    let at = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or(0)
}

/// How late a rank's host is at the first collective of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lateness {
    /// The rank.
    pub rank: u32,
    /// Median of how much later than the first rank it asks, ns.
    pub median: i64,
    /// Ninetieth percentile, ns.
    pub high: i64,
    /// Steps in which it asks last.
    pub last: usize,
    /// Steps compared.
    pub steps: usize,
}

/// The lateness of each rank of a group at collectives with which a step begins on its first rank; the latest first.
#[must_use]
pub fn lateness(dumps: &[RankDump], group: &Group, matched: &[Matched], paces: &[Pace]) -> Vec<Lateness> {
    let Some(&(reference, _)) = group.dumps.first() else { return Vec::new() };
    let Pace::Steps { starts, .. } = &paces[reference] else { return Vec::new() };
    let created = |at: &super::EntryOf| dumps[at.dump].dump.entries.created[at.entry];
    let first = |matched: &&Matched| {
        matched.entries.iter().any(|at| at.dump == reference && starts.binary_search(&at.entry).is_ok())
    };
    let mut late: BTreeMap<u32, (Vec<i64>, usize)> = BTreeMap::new();
    for matched in matched.iter().filter(first) {
        let earliest = matched.entries.iter().map(created).min().unwrap_or(0);
        let mut order: Vec<(i64, u32)> =
            matched.entries.iter().map(|at| (created(at) - earliest, dumps[at.dump].rank)).collect();
        order.sort_unstable();
        order.iter().for_each(|&(ns, rank)| late.entry(rank).or_default().0.push(ns));
        if let [.., (second, _), (last, rank)] = order[..]
            && last - second > TIE
        {
            late.entry(rank).or_default().1 += 1;
        }
    }
    let mut rows: Vec<Lateness> = late
        .into_iter()
        .map(|(rank, (mut ns, last))| {
            ns.sort_unstable();
            Lateness { rank, median: quantile(&ns, 0.5), high: quantile(&ns, 0.9), last, steps: ns.len() }
        })
        .collect();
    rows.sort_by_key(|row| (std::cmp::Reverse((row.median, row.last)), row.rank));
    rows
}

/// What one kind of collective takes where the GPU was timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The operation.
    pub name: String,
    /// The larger of what goes in and out, bytes.
    pub bytes: Option<i64>,
    /// Collectives timed on every rank.
    pub count: usize,
    /// Median of the shortest duration of each, ns.
    pub transfer: i64,
    /// Median of what the rank that waits longest in each waits, ns.
    pub waiting: i64,
    /// The rank that arrives last (whose duration is shortest) most often, and how often.
    pub last: Option<(u32, usize)>,
}

/// Transfers by operation and size, those that take most together first.
#[must_use]
pub fn transfers(dumps: &[RankDump], matched: &[Matched]) -> Vec<Transfer> {
    type Found = (Vec<i64>, Vec<i64>, BTreeMap<u32, usize>);
    let mut kinds: BTreeMap<(String, Option<i64>), Found> = BTreeMap::new();
    for matched in matched {
        let duration = |at: &super::EntryOf| {
            Some((dumps[at.dump].dump.entries.duration[at.entry]?, dumps[at.dump].rank))
        };
        let Some(mut durations) = matched.entries.iter().map(duration).collect::<Option<Vec<_>>>() else {
            continue;
        };
        durations.sort_unstable();
        let at = matched.entries[0];
        let dump = &dumps[at.dump].dump;
        let key = (dump.operation(at.entry).1.to_owned(), dump.entries.bytes[at.entry]);
        let (transfer, waiting, last) = kinds.entry(key).or_default();
        let (shortest, rank) = durations[0];
        transfer.push(shortest);
        waiting.push(durations[durations.len() - 1].0 - shortest);
        if durations.get(1).is_some_and(|(second, _)| second - shortest > TIE) {
            *last.entry(rank).or_default() += 1;
        }
    }
    let mut rows: Vec<(i64, Transfer)> = kinds
        .into_iter()
        .map(|((name, bytes), (mut transfer, mut waiting, last))| {
            transfer.sort_unstable();
            waiting.sort_unstable();
            let last = last.into_iter().max_by_key(|&(rank, count)| (count, std::cmp::Reverse(rank)));
            let total = transfer.iter().chain(&waiting).sum();
            let count = transfer.len();
            (
                total,
                Transfer {
                    name,
                    bytes,
                    count,
                    transfer: quantile(&transfer, 0.5),
                    waiting: quantile(&waiting, 0.5),
                    last,
                },
            )
        })
        .collect();
    rows.sort_by_key(|(total, _)| std::cmp::Reverse(*total));
    rows.into_iter().map(|(_, transfer)| transfer).collect()
}

#[cfg(test)]
mod tests {
    use super::repeats;

    #[test]
    fn a_period_longer_than_what_is_held_does_not_repeat() {
        assert!(!repeats(&[1, 2, 3], 3) && !repeats(&[1, 2, 3], 7) && !repeats(&[], 1));
        assert!(repeats(&[1, 2, 1, 2], 2));
    }
}
