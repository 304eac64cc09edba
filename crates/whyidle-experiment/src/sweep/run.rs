//! Runs the programs of a sweep. The first round finds the range; in the second every value that ran is measured again,
//! in reverse order; further rounds measure only the values that decide which one is the knee. In a ladder the value
//! that pays is kept for the rungs after it, and what does not is rolled back.

use std::path::PathBuf;

use whyidle_observe::captured::Requests;
use whyidle_observe::surroundings::surroundings;
use whyidle_observe::{clock, redact};

use super::judge::{Judged, Runs, fate, judge};
use super::kinds::Kind;
use super::knee::{Ratio, Rule, knee, versus};
use super::layout::Variable;
use super::setting::{Setting, SettingError, compose};
use super::{Fate, LEAST_ROUNDS, Rung, Sweep, Total, Tried, vary};
use crate::compare::log;
use crate::comparison::Finish;
use crate::history::{self, History, HistoryError};
use crate::measure::{MeasureError, Status, Wanted, measure};
use crate::result::{Ended, Run};

/// Fewer steps of a value are never asked for.
const FEWEST_STEPS: usize = 20;
/// Values after the best that do not pay, before values that go on end. One alone may be a step of a staircase: one
/// worker is no faster than none.
const PATIENCE: usize = 2;
/// Likewise of a batch, which pays less and less.
const PATIENCE_WITH_BATCH: usize = 1;
/// Rounds in which the end of a ladder is measured against its beginning.
const LAST_ROUNDS: usize = 3;

/// What to sweep.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program as it is, and how it is measured. Logs are named anew for each run.
    pub base: Wanted,
    /// Settings with their values.
    pub variables: Vec<Variable>,
    /// The rungs, as [`super::layout::layout`] gives them.
    pub rungs: Vec<(usize, Rung)>,
    /// Rounds at most.
    pub most_rounds: usize,
    /// The smallest effect that counts.
    pub counts: f64,
    /// Tolerance of the losses.
    pub tolerance: f64,
    /// The folder for the output of each run, and for copies of files.
    pub logs: PathBuf,
}

/// What happens meanwhile.
#[derive(Debug)]
pub enum Event<'a> {
    /// A run goes on: how far.
    Running(&'a Status),
    /// A run is over: the setting and its value, the round from 0, the run.
    Ran(&'a str, usize, &'a Run),
}

/// Why a sweep could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// A program could not be measured.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The history could not be written.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A command with another value could not be made.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// Whether to go on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    Interrupted,
    Failed,
}

struct Runner<'a> {
    plan: &'a Plan,
    rule: Rule,
    history: &'a mut History,
    requests: &'a Requests,
    tell: &'a mut dyn FnMut(&Event<'_>),
    id: i64,
    sweep: Sweep,
}

/// Sweeps. Each run is written to the history when it is over, and so is what the runs say so far; an interruption leaves
/// what there is. The result, with its number.
///
/// # Errors
/// Where a program cannot be started, a changed file not be written, or the history not be written.
pub fn sweep(
    plan: &Plan,
    history: &mut History,
    requests: &Requests,
    tell: &mut dyn FnMut(&Event<'_>),
) -> Result<(Sweep, i64), SweepError> {
    let sweep = Sweep {
        began: clock::now_ns(),
        command: redact::command(&plan.base.command),
        counts: plan.counts,
        tolerance: plan.tolerance,
        most_rounds: plan.most_rounds.max(LEAST_ROUNDS),
        cores: surroundings(&std::env::current_dir().unwrap_or_default()).cores,
        is_ladder: plan.rungs.len() > 1,
        rungs: plan.rungs.iter().map(|(_, rung)| rung.clone()).collect(),
        ..Sweep::default()
    };
    let rule = Rule { counts: plan.counts, most_rounds: sweep.most_rounds };
    let id = history.begin(history::Kind::Sweep, sweep.began, sweep.shown(), &sweep)?;
    let mut runner = Runner { plan, rule, history, requests, tell, id, sweep };
    let mut flow = runner.rungs()?;
    if flow == Flow::On && runner.sweep.is_ladder {
        flow = runner.total()?;
    }
    runner.sweep.ended = Some(match flow {
        Flow::On => Finish::Done,
        Flow::Interrupted => Finish::Interrupted,
        Flow::Failed => Finish::Failed,
    });
    runner.save()?;
    Ok((runner.sweep, id))
}

impl<'a> Runner<'a> {
    fn save(&mut self) -> Result<(), SweepError> {
        Ok(self.history.go_on(self.id, &self.sweep.come_to(), &self.sweep)?)
    }

    /// All rungs, one after the other.
    fn rungs(&mut self) -> Result<Flow, SweepError> {
        for at in 0..self.sweep.rungs.len() {
            let flow = self.rung(at)?;
            if flow != Flow::On {
                return Ok(flow);
            }
            if self.sweep.is_ladder {
                self.keep(at);
            }
            self.save()?;
            if self.sweep.rungs[at].found.is_none() {
                return Ok(Flow::Failed);
            }
        }
        Ok(Flow::On)
    }

    /// Keeps the knee, if it is faster than what the rung began with, by something that counts; else that.
    fn keep(&mut self, at: usize) {
        let rung = &mut self.sweep.rungs[at];
        let Some(found) = rung.found else { return };
        let is_runnable = rung.before.is_some_and(|before| rung.values[before].may_be_chosen());
        let pays = found.speedup.ratio >= 1.0 + self.rule.counts
            && found.speedup.interval.is_none_or(|(low, _)| low > 1.0);
        rung.kept = if pays || !is_runnable { Some(found.knee) } else { rung.before };
    }

    /// The settings of a command in which rung `at` has `value`: what was kept of the rungs before, and of those that the
    /// command leaves open, what they begin with.
    fn settings(&self, at: usize, value: Option<&str>) -> Vec<(&'a Setting, String)> {
        let mut all = Vec::new();
        for (nth, (which, rung)) in
            self.plan.rungs.iter().zip(&self.sweep.rungs).map(|((which, _), rung)| (*which, rung)).enumerate()
        {
            let setting = &self.plan.variables[which].setting;
            let position = if nth < at { rung.kept } else { None };
            let position = position.or(rung.before.filter(|_| setting.is_open()));
            let chosen = if nth == at {
                value.map(str::to_owned)
            } else {
                position.and_then(|position| rung.values[position].value.clone())
            };
            all.extend(chosen.map(|value| (setting, value)));
        }
        all
    }

    /// Runs one command.
    fn run(
        &mut self,
        settings: &[(&Setting, String)],
        (name, label): (&str, &str),
        round: usize,
        steps: usize,
    ) -> Result<Run, SweepError> {
        let given: Vec<(&Setting, &str)> =
            settings.iter().map(|(setting, value)| (*setting, value.as_str())).collect();
        let folder = self.plan.logs.join(format!("{}-{name}", self.id));
        let (command, environment) = compose(&self.plan.base.command, &given, &folder)?;
        let wanted = Wanted {
            command,
            environment,
            steps,
            log: log(&self.plan.logs, &format!("{}-{name}-{}", self.id, round + 1)),
            ..self.plan.base.clone()
        };
        let tell = &mut self.tell;
        let run = measure(&wanted, self.requests, &mut |status| tell(&Event::Running(status)))?;
        self.history.add_run(&run, Some((self.id, &format!("{label} #{}", round + 1))))?;
        (self.tell)(&Event::Ran(label, round, &run));
        if run.others.cores > self.sweep.others.cores {
            (self.sweep.others.cores, self.sweep.others.names) = (run.others.cores, run.others.names.clone());
        }
        self.sweep.others.on_gpu.extend(&run.others.on_gpu);
        self.sweep.others.on_gpu.sort_unstable();
        self.sweep.others.on_gpu.dedup();
        Ok(run)
    }

    /// Runs value `nth` of rung `at` in this round; whether to go on.
    fn value(
        &mut self,
        at: usize,
        nth: usize,
        runs: &mut Vec<Runs>,
        round: usize,
    ) -> Result<Flow, SweepError> {
        let rung = &self.sweep.rungs[at];
        let value = rung.values[nth].value.clone();
        let label = format!("{}={}", rung.name, value.as_deref().unwrap_or("–"));
        let steps = steps(rung, nth, self.plan.base.steps);
        let settings = self.settings(at, value.as_deref());
        let run = self.run(&settings, (&format!("{}-{}", at + 1, nth + 1), &label), round, steps)?;
        let is_interrupted = run.ended == Ended::Interrupted;
        if !is_interrupted {
            runs.resize_with(runs.len().max(nth + 1), Vec::new);
            runs[nth].resize(round, None);
            runs[nth].push(Some(run));
        }
        Ok(if is_interrupted { Flow::Interrupted } else { Flow::On })
    }

    fn judge(&mut self, at: usize, runs: &mut Vec<Runs>) -> Result<Judged, SweepError> {
        let rung = &mut self.sweep.rungs[at];
        runs.resize_with(rung.values.len(), Vec::new);
        let judged = judge(rung, runs, &self.rule, self.plan.tolerance);
        self.save()?;
        Ok(judged)
    }

    fn rung(&mut self, at: usize) -> Result<Flow, SweepError> {
        let mut runs: Vec<Runs> = Vec::new();
        let flow = self.first_round(at, &mut runs)?;
        let mut judged = self.judge(at, &mut runs)?;
        if flow != Flow::On {
            return Ok(flow);
        }
        for round in 1..self.sweep.most_rounds {
            let found = knee(&judged.allowed, &self.rule);
            let mut again = match found {
                _ if round < LEAST_ROUNDS => {
                    let ran = |nth: &usize| self.sweep.rungs[at].values[*nth].fate == Fate::Measured;
                    (0..runs.len()).filter(ran).collect()
                }
                Some(found) => found.undecided(),
                None => Vec::new(),
            };
            if round % 2 == 1 {
                again.reverse();
            }
            if again.is_empty() {
                break;
            }
            let mut flow = Flow::On;
            for nth in again {
                flow = self.value(at, nth, &mut runs, round)?;
                if flow != Flow::On {
                    break;
                }
            }
            judged = self.judge(at, &mut runs)?;
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    /// Every value once; values that go on, for as long as it pays.
    fn first_round(&mut self, at: usize, runs: &mut Vec<Runs>) -> Result<Flow, SweepError> {
        let given = self.sweep.rungs[at].values.len();
        let is_batch = self.sweep.rungs[at].kind == Kind::Batch;
        let patience = if is_batch { PATIENCE_WITH_BATCH } else { PATIENCE };
        for nth in 0.. {
            if nth == self.sweep.rungs[at].values.len() && !self.goes_on(at, runs, patience)? {
                break;
            }
            let flow = self.value(at, nth, runs, 0)?;
            if flow != Flow::On {
                return Ok(flow);
            }
            self.judge(at, runs)?;
            match fate(&runs[nth]) {
                Fate::Measured => {}
                // Without steps here, there will be none with the next value either, and each takes its time.
                Fate::NoSteps if nth == 0 => return Ok(Flow::Failed),
                // What does not fit now fits less with more.
                Fate::OutOfMemory if is_batch => break,
                _ if nth >= given => break,
                _ => {}
            }
        }
        Ok(Flow::On)
    }

    /// Adds the next of values that go on, if it may pay.
    fn goes_on(&mut self, at: usize, runs: &mut Vec<Runs>, patience: usize) -> Result<bool, SweepError> {
        if !self.sweep.rungs[at].continues || self.sweep.rungs[at].values.len() >= vary::MOST_VALUES {
            return Ok(false);
        }
        let judged = self.judge(at, runs)?;
        let times: Vec<f64> =
            judged.allowed.iter().filter_map(|row| row.first().copied().flatten()).collect();
        let rung = &mut self.sweep.rungs[at];
        let last = rung.values.iter().rev().find_map(|tried| tried.value.clone());
        let next = last.filter(|_| !vary::is_over(&times, self.rule.counts, patience));
        let next = next.and_then(|last| vary::next(&last));
        let is_new = next.is_some();
        rung.values.extend(next.map(|value| Tried {
            value: Some(value),
            fate: Fate::NotRun,
            ..Tried::default()
        }));
        Ok(is_new)
    }

    /// Measures the command as it was against the one with all that was kept; where one rung alone changed it, that has
    /// been done.
    fn total(&mut self) -> Result<Flow, SweepError> {
        let changed: Vec<&Rung> = self.sweep.rungs.iter().filter(|rung| rung.kept != rung.before).collect();
        match changed[..] {
            [] => return Ok(Flow::On),
            [rung] => {
                self.sweep.total = of_rung(rung);
                return Ok(Flow::On);
            }
            _ => {}
        }
        let rungs = self.sweep.rungs.len();
        let after = self.settings(rungs, None);
        let kept: Vec<Option<usize>> = self.sweep.rungs.iter_mut().map(|rung| rung.kept.take()).collect();
        let before = self.settings(rungs, None);
        self.sweep.rungs.iter_mut().zip(kept).for_each(|(rung, kept)| rung.kept = kept);
        let tried = || Tried { fate: Fate::NotRun, ..Tried::default() };
        let mut rung = Rung { values: vec![tried(), tried()], before: Some(0), ..Rung::default() };
        let mut runs: Vec<Runs> = vec![Vec::new(), Vec::new()];
        let mut flow = Flow::On;
        'rounds: for round in 0..LAST_ROUNDS {
            for which in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
                let settings = if which == 0 { &before } else { &after };
                let name = ["before", "after"][which];
                let run = self.run(settings, (name, name), round, self.plan.base.steps)?;
                if run.ended == Ended::Interrupted {
                    flow = Flow::Interrupted;
                    break 'rounds;
                }
                runs[which].push(Some(run));
            }
        }
        let rule = Rule { most_rounds: LAST_ROUNDS, ..self.rule };
        let judged = judge(&mut rung, &runs, &rule, self.plan.tolerance);
        self.sweep.total =
            versus(&judged.all, 0, 1, &rule).and_then(|speedup| made(&rung, (0, 1), speedup, true));
        Ok(flow)
    }
}

fn of_rung(rung: &Rung) -> Option<Total> {
    let found = rung.found.filter(|found| Some(found.reference) == rung.before)?;
    made(rung, (found.reference, found.knee), found.speedup, false)
}

fn made(
    rung: &Rung,
    (before, after): (usize, usize),
    speedup: Ratio,
    is_measured_anew: bool,
) -> Option<Total> {
    Some(Total {
        per: rung.per,
        before_ns: rung.values[before].ns?,
        after_ns: rung.values[after].ns?,
        speedup,
        losses: rung.values[after].losses,
        is_measured_anew,
    })
}

/// Steps that hold as many samples as those of the first value.
fn steps(rung: &Rung, nth: usize, asked: usize) -> usize {
    let number = |tried: &Tried| vary::number(tried.value.as_ref()?).filter(|number| *number > 0.0);
    let first = rung.values.iter().find_map(number).filter(|_| rung.kind == Kind::Batch);
    match first.zip(number(&rung.values[nth])) {
        Some((first, own)) => {
            ((asked as f64 * first / own).round() as usize).clamp(FEWEST_STEPS.min(asked), asked)
        }
        None => asked,
    }
}
