//! Where the planner meets a measured step: its calibration, and what undoing a saver of memory returns in time.

use whyidle_analysis::ledger::Line;
use whyidle_planner::{
    Calibration, Link, Measured, Model, PlanError, Range, Saver, SaverId, WithoutAgain, observe, savers,
};
use whyidle_replay::edits::scale_activities;
use whyidle_replay::program::Program;
use whyidle_replay::simulate::Lengths;

use crate::case::Case;
use crate::causes::{recomputation, regathering, traced_peak, without_recomputation};
use crate::verdict::{Estimate, Method};

/// Waits above this share of the step set its pace.
const PACE: f64 = 0.10;

/// The planner, calibrated on a case. With `model`, the network is not read off the trace.
///
/// # Errors
/// Names what the trace does not show.
pub fn calibrate(case: &Case<'_>, model: Option<&Model>) -> Result<Calibration, PlanError> {
    let mut measured = measured(case);
    let idle = |program: &Program, lengths: &mut Lengths| scale_activities(program, lengths, |_| Some(0.0));
    measured.host = case.replay_with(|program, lengths| idle(program, lengths)).map(seconds);
    measured.without_again = without_again(case, idle);
    measured.gathered_once = regathering(case).map(|gain| {
        let back = |ns: i64| seconds(case.step.ns - ns);
        let after = gain.step_after;
        Range { best: back(after.ns), low: back(after.high_ns), high: back(after.low_ns) }
    });
    calibration(case, model, measured)
}

/// The measured step as a replay has it without layers that run again.
fn without_again(case: &Case<'_>, idle: impl Fn(&Program, &mut Lengths)) -> Option<WithoutAgain> {
    let after = recomputation(case)?.step_after;
    let host = case.replay_with(|program, lengths| {
        without_recomputation(case, program, lengths);
        idle(program, lengths);
    });
    Some(WithoutAgain {
        step: Range { best: seconds(after.ns), low: seconds(after.low_ns), high: seconds(after.high_ns) },
        working: seconds((case.traced_kernels_ns() - case.traced(Line::Recompute)).clamp(1, case.step.ns)),
        host: host.map(seconds),
    })
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

/// The planner for a cause that asks what fits, without the replays that only steps need; `None` where the trace does
/// not show the network.
pub(crate) fn recognised(case: &Case<'_>) -> Option<Calibration> {
    calibration(case, None, measured(case)).ok()
}

fn calibration(
    case: &Case<'_>,
    model: Option<&Model>,
    mut measured: Measured,
) -> Result<Calibration, PlanError> {
    let mut said = case.known.said.clone();
    said.peak = said.peak.or_else(|| traced_peak(case));
    measured.peak = said.peak.map(|peak| peak as f64);
    let observed = observe(case.trace, case.facts, &case.device, &said, model)?;
    let gpu = observed.gpu.clone().ok_or_else(|| {
        let name = case.properties().map(|gpu| gpu.name.clone()).unwrap_or_default();
        PlanError::new("plan-error-no-rates").with("gpu", name)
    })?;
    Calibration::new(observed, gpu, measured)
}

/// What is known of the step without replaying it.
fn measured(case: &Case<'_>) -> Measured {
    let working = seconds(case.traced_kernels_ns().min(case.step.ns));
    Measured {
        loader: loader_bound(case),
        reserved: case.known.said.reserved.map(|bytes| bytes as f64),
        ..Measured::new(seconds(case.step.ns), working, seconds(case.traced(Line::Optimizer)))
    }
}

/// Waiting for the loader sets the pace.
fn loader_bound(case: &Case<'_>) -> bool {
    let waits = case.line(Line::DataWorkers).ns + case.line(Line::DataInProcess).ns;
    case.share(waits) >= PACE
}

/// A saver in use, and the step without it.
#[derive(Clone, Debug)]
pub struct Returned {
    /// The saver, undone.
    pub saver: Saver,
    /// The step then; `None` where nothing sound can be said.
    pub gain: Option<(Estimate, Method)>,
}

impl Returned {
    /// Time that a step gets back, ns.
    #[must_use]
    pub fn saved_ns(&self, step_ns: i64) -> i64 {
        self.gain.map_or(0, |(after, _)| step_ns - after.ns)
    }
}

/// Every saver of memory in use, those that fit and return most time first. `free` is the share of memory that
/// stays free, `network` the link between nodes. Without a case all steps are the calibrated model's.
#[must_use]
pub fn give_back(
    case: Option<&Case<'_>>,
    calibration: &Calibration,
    free: f64,
    network: &Link,
) -> Vec<Returned> {
    let mut list: Vec<Returned> = savers(calibration, free)
        .into_iter()
        .map(|saver| Returned { gain: returned(case, calibration, &saver, network), saver })
        .collect();
    let step = nanoseconds(calibration.measured.step);
    list.sort_by_key(|each| (each.saver.missing > 0.0, std::cmp::Reverse(each.saved_ns(step))));
    list
}

/// The step without a saver: by replay where the trace shows the work it costs, by the calibrated model otherwise.
fn returned(
    case: Option<&Case<'_>>,
    calibration: &Calibration,
    saver: &Saver,
    network: &Link,
) -> Option<(Estimate, Method)> {
    let method = match (saver.id, case) {
        (SaverId::Checkpointing, Some(_)) => calibration.measured.without_again.map(|_| Method::Replay)?,
        (SaverId::Regathering | SaverId::Sharding, Some(case)) => regathering(case)?.method,
        (SaverId::Regathering | SaverId::Sharding, None) => return None,
        _ => Method::Model,
    };
    if !calibration.compares(&saver.setup) {
        return None;
    }
    let (_, range) = calibration.estimate(&saver.setup, network, saver.setup.parallel.schedule());
    let after = Estimate {
        ns: nanoseconds(range.best),
        low_ns: nanoseconds(range.low),
        high_ns: nanoseconds(range.high),
    };
    (range.best < calibration.measured.step).then_some((after, method))
}

fn nanoseconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}
