//! Whether B is faster than A, from pairs of runs in alternating order.
//!
//! A pair gives one figure, the logarithm of B's step time over A's. Whatever slows the machine for a while slows both
//! halves of a pair, and where B runs first in every second pair, a drift cancels. The interval of the effect is that
//! of the mean of these figures, from Student's t.
//!
//! **Stopping.** Results are looked at after a few fixed numbers of pairs only: 6, and then half as many again, up to a
//! maximum. The 5 % that intervals may miss are spent over the looks as the square of the share of pairs run (Kim and
//! DeMets 1987, power family with exponent 2), and each look's interval leaves out what it spends. By Bonferroni's
//! inequality all of them hold together with at least 95 %, and so does the one at which the experiment stops, by
//! whatever rule: stopping when the interval looks good costs no honesty. A rule of interval width alone would need
//! fewer pairs, but is only approximately right for six. With Student's t each interval is exact where the figures of
//! pairs are normal; how far that carries on step times as they are, `tests/honesty.rs` measures.

use serde::{Deserialize, Serialize};

use super::{LEVEL, mean_and_deviation, student};

/// Fewer pairs give no verdict.
pub const LEAST_PAIRS: usize = 6;
/// Pairs at most, unless told otherwise.
pub const MOST_PAIRS: usize = 20;
/// The smallest effect that counts, unless told otherwise.
pub const COUNTS: f64 = 0.02;

/// When to look, and what counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Numbers of pairs after which results are looked at, ascending, at least one.
    looks: Vec<usize>,
    /// The smallest effect that counts, as a share of A's step time.
    counts: f64,
}

impl Plan {
    /// Looks at 6 pairs, then half as many again, up to `most` (taken as 6 where it is less). `counts`: the smallest
    /// effect that counts, as a share.
    #[must_use]
    pub fn new(most: usize, counts: f64) -> Self {
        let most = most.max(LEAST_PAIRS);
        let mut looks = vec![LEAST_PAIRS];
        while let Some(&last) = looks.last()
            && last < most
        {
            let next = (last + last / 2).min(most);
            // A last look right after the one before would tell nothing new.
            looks.push(if most < next + next / 4 { most } else { next });
        }
        Self { looks, counts }
    }

    /// The numbers of pairs after which results are looked at.
    #[must_use]
    pub fn looks(&self) -> &[usize] {
        &self.looks
    }

    /// The smallest effect that counts, as a share of A's step time.
    #[must_use]
    pub fn counts(&self) -> f64 {
        self.counts
    }

    /// The error that a look may spend.
    fn spent(&self, look: usize) -> f64 {
        let so_far = |pairs: usize| (pairs as f64 / self.most() as f64).powi(2);
        let before = look.checked_sub(1).map_or(0.0, |before| so_far(self.looks[before]));
        (1.0 - LEVEL) * (so_far(self.looks[look]) - before)
    }

    /// Pairs at most.
    #[must_use]
    pub fn most(&self) -> usize {
        self.looks.last().copied().unwrap_or(LEAST_PAIRS)
    }
}

/// What the pairs say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// B takes less time: the interval lies below nothing, and the effect counts.
    Faster,
    /// B takes more time, likewise.
    Slower,
    /// The whole interval is smaller than what counts.
    Alike,
    /// The interval holds no effect as well as one that counts, or an effect too small to count.
    Unclear,
}

impl Answer {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Alike => "alike",
            Self::Unclear => "unclear",
        }
    }
}

/// The effect of B against A. Shares are of A's step time; negative is faster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Pairs that it is from: the last look that was reached.
    pub pairs: usize,
    /// B's step time over A's, less one (geometric mean over pairs).
    pub effect: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What it says.
    pub answer: Answer,
    /// More pairs would not change what is said.
    pub is_final: bool,
}

/// The effect after the last look that `ratios` reach: B's over A's step time, pair by pair, each above 0. `None`
/// before the first.
#[must_use]
pub fn effect(ratios: &[f64], plan: &Plan) -> Option<Effect> {
    let reached = plan.looks.iter().rposition(|&look| look <= ratios.len())?;
    let pairs = plan.looks[reached];
    let logs: Vec<f64> = ratios[..pairs].iter().map(|ratio| ratio.ln()).collect();
    let (mean, deviation) = mean_and_deviation(&logs);
    let alpha = plan.spent(reached);
    let half = student(alpha, pairs - 1) * deviation / (pairs as f64).sqrt();
    let [effect, low, high] = [mean, mean - half, mean + half].map(f64::exp_m1);
    let answer = if high < 0.0 && effect <= -plan.counts {
        Answer::Faster
    } else if low > 0.0 && effect >= plan.counts {
        Answer::Slower
    } else if low > -plan.counts && high < plan.counts {
        Answer::Alike
    } else {
        Answer::Unclear
    };
    let is_final = answer != Answer::Unclear || reached + 1 == plan.looks.len();
    Some(Effect { pairs, effect, low, high, answer, is_final })
}

/// Whether B runs before A in a pair (counted from 0).
#[must_use]
pub fn b_first(pair: usize) -> bool {
    pair % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_grow_by_half_up_to_the_maximum() {
        assert_eq!(Plan::new(20, COUNTS).looks(), [6, 9, 13, 20]);
        assert_eq!(Plan::new(6, COUNTS).looks(), [6]);
        assert_eq!(Plan::new(1, COUNTS).looks(), [6]);
        assert_eq!(Plan::new(10, COUNTS).looks(), [6, 10]);
        assert_eq!(Plan::new(50, COUNTS).most(), 50);
        let plan = Plan::new(20, COUNTS);
        let all: f64 = (0..plan.looks().len()).map(|look| plan.spent(look)).sum();
        assert!((all - 0.05).abs() < 1e-12 && plan.spent(0) > 0.004, "{all}");
    }

    #[test]
    fn a_clear_effect_ends_at_the_first_look() {
        let ratios = [0.89, 0.91, 0.90, 0.88, 0.92, 0.90, 2.0];
        let found = effect(&ratios, &Plan::new(20, COUNTS));
        let Some(found) = found else { panic!("six pairs were run") };
        assert_eq!((found.answer, found.pairs, found.is_final), (Answer::Faster, 6, true));
        assert!(found.low < -0.1 && found.high > -0.1 && (found.effect + 0.1).abs() < 0.003, "{found:?}");
        let slower = ratios.map(|ratio| 1.0 / ratio);
        assert_eq!(effect(&slower, &Plan::new(20, COUNTS)).map(|found| found.answer), Some(Answer::Slower));
    }

    #[test]
    fn no_effect_is_a_result_and_noise_is_not() {
        let plan = Plan::new(20, COUNTS);
        let alike = [1.001, 0.999, 1.002, 0.998, 1.0, 1.001];
        assert_eq!(
            effect(&alike, &plan).map(|found| (found.answer, found.is_final)),
            Some((Answer::Alike, true))
        );
        let noise = [1.2, 0.9, 1.3, 0.7, 0.8, 1.1];
        let found = effect(&noise, &plan);
        assert_eq!(found.map(|found| (found.answer, found.is_final)), Some((Answer::Unclear, false)));
        assert_eq!(effect(&noise[..5], &plan), None);
        // A clear effect that is too small to count.
        let small = [1.010, 1.011, 1.012, 1.010, 1.011, 1.012];
        assert_eq!(effect(&small, &plan).map(|found| found.answer), Some(Answer::Alike));
        let identical = [1.0; 6];
        assert_eq!(effect(&identical, &plan).map(|found| found.answer), Some(Answer::Alike));
    }
}
