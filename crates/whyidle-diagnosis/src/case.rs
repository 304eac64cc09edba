//! One rank's trace, ready to be judged: facts, replay, the true step, and the ledger projected onto it.

use std::ops::Range;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use whyidle_analysis::communication;
use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::{Kind, Line};
use whyidle_analysis::tree::{Context, NONE};
use whyidle_model::{DeviceProperties, HostId, HostKind, Recorder, Sym, Trace, Vendor};
use whyidle_replay::models;
use whyidle_replay::profiler_cost::{Ruler, without_profiler};
use whyidle_replay::program::Program;
use whyidle_replay::simulate::{Fidelity, Lengths, fidelity, steady};
use whyidle_replay::unprofiled::{self, Fit, OpenEnded, Refused, Trust};

use crate::edit::RUNS_DIFFER;
use crate::known::Known;
use crate::paced::transfers;
use crate::projection::parts;
use crate::verdict::{Basis, Estimate};

/// Above this replay error, or with more time than this that no edge explains, nothing is predicted.
pub(crate) const REPLAY_LIMIT: f64 = 0.10;
/// A step window of this many steps is enough for a steady replay and keeps it cheap.
const REPLAYED_STEPS: usize = 3;

/// One rank's trace and device, ready to be judged.
pub struct Case<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Its facts.
    pub facts: &'a Facts,
    /// Facts of the device judged.
    pub device: DeviceFacts,
    /// What is known beside the trace.
    pub known: Known,
    /// The ruler of the profiler's cost.
    pub ruler: Ruler,
    /// The replay, if the trace allows one.
    pub replay: Option<Replayed>,
    /// The step without a profiler.
    pub step: Estimate,
    /// Where that comes from.
    pub basis: Basis,
    /// Why it was not estimated, if it was not.
    pub refused: Option<Refused>,
    /// The device sets the pace of the estimated step.
    pub device_bound: bool,
    /// By activity: how much of a collective is surely transfer, ns.
    pub transfers: FxHashMap<u32, i64>,
    /// Time per unprofiled step on each line.
    pub lines: Vec<Estimate>,
    models: OnceLock<models::Context>,
    collectives: OnceLock<Vec<communication::Use>>,
}

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

impl<'a> Case<'a> {
    /// Prepares a device's facts for judgement. `device` must have at least one step.
    #[must_use]
    pub fn new(trace: &'a Trace, facts: &'a Facts, device: DeviceFacts, known: Known) -> Self {
        let ruler = Ruler::new(trace, facts);
        let replay = prepare(trace, facts, &device, &ruler);
        let refused = replay.is_none().then_some(Refused::Replay);
        Self::with(trace, facts, device, known, ruler, replay, refused)
    }

    /// The same without a replay: nothing is estimated or predicted.
    #[must_use]
    pub fn without_replay(trace: &'a Trace, facts: &'a Facts, device: DeviceFacts, known: Known) -> Self {
        Self::with(trace, facts, device, known, Ruler::new(trace, facts), None, Some(Refused::NotWanted))
    }

    fn with(
        trace: &'a Trace,
        facts: &'a Facts,
        device: DeviceFacts,
        known: Known,
        ruler: Ruler,
        mut replay: Option<Replayed>,
        mut refused: Option<Refused>,
    ) -> Self {
        let several_ranks = trace.meta.distributed.as_ref().is_some_and(|job| job.world_size > 1);
        let traced = mean_step(&device);
        let (mut step, mut basis) = (Estimate::exact(traced), Basis::Traced);
        if let Some(ns) = known.step_given_ns {
            (step, basis) = (Estimate::exact(ns), Basis::Given);
        } else if let Some(ns) = known.step_measured_ns {
            (step, basis) = (Estimate::exact(ns), Basis::Measured);
        }
        let mut device_bound = false;
        let transfers = transfers(trace, facts, &device);
        if let Some(replayed) = replay.as_mut() {
            if basis == Basis::Traced && !replayed.is_usable() {
                refused = Some(Refused::Replay);
            } else if basis == Basis::Traced && trace.meta.recorder == Recorder::TorchNpu {
                // What that profiler costs was never measured.
                refused = Some(Refused::Uncalibrated);
            } else if basis == Basis::Traced {
                let found = unprofiled::estimate(
                    &replayed.program,
                    &facts.works,
                    &replayed.lengths,
                    replayed.steps.clone(),
                    trust(&ruler, several_ranks, facts.vendor),
                );
                match found {
                    Ok(found) => {
                        // The profiler only adds: a step is never longer without it, and kernels keep their length.
                        let kernels = device.ledger.total_of(Kind::Working) / steps_of(&device);
                        let cap = |ns: i64| ns.clamp(kernels.clamp(1, traced.max(1)), traced.max(1));
                        step = Estimate {
                            ns: cap(found.ns),
                            low_ns: cap(found.low_ns),
                            // Runs of one program differ by this much in any case.
                            high_ns: found
                                .high_ns
                                .min(traced)
                                .max((cap(found.ns) as f64 * (1.0 + RUNS_DIFFER)) as i64),
                        };
                        basis = Basis::Estimated;
                        device_bound = found.device_bound;
                    }
                    Err(why) => refused = Some(why),
                }
            }
            let open_ended = open_ended(trace, &device, replayed, several_ranks);
            replayed.open_ended = open_ended;
            replayed.fit_to(facts, step.ns, basis, open_ended);
        }
        let lines = Vec::new();
        let mut case = Self {
            trace,
            facts,
            device,
            known,
            ruler,
            replay,
            step,
            basis,
            refused,
            device_bound,
            transfers,
            lines,
            models: OnceLock::new(),
            collectives: OnceLock::new(),
        };
        case.lines = parts(&case).project(case.step);
        case
    }

    /// What the kernel models share, computed when first asked for.
    #[must_use]
    pub fn models(&self) -> &models::Context {
        self.models.get_or_init(|| models::Context::new(self.trace, self.facts, &self.device))
    }

    /// Several ranks take part in the job.
    #[must_use]
    pub fn several_ranks(&self) -> bool {
        self.trace.meta.distributed.as_ref().is_some_and(|job| job.world_size > 1)
    }

    /// This trace's rank, where it says.
    #[must_use]
    pub fn rank(&self) -> Option<u32> {
        self.trace.meta.distributed.as_ref().map(|job| job.rank)
    }

    /// What the trace says of the device judged.
    #[must_use]
    pub fn properties(&self) -> Option<&DeviceProperties> {
        self.trace.meta.devices.iter().find(|device| device.id == self.device.device)
    }

    /// Steps analysed.
    #[must_use]
    pub fn steps(&self) -> i64 {
        i64::try_from(self.device.steps.used.len()).unwrap_or(1).max(1)
    }

    /// Mean step in the trace, ns.
    #[must_use]
    pub fn traced_step(&self) -> i64 {
        mean_step(&self.device)
    }

    /// Time per unprofiled step on a line.
    #[must_use]
    pub fn line(&self, line: Line) -> Estimate {
        self.lines[line as usize]
    }

    /// Time per traced step on a line, ns.
    #[must_use]
    pub fn traced(&self, line: Line) -> i64 {
        self.device.ledger.total(line) / self.steps()
    }

    /// A time as a share of the unprofiled step.
    #[must_use]
    pub fn share(&self, ns: i64) -> f64 {
        ns as f64 / self.step.ns.max(1) as f64
    }

    /// Time per traced step on the ledger's working lines, ns.
    #[must_use]
    pub fn traced_kernels_ns(&self) -> i64 {
        self.device.ledger.total_of(Kind::Working) / self.steps()
    }

    /// Time per unprofiled step on the ledger's working lines, ns: exposed copies are waits there.
    #[must_use]
    pub fn kernels_ns(&self) -> i64 {
        Line::ALL.iter().filter(|line| line.kind() == Kind::Working).map(|&line| self.line(line).ns).sum()
    }

    /// Time per unprofiled step in which the GPU works by definition: everything but collectives, exposed
    /// copies included, ns.
    #[must_use]
    pub fn working(&self) -> i64 {
        // Copies keep their length under the profiler; the host's part of `data.transfer` is no work.
        let copies: i64 =
            self.device.ledger.busy.iter().filter(|busy| self.is_host_copy(busy)).map(length).sum();
        (self.kernels_ns() + copies / self.steps()).min(self.step.ns)
    }

    fn is_host_copy(&self, busy: &whyidle_analysis::ledger::Busy) -> bool {
        self.facts.works[busy.piece.activity.index()] == Work::HostCopy
    }

    /// The step after a change of the fitted replay, ns; `None` where nothing may be predicted.
    #[must_use]
    pub fn replay_with(&self, change: impl FnOnce(&Program, &mut Lengths)) -> Option<i64> {
        let replayed = self.replay.as_ref().filter(|replayed| replayed.is_usable())?;
        let mut lengths = replayed.lengths.clone();
        change(&replayed.program, &mut lengths);
        let after = steady(&replayed.program, &lengths, replayed.steps.clone()).period;
        Some((self.step.ns - (replayed.period - after)).clamp(1, self.step.ns.max(1)))
    }

    /// Waiting for loader workers was booked although the traced steps show none: suspected, not seen.
    #[must_use]
    pub fn is_suspected_loader(&self) -> bool {
        let seen =
            self.device.ledger.total(Line::DataWorkers) as f64 >= SHOWN * self.device.ledger.length() as f64;
        !seen && self.share(self.line(Line::DataWorkers).ns) > LOADER_PACE
    }

    /// Share of the activities of the steps that start before their launch does: clocks that disagree.
    #[must_use]
    pub fn early_share(&self) -> f64 {
        let early = |busy: &whyidle_analysis::ledger::Busy| {
            let id = busy.piece.activity;
            let launched = self.facts.tree.launch_of(id).map(|call| self.trace.host.start[call.index()]);
            launched.is_some_and(|launched| self.trace.gpu.start[id.index()] < launched)
        };
        let all = self.device.ledger.busy.len().max(1);
        self.device.ledger.busy.iter().filter(|busy| early(busy)).count() as f64 / all as f64
    }

    /// Share of the kernels of the steps without a length, where the trace's clock is fine enough to give them one.
    #[must_use]
    pub fn lengthless_share(&self) -> f64 {
        let gpu = &self.trace.gpu;
        if gpu.dur.iter().all(|dur| dur % 1_000 == 0) {
            return 0.0;
        }
        let none = self.device.rows.iter().filter(|&&row| gpu.dur[row as usize] == 0).count();
        none as f64 / self.device.rows.len().max(1) as f64
    }

    /// The loader sets the pace: without more of it, every other remedy gains nothing.
    #[must_use]
    pub fn is_paced_by_loader(&self) -> bool {
        self.share(self.line(Line::DataWorkers).ns) >= LOADER_PACE
    }

    /// Neighbouring pipeline stages set the pace, and this is one stage's trace alone.
    #[must_use]
    pub fn is_paced_by_neighbours(&self) -> bool {
        self.share(self.point_to_point_ns()) >= NEIGHBOUR_PACE
    }

    /// Exposed time in point-to-point transfers, ns per step.
    #[must_use]
    pub fn point_to_point_ns(&self) -> i64 {
        let exposed = self.collectives().iter().map(|u| u.exposed_ns).sum::<i64>().max(1);
        let transfers = self.collectives().iter().filter(|u| u.kind == communication::Kind::SendReceive);
        let part = transfers.map(|u| u.exposed_ns).sum::<i64>() as f64 / exposed as f64;
        (self.line(Line::Communication).ns as f64 * part) as i64
    }

    /// Collectives of the steps analysed.
    #[must_use]
    pub fn collectives(&self) -> &[communication::Use] {
        self.collectives.get_or_init(|| communication::collectives(self.trace, self.facts, &self.device))
    }

    /// Places that a line's gaps belong to, largest first: name, time per traced step in ns, count per step.
    #[must_use]
    pub fn places(&self, line: Line) -> Vec<Place> {
        let mut by_symbol: FxHashMap<(Sym, Option<Sym>), (i64, i64)> = FxHashMap::default();
        for part in self.device.ledger.gaps.iter().filter(|part| part.line == line) {
            let total = by_symbol.entry(self.place_of(part.leaf)).or_default();
            total.0 += part.length();
            total.1 += 1;
        }
        // Names that differ in an address alone are one.
        let mut totals: FxHashMap<(String, Option<String>), (i64, i64)> = FxHashMap::default();
        for (place, (ns, count)) in by_symbol {
            let total = totals.entry(self.in_words(place)).or_default();
            total.0 += ns;
            total.1 += count;
        }
        let mut places: Vec<Place> = totals
            .into_iter()
            .map(|((name, frame), (ns, count))| Place {
                name,
                frame,
                ns: ns / self.steps(),
                count: count / self.steps(),
            })
            .collect();
        places.sort_by(|a, b| {
            b.ns.cmp(&a.ns).then_with(|| a.name.cmp(&b.name)).then_with(|| a.frame.cmp(&b.frame))
        });
        places
    }

    /// What a host event belongs to, and the user's own frame around it.
    fn place_of(&self, leaf: u32) -> (Sym, Option<Sym>) {
        if leaf == NONE {
            return (Sym::EMPTY, None);
        }
        let id = HostId(leaf);
        let (mut frame, mut operator) = (None, None);
        for at in self.facts.tree.ancestry(id) {
            match self.trace.host.kind[at.index()] {
                HostKind::Op => operator = Some(self.trace.host.name[at.index()]),
                HostKind::Python => frame = frame.or_else(|| self.facts.as_user_frame(self.trace, at)),
                _ => {}
            }
        }
        let own = match operator {
            Some(operator) => operator,
            // An annotation alone names no work.
            None if self.trace.host.kind[id.index()] == HostKind::Annotation
                && self.facts.tree.context(id) == Context::Unnamed =>
            {
                Sym::EMPTY
            }
            None => self.trace.host.name[id.index()],
        };
        (if frame == Some(own) { Sym::EMPTY } else { own }, frame)
    }

    fn in_words(&self, (name, frame): (Sym, Option<Sym>)) -> (String, Option<String>) {
        let names = &self.trace.names;
        (readable(names.get(name)), frame.map(|frame| names.get(frame).to_owned()))
    }

    /// A host event in a few words: its operator or call, and the user's frame around it.
    #[must_use]
    pub fn describe(&self, leaf: u32) -> String {
        match self.in_words(self.place_of(leaf)) {
            (name, Some(frame)) if name.is_empty() => frame,
            (name, Some(frame)) => format!("{name} · {frame}"),
            (name, None) => name,
        }
    }

    /// The innermost frame of the user's own code around an event, where the trace has stacks.
    #[must_use]
    pub fn user_frame(&self, id: HostId) -> Option<String> {
        self.facts.user_frame(self.trace, id).map(|frame| self.trace.names.get(frame).to_owned())
    }

    /// An event lies in a frame, operator or annotation whose name contains `name`.
    #[must_use]
    pub fn is_inside(&self, id: HostId, name: &str) -> bool {
        let of = |at: HostId| self.trace.names.get(self.trace.host.name[at.index()]);
        self.facts.tree.ancestry(id).any(|at| of(at).contains(name))
    }

    /// The trace has Python frames.
    #[must_use]
    pub fn has_stacks(&self) -> bool {
        self.trace.meta.with_stack || self.trace.host.kind.contains(&HostKind::Python)
    }
}

/// Waiting for loader workers from this share of the step on means that they set the pace.
const LOADER_PACE: f64 = 0.05;

/// Exposed point-to-point transfers from this share of the step on mean that neighbours set the pace.
const NEIGHBOUR_PACE: f64 = 0.10;

/// A place and what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Operator, call or frame; empty where only an annotation was active.
    pub name: String,
    /// The user's own frame around it.
    pub frame: Option<String>,
    /// Time per traced step, ns.
    pub ns: i64,
    /// How often per step.
    pub count: i64,
}

impl Replayed {
    /// The replay reproduces the trace well enough to predict from, and edges explain it.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        let Fidelity { error, slack, unrecorded } = self.fidelity;
        [error, slack, unrecorded].into_iter().all(|share| share <= REPLAY_LIMIT)
    }

    fn fit_to(&mut self, facts: &Facts, step_ns: i64, basis: Basis, open_ended: OpenEnded) {
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

/// The profiler's cost was fitted on CUDA; ROCm's calls are traced by another library.
fn trust(ruler: &Ruler, several_ranks: bool, vendor: Vendor) -> Trust {
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
fn open_ended(trace: &Trace, device: &DeviceFacts, replayed: &Replayed, several_ranks: bool) -> OpenEnded {
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

/// A wait below this share of the traced steps is not shown by them.
const SHOWN: f64 = 0.005;

/// Whether the steps launch different amounts of work: their operators' shapes differ.
pub(crate) fn shapes_vary(trace: &Trace, device: &DeviceFacts) -> bool {
    let mut shapes: Vec<FxHashMap<u32, u32>> = vec![FxHashMap::default(); device.steps.used.len()];
    for row in 0..trace.host.len() {
        let (start, dims) = (trace.host.start[row], trace.host.dims[row]);
        let at = device.steps.used.partition_point(|step| step.host.start <= start);
        if let Some(at) = at.checked_sub(1).filter(|_| dims != whyidle_model::Sym::EMPTY) {
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

/// A shape used this often in a step belongs to its repeated layers.
const OFTEN: u32 = 4;

fn prepare(trace: &Trace, facts: &Facts, device: &DeviceFacts, ruler: &Ruler) -> Option<Replayed> {
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

/// A builtin's name without the address of its object.
fn readable(name: &str) -> String {
    match (name.strip_prefix("<built-in "), name.find(" object at 0x")) {
        (Some(_), Some(at)) => format!("{}>", &name[..at]),
        _ => name.to_owned(),
    }
}

fn mean_step(device: &DeviceFacts) -> i64 {
    device.ledger.length() / steps_of(device)
}

fn steps_of(device: &DeviceFacts) -> i64 {
    i64::try_from(device.steps.used.len()).unwrap_or(1).max(1)
}

fn length(busy: &whyidle_analysis::ledger::Busy) -> i64 {
    busy.piece.end - busy.piece.start
}
