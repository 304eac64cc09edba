//! How often a paired comparison is wrong: thousands of experiments on step times that were recorded of real
//! programs (`testdata/`). A run is a stretch of the recording with a slow start put before it; the two runs of a pair
//! follow each other there, as they would on the machine. B's steps are the recorded ones, times the planted effect.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

mod recorded;

use whyidle_experiment::stats::paired::{Answer, COUNTS, MOST_PAIRS, Plan, b_first, effect};
use whyidle_experiment::stats::steady::{Stalls, steady};

use recorded::{Dice, RECORDINGS, recording};

/// Experiments per recording and effect.
const EXPERIMENTS: usize = 1_000;
/// Steps of a run.
const STEPS: usize = 600;

/// The steady step time that a run over these steps would show, with a planted effect.
fn run(noise: &[i64], times: f64) -> i64 {
    let usual = noise[0];
    let start = [40, 5, 3, 2].map(|slow| slow * usual);
    let steps: Vec<i64> = start.iter().chain(noise).map(|&ns| (ns as f64 * times) as i64).collect();
    steady(&steps, Stalls::SetAside).unwrap().mean_ns
}

/// What an experiment with B `times` as long finds, and after how many pairs.
fn experiment(noise: &[i64], times: f64, dice: &mut Dice) -> (Answer, usize) {
    let plan = Plan::new(MOST_PAIRS, COUNTS);
    let mut ratios = Vec::new();
    loop {
        let at = dice.roll(noise.len() - 2 * STEPS);
        let (first, second) = noise[at..at + 2 * STEPS].split_at(STEPS);
        let (a, b) = if b_first(ratios.len()) { (second, first) } else { (first, second) };
        ratios.push(run(b, times) as f64 / run(a, 1.0) as f64);
        if let Some(found) = effect(&ratios, &plan).filter(|found| found.is_final) {
            return (found.answer, found.pairs);
        }
    }
}

/// Shares of experiments that say faster and slower, and the mean number of pairs.
fn shares(noise: &[i64], times: f64) -> (f64, f64, f64) {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let found: Vec<(Answer, usize)> = (0..EXPERIMENTS).map(|_| experiment(noise, times, &mut dice)).collect();
    let share =
        |wanted| found.iter().filter(|(answer, _)| *answer == wanted).count() as f64 / EXPERIMENTS as f64;
    let pairs = found.iter().map(|(_, pairs)| *pairs as f64).sum::<f64>() / EXPERIMENTS as f64;
    (share(Answer::Faster), share(Answer::Slower), pairs)
}

#[test]
fn a_program_against_itself_is_rarely_faster_or_slower() {
    for name in RECORDINGS {
        let (faster, slower, pairs) = shares(&recording(name), 1.0);
        assert!(faster + slower <= 0.05, "{name}: faster {faster}, slower {slower}, {pairs} pairs");
    }
}

#[test]
fn a_tenth_more_or_less_is_found() {
    for name in RECORDINGS {
        let noise = recording(name);
        for times in [0.9, 1.1] {
            let (faster, slower, pairs) = shares(&noise, times);
            let (right, wrong) = if times < 1.0 { (faster, slower) } else { (slower, faster) };
            assert!(right >= 0.9 && wrong <= 0.001, "{name}: {right}, wrongly {wrong}, {pairs} pairs");
        }
    }
}
