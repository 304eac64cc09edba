//! Whether new runs are worse than a baseline by more than is allowed: a verdict that a pipeline can act on. No program
//! is started here.
//!
//! Runs differ from each other by more than the steps within one do, so the interval of the change comes from the scatter
//! *between runs*: the logarithms of the figures of both sides, their pooled standard deviation, Student's t with as many
//! degrees of freedom as there are runs beyond the first of each side. Both sides are runs of one program on one machine,
//! so one scatter is taken for both; a baseline of a single run borrows that of the new runs. The scatter is never taken
//! to be less than what the steps within a run leave open: two runs that agree by chance prove little. One run on each
//! side has no scatter at all, and nothing is said. What changed on the machine between the two sides is in no interval.

use serde::{Deserialize, Serialize};

use crate::comparison::Per;
use crate::result::{Basis, Ended, Others, Place, Run, shown};
use crate::stats::losses::{self, Losses, Point};
use crate::stats::{LEVEL, mean_and_deviation, student};

/// More runs than this are never proposed.
const MOST_PROPOSED: usize = 50;
/// Degrees of freedom of the interval of a run's mean: from ten batches.
const WITHIN_FREEDOM: usize = 9;

/// What is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Time of a step, ns; of a sample where steps of both hold different numbers; of the whole program where it shows no
    /// steps.
    #[default]
    Step,
    /// Samples per second.
    Samples,
    /// Tokens per second.
    Tokens,
    /// Highest memory of tensors on the GPU, bytes.
    PeakMemory,
    /// Energy of the GPU for a step, J.
    Energy,
}

impl Metric {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Samples => "samples",
            Self::Tokens => "tokens",
            Self::PeakMemory => "peak-memory",
            Self::Energy => "energy",
        }
    }

    /// More of it is worse.
    #[must_use]
    pub fn is_cost(self) -> bool {
        !matches!(self, Self::Samples | Self::Tokens)
    }

    /// The figure of a run, above 0.
    fn of(self, run: &Run, per: Per) -> Option<f64> {
        let value = match (self, per) {
            (Self::Step, Per::Whole) => Some(run.wall_ns as f64),
            (Self::Step, Per::Sample) => Some(run.step_ns()? as f64 / run.samples_per_step?),
            (Self::Step, Per::Step) => run.step_ns().map(|ns| ns as f64),
            (Self::Samples, _) => run.samples_per_s(),
            (Self::Tokens, _) => run.tokens_per_s(),
            (Self::PeakMemory, _) => run.peak.map(|peak| peak.allocated as f64),
            (Self::Energy, _) => run.energy_per_step_j(),
        };
        value.filter(|value| value.is_finite() && *value > 0.0)
    }
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// What is compared.
    pub metric: Metric,
    /// The regression that is allowed, as a share of the baseline.
    pub limit: f64,
    /// Tolerance of the losses.
    pub tolerance: f64,
    /// Judge also across different machines.
    pub anyway: bool,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The whole interval is within what is allowed.
    Within,
    /// The whole interval is beyond it, or the new runs learn otherwise.
    Regressed,
    /// The evidence does not tell.
    Unclear,
}

impl Answer {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Regressed => "regressed",
            Self::Unclear => "unclear",
        }
    }
}

/// What the answer rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The interval of the change, and the losses where both sides have them.
    Change,
    /// The losses differ.
    Losses,
    /// The interval holds the limit.
    Interval,
    /// One run on each side.
    FewRuns,
    /// Steps were told in different ways.
    Mixed,
    /// Other GPUs or another processor.
    Machine,
    /// The baseline has no such figure.
    NoBaseline,
    /// The new runs have none.
    NoNew,
    /// A new run failed.
    Failed,
    /// The measurement was interrupted.
    Interrupted,
}

/// One side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// What was asked for: a number, a commit, a file.
    pub what: String,
    /// Program and arguments of its first run, with the variables set for it, as one would type them.
    pub command: String,
    /// The commit of its first run; `+` where files differed.
    pub commit: Option<String>,
    /// When its first run began, Unix time, ns.
    pub began: i64,
    /// Figures, one a run: ns, per second, bytes or J.
    pub figures: Vec<f64>,
    /// Their geometric mean.
    pub mean: Option<f64>,
    /// Runs whose step time was still changing.
    pub unsettled: usize,
}

/// The change from the baseline. Shares are of the baseline; below 0 is less.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// New over baseline, less one (geometric means).
    pub change: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Standard deviation between runs, as a share.
    pub scatter: f64,
    /// Degrees of freedom of the interval.
    pub freedom: usize,
}

/// The verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// What is compared.
    pub metric: Metric,
    /// Of what, where time is.
    pub per: Per,
    /// The regression that is allowed.
    pub limit: f64,
    /// The baseline.
    pub baseline: Side,
    /// The new runs.
    pub new: Side,
    /// The change; absent where it cannot be told.
    pub change: Option<Change>,
    /// The answer.
    pub answer: Answer,
    /// What it rests on.
    pub reason: Reason,
    /// So many runs on each side would tell, estimated from the scatter.
    pub enough_runs: Option<usize>,
    /// What differs between the places: name, of the baseline, of the new runs.
    pub differences: Vec<(String, String, String)>,
    /// Whether both learn alike.
    pub losses: Losses,
    /// Tolerance of the losses.
    pub tolerance: f64,
    /// How steps were told.
    pub basis: Option<Basis>,
    /// How the new run that ended it ended.
    pub failed: Option<(Ended, Option<i32>)>,
    /// What this was measured on: the new runs.
    pub place: Place,
    /// Who else was there, in the most disturbed new run.
    pub others: Others,
}

/// A run that can serve as a baseline: it neither failed nor was interrupted.
#[must_use]
pub fn serves(run: &Run) -> bool {
    run.basis.is_some() && !matches!(run.ended, Ended::Failed | Ended::OutOfMemory | Ended::Interrupted)
}

/// Judges `new` against `baseline`, each named.
#[must_use]
pub fn judge(baseline: (&str, &[Run]), new: (&str, &[Run]), question: &Question) -> Gate {
    let (base, runs) = (baseline.1, new.1);
    let per = per(base, runs);
    let of = |(what, runs): (&str, &[Run])| side(what, runs, question.metric, per);
    let (of_base, of_new) = (of(baseline), of(new));
    let (losses, learns_otherwise) = learning(base, runs, question.tolerance, per);
    let change = change(&of_base.figures, &of_new.figures, within(base, runs, question.metric));
    let first = |runs: &[Run]| runs.first().map(|run| run.place.clone()).unwrap_or_default();
    let mut bases = base.iter().chain(runs).map(|run| run.basis);
    let basis = bases.next().flatten();
    let mixed = question.metric != Metric::PeakMemory && bases.any(|other| other != basis);
    let failed = runs.iter().find(|run| !serves(run));
    let other_machine = !question.anyway
        && base.iter().any(|run| runs.iter().any(|new| is_other_machine(&run.place, &new.place)));
    let (answer, reason) = if let Some(run) = failed {
        let interrupted = run.ended == Ended::Interrupted;
        (Answer::Unclear, if interrupted { Reason::Interrupted } else { Reason::Failed })
    } else if of_base.figures.is_empty() {
        (Answer::Unclear, Reason::NoBaseline)
    } else if of_new.figures.is_empty() || of_new.figures.len() < runs.len() {
        (Answer::Unclear, Reason::NoNew)
    } else if other_machine {
        (Answer::Unclear, Reason::Machine)
    } else if learns_otherwise {
        (Answer::Regressed, Reason::Losses)
    } else if mixed {
        (Answer::Unclear, Reason::Mixed)
    } else {
        match &change {
            None => (Answer::Unclear, Reason::FewRuns),
            Some(change) => held_against(change, question),
        }
    };
    let is_near = reason == Reason::Interval;
    let enough_runs = change.filter(|_| is_near).and_then(|change| enough(&change, question));
    let others = runs.iter().map(|run| &run.others).max_by(|x, y| x.cores.total_cmp(&y.cores));
    Gate {
        metric: question.metric,
        per,
        limit: question.limit,
        differences: differences(&first(base), &first(runs), (&of_base.command, &of_new.command)),
        baseline: of_base,
        new: of_new,
        change: change.filter(|_| !mixed),
        answer,
        reason,
        enough_runs,
        losses,
        tolerance: question.tolerance,
        basis,
        failed: failed.map(|run| (run.ended, run.status)),
        place: first(runs),
        others: others.cloned().unwrap_or_default(),
    }
}

/// What a step is held against: itself, or its samples where both sides' steps hold different numbers of them.
fn per(base: &[Run], new: &[Run]) -> Per {
    if base.iter().chain(new).all(|run| run.basis == Some(Basis::Whole)) {
        return Per::Whole;
    }
    let samples = |runs: &[Run]| runs.iter().find_map(|run| run.samples_per_step);
    match samples(base).zip(samples(new)) {
        Some((a, b)) if (a - b).abs() > 1e-9 => Per::Sample,
        _ => Per::Step,
    }
}

fn side(what: &str, runs: &[Run], metric: Metric, per: Per) -> Side {
    let figures: Vec<f64> = runs.iter().filter_map(|run| metric.of(run, per)).collect();
    let logs: Vec<f64> = figures.iter().map(|figure| figure.ln()).collect();
    let first = runs.first();
    Side {
        what: what.to_owned(),
        command: first.map(|run| shown(&run.command, &run.environment, &run.tries)).unwrap_or_default(),
        commit: first.and_then(|run| run.place.revision()),
        began: runs.iter().map(|run| run.began).min().unwrap_or(0),
        mean: (!logs.is_empty()).then(|| mean_and_deviation(&logs).0.exp()),
        figures,
        unsettled: runs.iter().filter_map(|run| run.steady.as_ref()).filter(|steady| !steady.settled).count(),
    }
}

/// What the steps within a run leave open of its figure, as a share: root mean square over the runs; 0 where that says
/// nothing of the metric.
fn within(base: &[Run], new: &[Run], metric: Metric) -> f64 {
    if metric == Metric::PeakMemory {
        return 0.0;
    }
    let t = student(1.0 - LEVEL, WITHIN_FREEDOM);
    let one = |run: &Run| {
        let steady = run.steady.as_ref()?;
        let (low, high) = steady.interval_ns?;
        let share = (high as f64 - low as f64) / 2.0 / t / steady.mean_ns as f64;
        (share.is_finite() && share > 0.0).then_some(share * share)
    };
    let squares: Vec<f64> = base.iter().chain(new).filter_map(one).collect();
    mean_and_deviation(&squares).0.sqrt()
}

/// The change between the figures of both sides. `None` of one run each.
fn change(base: &[f64], new: &[f64], within: f64) -> Option<Change> {
    let freedom = (base.len() + new.len()).checked_sub(2).filter(|freedom| *freedom > 0)?;
    if base.is_empty() || new.is_empty() {
        return None;
    }
    let logs = |figures: &[f64]| figures.iter().map(|figure| figure.ln()).collect::<Vec<_>>();
    let ((mean_a, off_a), (mean_b, off_b)) =
        (mean_and_deviation(&logs(base)), mean_and_deviation(&logs(new)));
    let squares = |off: f64, count: usize| off * off * (count as f64 - 1.0);
    let pooled = ((squares(off_a, base.len()) + squares(off_b, new.len())) / freedom as f64).sqrt();
    let scatter = pooled.max(within);
    let half =
        student(1.0 - LEVEL, freedom) * scatter * (1.0 / base.len() as f64 + 1.0 / new.len() as f64).sqrt();
    let mean = mean_b - mean_a;
    // Beyond this, figures of a damaged file would overflow.
    let share = |log: f64| log.clamp(-700.0, 700.0).exp_m1();
    Some(Change {
        change: share(mean),
        low: share(mean - half),
        high: share(mean + half),
        scatter: share(scatter),
        freedom,
    })
}

/// The limit as the figure has it: above the baseline for a cost, below it for a rate.
fn bound(question: &Question) -> f64 {
    if question.metric.is_cost() { question.limit } else { -question.limit }
}

fn held_against(change: &Change, question: &Question) -> (Answer, Reason) {
    let bound = bound(question);
    let (is_within, is_beyond) = if question.metric.is_cost() {
        (change.high <= bound, change.low > bound)
    } else {
        (change.low >= bound, change.high < bound)
    };
    match (is_within, is_beyond) {
        (true, _) => (Answer::Within, Reason::Change),
        (_, true) => (Answer::Regressed, Reason::Change),
        _ => (Answer::Unclear, Reason::Interval),
    }
}

/// Runs on each side with which an interval of this scatter would no longer hold the limit.
fn enough(change: &Change, question: &Question) -> Option<usize> {
    let distance = (change.change.ln_1p() - bound(question).ln_1p()).abs();
    let scatter = change.scatter.ln_1p();
    let tells = |runs: &usize| {
        let half = student(1.0 - LEVEL, 2 * runs - 2) * scatter * (2.0 / *runs as f64).sqrt();
        half < distance
    };
    (2..=MOST_PROPOSED).find(tells)
}

/// Whether both learn alike, and whether that is a regression. Training that is not seeded differs from itself: where a
/// side is one run, what single runs of the other are apart is allowed, and of one run each nothing is concluded.
fn learning(base: &[Run], new: &[Run], tolerance: f64, per: Per) -> (Losses, bool) {
    let trajectories = |runs: &[Run]| -> Vec<Vec<Point>> {
        let samples = |run: &Run| if per == Per::Sample { run.samples_per_step.unwrap_or(1.0) } else { 1.0 };
        let scaled =
            |run: &Run| run.losses.iter().map(|(at, loss)| (at * samples(run), *loss)).collect::<Vec<_>>();
        runs.iter().map(scaled).filter(|losses| !losses.is_empty()).collect()
    };
    let (a, b) = (trajectories(base), trajectories(new));
    let found = losses::compare(&a, &b, tolerance);
    let forbids = match found {
        Losses::NotANumber { .. } => !a.is_empty(),
        Losses::Differ(_) => {
            a.len() + b.len() > 2 && matches!(losses::compare(&b, &a, tolerance), Losses::Differ(_))
        }
        _ => false,
    };
    (found, forbids)
}

/// Figures of one say nothing of the other: other models of GPUs, a GPU and none, another processor.
fn is_other_machine(a: &Place, b: &Place) -> bool {
    let models = |place: &Place| {
        let mut models = place.gpus.clone();
        models.sort_unstable();
        models.dedup();
        models
    };
    let both = a.processor.as_ref().zip(b.processor.as_ref());
    models(a) != models(b) || both.is_some_and(|(a, b)| a != b)
}

/// What differs beside the commit, which is what a gate is about.
fn differences(a: &Place, b: &Place, commands: (&str, &str)) -> Vec<(String, String, String)> {
    let mut found = a.differences(b);
    found.retain(|(name, ..)| name != "commit");
    if commands.0 != commands.1 {
        found.insert(0, ("command".to_owned(), commands.0.to_owned(), commands.1.to_owned()));
    }
    found
}

#[cfg(test)]
mod tests;
