//! Runs two programs in pairs, in alternating order, until the answer is clear or the most pairs were run.

use std::path::{Path, PathBuf};

use whyidle_observe::captured::Requests;
use whyidle_observe::clock;

use crate::comparison::{Comparison, Finish, Per};
use crate::history::{History, HistoryError, Kind};
use crate::measure::{MeasureError, Status, Wanted, measure};
use crate::result::{Ended, Run, without_secrets};
use crate::stats::paired::{Effect, Plan, b_first};

/// Fewer steps of the other program are never asked for.
const FEWEST_STEPS: usize = 20;

/// What to compare.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The program as it is, and the program with the change. Logs are named anew for each run.
    pub sides: [Wanted; 2],
    /// B is A.
    pub self_test: bool,
    /// When to look, and what counts.
    pub plan: Plan,
    /// Tolerance of the losses.
    pub tolerance: f64,
    /// Stop after a look at which B is not faster by what counts: what is asked is only whether to keep it.
    pub gives_up: bool,
    /// The folder for the output of each run.
    pub logs: PathBuf,
}

/// What happens meanwhile.
#[derive(Debug)]
pub enum Event<'a> {
    /// A run goes on: the pair from 0, B, how far.
    Running(usize, bool, &'a Status),
    /// A run is over: the pair, B, the run.
    Ran(usize, bool, &'a Run),
}

/// Why a comparison could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A program could not be measured.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The history could not be written.
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// A comparison that is over.
#[derive(Debug)]
pub struct Compared {
    /// What the pairs say.
    pub comparison: Comparison,
    /// Its number in the history.
    pub id: i64,
    /// The run that ended it: it failed, or showed nothing to compare. With B: true.
    pub failed: Option<(bool, Box<Run>)>,
}

/// Compares the programs. Each run is written to the history when it is over; an interruption leaves what there is.
///
/// # Errors
/// Where a program cannot be started, or the history not be written.
pub fn compare(
    programs: &Programs,
    history: &mut History,
    requests: &Requests,
    tell: &mut dyn FnMut(&Event<'_>),
) -> Result<Compared, CompareError> {
    let mut comparison = Comparison {
        began: clock::now_ns(),
        self_test: programs.self_test,
        tolerance: programs.tolerance,
        most_pairs: programs.plan.most(),
        counts: programs.plan.counts(),
        ..Comparison::default()
    };
    for (side, wanted) in [&mut comparison.a, &mut comparison.b].into_iter().zip(&programs.sides) {
        (side.command, side.environment, side.tries) =
            without_secrets(&wanted.command, &wanted.environment, &wanted.tries);
    }
    let id = history.begin(Kind::Comparison, comparison.began, comparison.shown(), &comparison)?;
    let mut runs: [Vec<Run>; 2] = [Vec::new(), Vec::new()];
    let mut failed = None;
    let mut ended = Finish::Done;
    'pairs: for pair in 0..programs.plan.most() {
        for is_b in if b_first(pair) { [true, false] } else { [false, true] } {
            let mut wanted = programs.sides[usize::from(is_b)].clone();
            let label = format!("{}{}", if is_b { "B" } else { "A" }, pair + 1);
            wanted.log = log(&programs.logs, &format!("{id}-{label}"));
            wanted.steps = steps(wanted.steps, is_b, &comparison);
            let run = measure(&wanted, requests, &mut |status| tell(&Event::Running(pair, is_b, status)))?;
            history.add_run(&run, Some((id, &label)))?;
            tell(&Event::Ran(pair, is_b, &run));
            if run.ended == Ended::Interrupted {
                ended = Finish::Interrupted;
                break 'pairs;
            }
            let is_usable = run.basis.is_some() && !matches!(run.ended, Ended::Failed | Ended::OutOfMemory);
            if !is_usable {
                (failed, ended) = (Some((is_b, Box::new(run))), Finish::Failed);
                break 'pairs;
            }
            runs[usize::from(is_b)].push(run);
        }
        let [a, b] = &runs;
        comparison.judge(a, b, &programs.plan);
        history.go_on(id, &comparison.come_to(), &comparison)?;
        if comparison.mixed {
            ended = Finish::Failed;
            break;
        }
        let gives_up = |effect: &Effect| {
            programs.gives_up && effect.pairs == pair + 1 && effect.effect > -programs.plan.counts()
        };
        if comparison.effect.is_some_and(|effect| effect.is_final || gives_up(&effect)) {
            break;
        }
    }
    comparison.ended = Some(ended);
    history.go_on(id, &comparison.come_to(), &comparison)?;
    Ok(Compared { comparison, id, failed })
}

/// Steps of B that hold as many samples as A's.
fn steps(asked: usize, is_b: bool, so_far: &Comparison) -> usize {
    match (so_far.a.samples_per_step, so_far.b.samples_per_step) {
        (Some(a), Some(b)) if is_b && so_far.per == Per::Sample && b > 0.0 => {
            ((asked as f64 * a / b).round() as usize).max(FEWEST_STEPS)
        }
        _ => asked,
    }
}

/// Where the output of a run is kept.
#[must_use]
pub fn log(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.log"))
}
