//! How fast collectives were: algorithm and bus bandwidth of transfers.
//!
//! Algorithm bandwidth is the whole tensor's bytes over the transfer time. Bus bandwidth multiplies it by what each
//! link carries per byte: 2(n−1)/n for an all-reduce, (n−1)/n for all-gather, reduce-scatter and all-to-all, 1 for
//! broadcast and point-to-point (nccl-tests, `doc/PERFORMANCE.md`), so that it can be held against a link's speed.

use std::collections::BTreeMap;

use super::RankFacts;
use super::matching::Matched;
use super::split::Waits;
use crate::communication::Kind;

/// Transfers below this are limited by latency; no link is judged by them.
pub const LARGE: i64 = 16 << 20;

/// Collectives of one group, kind and size.
#[derive(Clone, Debug, PartialEq)]
pub struct Speed {
    /// Index into [`Matched::parties`].
    pub parties: usize,
    /// Kind.
    pub kind: Kind,
    /// Bytes of the whole tensor.
    pub bytes: i64,
    /// How many were measured.
    pub count: u64,
    /// Median transfer, ns.
    pub transfer: i64,
    /// Bytes per second of the whole tensor, at that transfer.
    pub algorithm: f64,
    /// Bytes per second on a link.
    pub bus: f64,
    /// Share of the transfer that compute hides, on the rank that came last; the lower, the more it had the links and
    /// the memory for itself.
    pub hidden: f64,
}

/// A transfer, ns, and the part of it that no work hides, where that is known.
type Measured = (i64, Option<i64>);

/// What each link carries per byte of the whole tensor, with `n` ranks. `None` where it depends on more.
#[must_use]
pub fn factor(kind: Kind, n: usize) -> Option<f64> {
    let n = n as f64;
    match kind {
        Kind::AllReduce => Some(2.0 * (n - 1.0) / n),
        Kind::AllGather | Kind::ReduceScatter | Kind::AllToAll => Some((n - 1.0) / n),
        Kind::Broadcast | Kind::SendReceive => Some(1.0),
        Kind::Other => None,
    }
}

/// The speeds of all collectives with a known size, by parties, kind and size.
#[must_use]
pub fn speeds(ranks: &[RankFacts], matched: &Matched, waits: &Waits) -> Vec<Speed> {
    let mut by_class: BTreeMap<(usize, Kind, i64), Vec<Measured>> = BTreeMap::new();
    for (met, split) in matched.met.iter().zip(&waits.splits) {
        let (Some(split), Some(bytes)) = (split, met.bytes) else { continue };
        let last = split.last.or_else(|| met.rows.first().map(|&(rank, _)| rank));
        let row = met.rows.iter().find(|&&(rank, _)| Some(rank) == last);
        // Only the steps analysed say what hides a collective.
        let exposed = row.and_then(|&(rank, row)| {
            let facts = &ranks[rank as usize];
            let used = facts.steps.iter().any(|step| step.number == met.step);
            used.then(|| facts.rows.exposed(row as usize).min(split.transfer))
        });
        by_class.entry((met.parties, met.kind, bytes)).or_default().push((split.transfer, exposed));
    }
    let mut speeds = Vec::new();
    for ((parties, kind, bytes), mut seen) in by_class {
        seen.sort_unstable();
        let (transfer, _) = seen[seen.len() / 2];
        let used = seen.iter().filter_map(|&(transfer, exposed)| Some((transfer, exposed?)));
        let (all, exposed) = used.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let Some(factor) = factor(kind, matched.parties[parties].size()) else { continue };
        if transfer <= 0 {
            continue;
        }
        let algorithm = bytes as f64 / (transfer as f64 / 1e9);
        let hidden = 1.0 - exposed as f64 / all.max(1) as f64;
        let count = seen.len() as u64;
        speeds.push(Speed {
            parties,
            kind,
            bytes,
            count,
            transfer,
            algorithm,
            bus: algorithm * factor,
            hidden,
        });
    }
    speeds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_those_of_nccl_tests() {
        assert_eq!(factor(Kind::AllReduce, 8), Some(1.75));
        assert_eq!(factor(Kind::AllGather, 8), Some(0.875));
        assert_eq!(factor(Kind::ReduceScatter, 2), Some(0.5));
        assert_eq!(factor(Kind::SendReceive, 2), Some(1.0));
        assert_eq!(factor(Kind::Other, 4), None);
    }
}
