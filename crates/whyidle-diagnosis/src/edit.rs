//! A remedy as an edit of the replay, and what it would bring: alone, or together with others.
//!
//! Edits change lengths and waits of the replayed graph and nothing else, so they can be applied one after the
//! other. What a replay cannot know is stated beside it: how far the loader could deliver, how sure a kernel model
//! is, what a remedy costs the host.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_replay::critical::critical_path;
use whyidle_replay::edits::{drop_empty_launches, scale_activities};
use whyidle_replay::models::KernelChange;
use whyidle_replay::program::{HostNode, Program};
use whyidle_replay::simulate::{Lengths, steady};

use crate::case::{Case, Replayed};
use crate::ids::{self, Id};
use crate::verdict::{Change, Estimate, Gain, Method};

/// The same step timed in another run, relative to itself.
pub(crate) const RUNS_DIFFER: f64 = 0.015;

/// Relative uncertainty of a replayed step: where the device sets the pace afterwards, kernels keep their length;
/// where the host does, its speed outside the profiler is an estimate.
const AFTER_DEVICE_BOUND: f64 = 0.04;
const AFTER_HOST_BOUND: f64 = 0.15;

type Apply<'a> = Box<dyn Fn(&Program, &mut Lengths) + 'a>;

/// A remedy as an edit of the replay.
pub(crate) struct Edit<'a> {
    /// What is changed, as data.
    pub change: Change,
    /// How much the prediction is worth.
    pub method: Method,
    apply: Apply<'a>,
    /// New step per today's samples over the replayed one: batches and micro-batches that grow.
    per_sample: f64,
    /// The step is no shorter than this, and which cause limits it.
    floor: Option<(i64, &'static str)>,
    /// It takes away or shortens work of the GPU itself.
    shortens_kernels: bool,
    /// It cures a loader that sets the pace.
    feeds: bool,
    /// It fills a pipeline that waits for its neighbours.
    fills: bool,
    /// It makes collectives rarer, shorter, or of more samples.
    eases_collectives: bool,
    /// The step may become longer than today's.
    lengthens: bool,
    /// What a kernel model says of its own doubt.
    kernels: Option<Saving>,
    /// The host's own work may become slower by this factor.
    slower_host: f64,
    /// Doubt of its own, relative to the step after it.
    doubt: f64,
}

/// What a kernel model saves per step, ns.
#[derive(Clone, Copy, Debug)]
struct Saving {
    best: i64,
    low: i64,
    high: i64,
    /// Pauses before kernels that go.
    pauses: i64,
}

impl<'a> Edit<'a> {
    /// An edit of lengths and waits.
    pub(crate) fn new(change: Change, method: Method, apply: impl Fn(&Program, &mut Lengths) + 'a) -> Self {
        Self {
            change,
            method,
            apply: Box::new(apply),
            per_sample: 1.0,
            floor: None,
            shortens_kernels: false,
            feeds: false,
            fills: false,
            eases_collectives: false,
            lengthens: false,
            kernels: None,
            slower_host: 1.0,
            doubt: 0.0,
        }
    }

    /// What a kernel model changes.
    pub(crate) fn of_kernels(case: &Case<'_>, change: Change, model: KernelChange) -> Self {
        let gone = model.scaled.iter().filter(|&&(_, factor)| factor == 0.0).count();
        let all = case.facts.host_steps.len().max(1);
        let gap = case.replay.as_ref().map_or(0, |replayed| replayed.program.typical_gap);
        let saving = Saving {
            best: model.saved_ns_per_step,
            low: model.low_ns_per_step,
            high: model.high_ns_per_step,
            pauses: i64::try_from(gone / all).unwrap_or(0) * gap,
        };
        let factors: FxHashMap<u32, f64> = model.scaled.iter().map(|&(id, factor)| (id.0, factor)).collect();
        let mut edit = Self::new(change, Method::Model, move |program, lengths| {
            scale_activities(program, lengths, |id| factors.get(&id.0).copied());
            if model.removed_launches {
                drop_empty_launches(program, lengths);
            }
        });
        edit.kernels = Some(saving);
        edit.shortening_kernels()
    }

    /// The host's own work becomes slower by this factor.
    pub(crate) fn with_slower_host(mut self, factor: f64) -> Self {
        let apply = self.apply;
        self.apply = Box::new(move |program, lengths| {
            apply(program, lengths);
            slow_host(program, lengths, factor);
        });
        self.lengthens = true;
        self
    }

    /// It makes collectives rarer, shorter, or of more samples.
    pub(crate) fn easing_collectives(mut self) -> Self {
        self.eases_collectives = true;
        self
    }

    /// The step may become longer than today's: what was asked for is less than today's setting.
    pub(crate) fn lengthening(mut self) -> Self {
        self.lengthens = true;
        self
    }

    /// It takes away or shortens work of the GPU itself; any other edit leaves kernels as long as they are.
    pub(crate) fn shortening_kernels(mut self) -> Self {
        self.shortens_kernels = true;
        self
    }

    /// It cures a loader that sets the pace.
    pub(crate) fn feeding(mut self) -> Self {
        self.feeds = true;
        self
    }

    /// It fills a pipeline that waits for its neighbours.
    pub(crate) fn filling(mut self) -> Self {
        self.fills = true;
        self
    }

    /// The step gets no shorter than `ns`; `limit` says why.
    pub(crate) fn not_below(mut self, ns: i64, limit: &'static str) -> Self {
        self.floor = Some((ns, limit));
        self
    }

    /// A replayed step does the work of 1 / `factor` of today's steps.
    pub(crate) fn per_sample(mut self, factor: f64) -> Self {
        self.per_sample = factor;
        self
    }

    /// The host's own work may become slower by up to this factor.
    pub(crate) fn slowing_host(mut self, factor: f64) -> Self {
        self.slower_host = factor;
        self
    }

    /// Doubt of its own, relative to the step after it.
    pub(crate) fn doubted(mut self, share: f64) -> Self {
        self.doubt = share;
        self
    }
}

/// What an edit would bring.
pub(crate) fn gain(case: &Case<'_>, edit: &Edit<'_>) -> Option<Gain> {
    gain_together(case, &[edit])
}

/// What several edits would bring together; named after the last. `None` where nothing may be predicted.
pub(crate) fn gain_together(case: &Case<'_>, edits: &[&Edit<'_>]) -> Option<Gain> {
    let replayed = case.replay.as_ref().filter(|replayed| replayed.is_usable())?;
    let last = edits.last()?;
    let mut lengths = replayed.lengths.clone();
    edits.iter().for_each(|edit| (edit.apply)(&replayed.program, &mut lengths));
    let steps = replayed.steps.clone();
    let after = steady(&replayed.program, &lengths, steps.clone());
    let terms = terms(case, edits);
    let (device_bound, limit) = limit(case, replayed, &lengths);
    let replayed_ns = case.step.ns - replayed.period + after.period;
    let (ns, next_limit) = terms.step(replayed_ns, limit);
    let weakest = edits.iter().map(|edit| edit.method).max().unwrap_or(last.method);
    if weakest == Method::Bound {
        // Anything from there up to today's step.
        let high_ns = case.step.high_ns.max(ns);
        let step_after = Estimate { ns, low_ns: ns, high_ns };
        let change = last.change.clone();
        return Some(Gain { step_after, method: weakest, change, next_limit });
    }
    let mut step_after = interval(case, edits, ns, device_bound);
    let slower: f64 = edits.iter().map(|edit| edit.slower_host).product();
    if slower > 1.0 {
        slow_host(&replayed.program, &mut lengths, slower);
        let slowed = steady(&replayed.program, &lengths, steps).period;
        let ns = ((case.step.ns - replayed.period + slowed) as f64 * terms.per_sample) as i64;
        step_after.high_ns = step_after.high_ns.max(ns.min(terms.longest));
    }
    Some(Gain { step_after, method: weakest, change: last.change.clone(), next_limit })
}

/// What holds of a step after edits, whatever its replay says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Terms {
    /// New step per today's samples over the replayed one.
    pub per_sample: f64,
    /// It gets no shorter than this, ns, and which cause limits it.
    #[serde(deserialize_with = "ids::limit")]
    pub floor: Option<(i64, Id)>,
    /// It gets no longer than this, ns.
    pub longest: i64,
}

impl Terms {
    /// The step per today's samples where a replay gives `replayed`, ns, and what limits it.
    pub(crate) fn step(&self, replayed: i64, limit: &'static str) -> (i64, &'static str) {
        let ns = (replayed as f64 * self.per_sample) as i64;
        let (ns, limit) = match self.floor {
            Some((floor, limit)) if ns < floor => (floor, limit),
            _ => (ns, limit),
        };
        (ns.clamp(1, self.longest.max(1)), limit)
    }
}

/// Lengths of a case's replay after an edit, and what holds of the step then. `None` where nothing may be predicted.
pub(crate) fn applied(case: &Case<'_>, lengths: &Lengths, edit: &Edit<'_>) -> Option<(Lengths, Terms)> {
    let replayed = case.replay.as_ref().filter(|replayed| replayed.is_usable())?;
    let mut lengths = lengths.clone();
    (edit.apply)(&replayed.program, &mut lengths);
    Some((lengths, terms(case, &[edit])))
}

fn terms(case: &Case<'_>, edits: &[&Edit<'_>]) -> Terms {
    let any = |of: fn(&Edit<'_>) -> bool| edits.iter().any(|edit| of(edit));
    let mut floors: Vec<(i64, &'static str)> = Vec::new();
    if !any(|edit| edit.shortens_kernels) {
        // No change on the host makes kernels shorter.
        floors.push((case.kernels_ns(), "compute.bound"));
    }
    if edits.iter().all(|edit| edit.kernels.is_some()) {
        // What goes is the kernels' time and the pauses before them; a replay that saves more has moved waits of
        // other ranks, whose length is not this rank's to change.
        let most: i64 = edits.iter().filter_map(|edit| edit.kernels).map(|k| k.best + k.pauses).sum();
        floors.push((case.step.ns - most, "compute.bound"));
    }
    // The collectives' own time is no limit where another edit makes them fewer.
    let eased = any(|edit| edit.eases_collectives);
    floors.extend(
        edits.iter().filter_map(|edit| edit.floor).filter(|(_, limit)| !eased || *limit != "comm.exposed"),
    );
    if case.is_paced_by_loader() && !any(|edit| edit.feeds) {
        // The loader delivers at its own pace, whatever else becomes faster.
        floors.push((case.step.ns, "data.workers"));
    }
    if case.is_paced_by_neighbours() && !any(|edit| edit.fills) {
        // A stage that waits for its neighbours only waits longer when its own work shrinks; what the others would
        // gain is not in this trace.
        floors.push((case.step.ns, "pipeline.bubble"));
    }
    Terms {
        per_sample: edits.iter().map(|edit| edit.per_sample).product(),
        floor: floors.into_iter().max_by_key(|&(ns, _)| ns),
        longest: if any(|edit| edit.lengthens) { i64::MAX } else { case.step.ns.max(1) },
    }
}

/// The step with its interval: what the models doubt, as far as it reaches the step, else what a replay does.
fn interval(case: &Case<'_>, edits: &[&Edit<'_>], ns: i64, device_bound: bool) -> Estimate {
    let doubt: f64 = edits.iter().map(|edit| edit.doubt).sum();
    let savings: Vec<Saving> = edits.iter().filter_map(|edit| edit.kernels).collect();
    let spread = if device_bound { AFTER_DEVICE_BOUND } else { AFTER_HOST_BOUND };
    let by_model_alone = savings.len() == edits.len() && device_bound;
    let mut step = around(case, ns, if by_model_alone { doubt } else { spread.max(doubt) });
    let best: i64 = savings.iter().map(|saving| saving.best).sum();
    // The models' own doubt counts only as far as their saving reaches the step.
    let reached = ((case.step.ns - ns) as f64 / best.max(1) as f64).clamp(0.0, 1.0);
    let part = |other: i64| ((other - best).abs() as f64 * reached) as i64;
    if !savings.is_empty() {
        step.low_ns = (step.low_ns - part(savings.iter().map(|saving| saving.high).sum())).max(1);
        step.high_ns += part(savings.iter().map(|saving| saving.low).sum());
    }
    step
}

/// A step after a change with its interval: relative to itself, but no more is doubtful than is saved.
pub(crate) fn around(case: &Case<'_>, ns: i64, spread: f64) -> Estimate {
    let saved = (case.step.ns - ns).abs();
    // Runs of one program differ by this much even where nothing is saved.
    let least = (ns as f64 * RUNS_DIFFER) as i64;
    let doubt = ((ns as f64 * spread) as i64).min(saved).max(least);
    let (low, high) = (case.step.low_ns - case.step.ns, case.step.high_ns - case.step.ns);
    let part = ns as f64 / case.step.ns.max(1) as f64;
    Estimate {
        ns,
        low_ns: (ns - doubt + (low as f64 * part) as i64).max(1),
        high_ns: ns + doubt + (high as f64 * part) as i64,
    }
}

/// The host's own work, slower by a factor.
fn slow_host(program: &Program, lengths: &mut Lengths, factor: f64) {
    let own = |node: &HostNode| {
        matches!(
            node.context,
            Context::Operator | Context::Optimizer | Context::Collective | Context::Unnamed | Context::Frame
        )
    };
    for (at, _) in program.host.iter().enumerate().filter(|(_, node)| own(node)) {
        lengths.host[at] = (lengths.host[at] as f64 * factor) as i64;
    }
}

/// What sets the pace after an edit: the largest part of its critical path, and whether that is the device's own.
fn limit(case: &Case<'_>, replayed: &Replayed, lengths: &Lengths) -> (bool, &'static str) {
    let program = &replayed.program;
    let path = critical_path(program, lengths, replayed.steps.clone());
    let mut totals: FxHashMap<&'static str, i64> = FxHashMap::default();
    for (node, &ns) in program.gpu.iter().zip(&path.gpu) {
        let id = match case.facts.works[node.activity.index()] {
            Work::Collective => "comm.exposed",
            Work::HostCopy => Line::DataTransfer.id(),
            _ => "compute.bound",
        };
        *totals.entry(id).or_default() += ns;
    }
    *totals.entry("compute.bound").or_default() += path.pause_ns;
    for (node, &ns) in program.host.iter().zip(&path.host) {
        *totals.entry(limit_of(node.context)).or_default() += ns;
    }
    *totals.entry(Line::HostLaunch.id()).or_default() += path.latency_ns;
    let device: i64 = path.gpu.iter().sum::<i64>() + path.pause_ns;
    let largest = totals.into_iter().max_by_key(|&(id, ns)| (ns, std::cmp::Reverse(id)));
    (2 * device > path.total_ns, largest.map_or("host.launch", |(id, _)| id))
}

/// The cause that a host context stands for as a limit.
pub(crate) fn limit_of(context: Context) -> &'static str {
    match context {
        Context::LoadFromWorkers => Line::DataWorkers.id(),
        Context::LoadInProcess => Line::DataInProcess.id(),
        Context::Transfer => Line::DataTransfer.id(),
        Context::Synchronise => Line::HostSync.id(),
        Context::Allocate => Line::Allocator.id(),
        Context::Collect => Line::HostGc.id(),
        Context::Compile => Line::Recompile.id(),
        Context::Checkpoint => Line::Checkpoint.id(),
        Context::Log => Line::Logging.id(),
        Context::Optimizer => Line::HostOptimizer.id(),
        Context::Collective => "comm.exposed",
        _ => Line::HostLaunch.id(),
    }
}
