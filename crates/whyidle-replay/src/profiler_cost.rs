//! What the profiler itself costs the host, and how it is taken out of a replay.
//!
//! The cost of a recorded event is no constant: the host runs faster or slower by a factor of two
//! or three between and within traces. The trace carries its own ruler for it: the median recorded
//! length of a childless operator that does next to nothing (`aten::as_strided`), which is almost
//! only the profiler's own work at the host's current speed.
//!
//! unprofiled host time = traced host time − ruler · (OP · ops + CALL · calls + FRAME · frames)
//!
//! The three factors were fitted on recordings of one machine (H200, torch 2.11, CUDA 13). Operators and calls grow
//! together, so their sum over a step is well determined and their split is not. What the fit is worth on recordings
//! that it has not seen is tested by leaving out one recording at a time (`whyidle-diagnosis/tests/real/calibration.rs`).

use whyidle_analysis::facts::Facts;
use whyidle_analysis::tree::{Context, NONE, Opened};
use whyidle_model::{HostId, HostKind, Sym, Trace};

use crate::program::{Program, median};
use crate::simulate::Lengths;

/// What recorded events cost the host, in rulers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// An operator.
    pub op: f64,
    /// A runtime or driver call.
    pub call: f64,
    /// A Python frame.
    pub frame: f64,
}

impl Costs {
    /// As fitted.
    pub const FITTED: Self = Self { op: 5.2, call: 10.3, frame: 0.9 };
}

/// No segment is cut below this share of itself; what cannot be taken is carried to the next.
const FLOOR: f64 = 0.1;

/// The length of the ruler, per host step.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruler {
    /// ns, per host step in order.
    pub per_step: Vec<f64>,
    /// The operator that was taken; `None` where no operator serves and a typical length was assumed.
    pub operator: Option<Sym>,
}

/// Rulers met in the fit lay between 0.46 and 1.8 µs. One far outside was made by another profiler or
/// machine, or times are too coarse to measure it: the factors do not hold there.
const FITTED_RULERS_NS: std::ops::Range<f64> = 200.0..2_500.0;

/// Length that was typical on the machine of the fit, ns: used where a trace has no usable operator.
const TYPICAL_RULER_NS: f64 = 830.0;

impl Ruler {
    /// The ruler of a trace.
    #[must_use]
    pub fn new(trace: &Trace, facts: &Facts) -> Self {
        const ENOUGH: usize = 8;
        let assumed = Self { per_step: vec![TYPICAL_RULER_NS; facts.host_steps.len()], operator: None };
        let Some(operator) = ruler_operator(trace, facts).filter(|_| !is_coarse(trace)) else {
            return assumed;
        };
        let mut lengths: Vec<Vec<i64>> = vec![Vec::new(); facts.host_steps.len()];
        for id in childless(trace, facts).filter(|id| trace.host.name[id.index()] == operator) {
            let start = trace.host.start[id.index()];
            let at = facts.host_steps.partition_point(|step| step.host.start <= start);
            if let Some(step) = at.checked_sub(1) {
                lengths[step].push(trace.host.dur[id.index()]);
            }
        }
        let mut all: Vec<i64> = lengths.concat();
        let overall = median(&mut all).map_or(TYPICAL_RULER_NS, |ns| ns as f64);
        if !FITTED_RULERS_NS.contains(&overall) {
            return assumed;
        }
        let per_step =
            lengths
                .iter_mut()
                .map(|step| {
                    if step.len() >= ENOUGH { median(step).map_or(overall, |ns| ns as f64) } else { overall }
                })
                .collect();
        Self { per_step, operator: Some(operator) }
    }

    /// The profiler's cost for events that began in a host step, ns.
    #[must_use]
    pub fn cost(&self, step: usize, opened: Opened) -> f64 {
        self.cost_at(Costs::FITTED, step, opened)
    }

    fn cost_at(&self, costs: Costs, step: usize, opened: Opened) -> f64 {
        let ruler = self.per_step.get(step).or(self.per_step.last()).copied().unwrap_or(TYPICAL_RULER_NS);
        let Opened { ops, calls, frames } = opened;
        ruler * (costs.op * f64::from(ops) + costs.call * f64::from(calls) + costs.frame * f64::from(frames))
    }
}

/// Times are whole microseconds, as profilers before torch 2.4 wrote them: a ruler of one or two of them is no ruler.
fn is_coarse(trace: &Trace) -> bool {
    trace.host.dur.iter().take(10_000).all(|dur| dur % 1_000 == 0)
}

/// `aten::as_strided` if there is enough of it, else the cheapest frequent childless operator.
fn ruler_operator(trace: &Trace, facts: &Facts) -> Option<Sym> {
    const FREQUENT: usize = 24;
    let mut by_name: rustc_hash::FxHashMap<Sym, Vec<i64>> = rustc_hash::FxHashMap::default();
    for id in childless(trace, facts) {
        by_name.entry(trace.host.name[id.index()]).or_default().push(trace.host.dur[id.index()]);
    }
    by_name.retain(|_, lengths| lengths.len() >= FREQUENT);
    let preferred = trace.names.find("aten::as_strided").filter(|name| by_name.contains_key(name));
    preferred.or_else(|| {
        let mut medians: Vec<(i64, Sym)> =
            by_name.iter_mut().filter_map(|(&name, lengths)| Some((median(lengths)?, name))).collect();
        medians.sort_unstable();
        medians.first().map(|&(_, name)| name)
    })
}

/// Operators of the chain without events inside.
fn childless<'a>(trace: &'a Trace, facts: &'a Facts) -> impl Iterator<Item = HostId> + 'a {
    facts.chain.threads.iter().flat_map(move |&thread| {
        let rows = &facts.tree.threads()[thread];
        rows.iter().enumerate().filter_map(move |(at, &row)| {
            let id = HostId(row);
            let next = rows.get(at + 1).map(|&next| HostId(next));
            let has_child = next.is_some_and(|next| facts.tree.parent(next) == Some(id));
            (trace.host.kind[id.index()] == HostKind::Op && !has_child).then_some(id)
        })
    })
}

/// Host lengths without the profiler's cost.
///
/// Each node is charged for the events that begin in it. Waiting for loader workers is not the host's
/// work and is left alone.
#[must_use]
pub fn without_profiler(program: &Program, ruler: &Ruler) -> Lengths {
    without_profiler_at(program, ruler, Costs::FITTED)
}

/// The same at other costs: for calibration.
#[must_use]
pub fn without_profiler_at(program: &Program, ruler: &Ruler, costs: Costs) -> Lengths {
    let mut lengths = Lengths::recorded(program);
    for (step, range) in program.steps.iter().enumerate() {
        let mut debt = 0.0;
        for at in range.clone() {
            let node = &program.host[at];
            debt += ruler.cost_at(costs, step, node.opened);
            if node.context == Context::LoadFromWorkers || node.leaf == NONE && node.length == 0 {
                continue;
            }
            let length = lengths.host[at] as f64;
            let paid = debt.min(length * (1.0 - FLOOR)).max(0.0);
            debt -= paid;
            lengths.host[at] = (length - paid) as i64;
        }
    }
    lengths
}
