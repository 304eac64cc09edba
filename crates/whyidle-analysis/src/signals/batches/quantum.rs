//! The quantum of growths: the bytes of which each growth between two samples is a whole multiple, where the growths
//! can tell.
//!
//! A sampler that takes turns sees a steady program grow by almost the same amount each time. Any part of that amount
//! then divides the growths as well as the quantum does: the beat of sampling with the step, which is no evidence. So a
//! quantum is held against two other explanations, by likelihood:
//!
//! * that the program writes *smoothly*, at the rate of the samples around: a quantum must explain how growths differ
//!   from that, not that they are alike;
//! * that the quantum is *another*: half of it fits too, but leaves more growths possible than were seen; twice of it
//!   leaves the odd ones unexplained.
//!
//! Where another one is nearly as likely, none is told.

use std::f64::consts::TAU;

/// Growth of what one worker has written, between two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Growth {
    /// When the later sample was taken, ns.
    pub t: i64,
    /// From sample to sample, ns.
    pub over_ns: i64,
    /// Bytes.
    pub bytes: f64,
    /// Bytes at the rate of the samples before and after.
    pub smooth: f64,
    /// The sample before saw none.
    pub is_first: bool,
}

/// No batch is handed over in fewer bytes: the pickled handles of one shared tensor.
const SMALLEST: f64 = 400.0;
/// Nor in more: the handles of some dozens.
const LARGEST: f64 = 16_384.0;
/// A larger growth is so many batches that it tells nothing of one.
const LARGEST_GROWTH: f64 = 65_536.0;
/// Growths that are looked at; of more, evenly chosen ones.
const MOST_GROWTHS: usize = 768;
/// Fewer tell nothing.
const FEWEST_GROWTHS: usize = 6;
/// Peaks of the spectrum that are judged.
const MOST_PEAKS: usize = 192;
/// Quanta so close are one, of which the better fit counts.
const SAME: f64 = 1.2;
/// Odds that are asked for against another quantum, as a logarithm: a hundred to one.
const AGAINST_OTHERS: f64 = 4.6;
/// And the share of all that is gained, since how growths scatter is known about so well: less where the time between
/// samples varies, so that aliases of an even one cannot last.
const OF_GAIN: [f64; 2] = [0.05, 0.125];
/// Odds against smooth writing: a thousand to one, for each of the peaks that were tried.
const AGAINST_SMOOTH: f64 = 6.9;
/// Share of growths that a sample cuts within a batch, and bytes by which growths scatter otherwise: as tried, the same
/// for every quantum.
const CUT: [f64; 3] = [0.03, 0.15, 0.4];
const SCATTER: [f64; 10] = [1.0, 3.0, 8.0, 20.0, 45.0, 90.0, 180.0, 360.0, 720.0, 1_440.0];

/// Bytes of a batch; `None` where growths cannot tell.
pub(super) fn quantum(growths: &[Growth]) -> Option<f64> {
    let fits = |growth: &&Growth| growth.bytes > 0.0 && growth.bytes <= LARGEST_GROWTH;
    let seen: Vec<Growth> = growths.iter().filter(fits).copied().collect();
    let every = seen.len().div_ceil(MOST_GROWTHS).max(1);
    let seen: Vec<Growth> = seen.into_iter().step_by(every).collect();
    if seen.len() < FEWEST_GROWTHS {
        return None;
    }
    let rate = Rate::of(&seen);
    // Workers that are sampled together are late and early together: one moment is evidence once.
    let weight = moments(&seen) as f64 / seen.len() as f64;
    let gain = |quantum: f64| weight * gain(&seen, &rate, quantum);
    let mut judged: Vec<(f64, f64)> =
        peaks(&seen).into_iter().map(|peak| refined(&seen, peak)).map(|q| (q, gain(q))).collect();
    let tried = judged.len().max(1) as f64;
    let best = |judged: &[(f64, f64)]| judged.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    // Its multiples and parts are judged whether they are peaks or not.
    let first = best(&judged)?.0;
    for (by, of) in [(2.0, 1.0), (3.0, 1.0), (1.0, 2.0), (1.0, 3.0), (3.0, 2.0), (2.0, 3.0)] {
        let other = refined(&seen, first * by / of);
        judged.push((other, gain(other)));
    }
    let (found, gained) = best(&judged)?;
    let is_other = |other: f64| other >= SMALLEST && (other > SAME * found || found > SAME * other);
    let rival =
        judged.iter().filter(|(other, _)| is_other(*other)).map(|(_, gained)| *gained).fold(0.0, f64::max);
    let is_even = is_even(&seen, found);
    let of_gain = OF_GAIN[usize::from(is_even)];
    let is_clear =
        gained > AGAINST_SMOOTH + tried.ln() && gained - rival > AGAINST_OTHERS.max(of_gain * gained);
    (is_clear
        && (SMALLEST..=LARGEST).contains(&found)
        && adds_up(growths, found)
        && !is_multiple(&seen, weight, found)
        && (!is_even || varies(&seen, found)))
    .then_some(found)
}

/// What `quantum` leaves unexplained, a part of it explains: sampled in step with the program, most growths are the same
/// few batches, and the others are the evidence. `weight`: how much evidence one growth is.
fn is_multiple(seen: &[Growth], weight: f64, quantum: f64) -> bool {
    /// More batches in one alias are told apart by likelihood.
    const MOST: u32 = 8;
    /// A period may be wrong by half, no more.
    const WORST: f64 = 1.5;
    let into: Vec<f64> = seen.iter().map(|growth| (growth.bytes / quantum).rem_euclid(1.0)).collect();
    (2..=MOST).any(|parts| {
        let parts_f = f64::from(parts);
        // Of the quanta whose multiples lie on these parts, one must be large enough, and far enough from `quantum`.
        let least = (1..parts).find(|of| f64::from(*of) * quantum / parts_f >= SMALLEST);
        if least.is_none_or(|least| f64::from(least) * WORST > parts_f) {
            return false;
        }
        let near = 1.0 / (8.0 * parts_f);
        let off = |by: f64| (by - by.round()).abs();
        let odd: Vec<f64> = into.iter().copied().filter(|into| off(*into) > near).collect();
        let on_parts = odd.iter().filter(|into| off(**into * parts_f) <= near * parts_f).count();
        // Growths cut anywhere lie on parts by this chance.
        let chance = 2.0 * near * (parts_f - 1.0) / (1.0 - 2.0 * near);
        let (all, on) = (weight * odd.len() as f64, weight * on_parts as f64);
        4 * on_parts >= 3 * odd.len() && at_least(on.round() as u32, all.round() as u32, chance) < 0.02
    })
}

/// So many batches, where bytes are near a whole number of them.
fn count(bytes: f64, quantum: f64) -> Option<u32> {
    let count = bytes / quantum;
    (count > 0.5 && (count - count.round()).abs() < 0.125).then_some(count.round() as u32)
}

/// Sums of consecutive growths are whole about as often as single ones, for only their ends can be cut. Those of one part
/// of a batch are not: the other parts come between.
fn adds_up(growths: &[Growth], quantum: f64) -> bool {
    const MOST_SUMMED: usize = 8;
    let grown: Vec<f64> = growths.iter().map(|growth| growth.bytes).filter(|bytes| *bytes > 0.0).collect();
    let share = |summed: usize| {
        let sums = grown.windows(summed).map(|some| some.iter().sum::<f64>());
        let (all, whole) = sums.fold((0_u32, 0_u32), |(all, whole), bytes| {
            (all + 1, whole + u32::from(count(bytes, quantum).is_some()))
        });
        f64::from(whole) / f64::from(all.max(1))
    };
    let single = share(1);
    (2..=MOST_SUMMED.min(grown.len())).all(|summed| 2.0 * share(summed) >= single)
}

/// Growths are of enough different counts. Sampled in step with the program they are of two, one batch apart or two, and
/// any quantum that divides both is as good as another.
fn varies(seen: &[Growth], quantum: f64) -> bool {
    const COUNTS: usize = 3;
    let mut counts: Vec<u32> = seen.iter().filter_map(|growth| count(growth.bytes, quantum)).collect();
    counts.sort_unstable();
    let often: Vec<u32> =
        counts.chunk_by(|a, b| a == b).filter(|same| same.len() >= 2).map(|same| same[0]).collect();
    // Counts that all lie further apart than one are those of a part of the quantum.
    let has_neighbours = often.windows(2).any(|pair| pair[1] - pair[0] == 1);
    often.len() >= COUNTS && has_neighbours || is_single(seen, quantum)
}

/// Most growths are one batch, and came after none: sampled faster than batches come, no multiple hides behind them.
fn is_single(seen: &[Growth], quantum: f64) -> bool {
    let is_alone = |growth: &&Growth| growth.is_first && growth.bytes < 1.5 * quantum;
    2 * seen.iter().filter(is_alone).count() > seen.len()
}

/// The time between samples varies by less than the time between batches: samples may keep in step. Times that are spread
/// evenly over one batch are a quarter of it from their middle, on average.
fn is_even(seen: &[Growth], quantum: f64) -> bool {
    let mut over: Vec<i64> = seen.iter().map(|growth| growth.over_ns).collect();
    over.sort_unstable();
    let middle = over[over.len() / 2];
    let apart: f64 = over.iter().map(|over| (over - middle).abs() as f64).sum();
    let (bytes, all) = seen
        .iter()
        .fold((0.0, 0.0), |(bytes, all), growth| (bytes + growth.bytes, all + growth.over_ns as f64));
    apart / over.len() as f64 * bytes / all.max(1.0) < quantum / 4.0 && !is_single(seen, quantum)
}

/// The chance that of `all` at least `some` are so where each is by `chance`.
fn at_least(some: u32, all: u32, chance: f64) -> f64 {
    let mut term = (f64::from(all) * (1.0 - chance).ln()).exp();
    let mut sum = 0.0;
    for at in 0..=all {
        if at >= some {
            sum += term;
        }
        term *= f64::from(all - at) / f64::from(at + 1) * chance / (1.0 - chance);
    }
    sum
}

/// Moments at which growths were seen: those of workers that are sampled in one go are one.
fn moments(seen: &[Growth]) -> usize {
    let mut over: Vec<i64> = seen.iter().map(|growth| growth.over_ns).collect();
    over.sort_unstable();
    let close = over[over.len() / 2] / 4;
    let mut times: Vec<i64> = seen.iter().map(|growth| growth.t).collect();
    times.sort_unstable();
    1 + times.windows(2).filter(|pair| pair[1] - pair[0] > close).count()
}

/// The quanta that divide growths best, by the spectrum of growths.
fn peaks(seen: &[Growth]) -> Vec<f64> {
    const FINE: f64 = 6.0;
    let largest = seen.iter().map(|growth| growth.bytes).fold(SMALLEST, f64::max);
    let (from, step) = (1.0 / LARGEST, 1.0 / (FINE * largest));
    let count = ((1.0 / SMALLEST - from) / step).ceil() as usize + 2;
    let at = |index: usize| from + (index as f64 - 1.0) * step;
    let fit = |index: usize| seen.iter().map(|growth| (TAU * growth.bytes * at(index)).cos()).sum::<f64>();
    let fits: Vec<f64> = (0..=count).map(fit).collect();
    let is_peak = |index: &usize| {
        fits[*index] > 0.0 && fits[*index] >= fits[index - 1] && fits[*index] > fits[index + 1]
    };
    let mut peaks: Vec<usize> = (1..count).filter(is_peak).collect();
    peaks.sort_by(|a, b| fits[*b].total_cmp(&fits[*a]));
    peaks
        .into_iter()
        .take(MOST_PEAKS)
        .map(|index| 1.0 / at(index))
        .filter(|quantum| quantum.is_finite() && *quantum > 0.0)
        .collect()
}

/// The quantum near `quantum` that most growths are multiples of: the median of growth by count, by counts.
fn refined(seen: &[Growth], quantum: f64) -> f64 {
    let mut each: Vec<(f64, f64)> = seen
        .iter()
        .map(|growth| (growth.bytes, (growth.bytes / quantum).round()))
        .filter(|(_, count)| *count >= 1.0)
        .map(|(bytes, count)| (bytes / count, count))
        .collect();
    each.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = each.iter().map(|(_, count)| count).sum::<f64>() / 2.0;
    let mut passed = 0.0;
    for (bytes, count) in each {
        passed += count;
        if passed >= half {
            return bytes;
        }
    }
    quantum
}

/// How far growths are from smooth ones: mostly little, now and then as much as a growth itself.
#[derive(Clone, Copy, Debug)]
struct Rate {
    /// Scales of both, bytes, each with its part of the growths.
    parts: [(f64, f64); 2],
}

impl Rate {
    /// What explains growths best without any quantum.
    fn of(seen: &[Growth]) -> Self {
        let far = seen.iter().map(|growth| growth.bytes).sum::<f64>() / seen.len() as f64;
        let all = CUT.into_iter().flat_map(|cut| SCATTER.into_iter().map(move |near| (cut, near)));
        all.map(|(cut, near)| {
            let rate = Self { parts: [(near, 1.0 - cut), (far.max(near), cut)] };
            (rate, seen.iter().map(|growth| rate.density(growth.bytes - growth.smooth).ln()).sum())
        })
        .max_by(|a: &(Self, f64), b| a.1.total_cmp(&b.1))
        .map_or(Self { parts: [(far.max(1.0), 0.5); 2] }, |(rate, _)| rate)
    }

    /// Of each: its scale, and a Laplace density at 0.
    fn each(&self) -> impl Iterator<Item = (f64, f64)> {
        self.parts.into_iter().map(|(scale, part)| (scale, part / (2.0 * scale)))
    }

    /// Density of growths `off` bytes from smooth, per byte.
    fn density(&self, off: f64) -> f64 {
        self.each().map(|(scale, top)| top * (-off.abs() / scale).exp()).sum::<f64>().max(f64::MIN_POSITIVE)
    }

    /// Sum of the density over all multiples of `quantum`, where the smooth growth lies `into` bytes after one.
    fn over_multiples(&self, quantum: f64, into: f64) -> f64 {
        let one = |(scale, top): (f64, f64)| {
            // Geometric series to both sides.
            top * ((-into / scale).exp() + (-(quantum - into) / scale).exp()) / -(-quantum / scale).exp_m1()
        };
        self.each().map(one).sum::<f64>().max(f64::MIN_POSITIVE)
    }
}

/// How much more likely growths are where batches are `quantum` bytes than where writing is smooth, as a logarithm.
/// Counts are spread around the smooth growth as `rate` says; growths that a sample cuts within a batch are as likely
/// as without a quantum.
fn gain(seen: &[Growth], rate: &Rate, quantum: f64) -> f64 {
    let one = |growth: &Growth| {
        let count = (growth.bytes / quantum).round();
        // Something was written: less than a batch is a part of one.
        if count < 1.0 {
            return (0.0, 0.0);
        }
        let all = rate.over_multiples(quantum, growth.smooth.rem_euclid(quantum));
        let chance = rate.density(count * quantum - growth.smooth) / all;
        (chance / rate.density(growth.bytes - growth.smooth), (growth.bytes - count * quantum).abs())
    };
    let counted: Vec<(f64, f64)> = seen.iter().map(one).collect();
    let with = |cut: f64, width: f64| -> f64 {
        let whole = (1.0 - cut) / (2.0 * width * -(-quantum / (2.0 * width)).exp_m1());
        counted.iter().map(|(ratio, by)| (cut + ratio * whole * (-by / width).exp()).ln()).sum()
    };
    let all = CUT.iter().flat_map(|cut| SCATTER.iter().map(|width| with(*cut, *width)));
    all.fold(f64::NEG_INFINITY, f64::max)
}
