//! The step without a profiler: estimated from the trace, or, where the true step is known, the
//! replay fitted to it.

use std::ops::Range;

use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::tree::Context;

use crate::critical::critical_path;
use crate::edits::LONG_STRETCH_NS;
use crate::program::{HostStep, Program};
use crate::simulate::{Lengths, Steady, steady};

/// Why no estimate is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Loader workers set the pace, and queues fill while the profiler starts: the window cannot tell the long-run rate.
    Starved,
    /// Collectives set the pace, and one rank's evidence cannot tell how long its profiled peers made it wait.
    Ranks,
    /// Items are prepared in the training process for most of the step, and what they cost differs from window to
    /// window.
    Items,
    /// The replay does not reproduce the trace.
    Replay,
    /// No replay was wanted.
    NotWanted,
    /// The profiler's cost matters here, and its model was not calibrated for traces like this one.
    Uncalibrated,
}

/// The step without a profiler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Best figure, ns.
    pub ns: i64,
    /// Lower end, ns.
    pub low_ns: i64,
    /// Upper end, ns.
    pub high_ns: i64,
    /// The device sets the pace: the figure hardly depends on the model of the profiler's cost.
    pub device_bound: bool,
}

/// Relative half-widths of the interval. Device-bound steps keep their length under the profiler. Host-bound ones rest on
/// the cost model, whose cross-validated error has a median of 10 % (single rank); with several ranks it errs by a third.
const DEVICE_BOUND: f64 = 0.03;
const HOST_BOUND: f64 = 0.20;
const HOST_BOUND_RANKS: f64 = 0.45;
/// A correction below this share of the step matters so little that it need not be calibrated.
const SMALL_CORRECTION: f64 = 0.07;

/// How far the model of the profiler's cost holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// One rank, and a ruler within the fit.
    OneRank,
    /// Several ranks, and a ruler within the fit.
    SeveralRanks,
    /// No ruler within the fit.
    Uncalibrated,
}

/// Collectives above this share of the critical path make a window unfit: under the profiler their length can double.
const PACED_BY_RANKS: f64 = 0.20;
/// So do items prepared in the process above this share: their cost differs by up to half between windows of one
/// program, and an estimate should not be off by more than a third.
const PACED_BY_ITEMS: f64 = 0.67;

/// Waiting for loader workers above this share of the replayed step makes a window unfit for an estimate.
const STARVED: f64 = 0.05;

/// Estimates the unprofiled step from `corrected` lengths, over `steps`.
///
/// # Errors
/// Where loader workers, other ranks or items prepared in the process set the pace, or the profiler's cost matters and
/// is not calibrated.
pub fn estimate(
    program: &Program,
    works: &[Work],
    corrected: &Lengths,
    steps: Range<usize>,
    trust: Trust,
) -> Result<Estimate, Refused> {
    let found = steady(program, corrected, steps.clone());
    let waiting = context_time(program, corrected, steps.clone(), Context::LoadFromWorkers);
    let without = {
        let mut fed = corrected.clone();
        scale_context(program, &mut fed, Context::LoadFromWorkers, 0.0);
        steady(program, &fed, steps.clone())
    };
    // What counts is the wait that shows in the period, not the time spent in the loader's call.
    if waiting > 0 && (found.period - without.period) as f64 > STARVED * found.period as f64 {
        return Err(Refused::Starved);
    }
    let path = critical_path(program, corrected, steps.clone());
    let share = |ns: i64| ns as f64 / path.total_ns.max(1) as f64;
    let of_collectives = program.gpu.iter().zip(&path.gpu);
    let of_collectives = of_collectives.filter(|(node, _)| works[node.activity.index()] == Work::Collective);
    if share(of_collectives.map(|(_, ns)| ns).sum()) > PACED_BY_RANKS {
        return Err(Refused::Ranks);
    }
    let of_items = program.host.iter().zip(&path.host);
    let of_items = of_items.filter(|(node, _)| node.context == Context::LoadInProcess);
    if share(of_items.map(|(_, ns)| ns).sum()) > PACED_BY_ITEMS {
        return Err(Refused::Items);
    }
    let traced = steady(program, &Lengths::recorded(program), steps).period;
    if trust == Trust::Uncalibrated && ((traced - found.period) as f64) > SMALL_CORRECTION * traced as f64 {
        return Err(Refused::Uncalibrated);
    }
    let device_bound = is_device_bound(found);
    let spread = match (device_bound, trust) {
        (true, _) => DEVICE_BOUND,
        (false, Trust::OneRank | Trust::Uncalibrated) => HOST_BOUND,
        (false, Trust::SeveralRanks) => HOST_BOUND_RANKS,
    };
    let period = found.period as f64;
    Ok(Estimate {
        ns: found.period,
        low_ns: (period * (1.0 - spread)) as i64,
        high_ns: (period * (1.0 + spread)) as i64,
        device_bound,
    })
}

/// The host waits for the device for a good part of the step, so the device sets the pace.
#[must_use]
pub(crate) fn is_device_bound(steady: Steady) -> bool {
    steady.host_blocked as f64 > 0.05 * steady.period as f64
}

/// Time per step that host nodes of a context take, ns.
#[must_use]
pub fn context_time(program: &Program, lengths: &Lengths, steps: Range<usize>, context: Context) -> i64 {
    let count = i64::try_from(steps.len().max(1)).unwrap_or(1);
    let nodes = program.steps[steps.start].start..program.steps[steps.end - 1].end;
    nodes.filter(|&at| program.host[at].context == context).map(|at| lengths.host[at]).sum::<i64>() / count
}

/// Scales the host nodes of a context.
pub(crate) fn scale_context(program: &Program, lengths: &mut Lengths, context: Context, factor: f64) {
    for (at, node) in program.host.iter().enumerate() {
        if node.context == context {
            lengths.host[at] = (lengths.host[at] as f64 * factor) as i64;
        }
    }
}

/// How a replay was brought to the true step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Factor on the host's own work; 1: none was needed.
    pub host_factor: f64,
    /// Factor on collectives, whose length depends on the other ranks; 1: none was needed.
    pub collective_factor: f64,
    /// Time per step that the window does not show and that was booked as waiting for the loader, ns.
    pub outside_loader_ns: i64,
    /// The same, booked as collecting garbage, ns.
    pub outside_collector_ns: i64,
    /// The same, booked as waiting for other ranks, ns.
    pub outside_ranks_ns: i64,
    /// Time per step that nothing accounts for, ns; negative if the replay is longer than the step.
    pub rest_ns: i64,
}

/// Which wait may be longer, or shorter, outside the window than in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenEnded {
    /// Waiting for loader workers.
    Loader,
    /// Waiting for other ranks.
    Ranks,
    /// The garbage collector, which does not run in every step.
    Collector,
    /// None.
    Nothing,
}

/// How much faster than the slowest that fits the host is taken to be, where any faster one fits as well.
const HOST_LEEWAY: f64 = 0.9;

/// Brings `corrected` to the true step `target` (ns per step) over `steps`, and says how.
///
/// The host's work is scaled by one factor, at most back to its traced length: a profiler only adds.
/// What is still missing lies outside the window: waiting for loader workers where there are any,
/// otherwise for other ranks.
#[must_use]
pub fn fit(
    program: &Program,
    works: &[Work],
    corrected: &mut Lengths,
    steps: Range<usize>,
    target: i64,
    open_ended: OpenEnded,
) -> Fit {
    const CLOSE: f64 = 0.01;
    let close = |period: i64| (period - target).abs() as f64 <= CLOSE * target as f64;
    let mut fit = Fit {
        host_factor: 1.0,
        collective_factor: 1.0,
        outside_loader_ns: 0,
        outside_collector_ns: 0,
        outside_ranks_ns: 0,
        rest_ns: 0,
    };
    let base = corrected.clone();
    let mut period = steady(program, corrected, steps.clone()).period;
    let collectives = program.gpu.iter().any(|node| works[node.activity.index()] == Work::Collective);
    if period > target && !close(period) && open_ended == OpenEnded::Loader {
        // A loader's wait depends on how long the profiled step gave its workers.
        let (_, lengths) = bisect(
            0.001,
            1.0,
            |factor| {
                let mut lengths = base.clone();
                scale_context(program, &mut lengths, Context::LoadFromWorkers, factor);
                (steady(program, &lengths, steps.clone()).period, lengths)
            },
            target,
        );
        *corrected = lengths;
        period = steady(program, corrected, steps.clone()).period;
    }
    let base = corrected.clone();
    if period > target && !close(period) && collectives {
        let (factor, lengths) = bisect(
            0.02,
            1.0,
            |factor| {
                let mut lengths = base.clone();
                for (at, node) in program.gpu.iter().enumerate() {
                    if works[node.activity.index()] == Work::Collective {
                        lengths.gpu[at] = (base.gpu[at] as f64 * factor) as i64;
                    }
                }
                let period = steady(program, &lengths, steps.clone()).period;
                (period, lengths)
            },
            target,
        );
        fit.collective_factor = factor;
        *corrected = lengths;
        period = steady(program, corrected, steps.clone()).period;
    }
    for all in [false, true] {
        if close(period) {
            break;
        }
        let base = corrected.clone();
        let recorded = Lengths::recorded(program);
        let (factor, lengths) = bisect(
            0.2,
            3.0,
            |factor| {
                let mut lengths = base.clone();
                scale_host(program, &base, &recorded, &mut lengths, factor, all);
                let period = steady(program, &lengths, steps.clone()).period;
                (period, lengths)
            },
            target,
        );
        let (factor, lengths) = {
            // Where the device alone takes the step, the host may be faster than the slowest that still meets it: the
            // model of the profiler's cost errs by a tenth, and what it put above the step lies as far below.
            let mut faster = base.clone();
            scale_host(program, &base, &recorded, &mut faster, factor * HOST_LEEWAY, all);
            if factor < 1.0 && close(steady(program, &faster, steps.clone()).period) {
                (factor * HOST_LEEWAY, faster)
            } else {
                (factor, lengths)
            }
        };
        let fitted = steady(program, &lengths, steps.clone()).period;
        if close(fitted) || (fitted - target).abs() < (period - target).abs() && period > target {
            fit.host_factor = factor;
            *corrected = lengths;
            period = fitted;
        }
    }
    let missing = target - period;
    if missing as f64 > CLOSE * target as f64 {
        match open_ended {
            OpenEnded::Loader
                if add_wait(program, corrected, steps.clone(), Context::LoadFromWorkers, missing) =>
            {
                fit.outside_loader_ns = missing;
            }
            OpenEnded::Collector
                if add_wait(program, corrected, steps.clone(), Context::Collect, missing) =>
            {
                fit.outside_collector_ns = missing;
            }
            OpenEnded::Ranks => fit.outside_ranks_ns = missing,
            _ => fit.rest_ns = missing,
        }
    } else {
        fit.rest_ns = missing;
    }
    fit
}

/// Scales the host's own work, never above what was recorded. Work that a profiler hardly touches keeps its
/// length unless `all` is scaled: long stretches without an operator, and calls that block in the driver, the
/// collector or a file.
fn scale_host(
    program: &Program,
    base: &Lengths,
    recorded: &Lengths,
    out: &mut Lengths,
    factor: f64,
    all: bool,
) {
    for (at, node) in program.host.iter().enumerate() {
        let firm = match node.context {
            Context::Unnamed | Context::Frame => node.length >= LONG_STRETCH_NS,
            Context::Collect | Context::Checkpoint | Context::Log | Context::Allocate => true,
            _ => false,
        };
        if node.context != Context::LoadFromWorkers && (all || !firm) {
            let scaled = (base.host[at] as f64 * factor) as i64;
            out.host[at] =
                if factor > 1.0 { scaled.min(recorded.host[at].max(base.host[at])) } else { scaled };
        }
    }
}

/// Adds `per_step` of waiting on average to the first host work of a context in each step that has any; false if
/// none has.
fn add_wait(
    program: &Program,
    lengths: &mut Lengths,
    steps: Range<usize>,
    context: Context,
    per_step: i64,
) -> bool {
    let count = steps.len();
    let first = |step: usize| {
        let mut nodes = program.steps[step].clone();
        nodes.find(|&at| program.host[at].context == context && program.host[at].step == HostStep::Work)
    };
    let nodes: Vec<usize> = steps.filter_map(first).collect();
    for &at in &nodes {
        lengths.host[at] +=
            per_step * i64::try_from(count).unwrap_or(1) / i64::try_from(nodes.len()).unwrap_or(1);
    }
    !nodes.is_empty()
}

/// The factor between `low` and `high` at which `at(factor)`'s period meets `target`; the period grows with the factor.
fn bisect(
    mut low: f64,
    mut high: f64,
    mut at: impl FnMut(f64) -> (i64, Lengths),
    target: i64,
) -> (f64, Lengths) {
    const ROUNDS: usize = 9;
    let mut best: Option<(i64, f64, Lengths)> = None;
    let mut try_at = |factor: f64| {
        let (period, lengths) = at(factor);
        let distance = (period - target).abs();
        if best.as_ref().is_none_or(|(least, ..)| distance < *least) {
            best = Some((distance, factor, lengths));
        }
        period
    };
    if try_at(low) < target && try_at(high) > target {
        for _ in 0..ROUNDS {
            let middle = (low * high).sqrt();
            if try_at(middle) < target { low = middle } else { high = middle }
        }
    }
    let (_, factor, lengths) = best.expect("at least one factor was tried");
    (factor, lengths)
}
