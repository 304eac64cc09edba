//! The steady step time of one run: mean with interval, distribution, and what was set aside.
//!
//! A stall is a steady step longer than three times the median. Stalls are set aside from the mean if they are rare
//! (at most one step in twenty) and do not come back at a constant distance: a save every hundred steps or a loader
//! that hands out bursts is the program's own rhythm and stays. What was set aside is counted, and the quantiles are of
//! all steady steps.

use serde::{Deserialize, Serialize};
use whyidle_analysis::distribution::outliers;

use super::{LEVEL, mean_and_deviation, median, quantile, student, warmup};

/// A step this many times the median is a stall.
pub(crate) const STALL: f64 = 3.0;
/// Stalls are rare: at most this share of the steady steps.
pub const RARE: f64 = 0.05;
/// Batches whose means give the interval: fewer steps than this give none.
const BATCHES: usize = 10;

/// The steady step time of a run. Times are ns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Steady {
    /// Steps at the start that were left out.
    pub warmup_steps: usize,
    /// Their time.
    pub warmup_ns: i64,
    /// The rest is steady: its halves agree.
    pub settled: bool,
    /// Steady steps, stalls among them.
    pub count: usize,
    /// Mean of the steady steps without the stalls set aside.
    pub mean_ns: i64,
    /// Its 95 % interval, from the means of ten batches: neighbouring steps are alike, single ones would make it too
    /// narrow. Absent for fewer than ten steps.
    pub interval_ns: Option<(i64, i64)>,
    /// Stalls, set aside or not.
    pub long: usize,
    /// Stalls that were set aside.
    pub stalls: usize,
    /// What they took beyond the mean.
    pub stalls_ns: i64,
    /// Long steps that come back every so many steps; they are kept.
    pub rhythm: Option<usize>,
    /// Smallest, 10th, 50th, 90th and 99th percentile and largest of all steady steps.
    pub quantiles_ns: [i64; 6],
}

/// Whether to set stalls aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stalls {
    /// Where they are rare and without rhythm.
    SetAside,
    /// Always: that they are rare is known from more runs than this one.
    Always,
    /// Never.
    Keep,
}

/// The steady part of a series of step times, ns; `None` of fewer than ten steps.
#[must_use]
pub fn steady(steps: &[i64], stalls: Stalls) -> Option<Steady> {
    if steps.len() < warmup::FEWEST {
        return None;
    }
    let warmup = warmup::warmup(steps);
    let (before, rest) = steps.split_at(warmup.steps);
    let usual = median(rest);
    let is_stall = |ns: &&i64| **ns as f64 > STALL * usual as f64;
    let stalled: Vec<i64> = rest.iter().filter(is_stall).copied().collect();
    let rhythm = outliers(rest).and_then(|found| found.period);
    let rare = stalled.len() as f64 <= RARE * rest.len() as f64;
    let set_aside = !stalled.is_empty()
        && match stalls {
            Stalls::SetAside => rare && rhythm.is_none(),
            Stalls::Always => stalled.len() < rest.len() / 2,
            Stalls::Keep => false,
        };
    let kept: Vec<f64> = rest.iter().filter(|ns| !(set_aside && is_stall(ns))).map(|&ns| ns as f64).collect();
    let (mean, _) = mean_and_deviation(&kept);
    let mean_ns = mean.round() as i64;
    let mut sorted = rest.to_vec();
    sorted.sort_unstable();
    let long = stalled.len();
    let stalls = if set_aside { &stalled[..] } else { &[] };
    Some(Steady {
        warmup_steps: warmup.steps,
        warmup_ns: before.iter().sum(),
        settled: warmup.settled,
        count: rest.len(),
        mean_ns,
        interval_ns: interval(&kept),
        long,
        stalls: stalls.len(),
        stalls_ns: stalls.iter().map(|ns| ns - mean_ns).sum(),
        rhythm,
        quantiles_ns: [0.0, 0.1, 0.5, 0.9, 0.99, 1.0].map(|share| quantile(&sorted, share)),
    })
}

/// The interval of the mean, from the means of batches.
fn interval(kept: &[f64]) -> Option<(i64, i64)> {
    let size = kept.len() / BATCHES;
    if size == 0 {
        return None;
    }
    let means: Vec<f64> =
        kept.chunks_exact(size).take(BATCHES).map(|batch| mean_and_deviation(batch).0).collect();
    let (_, deviation) = mean_and_deviation(&means);
    let half = student(1.0 - LEVEL, BATCHES - 1) * deviation / (BATCHES as f64).sqrt();
    let (mean, _) = mean_and_deviation(kept);
    Some(((mean - half).max(0.0).round() as i64, (mean + half).round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(count: i64) -> Vec<i64> {
        (0..count).map(|at| 1_000 + at * 7_919 % 101).collect()
    }

    #[test]
    fn rare_stalls_are_set_aside_and_said() {
        let mut steps = series(200);
        steps[120] = 50_000;
        steps[177] = 9_000;
        let found = steady(&steps, Stalls::SetAside).unwrap_or_default();
        assert_eq!(found.stalls, 2);
        assert!((1_045..1_055).contains(&found.mean_ns), "{found:?}");
        assert!((56_000..58_000).contains(&found.stalls_ns), "{found:?}");
        assert_eq!(found.quantiles_ns[5], 50_000, "the distribution hides nothing");
        let kept = steady(&steps, Stalls::Keep).unwrap_or_default();
        assert!(kept.stalls == 0 && kept.mean_ns > 1_250, "{kept:?}");
    }

    #[test]
    fn what_comes_back_or_is_frequent_is_the_programs_own() {
        let mut saving = series(200);
        saving.iter_mut().skip(29).step_by(50).for_each(|ns| *ns = 9_000);
        let found = steady(&saving, Stalls::SetAside).unwrap_or_default();
        assert_eq!((found.stalls, found.rhythm), (0, Some(50)));
        assert!(found.mean_ns > 1_150, "{found:?}");
        // Bursts of a loader: a third of the steps waits.
        let bursts: Vec<i64> = (0..200).map(|at| if at * 7 % 20 < 6 { 9_000 } else { 100 }).collect();
        let found = steady(&bursts, Stalls::SetAside).unwrap_or_default();
        assert!(found.stalls == 0 && found.mean_ns > 2_000, "{found:?}");
    }

    #[test]
    fn the_interval_holds_the_mean_and_few_steps_have_none() {
        let found = steady(&series(300), Stalls::SetAside).unwrap_or_default();
        assert!(found.interval_ns.is_some_and(|(low, high)| low <= found.mean_ns && found.mean_ns <= high));
        assert!(found.warmup_steps + found.count == 300 && found.settled);
        assert_eq!(steady(&series(9), Stalls::SetAside), None);
    }
}
