//! What of a collective is transfer and what is waiting for the last rank.
//!
//! All members of a collective end together, a transfer after the last of them has come. So the transfer is the
//! shortest duration among them, whichever their clocks: the rest of a longer one is waiting. A *send* goes into the
//! receiver's buffer and waits for nobody.

use std::collections::BTreeMap;

use super::RankFacts;
use super::matching::{Matched, Met, Parties};

/// Two ranks that come within this of each other come together: ends of large collectives differ by up to 20 µs.
pub const TOGETHER_NS: i64 = 20_000;

/// A collective, split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Transfer, ns.
    pub transfer: i64,
    /// The rank that came last, as index; `None` where they came together.
    pub last: Option<u32>,
    /// Waiting of each of its ranks, ns, in the order of [`Met::rows`].
    pub waits: Vec<i64>,
}

/// Splits a collective that is complete; `None` otherwise, because a rank that is not there may have been the last.
#[must_use]
pub fn split(ranks: &[RankFacts], matched: &Matched, met: &Met) -> Option<Split> {
    if !met.complete {
        return None;
    }
    let length = |&(rank, row): &(u32, u32)| ranks[rank as usize].rows.length[row as usize];
    if let Parties::Pair { from, .. } = matched.parties[met.parties] {
        let sender = met.rows.iter().position(|&(rank, _)| ranks[rank as usize].rank == from)?;
        let receiver = 1 - sender;
        let transfer = length(&met.rows[sender]);
        let wait = (length(&met.rows[receiver]) - transfer).max(0);
        let mut waits = vec![0; 2];
        waits[receiver] = wait;
        let last = (wait > TOGETHER_NS).then_some(met.rows[sender].0);
        return Some(Split { transfer, last, waits });
    }
    let transfer = met.rows.iter().map(length).min()?;
    let waits: Vec<i64> = met.rows.iter().map(|row| length(row) - transfer).collect();
    // Ties go to the lowest rank, but whoever comes within the tolerance of another came with it.
    let at = (0..waits.len()).min_by_key(|&at| (waits[at], met.rows[at].0))?;
    let next = (0..waits.len()).filter(|&other| other != at).map(|other| waits[other]).min().unwrap_or(0);
    Some(Split { transfer, last: (next > TOGETHER_NS).then_some(met.rows[at].0), waits })
}

/// What a rank's steps spend in collectives that nothing hides, ns, over all steps analysed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exposed {
    /// Transfer.
    pub transfer: i64,
    /// Waiting for a rank that came later, by the rank waited for, as index.
    pub waiting: BTreeMap<u32, i64>,
    /// Waiting for ranks of which none came clearly last.
    pub together: i64,
    /// Collectives that could not be split.
    pub unsplit: i64,
}

impl Exposed {
    /// All waiting, ns.
    #[must_use]
    pub fn waited(&self) -> i64 {
        self.waiting.values().sum::<i64>() + self.together
    }
}

/// How often a rank came last, and what that cost the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Collectives in which it came last, of [`Lateness::of`].
    pub last: u64,
    /// Collectives that it took part in and that could be split.
    pub of: u64,
    /// The longest wait of another for it, summed over those, ns.
    pub caused: i64,
    /// The part of that in the first collective of a step: the lateness arose before backward's end of reductions.
    pub in_first: i64,
    /// Per step analysed: the wait that it caused, ns.
    pub by_step: Vec<(i64, i64)>,
}

/// All ranks' exposed collectives, and who came late.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Per rank.
    pub exposed: Vec<Exposed>,
    /// Per rank.
    pub late: Vec<Lateness>,
    /// Per matched collective, as in [`Matched::met`].
    pub splits: Vec<Option<Split>>,
}

/// Splits all collectives and adds up.
#[must_use]
pub fn waits(ranks: &[RankFacts], matched: &Matched) -> Waits {
    let mut out = Waits {
        exposed: vec![Exposed::default(); ranks.len()],
        late: vec![Lateness::default(); ranks.len()],
        splits: Vec::with_capacity(matched.met.len()),
    };
    let mut counted: Vec<Vec<bool>> = ranks.iter().map(|facts| vec![false; facts.rows.len()]).collect();
    for met in &matched.met {
        let split = split(ranks, matched, met);
        if let Some(split) = &split {
            for (&(rank, row), &wait) in met.rows.iter().zip(&split.waits) {
                counted[rank as usize][row as usize] = true;
                let (waited, transferred) = bare(&ranks[rank as usize], row as usize, wait);
                let exposed = &mut out.exposed[rank as usize];
                exposed.transfer += transferred;
                match split.last {
                    Some(last) if last != rank => *exposed.waiting.entry(last).or_default() += waited,
                    _ => exposed.together += waited,
                }
            }
            lateness(ranks, met, split, &mut out.late);
        }
        out.splits.push(split);
    }
    for ((facts, exposed), counted) in ranks.iter().zip(&mut out.exposed).zip(&counted) {
        exposed.unsplit =
            (0..facts.rows.len()).filter(|&row| !counted[row]).map(|row| facts.rows.exposed(row)).sum();
    }
    out
}

/// Exposed waiting and exposed transfer of a collective whose first `wait` ns are waiting.
fn bare(facts: &RankFacts, row: usize, wait: i64) -> (i64, i64) {
    let (mut waited, mut transferred) = (0, 0);
    for (from, length) in facts.rows.bare(row) {
        let until = from.saturating_add(length);
        let before = (until.min(wait) - from).clamp(0, length);
        waited += before;
        transferred += length - before;
    }
    (waited, transferred)
}

fn lateness(ranks: &[RankFacts], met: &Met, split: &Split, late: &mut [Lateness]) {
    let used = |rank: u32| ranks[rank as usize].steps.iter().any(|step| step.number == met.step);
    if !met.rows.iter().all(|&(rank, _)| used(rank)) {
        return;
    }
    for &(rank, _) in &met.rows {
        late[rank as usize].of += 1;
    }
    let Some(last) = split.last else { return };
    let wait = split.waits.iter().copied().max().unwrap_or(0);
    let row = met.rows.iter().find(|&&(rank, _)| rank == last).map_or(0, |&(_, row)| row as usize);
    let facts = &ranks[last as usize];
    let late = &mut late[last as usize];
    late.last += 1;
    late.caused += wait;
    if facts.rows.index[row] == 0 {
        late.in_first += wait;
    }
    match late.by_step.iter_mut().find(|(step, _)| *step == met.step) {
        Some((_, caused)) => *caused += wait,
        None => late.by_step.push((met.step, wait)),
    }
}
