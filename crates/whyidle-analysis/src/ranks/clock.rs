//! How far the clocks of ranks are apart, from the ends of collectives that they were in together.
//!
//! All members of a collective end together, so the difference of the recorded ends is the clocks' own. It is taken as
//! a line over time by least absolute deviations, which outliers do not move. In large all-reduces the rank that came
//! late ends 5–20 µs later; where both of two ranks were late often enough, that is a term of its own, otherwise it
//! bounds the accuracy and is printed as such.

use std::collections::VecDeque;

use super::RankFacts;
use super::matching::{Matched, Met, Parties};
use super::split::{Split, Waits};
use crate::communication::Kind;

/// A rank's clock against that of the first rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offset {
    /// The rank, as index.
    pub rank: u32,
    /// How far its clock is ahead, ns, in the middle of the window.
    pub ahead: i64,
    /// When that is, ns of Unix time on the first rank's clock.
    pub at: i64,
    /// How much faster it runs, as a share; 0 where the window is too short to tell.
    pub drift: f64,
    /// How far `ahead` may be off, ns.
    pub error: i64,
    /// Collectives that it rests on, along the way from the first rank the fewest.
    pub collectives: u32,
}

impl Offset {
    /// A time of this rank on the first rank's clock, ns.
    #[must_use]
    pub fn align(&self, time: i64) -> i64 {
        let time = time - self.ahead;
        time - ((time - self.at) as f64 * self.drift).round() as i64
    }
}

/// Collectives with this much data are large: their ends scatter.
const LARGE: i64 = 16 << 20;
/// What a large reduction counts against a gather, a scatter or a small one.
const LARGE_WEIGHT: f64 = 0.25;
/// Within this of each other, ranks start together.
const SAME_START_NS: i64 = 30_000;
/// Both ranks must have been late this often for the lateness of ends to be told apart.
const OFTEN: usize = 5;
/// Clocks drift by up to this; where it would not show in the window, no drift is fitted.
const USUAL_DRIFT: f64 = 20e-6;
/// An offset is off by at least this, and by this much where one rank was always the late one in large reductions.
const LEAST_ERROR_NS: i64 = 2_000;
const ONE_SIDED_ERROR_NS: i64 = 20_000;
/// So many collectives of a pair are enough.
const ENOUGH: usize = 256;

/// The clocks of all ranks that share collectives with the first, directly or through others; in the order of ranks.
#[must_use]
pub fn offsets(ranks: &[RankFacts], matched: &Matched, waits: &Waits) -> Vec<Option<Offset>> {
    let mut known: Vec<Option<Offset>> = vec![None; ranks.len()];
    let Some(first) = known.first_mut() else { return known };
    let at = ranks[0].steps.first().map_or(0, |step| step.start);
    *first = Some(Offset { rank: 0, ahead: 0, at, drift: 0.0, error: 0, collectives: u32::MAX });
    let of_rank = by_rank(ranks, matched, waits);
    let mut front = VecDeque::from([0_u32]);
    let mut open = ranks.len() - 1;
    while let Some(from) = front.pop_front().filter(|_| open > 0) {
        let base = known[from as usize].expect("what is at the front is known");
        for peer in peers(&of_rank[from as usize]) {
            if known[peer as usize].is_none()
                && let Some(one) = pair(ranks, &of_rank[from as usize], from, peer)
            {
                known[peer as usize] = Some(chained(base, one));
                front.push_back(peer);
                open -= 1;
            }
        }
    }
    known
}

fn chained(base: Offset, one: Offset) -> Offset {
    let at = base.align(one.at);
    let drifted = ((one.at - base.ahead - base.at) as f64 * base.drift).round() as i64;
    Offset {
        rank: one.rank,
        ahead: base.ahead + drifted + one.ahead,
        at,
        drift: base.drift + one.drift,
        error: base.error + one.error,
        collectives: base.collectives.min(one.collectives),
    }
}

type Seen<'a> = (&'a Met, &'a Split);

/// Per rank: the collectives from which a clock can be told.
fn by_rank<'a>(ranks: &[RankFacts], matched: &'a Matched, waits: &'a Waits) -> Vec<Vec<Seen<'a>>> {
    let mut out: Vec<Vec<Seen<'a>>> = vec![Vec::new(); ranks.len()];
    for (met, split) in matched.met.iter().zip(&waits.splits) {
        let Some(split) = split else { continue };
        // The ends of a transfer agree only if the receiver was there first.
        let pair = matches!(matched.parties[met.parties], Parties::Pair { .. });
        if !pair || split.last.is_some() {
            met.rows.iter().for_each(|&(rank, _)| out[rank as usize].push((met, split)));
        }
    }
    out
}

/// Ranks that a rank shares collectives with, ascending.
fn peers(seen: &[Seen<'_>]) -> Vec<u32> {
    let mut parties: Vec<(usize, &Met)> = seen.iter().map(|(met, _)| (met.parties, *met)).collect();
    parties.sort_by_key(|(parties, _)| *parties);
    parties.dedup_by_key(|(parties, _)| *parties);
    let mut peers: Vec<u32> =
        parties.iter().flat_map(|(_, met)| met.rows.iter().map(|&(rank, _)| rank)).collect();
    peers.sort_unstable();
    peers.dedup();
    peers
}

/// One collective of two ranks.
struct Pair {
    /// When, s after the middle of the window.
    t: f64,
    /// End on the second rank's clock minus that on the first's, ns from the median.
    d: f64,
    /// Which of the two was late: 1 the second, −1 the first.
    late: f64,
    weight: f64,
}

/// The clock of `b` against that of `a`.
fn pair(ranks: &[RankFacts], seen: &[Seen<'_>], a: u32, b: u32) -> Option<Offset> {
    let mut raw: Vec<(i64, i64, f64, f64)> = Vec::new();
    let mut only_large = true;
    let stride = seen.len().div_ceil(ENOUGH).max(1);
    for (met, split) in seen.iter().step_by(stride) {
        let place = |rank: u32| met.rows.binary_search_by_key(&rank, |&(rank, _)| rank).ok();
        let (Some(of_a), Some(of_b)) = (place(a), place(b)) else { continue };
        let end = |place: usize| {
            let (rank, row) = met.rows[place];
            ranks[rank as usize].rows.end(row as usize)
        };
        let earlier = split.waits[of_a] - split.waits[of_b];
        let late = if earlier.abs() < SAME_START_NS { 0.0 } else { earlier.signum() as f64 };
        let reduces = matches!(met.kind, Kind::AllReduce | Kind::Broadcast | Kind::Other);
        let large = reduces && met.bytes.is_none_or(|bytes| bytes >= LARGE);
        only_large &= large;
        raw.push((end(of_a), end(of_b) - end(of_a), late, if large { LARGE_WEIGHT } else { 1.0 }));
    }
    if raw.is_empty() {
        return None;
    }
    let (first, last) =
        raw.iter().fold((i64::MAX, i64::MIN), |(low, high), one| (low.min(one.0), high.max(one.0)));
    let at = first + (last - first) / 2;
    let middle = median(raw.iter().map(|one| one.1).collect());
    let pairs: Vec<Pair> = raw
        .iter()
        .map(|&(t, d, late, weight)| Pair { t: (t - at) as f64 / 1e9, d: (d - middle) as f64, late, weight })
        .collect();
    let count = |sign: f64| pairs.iter().filter(|pair| pair.late == sign).count();
    let both_late = count(1.0) >= OFTEN && count(-1.0) >= OFTEN;
    let flat = fit(&pairs, both_late, false);
    let span = (last - first) as f64 / 1e9;
    let drifts = pairs.len() > 3 * OFTEN && USUAL_DRIFT * span * 1e9 > scatter(&pairs, &flat).max(1.0) * 2.0;
    let line = if drifts { fit(&pairs, both_late, true) } else { flat };
    let one_sided = !both_late && (count(1.0) > 0 || count(-1.0) > 0) && only_large;
    let least = if one_sided { ONE_SIDED_ERROR_NS } else { LEAST_ERROR_NS };
    Some(Offset {
        rank: b,
        ahead: middle + line.offset.round() as i64,
        at,
        drift: line.drift / 1e9,
        error: least.max(scatter(&pairs, &line).round() as i64),
        collectives: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
    })
}

/// d = offset + lateness · late + drift · t.
#[derive(Clone, Copy, Default)]
struct Fitted {
    offset: f64,
    lateness: f64,
    /// ns per s.
    drift: f64,
}

impl Fitted {
    fn residual(&self, pair: &Pair) -> f64 {
        pair.d - self.offset - self.lateness * pair.late - self.drift * pair.t
    }
}

/// Half the distance between the quartiles of what is left, ns.
fn scatter(pairs: &[Pair], line: &Fitted) -> f64 {
    let left: Vec<i64> = pairs.iter().map(|pair| line.residual(pair).abs().round() as i64).collect();
    median(left) as f64
}

/// Least absolute deviations, by least squares that are weighted anew (Schlossmacher 1973).
fn fit(pairs: &[Pair], with_lateness: bool, with_drift: bool) -> Fitted {
    const ROUNDS: usize = 40;
    /// A residual below this weighs no more, ns.
    const FLOOR: f64 = 50.0;
    let used = [true, with_lateness, with_drift];
    let mut line = Fitted::default();
    for _ in 0..ROUNDS {
        let mut normal = [[0.0_f64; 4]; 3];
        for pair in pairs {
            let x = [1.0, pair.late, pair.t];
            let weight = pair.weight / line.residual(pair).abs().max(FLOOR);
            for i in 0..3 {
                for j in 0..3 {
                    normal[i][j] += weight * x[i] * x[j];
                }
                normal[i][3] += weight * x[i] * pair.d;
            }
        }
        for (i, used) in used.into_iter().enumerate() {
            if !used {
                normal[i] = [0.0; 4];
                (0..3).for_each(|row| normal[row][i] = 0.0);
                normal[i][i] = 1.0;
            }
        }
        let Some(solved) = solve(normal) else { break };
        let next = Fitted { offset: solved[0], lateness: solved[1], drift: solved[2] };
        let moved = (next.offset - line.offset).abs() + (next.lateness - line.lateness).abs();
        line = next;
        if moved < 0.5 {
            break;
        }
    }
    line
}

/// Gauss with the largest pivot; `None` where the equations say nothing.
fn solve(mut m: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for column in 0..3 {
        let pivot = (column..3).max_by(|&a, &b| m[a][column].abs().total_cmp(&m[b][column].abs()))?;
        m.swap(column, pivot);
        if m[column][column].abs() < 1e-12 {
            return None;
        }
        let own = m[column];
        for (_, values) in m.iter_mut().enumerate().filter(|(row, _)| *row != column) {
            let factor = values[column] / own[column];
            (0..4).for_each(|at| values[at] -= factor * own[at]);
        }
    }
    Some([m[0][3] / m[0][0], m[1][3] / m[1][1], m[2][3] / m[2][2]])
}

fn median(mut values: Vec<i64>) -> i64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable(middle).1
}
