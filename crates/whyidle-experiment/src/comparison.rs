//! Two programs, compared by runs in pairs: from runs to what they say. No program is started here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whyidle_readers::progress::tries::Tried;

use crate::history::ComeTo;
use crate::result::{Basis, Others, Run, shown};
use crate::stats::losses::{self, Losses, Point};
use crate::stats::paired::{Effect, Plan, effect};
use crate::stats::steady::{RARE, Stalls, steady};
use crate::tries::Try;

/// What is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// The time of a step.
    #[default]
    Step,
    /// The time of a sample: steps of A and of B hold different numbers of them.
    Sample,
    /// The time of the whole program, which showed no steps.
    Whole,
}

impl Per {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Sample => "sample",
            Self::Whole => "whole",
        }
    }
}

/// How a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// With an answer, or after the most pairs.
    Done,
    /// The user interrupted.
    Interrupted,
    /// A program failed, or showed nothing to compare.
    Failed,
}

impl Finish {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// One side of a comparison. Times are ns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Variables that were set for it.
    pub environment: BTreeMap<String, String>,
    /// Changes that were tried in it.
    #[serde(default)]
    pub tries: Vec<Try>,
    /// What became of them, in its first run.
    #[serde(default)]
    pub tried: Vec<Tried>,
    /// Time beyond that of its steps until they were steady, median over its runs.
    #[serde(default)]
    pub overhead_ns: Option<i64>,
    /// Geometric mean, over its runs, of the step time; of the whole program where that is compared.
    pub step_ns: Option<i64>,
    /// Samples of a step.
    pub samples_per_step: Option<f64>,
    /// Runs.
    pub runs: usize,
    /// Steps longer than three times their run's median, in all runs.
    pub stalls: usize,
    /// What they took beyond the mean, where they were set aside.
    pub stalls_ns: i64,
    /// Runs whose step time was still changing.
    pub unsettled: usize,
}

/// A pair of runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// A's time of what is compared, ns.
    pub a_ns: f64,
    /// B's.
    pub b_ns: f64,
}

/// A comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// When it began, Unix time, ns.
    pub began: i64,
    /// The program as it is.
    pub a: Side,
    /// The program with the change.
    pub b: Side,
    /// B is A: what is judged is the machine.
    pub self_test: bool,
    /// Two single runs from the history or from recordings: not run for this, and not in pairs.
    pub apart: bool,
    /// What differs between their surroundings: name, with A, with B.
    pub differences: Vec<(String, String, String)>,
    /// What is compared.
    pub per: Per,
    /// How steps were told.
    pub basis: Option<Basis>,
    /// Some runs told their steps in another way than others: nothing is compared.
    pub mixed: bool,
    /// The pairs.
    pub pairs: Vec<Pair>,
    /// The effect; absent for fewer than six pairs.
    pub effect: Option<Effect>,
    /// Pairs at most.
    pub most_pairs: usize,
    /// The smallest effect that counts.
    pub counts: f64,
    /// Stalls were set aside.
    pub stalls_set_aside: bool,
    /// Whether both learn alike.
    pub losses: Losses,
    /// Tolerance of the losses.
    pub tolerance: f64,
    /// Who else was there, in the most disturbed run.
    pub others: Others,
    /// How it ended; absent while it goes on, and if it was cut off.
    pub ended: Option<Finish>,
}

impl Comparison {
    /// Both commands, as one would type them.
    #[must_use]
    pub fn shown(&self) -> String {
        let [a, b] = [&self.a, &self.b].map(|side| shown(&side.command, &side.environment, &side.tries));
        format!("A: {a}  B: {b}")
    }

    /// What a list shows of it.
    #[must_use]
    pub(crate) fn come_to(&self) -> ComeTo {
        let effect = self.effect.as_ref();
        ComeTo {
            step_ns: self.a.step_ns,
            effect: effect.map(|effect| effect.effect),
            answer: effect.map(|effect| effect.answer.id()),
            ended: self.ended,
        }
    }

    /// Two single runs, side by side: nothing tells the program from the machine.
    #[must_use]
    pub fn apart(a: &Run, b: &Run, plan: &Plan, tolerance: f64) -> Self {
        let of = |run: &Run| Side {
            command: run.command.clone(),
            environment: run.environment.clone(),
            tries: run.tries.clone(),
            ..Side::default()
        };
        let differences = a.place.differences(&b.place);
        let mut found = Self {
            began: a.began,
            a: of(a),
            b: of(b),
            apart: true,
            differences,
            tolerance,
            ..Self::default()
        };
        found.judge(std::slice::from_ref(a), std::slice::from_ref(b), plan);
        found
    }

    /// Takes in the runs of so many pairs, A's and B's in order; what was said before is said anew.
    pub fn judge(&mut self, a: &[Run], b: &[Run], plan: &Plan) {
        (self.most_pairs, self.counts) = (plan.most(), plan.counts());
        let runs = || a.iter().chain(b);
        let mut bases = runs().map(|run| run.basis);
        self.basis = bases.next().flatten();
        self.mixed = bases.any(|basis| basis != self.basis);
        let stalls = rule(&[a, b]);
        self.stalls_set_aside = stalls == Stalls::Always;
        let (of_a, of_b) = (times(a, stalls), times(b, stalls));
        (self.a, self.b) = (side(&self.a, a, &of_a), side(&self.b, b, &of_b));
        let samples = self.a.samples_per_step.zip(self.b.samples_per_step);
        self.per = match (self.basis, samples) {
            (Some(Basis::Whole), _) => Per::Whole,
            (_, Some((a, b))) if (a - b).abs() > 1e-9 => Per::Sample,
            _ => Per::Step,
        };
        let (share_a, share_b) = match (self.per, samples) {
            (Per::Sample, Some((a, b))) => (a, b),
            _ => (1.0, 1.0),
        };
        let pair = |(a, b): (&Timed, &Timed)| Some(Pair { a_ns: a.ns? / share_a, b_ns: b.ns? / share_b });
        let complete = if self.mixed { 0 } else { of_a.len().min(of_b.len()) };
        self.pairs = of_a.iter().zip(&of_b).take(complete).filter_map(pair).collect();
        let ratios: Vec<f64> = self.pairs.iter().map(|pair| pair.b_ns / pair.a_ns).collect();
        self.effect = effect(&ratios, plan);
        let trajectories = |runs: &[Run], samples: f64| -> Vec<Vec<Point>> {
            let scaled = |run: &Run| run.losses.iter().map(|(at, loss)| (at * samples, *loss)).collect();
            runs.iter().map(scaled).collect()
        };
        self.losses = losses::compare(&trajectories(a, share_a), &trajectories(b, share_b), self.tolerance);
        let disturbed = runs().map(|run| &run.others).max_by(|x, y| x.cores.total_cmp(&y.cores));
        self.others = disturbed.cloned().unwrap_or_default();
        self.others.on_gpu = runs().flat_map(|run| run.others.on_gpu.clone()).collect();
        self.others.on_gpu.sort_unstable();
        self.others.on_gpu.dedup();
    }
}

/// Stalls are set aside in all runs, or in none: whether they are rare is asked of each side as a whole.
pub(crate) fn rule(sides: &[&[Run]]) -> Stalls {
    let rare = |runs: &[Run]| {
        let steadies = || runs.iter().filter_map(|run| run.steady.as_ref());
        let (long, all) = steadies().fold((0, 0), |(long, all), s| (long + s.long, all + s.count));
        let rhythmic = steadies().filter(|steady| steady.rhythm.is_some()).count();
        long as f64 <= RARE * all as f64 && rhythmic * 2 <= runs.len()
    };
    if sides.iter().all(|runs| rare(runs)) { Stalls::Always } else { Stalls::Keep }
}

/// What is taken from a run.
pub(crate) struct Timed {
    /// Of a step, or of the whole program.
    pub(crate) ns: Option<f64>,
    stalls: usize,
    stalls_ns: i64,
    settled: bool,
}

/// The time of each run; of a step, where it showed any.
pub(crate) fn times(runs: &[Run], stalls: Stalls) -> Vec<Timed> {
    let one = |run: &Run| {
        // Of a run from the history only the figures are left.
        let anew = steady(&run.series, stalls).or_else(|| run.steady.clone());
        match (run.basis, anew) {
            (Some(Basis::Whole), _) => {
                Timed { ns: Some(run.wall_ns as f64), stalls: 0, stalls_ns: 0, settled: true }
            }
            (_, Some(steady)) => Timed {
                ns: Some(steady.mean_ns as f64).filter(|ns| *ns > 0.0),
                stalls: steady.long,
                stalls_ns: steady.stalls_ns,
                settled: steady.settled,
            },
            (_, None) => Timed { ns: None, stalls: 0, stalls_ns: 0, settled: false },
        }
    };
    runs.iter().map(one).collect()
}

fn side(so_far: &Side, runs: &[Run], times: &[Timed]) -> Side {
    let logs: Vec<f64> = times.iter().filter_map(|timed| timed.ns).map(f64::ln).collect();
    let mean =
        (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp().round() as i64);
    let mut overheads: Vec<i64> = runs.iter().filter_map(Run::overhead_ns).collect();
    overheads.sort_unstable();
    Side {
        tried: runs.first().map(|run| run.tried.clone()).unwrap_or_default(),
        overhead_ns: overheads.get(overheads.len() / 2).copied(),
        step_ns: mean,
        samples_per_step: runs.iter().find_map(|run| run.samples_per_step),
        runs: runs.len(),
        stalls: times.iter().map(|timed| timed.stalls).sum(),
        stalls_ns: times.iter().map(|timed| timed.stalls_ns).sum(),
        unsettled: times.iter().filter(|timed| !timed.settled).count(),
        ..so_far.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::paired::{Answer, COUNTS};

    /// A run of 100 steps of about `ms`.
    fn run(ms: i64, seed: i64, samples: f64) -> Run {
        let series: Vec<i64> =
            (0..100).map(|at| ms * (1_000_000 + (at * 7_919 + seed * 31) % 20_011)).collect();
        Run {
            basis: Some(Basis::Hook),
            steady: steady(&series, Stalls::SetAside),
            samples_per_step: Some(samples),
            losses: (0..20).map(|at| (f64::from(at), 3.0 - f64::from(at) * samples / 1_000.0)).collect(),
            series,
            ..Run::default()
        }
    }

    fn judged(a: impl Fn(i64) -> Run, b: impl Fn(i64) -> Run) -> Comparison {
        let mut comparison = Comparison { tolerance: losses::TOLERANCE, ..Comparison::default() };
        let runs = |of: &dyn Fn(i64) -> Run| (0..6).map(of).collect::<Vec<_>>();
        comparison.judge(&runs(&a), &runs(&b), &Plan::new(20, COUNTS));
        comparison
    }

    fn answer(comparison: &Comparison) -> Option<Answer> {
        comparison.effect.map(|effect| effect.answer)
    }

    #[test]
    fn a_faster_program_is_found_and_learns_alike() {
        let found = judged(|seed| run(100, seed, 16.0), |seed| run(80, seed + 6, 16.0));
        assert_eq!((answer(&found), found.per, found.pairs.len()), (Some(Answer::Faster), Per::Step, 6));
        assert!(matches!(found.losses, Losses::Alike(_)), "{:?}", found.losses);
    }

    #[test]
    fn a_larger_batch_is_judged_by_the_sample() {
        // Steps of B are half as long again, and hold twice as much.
        let found = judged(|seed| run(100, seed, 16.0), |seed| run(150, seed + 6, 32.0));
        assert_eq!((answer(&found), found.per), (Some(Answer::Faster), Per::Sample));
        assert!(found.effect.is_some_and(|effect| (effect.effect + 0.25).abs() < 0.01), "{found:?}");
        assert!(matches!(found.losses, Losses::Alike(_)), "over the same samples: {:?}", found.losses);
    }

    #[test]
    fn stalls_of_one_run_do_not_decide_and_frequent_ones_stay() {
        let stalled = |seed: i64, every: usize| {
            let mut run = run(100, seed, 16.0);
            // Without a rhythm.
            (0..100 / every).for_each(|n| run.series[(n * every + n * n * 7) % 100] = 2_000_000_000);
            run.steady = steady(&run.series, Stalls::SetAside);
            run
        };
        let rare = judged(
            |seed| run(100, seed, 16.0),
            |seed| if seed == 2 { stalled(seed, 30) } else { run(100, seed + 6, 16.0) },
        );
        assert_eq!((answer(&rare), rare.stalls_set_aside), (Some(Answer::Alike), true));
        // The third one is the first step, which is warm-up.
        assert!(rare.b.stalls == 2 && rare.b.stalls_ns > 3_000_000_000, "{:?}", rare.b);
        let frequent = judged(|seed| run(100, seed, 16.0), |seed| stalled(seed, 8));
        assert_eq!((answer(&frequent), frequent.stalls_set_aside), (Some(Answer::Slower), false));
    }

    #[test]
    fn runs_told_in_different_ways_are_not_compared() {
        let found = judged(
            |seed| run(100, seed, 16.0),
            |seed| Run { basis: Some(Basis::PrintedSteps), ..run(80, seed, 16.0) },
        );
        assert!(found.mixed && found.effect.is_none());
    }
}
