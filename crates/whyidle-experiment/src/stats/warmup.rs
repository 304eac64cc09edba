//! How many steps at the start of a run are not like the rest: compilation, caches, run-ahead of the host.
//!
//! The rule is MSER-5 (White, Cobb, Spratt 2000, "A comparison of five steady-state truncation heuristics for
//! simulation"): the series is cut where the squared standard error of the mean of what remains is smallest, over
//! batches of five steps, and never in its second half. Two things differ: a batch stands for its median, so that one
//! stall does not move the cut, and a step that stands out right after the cut is counted to the warm-up too, since
//! the first step of a run often is thirty times any other and alone in its batch.

use super::{mean_and_deviation, median};

/// Steps of a batch, where there are enough of them.
const BATCH: usize = 5;
/// Fewer steps do not tell a warm-up from a steady state.
pub(crate) const FEWEST: usize = 10;
/// A step of more than this times the median of the later half, or less than its inverse, stands out.
const STANDS_OUT: f64 = 1.5;
/// A change from the first to the second half of the steady steps by less than this does not matter.
const DRIFT: f64 = 0.05;
/// So many standard errors make a change one that is there.
const ERRORS: f64 = 4.0;

/// The start of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Warmup {
    /// Steps at the start that are not like the rest.
    pub(crate) steps: usize,
    /// The rest is steady: the cut does not lie at the last place where it may lie, and the step time no longer
    /// changes from one half of the rest to the other by more than 5 % and four standard errors.
    pub(crate) settled: bool,
}

/// The warm-up in a series of step times, ns.
#[must_use]
pub(crate) fn warmup(steps: &[i64]) -> Warmup {
    if steps.len() < FEWEST {
        return Warmup { steps: 0, settled: false };
    }
    let size = (steps.len() / FEWEST).clamp(1, BATCH);
    let batches: Vec<f64> = steps.chunks_exact(size).map(|batch| median(batch) as f64).collect();
    let (cut, is_last) = cut(&batches);
    let mut first = cut * size;
    let usual = median(&steps[steps.len() / 2..]) as f64;
    let stands_out = |ns: i64| ns as f64 > STANDS_OUT * usual || (ns as f64) < usual / STANDS_OUT;
    // A rhythm of long and short steps is no warm-up.
    let rare = steps[steps.len() / 2..].iter().filter(|ns| stands_out(**ns)).count() * 20 < steps.len();
    if rare {
        while let Some(next) = (first..(first + size).min(steps.len() / 2)).find(|&at| stands_out(steps[at]))
        {
            first = next + 1;
        }
    }
    Warmup { steps: first, settled: !is_last && !drifts(&batches[cut..]) }
}

/// Where to cut, in batches, and whether that is the last place allowed.
fn cut(batches: &[f64]) -> (usize, bool) {
    let count = batches.len();
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    // From the end, so that the sums grow; the earliest of equals wins.
    for at in (0..count).rev() {
        // Relative to the last batch: squares of large figures would cancel badly.
        let value = batches[at] - batches[count - 1];
        sum += value;
        squares += value * value;
        let rest = (count - at) as f64;
        let error = (squares - sum * sum / rest).max(0.0) / (rest * rest);
        if at <= count / 2 && error <= best.0 {
            best = (error, at);
        }
    }
    (best.1, best.1 == count / 2)
}

/// The two halves differ, beyond what either of them varies.
fn drifts(batches: &[f64]) -> bool {
    let (first, second) = batches.split_at(batches.len() / 2);
    if first.len() < 3 {
        return false;
    }
    let ((a, sa), (b, sb)) = (mean_and_deviation(first), mean_and_deviation(second));
    let error = (sa * sa / first.len() as f64 + sb * sb / second.len() as f64).sqrt();
    (b - a).abs() > DRIFT * a.max(b) && (b - a).abs() > ERRORS * error
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A steady series around 50 ms that varies by 2 %.
    fn steady(count: i64) -> Vec<i64> {
        (0..count).map(|at| 50 * MS + (at * 7_919 % 101 - 50) * MS / 50).collect()
    }

    #[test]
    fn a_steady_series_has_no_warm_up() {
        let found = warmup(&steady(100));
        assert!(found.steps <= 10 && found.settled, "{found:?}");
    }

    #[test]
    fn the_first_step_and_a_slow_start_are_found() {
        for slow in [1, 3, 8, 20] {
            let mut steps = steady(100);
            for (at, ns) in steps.iter_mut().take(slow).enumerate() {
                *ns = if at == 0 { 9_000 * MS } else { 80 * MS };
            }
            let found = warmup(&steps);
            assert!(found.settled && (slow..slow + 12).contains(&found.steps), "{slow}: {found:?}");
        }
    }

    #[test]
    fn run_ahead_is_warm_up_too() {
        let mut steps = steady(100);
        steps[..6].fill(6 * MS);
        let found = warmup(&steps);
        assert!((6..16).contains(&found.steps), "{found:?}");
    }

    #[test]
    fn one_stall_does_not_move_the_cut() {
        let mut steps = steady(100);
        steps[37] = 4_000 * MS;
        let found = warmup(&steps);
        assert!(found.steps <= 10 && found.settled, "{found:?}");
    }

    #[test]
    fn a_step_time_that_keeps_changing_is_not_steady() {
        let falling: Vec<i64> = (0..100).map(|at| 200 * MS - at * MS).collect();
        assert!(!warmup(&falling).settled);
        assert!(!warmup(&steady(9)).settled);
    }

    #[test]
    fn a_rhythm_is_no_warm_up() {
        // Two workers: every second step waits.
        let steps: Vec<i64> = (0..100).map(|at| if at % 2 == 0 { 90 * MS } else { 10 * MS }).collect();
        let found = warmup(&steps);
        assert!(found.steps <= 10 && found.settled, "{found:?}");
    }
}
