//! The replay of a case: which steps of it, how far it is trusted, and how it is fitted to the true step.

use std::ops::Range;

use rustc_hash::FxHashMap;
use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_model::{Sym, Trace, Vendor};
use whyidle_replay::profiler_cost::{Ruler, without_profiler};
use whyidle_replay::program::Program;
use whyidle_replay::simulate::{Fidelity, Lengths, fidelity, steady};
use whyidle_replay::unprofiled::{self, Fit, OpenEnded, Trust};

use super::{REPLAY_LIMIT, SHOWN};
use crate::verdict::Basis;

/// A step window of this many steps is enough for a steady replay and keeps it cheap.
const REPLAYED_STEPS: usize = 3;
/// A shape used this often in a step belongs to its repeated layers.
const OFTEN: u32 = 4;

/// The replay of a case, fitted to its true step.
pub struct Replayed {
    /// The graph, cut to the steps that are replayed.
    pub program: Program,
    /// How well recorded lengths reproduce the trace.
    pub fidelity: Fidelity,
    /// Host steps that are replayed.
    pub steps: Range<usize>,
    /// Lengths without the profiler, as its cost model has them.
    pub corrected: Lengths,
    /// The same, fitted to the true step.
    pub lengths: Lengths,
    /// How they were fitted.
    pub fit: Option<Fit>,
    /// Period of the fitted replay, ns.
    pub period: i64,
    /// Somewhere in the traced steps, loader workers are waited for.
    pub has_workers: bool,
    /// Which wait may differ outside the window.
    pub open_ended: OpenEnded,
}

impl Replayed {
    /// The replay reproduces the trace well enough to predict from, and edges explain it.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        let Fidelity { error, slack, unrecorded } = self.fidelity;
        [error, slack, unrecorded].into_iter().all(|share| share <= REPLAY_LIMIT)
    }

    pub(super) fn fit_to(&mut self, facts: &Facts, step_ns: i64, basis: Basis, open_ended: OpenEnded) {
        if basis == Basis::Traced {
            self.lengths = Lengths::recorded(&self.program);
        } else {
            let steps = self.steps.clone();
            let fit =
                unprofiled::fit(&self.program, &facts.works, &mut self.lengths, steps, step_ns, open_ended);
            self.fit = Some(fit);
        }
        self.period = steady(&self.program, &self.lengths, self.steps.clone()).period;
    }
}

pub(super) fn prepare(trace: &Trace, facts: &Facts, device: &DeviceFacts, ruler: &Ruler) -> Option<Replayed> {
    let mut program = Program::new(trace, facts, device)?;
    let (first, last) = (device.steps.used.first()?, device.steps.used.last()?);
    let index = |number: i64| program.numbers.iter().position(|&n| n == number);
    let (from, to) = (index(first.number)?, index(last.number)? + 1);
    if from >= to {
        // Numbers of steps that run backwards.
        return None;
    }
    let steps = typical_window(device, from, to);
    let fidelity = fidelity(&program, first.window.start, program.recorded_end);
    let has_workers = program.host.iter().any(|node| node.context == Context::LoadFromWorkers);
    let mut lengths = without_profiler(&program, ruler);
    program.level_tail(&mut lengths, steps.clone());
    program.cut(steps, &mut lengths);
    Some(Replayed {
        steps: 0..program.steps.len(),
        program,
        fidelity,
        corrected: lengths.clone(),
        lengths,
        fit: None,
        period: 0,
        has_workers,
        open_ended: OpenEnded::Nothing,
    })
}

/// A stretch of at most three consecutive steps whose mean is nearest to the median step.
fn typical_window(device: &DeviceFacts, from: usize, to: usize) -> Range<usize> {
    let lengths: Vec<i64> = device.steps.used.iter().map(|step| step.window.length()).collect();
    if to - from <= REPLAYED_STEPS || lengths.len() != to - from {
        return from..to;
    }
    let mut sorted = lengths.clone();
    sorted.sort_unstable();
    let median = sorted[sorted.len() / 2];
    let distance = |at: usize| (lengths[at..at + REPLAYED_STEPS].iter().sum::<i64>() - 3 * median).abs();
    let best = (0..=lengths.len() - REPLAYED_STEPS).min_by_key(|&at| (distance(at), at)).unwrap_or(0);
    from + best..from + best + REPLAYED_STEPS
}

/// The profiler's cost was fitted on CUDA; ROCm's calls are traced by another library.
pub(super) fn trust(ruler: &Ruler, several_ranks: bool, vendor: Vendor) -> Trust {
    match (ruler.operator, several_ranks) {
        (None, _) => Trust::Uncalibrated,
        _ if vendor != Vendor::Nvidia => Trust::Uncalibrated,
        (Some(_), true) => Trust::SeveralRanks,
        (Some(_), false) => Trust::OneRank,
    }
}

/// Which wait the window may have shown too short or too long.
///
/// The one that it shows at all: of loader workers, other ranks, and the collector, whichever takes most of the
/// traced steps. If it shows none, steps that differ in shape explain a mean that this window misses; otherwise
/// loader workers are suspected where there are any, because their queues fill while the profiler starts.
pub(super) fn open_ended(
    trace: &Trace,
    device: &DeviceFacts,
    replayed: &Replayed,
    several_ranks: bool,
) -> OpenEnded {
    let shown = |line: Line| {
        let ns = device.ledger.total(line);
        if ns as f64 >= SHOWN * device.ledger.length() as f64 { ns } else { 0 }
    };
    let ranks = if several_ranks { shown(Line::Communication) } else { 0 };
    let candidates = [
        (shown(Line::DataWorkers), OpenEnded::Loader),
        (ranks, OpenEnded::Ranks),
        (shown(Line::HostGc), OpenEnded::Collector),
    ];
    let most = candidates.into_iter().max_by_key(|&(ns, _)| ns).filter(|&(ns, _)| ns > 0);
    if let Some((_, open_ended)) = most {
        return open_ended;
    }
    if several_ranks {
        return OpenEnded::Ranks;
    }
    if replayed.has_workers && !shapes_vary(trace, device) { OpenEnded::Loader } else { OpenEnded::Nothing }
}

/// Whether the steps launch different amounts of work: their operators' shapes differ.
pub(crate) fn shapes_vary(trace: &Trace, device: &DeviceFacts) -> bool {
    let mut shapes: Vec<FxHashMap<u32, u32>> = vec![FxHashMap::default(); device.steps.used.len()];
    for row in 0..trace.host.len() {
        let (start, dims) = (trace.host.start[row], trace.host.dims[row]);
        let at = device.steps.used.partition_point(|step| step.host.start <= start);
        if let Some(at) = at.checked_sub(1).filter(|_| dims != Sym::EMPTY) {
            *shapes[at].entry(dims.0).or_default() += 1;
        }
    }
    // A shape that one step uses again and again and another never does.
    let often =
        |step: &FxHashMap<u32, u32>, shape: u32| step.get(&shape).is_some_and(|&count| count >= OFTEN);
    shapes.windows(2).any(|pair| {
        pair[0].keys().chain(pair[1].keys()).any(|&shape| {
            (often(&pair[0], shape) && !pair[1].contains_key(&shape))
                || (often(&pair[1], shape) && !pair[0].contains_key(&shape))
        })
    })
}
