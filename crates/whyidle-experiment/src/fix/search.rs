//! Looks at remedies, proves the best, keeps or rolls back, and looks again at what is left: a gain may have been
//! hidden behind the one that was kept.
//!
//! A look is one run. It decides only what is worth a proof: a remedy that takes no less time by the smallest effect
//! that counts is left alone, and a small true gain can be missed so. What is kept is decided by runs in pairs alone.

use std::path::{Path, PathBuf};

use whyidle_diagnosis::Verdict;
use whyidle_observe::captured::Requests;
use whyidle_observe::{clock, redact};
use whyidle_readers::progress::tries::{Did, Tried};

use super::candidates::{Candidate, asked, candidates, next_workers};
use super::patch::patch;
use super::{Attempt, Fix, Outcome};
use crate::compare::{CompareError, Compared, Programs, compare, log};
use crate::comparison::Finish;
use crate::history::{History, Kind};
use crate::measure::{MeasureError, Record, Status, Wanted, measure};
use crate::result::{Ended, Run};
use crate::stats::losses::Losses;
use crate::stats::paired::{Answer, Plan};
use crate::tries::Try;

/// Workers are doubled this often at most.
const DOUBLINGS: usize = 7;

/// What to search, and how.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The program; what it tries already stays.
    pub wanted: Wanted,
    /// Remedies that the user names: nothing else is tried.
    pub only: Vec<Try>,
    /// How remedies are proven.
    pub plan: Plan,
    /// Tolerance of the losses.
    pub tolerance: f64,
    /// The folder for the output of runs.
    pub logs: &'a Path,
    /// Ask a GPU's program for a trace, for the verdict.
    pub traces: bool,
}

/// What happens meanwhile.
#[derive(Debug)]
pub enum Event<'a> {
    /// A run goes on.
    Running(&'a Status),
    /// The program is watched for a verdict.
    Diagnosing,
    /// This is looked at, with one run; nothing: the program as it is.
    Looking(Option<&'a Try>),
    /// What a look gave: the step, ns.
    Looked(Option<&'a Try>, i64),
    /// This is proven in pairs; nothing: all that was kept, against the program as it is.
    Proving(Option<&'a Try>),
    /// A remedy is decided.
    Decided(&'a Attempt),
}

/// Judges the recording in a folder.
pub type Judge<'a> = dyn FnMut(&Path) -> Option<Verdict> + 'a;

/// A search under way.
struct Search<'a> {
    asked: &'a Asked<'a>,
    history: &'a mut History,
    requests: &'a Requests,
    tell: &'a mut dyn FnMut(&Event<'_>),
    id: i64,
    runs: usize,
    found: Fix,
}

/// Why a search stops early.
enum Stop {
    Interrupted,
    Failed,
    Error(CompareError),
}

impl<E: Into<CompareError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// Searches. Its number in the history, what it came to, and the run that failed, where the program as it is does.
///
/// # Errors
/// Where the program cannot be started, or the history not be written.
pub fn search(
    asked: &Asked<'_>,
    history: &mut History,
    requests: &Requests,
    judge: &mut Judge<'_>,
    tell: &mut dyn FnMut(&Event<'_>),
) -> Result<(i64, Fix, Option<Box<Run>>), CompareError> {
    let found =
        Fix { began: clock::now_ns(), command: redact::command(&asked.wanted.command), ..Fix::default() };
    let id = history.begin(Kind::Fix, found.began, found.shown(), &found)?;
    let mut search = Search { asked, history, requests, tell, id, runs: 0, found };
    let mut failed = None;
    let ended = match search.all(judge, &mut failed) {
        Ok(()) => Finish::Done,
        Err(Stop::Interrupted) => Finish::Interrupted,
        Err(Stop::Failed) => Finish::Failed,
        Err(Stop::Error(error)) => return Err(error),
    };
    let mut found = search.found;
    let dir = std::env::current_dir().unwrap_or_default();
    found.patch = patch(&found.applied, &dir);
    found.ended = Some(ended);
    history.go_on(id, &found.come_to(), &found)?;
    Ok((id, found, failed))
}

impl Search<'_> {
    fn all(&mut self, judge: &mut Judge<'_>, failed: &mut Option<Box<Run>>) -> Result<(), Stop> {
        let mut open = self.open(judge, failed)?;
        let before = self.baseline(failed)?;
        self.found.before_ns = Some(before);
        self.keep_written()?;
        let mut now = before;
        // Each round keeps one remedy, or is the last.
        loop {
            let mut worth: Vec<Attempt> = Vec::new();
            for candidate in std::mem::take(&mut open) {
                let attempt = self.look(candidate, now)?;
                match attempt.outcome {
                    Outcome::Unproven => worth.push(attempt),
                    _ => {
                        if attempt.outcome.may_change() {
                            open.push(attempt.candidate.clone());
                        }
                        self.decide(attempt)?;
                    }
                }
            }
            worth.sort_by(|a, b| a.looked.unwrap_or(0.0).total_cmp(&b.looked.unwrap_or(0.0)));
            let mut kept = None;
            let mut worth = worth.into_iter();
            for attempt in worth.by_ref() {
                let (attempt, after) = self.prove(attempt)?;
                let is_kept = attempt.outcome == Outcome::Kept;
                self.decide(attempt)?;
                if is_kept {
                    kept = after;
                    break;
                }
            }
            // Those after the one that was kept are looked at again, on top of it.
            open.extend(worth.map(|attempt| attempt.candidate));
            let Some(after) = kept else { break };
            now = after;
            self.found.after_ns = Some(after);
            if open.is_empty() {
                break;
            }
        }
        self.together()
    }

    /// What is worth a look, from a verdict and from what the program leaves room for.
    fn open(&mut self, judge: &mut Judge<'_>, failed: &mut Option<Box<Run>>) -> Result<Vec<Candidate>, Stop> {
        (self.tell)(&Event::Diagnosing);
        let temporary = std::env::temp_dir();
        let scratch = whyidle_observe::Scratch::new_in(&temporary).map_err(|error| {
            CompareError::from(MeasureError::Files { path: temporary, reason: error.to_string() })
        })?;
        let dir = scratch.path().join("recording");
        let mut wanted = self.asked.wanted.clone();
        wanted.tries.extend(asked());
        wanted.record = Some(Record { dir: dir.clone(), traces: self.asked.traces });
        let run = self.run(&mut wanted, "verdict")?;
        self.usable(&run, failed)?;
        let verdict = judge(&dir);
        self.found.primary = verdict.as_ref().map(|verdict| verdict.ruling.primary.to_owned());
        let all = candidates(verdict.as_ref(), &run.tried);
        if self.asked.only.is_empty() {
            return Ok(all);
        }
        let named = |change: &Try| {
            let known = all.iter().find(|candidate| candidate.change.name == change.name);
            Candidate {
                change: change.clone(),
                cause: known.and_then(|known| known.cause.clone()),
                predicted: known.filter(|known| known.change == *change).and_then(|known| known.predicted),
            }
        };
        Ok(self.asked.only.iter().map(named).collect())
    }

    /// The step of the program as it is.
    fn baseline(&mut self, failed: &mut Option<Box<Run>>) -> Result<i64, Stop> {
        (self.tell)(&Event::Looking(None));
        let mut wanted = self.asked.wanted.clone();
        let run = self.run(&mut wanted, "as it is")?;
        let step = self.usable(&run, failed)?;
        (self.tell)(&Event::Looked(None, step));
        Ok(step)
    }

    /// The step of a run that has one; else the search is over.
    fn usable(&self, run: &Run, failed: &mut Option<Box<Run>>) -> Result<i64, Stop> {
        let works = !matches!(run.ended, Ended::Failed | Ended::OutOfMemory);
        run.step_ns().filter(|step| works && *step > 0).ok_or_else(|| {
            *failed = Some(Box::new(run.clone()));
            Stop::Failed
        })
    }

    /// One run with a remedy on top of what was kept; of workers one each with twice as many, while that pays.
    fn look(&mut self, candidate: Candidate, now: i64) -> Result<Attempt, Stop> {
        let mut best = self.look_once(candidate, now)?;
        let may_grow = best.candidate.change.name == "workers" && self.asked.only.is_empty();
        for _ in 0..DOUBLINGS {
            let Ok(workers) = best.candidate.change.value.parse::<u32>() else { break };
            let (true, Some(gain)) = (may_grow, best.looked.filter(|_| best.outcome == Outcome::Unproven))
            else {
                break;
            };
            let change = Try::new("workers", next_workers(workers));
            // The prediction is of the first number.
            let next =
                self.look_once(Candidate { change, predicted: None, ..best.candidate.clone() }, now)?;
            let pays = next
                .looked
                .is_some_and(|looked| 1.0 + looked < (1.0 + gain) * (1.0 - self.asked.plan.counts()));
            if !pays || next.outcome != Outcome::Unproven {
                break;
            }
            best = next;
        }
        Ok(best)
    }

    fn look_once(&mut self, candidate: Candidate, now: i64) -> Result<Attempt, Stop> {
        (self.tell)(&Event::Looking(Some(&candidate.change)));
        let mut wanted = self.with(std::slice::from_ref(&candidate.change));
        let run = self.run(&mut wanted, &format!("look {}", candidate.change))?;
        let step = run.step_ns().filter(|_| !matches!(run.ended, Ended::Failed | Ended::OutOfMemory));
        let looked = step.map(|step| step as f64 / now as f64 - 1.0);
        if let Some(step) = step {
            (self.tell)(&Event::Looked(Some(&candidate.change), step));
        }
        let outcome = match (run.ended, not_applied(&candidate.change, &run.tried), looked) {
            (Ended::OutOfMemory, ..) => Outcome::OutOfMemory,
            (Ended::Failed, ..) | (_, None, None) => Outcome::Failed,
            (_, Some(why), _) => Outcome::NotApplied(why),
            (_, None, Some(looked)) if looked < -self.asked.plan.counts() => Outcome::Unproven,
            (_, None, Some(_)) => Outcome::NoGain,
        };
        Ok(Attempt { candidate, looked, comparison: None, effect: None, losses: None, outcome })
    }

    /// What was kept against the same with the remedy, in pairs; and the step with it.
    fn prove(&mut self, mut attempt: Attempt) -> Result<(Attempt, Option<i64>), Stop> {
        (self.tell)(&Event::Proving(Some(&attempt.candidate.change)));
        let compared =
            self.compare([self.with(&[]), self.with(std::slice::from_ref(&attempt.candidate.change))])?;
        let comparison = &compared.comparison;
        attempt.comparison = Some(compared.id);
        attempt.effect = comparison.effect;
        attempt.losses = Some(comparison.losses);
        attempt.outcome = match (&compared.failed, comparison.effect.map(|effect| effect.answer)) {
            (Some((_, run)), _) if run.ended == Ended::OutOfMemory => Outcome::OutOfMemory,
            (Some(_), _) => Outcome::Failed,
            (None, Some(Answer::Faster)) => match comparison.losses {
                Losses::Differ(_) | Losses::NotANumber { .. } => Outcome::LearnsOtherwise,
                _ => Outcome::Kept,
            },
            (None, _) => Outcome::NotProven,
        };
        let after = comparison.b.step_ns;
        if attempt.outcome == Outcome::Kept {
            self.found.applied.extend(comparison.b.tried.iter().filter(|one| is_set(one)).cloned());
            self.found.applied.dedup();
            // With one remedy its proof is that of all.
            (self.found.together, self.found.comparison) = (comparison.effect, Some(compared.id));
            if let (0, Some(before)) = (self.found.kept().len(), comparison.a.step_ns) {
                self.found.before_ns = Some(before);
            }
        }
        Ok((attempt, after))
    }

    /// All that was kept against the program as it is.
    fn together(&mut self) -> Result<(), Stop> {
        if self.found.kept().len() < 2 {
            return Ok(());
        }
        (self.tell)(&Event::Proving(None));
        let compared = self.compare([self.asked.wanted.clone(), self.with(&[])])?;
        let comparison = compared.comparison;
        if comparison.effect.is_some() {
            self.found.before_ns = comparison.a.step_ns;
            self.found.after_ns = comparison.b.step_ns;
            (self.found.together, self.found.comparison) = (comparison.effect, Some(compared.id));
            let set = comparison.b.tried.into_iter().filter(is_set);
            self.found.applied = set.collect();
        }
        Ok(())
    }

    /// The program with what was kept, and `more`.
    fn with(&self, more: &[Try]) -> Wanted {
        let mut wanted = self.asked.wanted.clone();
        for change in self.found.kept().iter().chain(more) {
            wanted.tries.retain(|known| known.name != change.name);
            wanted.tries.push(change.clone());
        }
        wanted
    }

    fn compare(&mut self, sides: [Wanted; 2]) -> Result<Compared, Stop> {
        let programs = Programs {
            sides,
            self_test: false,
            gives_up: true,
            plan: self.asked.plan.clone(),
            tolerance: self.asked.tolerance,
            logs: PathBuf::from(self.asked.logs),
        };
        let tell = &mut *self.tell;
        let compared = compare(&programs, self.history, self.requests, &mut |event| {
            if let crate::compare::Event::Running(_, _, status) = event {
                tell(&Event::Running(status));
            }
        })?;
        if compared.comparison.ended == Some(Finish::Interrupted) {
            Err(Stop::Interrupted)
        } else {
            Ok(compared)
        }
    }

    fn run(&mut self, wanted: &mut Wanted, label: &str) -> Result<Run, Stop> {
        self.runs += 1;
        wanted.log = log(self.asked.logs, &format!("{}-look{}", self.id, self.runs));
        let tell = &mut *self.tell;
        let run = measure(wanted, self.requests, &mut |status| tell(&Event::Running(status)))
            .map_err(CompareError::from)?;
        self.history.add_run(&run, Some((self.id, label)))?;
        if run.ended == Ended::Interrupted { Err(Stop::Interrupted) } else { Ok(run) }
    }

    /// Writes down what became of a remedy; what was said of it before is said anew.
    fn decide(&mut self, attempt: Attempt) -> Result<(), Stop> {
        (self.tell)(&Event::Decided(&attempt));
        self.found.attempts.retain(|known| {
            known.candidate.change.name != attempt.candidate.change.name || known.outcome == Outcome::Kept
        });
        self.found.attempts.push(attempt);
        self.keep_written()
    }

    fn keep_written(&mut self) -> Result<(), Stop> {
        Ok(self.history.go_on(self.id, &self.found.come_to(), &self.found)?)
    }
}

fn is_set(tried: &Tried) -> bool {
    matches!(tried.did, Did::Set { .. })
}

/// Why a change was not made; `None` where it was.
fn not_applied(change: &Try, tried: &[Tried]) -> Option<Option<String>> {
    if change.is_variable() || tried.iter().any(|one| one.name == change.name && is_set(one)) {
        return None;
    }
    Some(tried.iter().filter(|one| one.name == change.name).find_map(|one| match &one.did {
        Did::Not { why, .. } => Some(why.clone()),
        Did::Set { .. } => None,
    }))
}
