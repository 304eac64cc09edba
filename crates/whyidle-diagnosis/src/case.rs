//! One rank's trace, ready to be judged: facts, replay, the true step, and the ledger projected onto it.

mod places;
mod replayed;

use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use whyidle_analysis::communication;
use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::{Kind, Line};
use whyidle_model::{DeviceProperties, Recorder, Trace};
use whyidle_replay::models;
use whyidle_replay::profiler_cost::Ruler;
use whyidle_replay::program::Program;
use whyidle_replay::simulate::{Lengths, steady};
use whyidle_replay::unprofiled::{self, Refused};

use crate::edit::RUNS_DIFFER;
use crate::known::Known;
use crate::paced::transfers;
use crate::projection::parts;
use crate::verdict::{Basis, Estimate};

pub use places::Place;
pub use replayed::Replayed;
pub(crate) use replayed::shapes_vary;
use replayed::{open_ended, prepare, trust};

/// Above this replay error, or with more time than this that no edge explains, nothing is predicted.
pub(crate) const REPLAY_LIMIT: f64 = 0.10;

/// Waiting for loader workers from this share of the step on means that they set the pace.
const LOADER_PACE: f64 = 0.05;
/// Exposed point-to-point transfers from this share of the step on mean that neighbours set the pace.
const NEIGHBOUR_PACE: f64 = 0.10;
/// A wait below this share of the traced steps is not shown by them.
const SHOWN: f64 = 0.005;

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
    pub(crate) fn traced_kernels_ns(&self) -> i64 {
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
    pub(crate) fn replay_with(&self, change: impl FnOnce(&Program, &mut Lengths)) -> Option<i64> {
        let replayed = self.replay.as_ref().filter(|replayed| replayed.is_usable())?;
        let mut lengths = replayed.lengths.clone();
        change(&replayed.program, &mut lengths);
        let after = steady(&replayed.program, &lengths, replayed.steps.clone()).period;
        Some((self.step.ns - (replayed.period - after)).clamp(1, self.step.ns.max(1)))
    }

    /// Waiting for loader workers was booked although the traced steps show none: suspected, not seen.
    #[must_use]
    pub(crate) fn is_suspected_loader(&self) -> bool {
        let seen =
            self.device.ledger.total(Line::DataWorkers) as f64 >= SHOWN * self.device.ledger.length() as f64;
        !seen && self.share(self.line(Line::DataWorkers).ns) > LOADER_PACE
    }

    /// Share of the activities of the steps that start before their launch does: clocks that disagree.
    #[must_use]
    pub(crate) fn early_share(&self) -> f64 {
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
    pub(crate) fn lengthless_share(&self) -> f64 {
        let gpu = &self.trace.gpu;
        if gpu.dur.iter().all(|dur| dur % 1_000 == 0) {
            return 0.0;
        }
        let none = self.device.rows.iter().filter(|&&row| gpu.dur[row as usize] == 0).count();
        none as f64 / self.device.rows.len().max(1) as f64
    }

    /// The loader sets the pace: without more of it, every other remedy gains nothing.
    #[must_use]
    pub(crate) fn is_paced_by_loader(&self) -> bool {
        self.share(self.line(Line::DataWorkers).ns) >= LOADER_PACE
    }

    /// Neighbouring pipeline stages set the pace, and this is one stage's trace alone.
    #[must_use]
    pub(crate) fn is_paced_by_neighbours(&self) -> bool {
        self.share(self.point_to_point_ns()) >= NEIGHBOUR_PACE
    }

    /// Exposed time in point-to-point transfers, ns per step.
    #[must_use]
    pub(crate) fn point_to_point_ns(&self) -> i64 {
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
