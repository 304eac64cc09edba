//! When the time of a run's steps changes for good: a self-starting cumulative sum.
//!
//! After Hawkins, *Self-starting CUSUM charts for location and scale* (The Statistician 36, 1987): each value is
//! compared with the mean and deviation of those before it, which under no change gives a Student's t; that is turned
//! into a standard normal score (Wallace, *Bounds on normal approximations to Student's and the chi-square
//! distributions*, 1959), and the scores are summed in both directions with the usual reference value of half a
//! deviation. No level need be known beforehand. Values are logarithms of times: a change is a factor.
//!
//! The limit is not chosen by eye: it follows from the false alarms that are accepted, one in [`FALSE_ALARM_AFTER`]
//! values, by Siegmund's approximation for the average run length (*Sequential Analysis*, 1985). Scores are cut off at
//! ±[`CUT`]: one odd value is no change, however odd.

/// Values after which a false alarm is expected, on average, of a run whose steps do not change: 69 days of one value
/// a minute.
pub(crate) const FALSE_ALARM_AFTER: f64 = 100_000.0;
/// Reference value: half of the shift, in deviations, that is found fastest.
const REFERENCE: f64 = 0.5;
/// Largest score.
const CUT: f64 = 3.0;
/// Values before scores begin: fewer give no deviation worth the name.
const FEWEST: u64 = 8;

/// The limit of a sum for one false alarm in `after` values, both directions together.
fn limit(after: f64) -> f64 {
    let k = REFERENCE;
    // Each direction alone has twice the run length.
    let run_length = |h: f64| {
        let b = 2.0 * k * (h + 1.166);
        (b.exp() - b - 1.0) / (2.0 * k * k)
    };
    let (mut low, mut high) = (0.0, 60.0);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if run_length(middle) < 2.0 * after {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// A change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Values since it began, the one that gave the alarm among them: where the sum last was zero.
    pub values: usize,
    /// Mean before it, as a time, ns.
    pub before_ns: i64,
    /// Mean since, ns.
    pub after_ns: i64,
}

/// Watches the times of one run.
#[derive(Clone, Debug)]
pub struct Detector {
    limit: f64,
    count: u64,
    mean: f64,
    squares: f64,
    up: Sum,
    down: Sum,
}

/// A sum in one direction, with the values since it last was zero.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    value: f64,
    values: u64,
    total: f64,
}

impl Sum {
    fn add(&mut self, score: f64, log: f64) {
        self.value = (self.value + score - REFERENCE).max(0.0);
        if self.value > 0.0 {
            self.values += 1;
            self.total += log;
        } else {
            *self = Self::default();
        }
    }
}

impl Default for Detector {
    fn default() -> Self {
        Self::with(FALSE_ALARM_AFTER)
    }
}

impl Detector {
    /// One false alarm is expected in `after` values.
    #[must_use]
    pub fn with(after: f64) -> Self {
        Self {
            limit: limit(after),
            count: 0,
            mean: 0.0,
            squares: 0.0,
            up: Sum::default(),
            down: Sum::default(),
        }
    }

    /// The next time of a step, ns, and the error of that estimate relative to it. A change smaller than the error is
    /// none: two estimates of the same steps may differ by as much.
    pub fn next(&mut self, step_ns: i64, error: f64) -> Option<Change> {
        if step_ns <= 0 {
            return None;
        }
        let log = (step_ns as f64).ln();
        if self.count >= FEWEST {
            let n = self.count as f64;
            let floor = (error / 2.0).max(1e-6);
            let deviation = (self.squares / (n - 1.0)).sqrt().max(floor);
            let t = (log - self.mean) / deviation * (n / (n + 1.0)).sqrt();
            let score = normal_score(t, n - 1.0).clamp(-CUT, CUT);
            self.up.add(score, log);
            self.down.add(-score, log);
            for sum in [self.up, self.down] {
                let after = sum.total / sum.values.max(1) as f64;
                if sum.value > self.limit && (after - self.mean_before(&sum)).abs() > error {
                    let before = self.mean_before(&sum);
                    let change = Change {
                        values: usize::try_from(sum.values).unwrap_or(usize::MAX),
                        before_ns: before.exp().round() as i64,
                        after_ns: after.exp().round() as i64,
                    };
                    // The new level is learnt anew.
                    *self = Self { limit: self.limit, ..Self::with_limit(self.limit) };
                    return Some(change);
                }
            }
        }
        self.count += 1;
        let off = log - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (log - self.mean);
        None
    }

    fn with_limit(limit: f64) -> Self {
        Self { limit, count: 0, mean: 0.0, squares: 0.0, up: Sum::default(), down: Sum::default() }
    }

    /// Mean of the values before a sum began. The last value is not in the mean yet, those before it are.
    fn mean_before(&self, sum: &Sum) -> f64 {
        let inside = sum.values.saturating_sub(1);
        let before = self.count.saturating_sub(inside);
        if before == 0 || sum.values == 0 {
            return self.mean;
        }
        let own = sum.total / sum.values as f64 * inside as f64;
        (self.mean * self.count as f64 - own) / before as f64
    }
}

/// The standard normal score that is as rare as `t` of Student's distribution with `freedom` degrees.
fn normal_score(t: f64, freedom: f64) -> f64 {
    let size = (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0) * (freedom * (t * t / freedom).ln_1p()).sqrt();
    size.copysign(t)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Normal numbers, the same every time.
    struct Normal(u64);

    impl Normal {
        fn uniform(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        }

        fn next(&mut self) -> f64 {
            (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
        }
    }

    fn step(normal: &mut Normal, mean_ms: f64, spread: f64) -> i64 {
        (mean_ms * 1e6 * (spread * normal.next()).exp()) as i64
    }

    #[test]
    fn scores_are_those_of_the_tables() {
        // Two-sided 5 % and 1 % points of Student's t are 1.96 and 2.576 as normal scores.
        for (t, freedom, score) in
            [(2.571, 5.0, 1.96), (4.032, 5.0, 2.576), (2.093, 19.0, 1.96), (-2.093, 19.0, -1.96)]
        {
            assert!((normal_score(t, freedom) - score).abs() < 0.02, "{t} {freedom}");
        }
        // Tables of run lengths for a reference of half a deviation: 465 in both directions at a limit of 5.
        assert!((limit(465.0) - 5.0).abs() < 0.05, "{}", limit(465.0));
    }

    #[test]
    fn false_alarms_are_as_rare_as_stated() {
        // At the limit in use an alarm is too rare to be counted in a test: the same rule at one in 500 values.
        const AFTER: f64 = 500.0;
        let (mut normal, mut detector) = (Normal(7), Detector::with(AFTER));
        let values = 400_000;
        let alarms =
            (0..values).filter(|_| detector.next(step(&mut normal, 100.0, 0.02), 0.0).is_some()).count();
        let found = f64::from(values) / alarms as f64;
        assert!((0.6 * AFTER..1.8 * AFTER).contains(&found), "one in {found}");
        // And at the limit in use: none in a fifth of what one is expected in.
        let mut detector = Detector::default();
        let alarms =
            (0..20_000).filter(|_| detector.next(step(&mut normal, 100.0, 0.02), 0.0).is_some()).count();
        assert_eq!(alarms, 0);
    }

    #[test]
    fn a_change_for_good_is_found_with_its_size_and_beginning() {
        for (factor, spread) in [(1.2, 0.03), (1.5, 0.05), (0.7, 0.05)] {
            let (mut normal, mut detector) = (Normal(11), Detector::default());
            for _ in 0..60 {
                assert_eq!(detector.next(step(&mut normal, 100.0, spread), 0.01), None);
            }
            let mut found = None;
            for at in 1..=12 {
                found =
                    detector.next(step(&mut normal, 100.0 * factor, spread), 0.01).map(|change| (at, change));
                if found.is_some() {
                    break;
                }
            }
            let (at, change) = found.unwrap_or_else(|| panic!("no change by {factor}"));
            assert!(change.values.abs_diff(at) <= 2, "{change:?} at {at}");
            let ratio = change.after_ns as f64 / change.before_ns as f64;
            assert!((ratio / factor - 1.0).abs() < 0.1, "{change:?}");
            // The new level is no change any more.
            for _ in 0..60 {
                assert_eq!(detector.next(step(&mut normal, 100.0 * factor, spread), 0.01), None);
            }
        }
    }

    #[test]
    fn odd_values_and_tiny_changes_are_none() {
        let (mut normal, mut detector) = (Normal(3), Detector::default());
        for at in 0..3_000 {
            let mean = if at % 50 == 49 { 5_000.0 } else { 100.0 };
            assert_eq!(detector.next(step(&mut normal, mean, 0.02), 0.01), None, "a stall now and then");
        }
        let mut detector = Detector::default();
        for at in 0..2_000 {
            // Half a percent more from the middle on, estimates good to one percent.
            let factor = if at < 1_000 { 1.0 } else { 1.005 };
            assert_eq!(detector.next(step(&mut normal, 100.0 * factor, 0.001), 0.01), None);
        }
        assert_eq!(detector.next(0, 0.01), None);
        assert_eq!(detector.next(-5, f64::NAN), None);
    }
}
