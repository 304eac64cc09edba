//! From which value on more does not pay: the knee of a curve, from runs in rounds. A pure function.
//!
//! **Reach.** The *best* value is the one with the shortest time (over all rounds, see below). Another is
//!
//! * *beyond* its reach, where its time is more than (1 + counts) times the best's, and the interval of that ratio
//!   lies above 1: it is slower, and by something that counts;
//! * *within* it, where the whole interval lies at or below 1 + counts: it is as good;
//! * *near* it otherwise: it is not shown to be slower, and might be.
//!
//! **Knee.** The smallest value – the first in the order given – that is not beyond the reach of the best. That is: the
//! smallest value whose time is within the smallest effect that counts of the best, as far as the runs can tell. Of
//! two values that cannot be told apart, the smaller one is named. The knee is *sure* where it is within reach; where it
//! is near, a larger value might still pay, and more rounds would tell ([`Knee::undecided`]).
//!
//! **Plateau.** The values from the knee on that are not beyond reach.
//!
//! **Intervals.** Rounds measure all values one after the other, in alternating order, so that a slow drift of the
//! machine meets all alike. What is left of a time besides its value and its round is chance; its size is pooled
//! over the values. The 5 % that intervals may miss are shared (Bonferroni) among all comparisons with the best, and
//! spent over the looks at the results as in [`crate::stats::paired`]: neither choosing the best nor stopping early costs
//! honesty.

use serde::{Deserialize, Serialize};

use super::fit::Fit;
use crate::stats::LEVEL;

/// What counts, and how often results are looked at, at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The smallest effect that counts, as a share of the best time.
    pub counts: f64,
    /// Rounds at most: results are looked at after the second one, and after each further one.
    pub most_rounds: usize,
}

/// How a value stands to the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// As good as the best.
    Within,
    /// Not shown to be slower by something that counts, nor to be as good.
    Near,
    /// Slower, by something that counts.
    Beyond,
}

/// What the curve looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Smaller values than the knee are slower.
    Knee,
    /// The smallest is as good as any; some larger ones are slower.
    Smallest,
    /// None is shown to be slower than another: it does not matter.
    Flat,
}

impl Shape {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Knee => "knee",
            Self::Smallest => "smallest",
            Self::Flat => "flat",
        }
    }
}

/// A ratio of times with its interval; that is absent where there was one round only.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The ratio.
    pub ratio: f64,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    fn of((log, half): (f64, Option<f64>)) -> Self {
        let interval = half.map(|half| ((log - half).exp(), (log + half).exp()));
        Self { ratio: log.exp(), interval }
    }
}

/// One value. Times are ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Its time, over all rounds (geometric mean).
    pub ns: f64,
    /// 95 % interval of that alone; absent after one round.
    pub interval_ns: Option<(f64, f64)>,
    /// Its time over the best's, with the interval that decides.
    pub to_best: Ratio,
    /// How it stands to the best.
    pub reach: Reach,
}

/// What a curve says.
#[derive(Clone, Debug, PartialEq)]
pub struct Knee {
    /// The knee.
    pub at: usize,
    /// The best.
    pub best: usize,
    /// What the curve looks like.
    pub shape: Shape,
    /// More rounds would name no other knee.
    pub is_sure: bool,
    /// Each value; `None` of those without a time.
    pub standings: Vec<Option<Standing>>,
}

impl Knee {
    /// Values to measure again, where the knee is not sure: those that are near the best, from the knee up to the
    /// first that is within reach, and the best.
    #[must_use]
    pub fn undecided(&self) -> Vec<usize> {
        if self.is_sure {
            return Vec::new();
        }
        let known = self.standings.iter().enumerate().filter_map(|(at, found)| Some((at, (*found)?.reach)));
        let open = known.skip_while(|(at, _)| *at < self.at).take_while(|(_, reach)| *reach != Reach::Within);
        let mut open: Vec<usize> =
            open.filter(|(_, reach)| *reach == Reach::Near).map(|(at, _)| at).collect();
        open.push(self.best);
        open.sort_unstable();
        open.dedup();
        open
    }

    /// The last value of the plateau.
    #[must_use]
    pub fn plateau_end(&self) -> usize {
        let beyond = |at: &usize| self.standings[*at].is_none_or(|found| found.reach == Reach::Beyond);
        let from_knee = self.at..self.standings.len();
        from_knee.rev().find(|at| !beyond(at)).unwrap_or(self.at)
    }
}

/// The knee of a curve. `times[v][r]` is the time of value v in round r, ns; values in the order of what they cost, the
/// smallest first. `None`, and what is not above 0, is not measured; a value without any time – it failed, or may not
/// be chosen – is passed over. `None` where no value has a time.
#[must_use]
pub fn knee(times: &[Vec<Option<f64>>], rule: &Rule) -> Option<Knee> {
    let fit = Fit::of(&logs(times))?;
    let levels: Vec<Option<f64>> =
        (0..times.len()).map(|value| fit.level(value, 1.0 - LEVEL).map(|(level, _)| level)).collect();
    let known = || levels.iter().enumerate().filter_map(|(at, level)| Some((at, (*level)?)));
    // The first of equals.
    let best = known().min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)))?.0;
    let alpha = alpha(times, rule);
    let standing = |value: usize| {
        let (level, half) = fit.level(value, 1.0 - LEVEL)?;
        let to_best = Ratio::of(fit.ratio(value, best, alpha)?);
        let reach = match to_best.interval {
            _ if value == best => Reach::Within,
            Some((_, high)) if high <= 1.0 + rule.counts => Reach::Within,
            Some((low, _)) if to_best.ratio > 1.0 + rule.counts && low > 1.0 => Reach::Beyond,
            None if to_best.ratio > 1.0 + rule.counts => Reach::Beyond,
            _ => Reach::Near,
        };
        let interval_ns = half.map(|half| ((level - half).exp(), (level + half).exp()));
        Some(Standing { ns: level.exp(), interval_ns, to_best, reach })
    };
    let standings: Vec<Option<Standing>> = (0..times.len()).map(standing).collect();
    let reached = |at: usize| standings[at].is_some_and(|found| found.reach != Reach::Beyond);
    let at = (0..times.len()).find(|&at| reached(at))?;
    let first = known().next()?.0;
    let shape = if at != first {
        Shape::Knee
    } else if known().any(|(at, _)| !reached(at)) {
        Shape::Smallest
    } else {
        Shape::Flat
    };
    let is_known = standings[best].is_some_and(|found| found.interval_ns.is_some()) || known().count() == 1;
    let is_sure = is_known && standings[at].is_some_and(|found| found.reach == Reach::Within);
    Some(Knee { at, best, shape, is_sure, standings })
}

/// Time of value `a` over that of `b`, with the interval that [`knee`] decides by. `None` where one has no time.
#[must_use]
pub fn versus(times: &[Vec<Option<f64>>], a: usize, b: usize, rule: &Rule) -> Option<Ratio> {
    let fit = Fit::of(&logs(times))?;
    fit.ratio(a, b, alpha(times, rule)).map(Ratio::of)
}

/// How much a run differs from the next of the same value, as a share. `None` where none ran twice.
#[must_use]
pub fn noise(times: &[Vec<Option<f64>>]) -> Option<f64> {
    super::fit::noise(&logs(times))
}

/// What each interval may miss, after as many rounds as there are.
fn alpha(times: &[Vec<Option<f64>>], rule: &Rule) -> f64 {
    let values = times.iter().filter(|row| row.iter().any(Option::is_some)).count();
    let rounds = times.iter().map(Vec::len).max().unwrap_or(0).max(2);
    let most = rule.most_rounds.max(rounds);
    let spent = |rounds: usize| (rounds as f64 / most as f64).powi(2);
    let before = if rounds > 2 { spent(rounds - 1) } else { 0.0 };
    (1.0 - LEVEL) * (spent(rounds) - before) / values.saturating_sub(1).max(1) as f64
}

fn logs(times: &[Vec<Option<f64>>]) -> Vec<Vec<Option<f64>>> {
    let log = |time: &Option<f64>| time.filter(|ns| *ns > 0.0 && ns.is_finite()).map(f64::ln);
    times.iter().map(|row| row.iter().map(log).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule { counts: 0.02, most_rounds: 5 };

    /// Each level in so many rounds, that differ by a little.
    fn rounds(levels: &[f64], count: usize) -> Vec<Vec<Option<f64>>> {
        let wobble = |value: usize, round: usize| 1.0 + ((value * 7 + round * 13) % 11) as f64 / 5_000.0;
        let row = |(value, level): (usize, &f64)| {
            (0..count).map(|round| (*level > 0.0).then(|| level * wobble(value, round))).collect()
        };
        levels.iter().enumerate().map(row).collect()
    }

    fn found(levels: &[f64]) -> (usize, Shape, bool) {
        let Some(found) = knee(&rounds(levels, 3), &RULE) else { panic!("a knee") };
        (found.at, found.shape, found.is_sure)
    }

    #[test]
    fn the_smallest_value_within_reach_of_the_best_is_the_knee() {
        assert_eq!(found(&[64.0, 64.0, 33.0, 17.0, 9.0, 8.95, 8.93]), (4, Shape::Knee, true));
        assert_eq!(found(&[8.0, 8.01, 8.02]), (0, Shape::Flat, true));
        assert_eq!(found(&[8.0, 8.01, 9.0]), (0, Shape::Smallest, true));
        // It comes down, goes up, and comes down again.
        assert_eq!(found(&[20.0, 10.0, 15.0, 10.0]), (1, Shape::Knee, true));
        assert_eq!(found(&[5.0]), (0, Shape::Flat, true));
        // What has no time is passed over.
        assert_eq!(found(&[0.0, 64.0, 0.0, 9.0, 0.0]), (3, Shape::Knee, true));
    }

    #[test]
    fn the_plateau_ends_where_more_is_slower() {
        let Some(found) = knee(&rounds(&[64.0, 9.0, 9.0, 9.01, 12.0], 3), &RULE) else { panic!("a knee") };
        assert_eq!((found.at, found.plateau_end()), (1, 3));
        assert!(found.undecided().is_empty());
    }

    #[test]
    fn one_round_is_never_sure_and_asks_for_more() {
        let Some(found) = knee(&rounds(&[64.0, 9.0, 9.1], 1), &RULE) else { panic!("a knee") };
        assert_eq!((found.at, found.is_sure), (1, false));
        assert!(found.standings[0].is_some_and(|first| first.interval_ns.is_none()));
    }

    #[test]
    fn neighbours_that_noise_hides_are_measured_again() {
        let times = [
            vec![Some(64.0), Some(61.0)],
            vec![Some(9.4), Some(10.4)],
            vec![Some(10.2), Some(9.1)],
            vec![Some(9.3), Some(9.9)],
        ];
        let Some(found) = knee(&times, &RULE) else { panic!("a knee") };
        assert_eq!((found.at, found.is_sure), (1, false));
        let again = found.undecided();
        assert!(again.contains(&1) && again.contains(&found.best) && !again.contains(&0), "{again:?}");
    }

    #[test]
    fn nothing_and_nonsense_are_no_curve() {
        assert_eq!(knee(&[], &RULE), None);
        assert_eq!(knee(&[vec![None], vec![]], &RULE), None);
        assert_eq!(knee(&[vec![Some(0.0), Some(f64::NAN), Some(-1.0), Some(f64::INFINITY)]], &RULE), None);
        let identical = vec![vec![Some(5.0); 3]; 4];
        assert_eq!(
            knee(&identical, &RULE).map(|found| (found.at, found.shape, found.is_sure)),
            Some((0, Shape::Flat, true))
        );
    }

    #[test]
    fn ratios_hold_both_ways() {
        let times = rounds(&[20.0, 10.0], 3);
        let Some(ratio) = versus(&times, 0, 1, &RULE) else { panic!("both were measured") };
        assert!(
            (ratio.ratio - 2.0).abs() < 0.01
                && ratio.interval.is_some_and(|(low, high)| low < 2.0 && high > 1.99)
        );
        assert!(noise(&times).is_some_and(|noise| noise < 0.01));
    }
}
