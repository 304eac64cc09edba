//! The ledger projected onto the unprofiled step.
//!
//! Kernels keep their length under the profiler. Host work is longer by the profiler's cost, which is
//! taken out line by line; what then remains of the step is shared among the waits. Time that the
//! window does not show goes to waits that are open-ended: the loader, or the other ranks.

use serde::{Deserialize, Serialize};
use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::{Kind, Line};

use whyidle_replay::unprofiled::OpenEnded;

use crate::case::Case;
use crate::verdict::{Basis, Estimate};

/// A difference below this share of the step is noise between two runs, not a wait.
const NOISE: f64 = 0.03;
/// No line is cut below this share of its traced length.
const FLOOR: f64 = 0.1;

/// What a ledger is projected from: times per traced step by line, ns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Parts {
    /// As traced.
    traced: Vec<f64>,
    /// What a profiler does not lengthen.
    fixed: Vec<f64>,
    /// What remains of the rest without its cost.
    elastic: Vec<f64>,
    /// Where time goes that the window does not show, and what gives way first where it shows too much.
    open_ended: Option<Line>,
    /// The true step is known, not estimated.
    known: bool,
    /// There is no other step than the traced one.
    traced_only: bool,
}

/// The parts of a case's ledger.
pub(crate) fn parts(case: &Case<'_>) -> Parts {
    let steps = case.steps() as f64;
    let traced: Vec<f64> =
        Line::ALL.iter().map(|&line| case.device.ledger.total(line) as f64 / steps).collect();
    let fixed = fixed_parts(case, steps);
    let elastic = corrected_waits(case, &traced, &fixed, steps);
    let open_ended = match case.replay.as_ref().map(|replay| replay.open_ended) {
        Some(OpenEnded::Loader) => Some(Line::DataWorkers),
        Some(OpenEnded::Ranks) => Some(Line::Communication),
        Some(OpenEnded::Collector) => Some(Line::HostGc),
        _ => None,
    };
    let known = matches!(case.basis, Basis::Given | Basis::Measured);
    Parts { traced, fixed, elastic, open_ended, known, traced_only: case.basis == Basis::Traced }
}

impl Parts {
    /// Time per unprofiled step on each line. Best figures sum to the step exactly.
    pub(crate) fn project(&self, step: Estimate) -> Vec<Estimate> {
        if self.traced_only {
            return whole(step, self.traced.clone(), &self.traced, &self.traced);
        }
        let target = step.ns as f64;
        let best = self.distribute(target, &self.elastic);
        // The other end: the profiler lengthened all host work alike.
        let alike: Vec<f64> = self.traced.iter().zip(&self.fixed).map(|(t, f)| (t - f).max(0.0)).collect();
        let other = self.distribute(target, &alike);
        whole(step, best.clone(), &best, &other)
    }

    /// The same where this much of the collectives, ns per step, is known to be transfer: that keeps its length.
    pub(crate) fn with_transfer(mut self, transfer: i64) -> Self {
        let at = Line::Communication as usize;
        self.fixed[at] = (transfer as f64).min(self.traced[at]);
        self.elastic[at] = self.traced[at] - self.fixed[at];
        self
    }

    /// Every list has a value for each line, and each is a time.
    pub(crate) fn is_sound(&self) -> bool {
        [&self.traced, &self.fixed, &self.elastic].into_iter().all(|list| {
            list.len() == Line::COUNT && list.iter().all(|ns| ns.is_finite() && (0.0..1e18).contains(ns))
        })
    }

    /// Shares the step among the lines.
    ///
    /// Too long in sum, waits give way in order of how little the window says of their length: first the open-ended
    /// one, then the host's operators and Python, whose speed outside the profiler is an estimate, last calls that
    /// block in the driver, the collector or a file, which a profiler hardly touches.
    fn distribute(&self, target: f64, elastic: &[f64]) -> Vec<f64> {
        let (traced, fixed) = (&self.traced, &self.fixed);
        let fixed_sum: f64 = fixed.iter().sum();
        if fixed_sum >= target {
            return fixed.iter().map(|part| part * target / fixed_sum).collect();
        }
        let mut elastic = elastic.to_vec();
        let mut excess = elastic.iter().sum::<f64>() - (target - fixed_sum);
        for give_way in [Firmness::OpenEnded, Firmness::Soft, Firmness::Firm] {
            let group: Vec<usize> =
                (0..Line::COUNT).filter(|&at| self.firmness(Line::ALL[at]) == give_way).collect();
            let sum: f64 = group.iter().map(|&at| elastic[at]).sum();
            if excess > 0.0 && sum > 0.0 {
                let given = excess.min(sum);
                group.iter().for_each(|&at| elastic[at] *= 1.0 - given / sum);
                excess -= given;
            }
        }
        let mut lines: Vec<f64> = fixed.iter().zip(&elastic).map(|(f, e)| f + e).collect();
        let mut missing = target - lines.iter().sum::<f64>();
        if missing <= 0.0 {
            return lines;
        }
        // The host may have been slower than the correction says, but not slower than with the profiler.
        let slack: f64 = traced.iter().zip(&lines).map(|(t, l)| (t - l).max(0.0)).sum();
        if slack > 0.0 {
            let given = missing.min(slack);
            for (line, t) in lines.iter_mut().zip(traced) {
                *line += (t - *line).max(0.0) * given / slack;
            }
            missing -= given;
        }
        if missing > 0.0 {
            lines[self.outside(missing, target) as usize] += missing;
        }
        lines
    }

    fn firmness(&self, line: Line) -> Firmness {
        // An estimated step keeps these waits as they are; only a known one says that they were shorter.
        match line {
            line if self.known && self.open_ended == Some(line) => Firmness::OpenEnded,
            Line::HostGc
            | Line::Allocator
            | Line::Checkpoint
            | Line::Logging
            | Line::DataTransfer
            | Line::DataWorkers => Firmness::Firm,
            _ => Firmness::Soft,
        }
    }

    /// Whose wait it is that the window does not show.
    fn outside(&self, missing: f64, target: f64) -> Line {
        if missing <= NOISE * target { Line::Unexplained } else { self.open_ended.unwrap_or(Line::Outside) }
    }
}

/// The part of each line that the profiler does not lengthen: activities of the GPU and pauses between them.
fn fixed_parts(case: &Case<'_>, steps: f64) -> Vec<f64> {
    let mut fixed = vec![0.0; Line::COUNT];
    for busy in &case.device.ledger.busy {
        let activity = busy.piece.activity;
        let collective = case.facts.works[activity.index()] == Work::Collective;
        let from = if collective && busy.line == Line::Communication {
            // The end of a collective is surely transfer; what comes before may be waiting for another rank.
            case.trace.gpu.end(activity) - case.transfers.get(&activity.0).copied().unwrap_or(0)
        } else {
            busy.piece.start
        };
        fixed[busy.line as usize] += (busy.piece.end - busy.piece.start.max(from)).max(0) as f64 / steps;
    }
    for part in case.device.ledger.gaps.iter().filter(|part| part.line == Line::Latency) {
        fixed[part.line as usize] += part.length() as f64 / steps;
    }
    fixed
}

/// What remains of each line's elastic part without the profiler's cost.
fn corrected_waits(case: &Case<'_>, traced: &[f64], fixed: &[f64], steps: f64) -> Vec<f64> {
    let mut cost = vec![0.0; Line::COUNT];
    let host_steps = &case.facts.host_steps;
    let on_host = |number| host_steps.iter().position(|step| step.number == number).unwrap_or(0);
    let step_of: Vec<usize> = case.device.steps.used.iter().map(|step| on_host(step.number)).collect();
    for part in &case.device.ledger.gaps {
        let step = step_of[part.step as usize];
        cost[part.line as usize] += case.ruler.cost(step, part.opened) / steps;
    }
    (0..Line::COUNT)
        .map(|at| {
            let elastic = (traced[at] - fixed[at]).max(0.0);
            let keeps = matches!(Line::ALL[at], Line::DataWorkers | Line::Communication | Line::DeviceWait);
            if keeps { elastic } else { (elastic - cost[at]).max(elastic * FLOOR) }
        })
        .collect()
}

/// How much the window says of a wait's length without the profiler.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Firmness {
    OpenEnded,
    Soft,
    Firm,
}

/// Integer lines that sum to the step exactly, with intervals from two projections and the step's own.
fn whole(step: Estimate, best: Vec<f64>, one: &[f64], other: &[f64]) -> Vec<Estimate> {
    let mut lines: Vec<i64> = best.iter().map(|ns| ns.round() as i64).collect();
    let rest = step.ns - lines.iter().sum::<i64>();
    if let Some(largest) = (0..lines.len()).max_by_key(|&at| lines[at]) {
        lines[largest] += rest;
    }
    let (low, high) = (step.low_ns - step.ns, step.high_ns - step.ns);
    let waiting: i64 = (0..Line::COUNT)
        .filter(|&at| Line::ALL[at].kind() == Kind::Waiting)
        .map(|at| lines[at])
        .sum::<i64>()
        .max(1);
    (0..Line::COUNT)
        .map(|at| {
            let (a, b) = (one[at].min(other[at]) as i64, one[at].max(other[at]) as i64);
            // What the step's own interval leaves open falls on the waits.
            let share =
                if Line::ALL[at].kind() == Kind::Waiting { lines[at] as f64 / waiting as f64 } else { 0.0 };
            Estimate {
                ns: lines[at],
                low_ns: (a.min(lines[at]) + (low as f64 * share) as i64).max(0),
                high_ns: b.max(lines[at]) + (high as f64 * share) as i64,
            }
        })
        .collect()
}
