//! The ranks replayed together, from their skeletons.

use rustc_hash::FxHashMap;
use whyidle_analysis::ranks::matching::{Matched, Parties};
use whyidle_analysis::ranks::split::Waits;
use whyidle_replay::together::{Meeting, Member, Part, period};

use super::digest::Reduced;
use super::set::{Own, Ranks};
use crate::case::REPLAY_LIMIT;
use crate::ids::Id;

/// Everything that a replay of all ranks needs beside their skeletons.
pub(crate) struct Together<'a> {
    ranks: &'a Ranks,
    /// Per rank and collective: what is met in, and how long its transfer takes, ns.
    meetings: Vec<Vec<Place>>,
    /// Period of the ranks as they are, fitted to the true step, ns.
    pub base: Option<i64>,
}

/// A collective of a rank.
#[derive(Clone, Copy)]
struct Place {
    /// With whom, and the place in the step; `None` where the peers are not known.
    key: Option<(usize, i64)>,
    part: Part,
    transfer: i64,
}

impl<'a> Together<'a> {
    pub(crate) fn new(ranks: &'a Ranks, matched: &Matched, waits: &Waits) -> Self {
        let alone = |rank: usize| -> Vec<Place> {
            let lengths = &ranks.facts[rank].rows.length;
            lengths.iter().map(|&transfer| Place { key: None, part: Part::Member, transfer }).collect()
        };
        let mut meetings: Vec<Vec<Place>> = (0..ranks.len()).map(alone).collect();
        for (met, split) in matched.met.iter().zip(&waits.splits) {
            let Some(split) = split else { continue };
            for &(rank, row) in &met.rows {
                let facts = &ranks.facts[rank as usize];
                let part = match matched.parties[met.parties] {
                    Parties::Pair { from, .. } if from == facts.rank => Part::Sender,
                    Parties::Pair { .. } => Part::Receiver,
                    _ => Part::Member,
                };
                meetings[rank as usize][row as usize] = Place {
                    key: Some((met.parties, facts.rows.index[row as usize])),
                    part,
                    transfer: split.transfer,
                };
            }
        }
        let mut together = Self { ranks, meetings, base: None };
        together.base = together.period(|rank| ranks.own[rank].fitted.as_ref());
        together
    }

    /// Whether replaying the ranks together reproduces the true step, ns, well enough to predict from.
    pub(crate) fn error(&self, step: i64) -> Option<f64> {
        self.base.map(|base| (base - step).abs() as f64 / step.max(1) as f64)
    }

    /// The same as a decision.
    pub(crate) fn is_usable(&self, step: i64) -> bool {
        self.error(step).is_some_and(|error| error <= REPLAY_LIMIT)
    }

    /// How long a step of a rank takes that never waits for another, ns.
    pub(crate) fn pace(&self, rank: usize) -> Option<i64> {
        let reduced = self.ranks.own[rank].paced.as_ref()?;
        let meetings = self.meetings_of(rank, reduced, &mut |_| None);
        period(&[Member { skeleton: &reduced.skeleton, meetings: &meetings }]).ok()
    }

    /// The period with a remedy on every rank that holds anything of it, ns.
    pub(crate) fn after(&self, cause: Id) -> Option<i64> {
        self.period(|rank| {
            let own = &self.ranks.own[rank];
            own.remedy(cause).or(own.fitted.as_ref())
        })
    }

    /// The period with a remedy on one rank, ns, the others each as fast as they go by themselves; and the same with
    /// the kernels of those 20 % shorter.
    pub(crate) fn healed(&self, cause: Id, late: usize) -> Option<(i64, i64)> {
        let with = |others: fn(&Own) -> Option<&Reduced>| {
            self.period(|rank| {
                let own = &self.ranks.own[rank];
                if rank == late { own.remedy(cause) } else { others(own) }
            })
        };
        Some((with(|own| own.paced.as_ref())?, with(|own| own.eased.as_ref())?))
    }

    /// The period with the transfers of one group or pair as many times as long, ns.
    pub(crate) fn with_transfers(&self, parties: usize, factor: f64) -> Option<i64> {
        let mut meetings = self.meetings.clone();
        for place in
            meetings.iter_mut().flatten().filter(|place| place.key.is_some_and(|key| key.0 == parties))
        {
            place.transfer = (place.transfer as f64 * factor) as i64;
        }
        let other = Self { ranks: self.ranks, meetings, base: None };
        other.period(|rank| self.ranks.own[rank].fitted.as_ref())
    }

    fn period<'b>(&'b self, of: impl Fn(usize) -> Option<&'b Reduced>) -> Option<i64> {
        let reduced: Vec<&Reduced> = (0..self.ranks.len()).map(of).collect::<Option<_>>()?;
        let mut numbers: FxHashMap<(usize, i64, i64), u32> = FxHashMap::default();
        let mut number = |key| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            Some(*numbers.entry(key).or_insert(next))
        };
        let meetings: Vec<Vec<Meeting>> =
            reduced.iter().enumerate().map(|(rank, one)| self.meetings_of(rank, one, &mut number)).collect();
        let members: Vec<Member<'_>> = reduced
            .iter()
            .zip(&meetings)
            .map(|(reduced, meetings)| Member { skeleton: &reduced.skeleton, meetings })
            .collect();
        period(&members).ok()
    }

    /// The collectives of a skeleton. Steps are counted from the first one replayed: steps repeat, and ranks may have
    /// replayed different ones.
    fn meetings_of(
        &self,
        rank: usize,
        reduced: &Reduced,
        number: &mut impl FnMut((usize, i64, i64)) -> Option<u32>,
    ) -> Vec<Meeting> {
        let steps = &self.ranks.facts[rank].rows.step;
        let first = reduced.rows.iter().map(|&row| steps[row as usize]).min().unwrap_or(0);
        reduced
            .rows
            .iter()
            .map(|&row| {
                let Place { key, part, transfer } = self.meetings[rank][row as usize];
                let instance =
                    key.and_then(|(parties, index)| number((parties, steps[row as usize] - first, index)));
                Meeting { instance, part, transfer }
            })
            .collect()
    }
}
