//! Plans that start from one measured step.
//!
//! Memory: what the measured peak has beyond the predicted one is carried over, as it is (the lower end of the
//! range where it is positive) and in proportion (the other end). Time: the GPU's own work is split into the
//! optimizer, passes over the weights (their bytes over the memory bandwidth) and the rest, whose rate in FLOPs
//! is kept; the host's pace is kept per layer and micro-batch, the loader's per sample, and the slowest of them
//! is the step. For the measured setup itself every figure is the measured one.

use crate::gpu::{Gpu, Link};
use crate::memory::{Item, Local, Memory};
use crate::observed::Observed;
use crate::setup::{Checkpointing, Precision, Setup, Sharding};
use crate::work::{Estimate, estimate, optimizer_bytes_moved, rows_efficiency, work};
use crate::{Schedule, memory::at_stage, memory::worst};

/// One measured step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Without a profiler, s.
    pub step: f64,
    /// The GPU works, collectives left out, s.
    pub working: f64,
    /// Of this, the optimizer's kernels, s.
    pub optimizer: f64,
    /// The step of a GPU that took no time, s: the host's own pace.
    pub host: Option<f64>,
    /// The same if no layer ran again in backward, s.
    pub host_without_again: Option<f64>,
    /// The loader sets the pace, which goes with samples.
    pub loader: bool,
    /// `max_memory_allocated`, bytes.
    pub peak: Option<f64>,
    /// `max_memory_reserved`, bytes.
    pub reserved: Option<f64>,
}

/// A setup that was measured, ready to predict others.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The measured setup.
    pub observed: Observed,
    /// The GPU it ran on.
    pub gpu: Gpu,
    /// What was measured.
    pub measured: Measured,
    /// Share of the peak rate that its work reaches, the optimizer and passes over the weights left out.
    pub efficiency: f64,
    /// Measured peak less the predicted one, bytes; 0 where no peak is known.
    pub difference: f64,
    /// Measured over predicted peak; 1 where no peak is known.
    pub ratio: f64,
    /// The measured peak is that of DDP's first steps.
    pub first_steps: bool,
    /// It is used for another GPU than it was measured on.
    pub moved: bool,
}

/// A figure with its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Best figure.
    pub best: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// How far peaks that one recording predicts of others may be off: 1.5 % in the lab.
const MODEL: f64 = 0.02;
/// How far predicted steps of recorded pairs were from the measured ones, where the GPU sets the pace of both: up to
/// 8.3 %.
const RATE: f64 = 0.10;
/// The same where the host does: its pace comes from a replay, and launch-bound runs of the lab alone differ by
/// 7–8 % from phase to phase. The worst of the recorded pairs was 34 % off.
const HOST: f64 = 0.35;
/// From twice the rows on, larger products may reach the rate that the planner assumes where nothing is measured.
const ASSUMED: f64 = 0.5;
/// Times the measured rows per product, beyond which nothing is said.
const FURTHEST: f64 = 16.0;
/// Layers' worth of launches around the layers of a pass.
const AROUND: f64 = 2.0;

impl Calibration {
    /// Calibrates on a measured step of `observed`.
    #[must_use]
    pub fn new(observed: Observed, gpu: Gpu, measured: Measured) -> Self {
        let memory = &observed.memory;
        let (mut difference, mut ratio, mut first_steps) = (0.0, 1.0, false);
        if let Some(peak) = measured.peak {
            first_steps = (memory.first_steps - peak).abs() < (memory.allocated - peak).abs();
            let predicted = if first_steps { memory.first_steps } else { memory.allocated };
            (difference, ratio) = (peak - predicted, peak / predicted);
        }
        let setup = &observed.setup;
        let peak_rate = rate(setup, &gpu);
        let done = work(setup).hardware / setup.parallel.world() as f64;
        let products = (measured.working - measured.optimizer - passes(setup) / gpu.bandwidth)
            .max(0.2 * measured.working);
        let efficiency = (done / products / peak_rate).clamp(1e-4, 1.0);
        Self { observed, gpu, measured, efficiency, difference, ratio, first_steps, moved: false }
    }

    /// The same measured step, to predict setups on another GPU: shares of the peak rate are taken to be equal, and
    /// what reads memory goes with the bandwidth. An assumption.
    #[must_use]
    pub fn on(mut self, gpu: Gpu) -> Self {
        if gpu != self.gpu {
            let slower = self.gpu.bandwidth / gpu.bandwidth;
            self.measured.optimizer *= slower;
            self.moved = true;
            self.gpu = gpu;
        }
        self
    }

    /// Memory of `setup`, with the range of what it allocates.
    #[must_use]
    pub fn memory(&self, setup: &Setup) -> (Memory, Range) {
        let mut memory = if setup.parallel.pipeline > 1 && setup.stage == self.observed.setup.stage {
            at_stage(setup)
        } else {
            worst(setup)
        };
        let plain = memory.allocated;
        let (same, scaled) = (plain + self.difference, plain * self.ratio);
        for moment in &mut memory.moments {
            if self.difference != 0.0 {
                moment.items.push(Item { id: "measured-difference", bytes: self.difference });
            }
        }
        memory.allocated = same;
        memory.first_steps += self.difference;
        // How much of its segments a program fills goes with its kinds of tensors.
        let alike = |s: &Setup| (s.checkpointing, s.parallel.sharding, s.attention);
        let alike = alike(setup) == alike(&self.observed.setup);
        let held = match (self.measured.reserved, self.measured.peak) {
            (Some(reserved), Some(peak)) if reserved >= peak && alike => reserved / peak,
            _ => memory.reserved / plain,
        };
        memory.reserved = memory.allocated * held;
        let doubt = if setup == &self.observed.setup { 0.0 } else { MODEL };
        let mut range = Range {
            best: same,
            low: same.min(scaled) * (1.0 - doubt),
            high: same.max(scaled) * (1.0 + doubt),
        };
        if self.measured.peak.is_none() {
            // No peak decided what the trace does not show.
            let (least, most) = self.observed.range;
            range.low *= (1.0 - MODEL) * least / self.observed.memory.allocated;
            range.high *= (1.0 + MODEL) * most / self.observed.memory.allocated;
        }
        (memory, range)
    }

    /// Whether the measured rates say something of `setup`: the same types, code, attention and optimizer loop, and
    /// not many times the rows per product, as tiny kernels take their time whatever they compute.
    #[must_use]
    pub fn compares(&self, setup: &Setup) -> bool {
        let kind = |s: &Setup| (s.precision, s.code, s.attention, s.optimizer_loop, s.model.family);
        let base = &self.observed.setup;
        kind(setup) == kind(base) && setup.tokens() <= FURTHEST * base.tokens()
    }

    /// The host's pace: with layers and micro-batches. Around its layers a pass runs about as much as two of them
    /// do (steps of 2, 6, 12 and 24 layers in the lab).
    fn host(&self, setup: &Setup) -> f64 {
        let base = &self.observed.setup;
        let passes = |s: &Setup| {
            (s.model.all_layers() as f64 / s.parallel.pipeline as f64 + AROUND) * s.micro_batches as f64
        };
        let host = self.measured.host.unwrap_or(0.0);
        let without = self.measured.host_without_again.unwrap_or(host);
        let (here, then) = (again(setup), again(base));
        // What running all layers again costs: measured where the step did, else a forward, half the host's work.
        let whole = if then > 0.0 { (host - without) / then } else { 0.5 * host };
        (without + whole * here) * passes(setup) / passes(base)
    }

    /// A step of `setup`, with its range.
    #[must_use]
    pub fn estimate(&self, setup: &Setup, network: &Link, schedule: Schedule) -> (Estimate, Range) {
        let (from, to) = (self.observed.setup.tokens(), setup.tokens());
        let curved = self.efficiency * rows_efficiency(to) / rows_efficiency(from);
        let quick = if to >= 2.0 * from { curved.max(ASSUMED) } else { curved.max(self.efficiency) };
        let best = self.at(setup, network, schedule, curved);
        if setup == &self.observed.setup && !self.moved {
            let range = Range { best: best.step, low: best.step, high: best.step };
            return (best, range);
        }
        let low = self.at(setup, network, schedule, quick).step;
        let high = self.at(setup, network, schedule, curved.min(self.efficiency)).step;
        let doubt = if best.waiting > RATE * best.step { HOST } else { RATE };
        let mut range = Range { best: best.step, low: low * (1.0 - doubt), high: high * (1.0 + doubt) };
        if again(setup) != again(&self.observed.setup) {
            // What checkpointing itself costs the host – its hooks – is in no replay.
            range.low = range.low.min((best.step - best.waiting) * (1.0 - RATE));
        }
        (best, range)
    }

    fn at(&self, setup: &Setup, network: &Link, schedule: Schedule, efficiency: f64) -> Estimate {
        let base = &self.observed.setup;
        let mut found = self.work(setup, network, schedule, efficiency);
        let then = self.work(base, network, own_schedule(base), self.efficiency);
        let samples = |s: &Setup| (s.batch * s.micro_batches) as f64;
        let layers =
            |s: &Setup| s.model.all_layers() as f64 / s.parallel.pipeline as f64 * s.micro_batches as f64;
        let (step, host) = (self.measured.step, self.host(setup));
        let paced = if self.measured.loader {
            found.step.max(host).max(step * samples(setup) / samples(base))
        } else {
            // What neither explains – pauses between kernels, waits for other ranks – goes with the launches.
            let rest = (step - then.step.max(self.host(base))).max(0.0);
            found.step.max(host) + rest * layers(setup) / layers(base)
        };
        let plain = found.step;
        found.waiting = paced - plain;
        found.step = paced;
        found.mfu *= plain / paced;
        found.tokens_per_second *= plain / paced;
        found
    }

    /// The GPU's work, communication and bubble.
    fn work(&self, setup: &Setup, network: &Link, schedule: Schedule, efficiency: f64) -> Estimate {
        let mut found = estimate(setup, &self.gpu, network, schedule, efficiency);
        let plain = found.step;
        let passes = passes(setup) / self.gpu.bandwidth;
        let optimizer = self.measured.optimizer * optimizer_bytes_moved(setup)
            / optimizer_bytes_moved(&self.observed.setup).max(1.0);
        if setup.offload == self.observed.setup.offload {
            found.step += optimizer - found.optimizer;
            found.optimizer = optimizer;
        }
        found.compute += passes;
        found.step += passes;
        found.mfu *= plain / found.step;
        found.tokens_per_second *= plain / found.step;
        found
    }
}

/// Share of the layers that run again in backward.
#[must_use]
pub fn again(setup: &Setup) -> f64 {
    match setup.checkpointing {
        Checkpointing::None | Checkpointing::Selective => 0.0,
        Checkpointing::Full => 1.0,
        Checkpointing::Every(k) => (k - 1) as f64 / k as f64,
    }
}

/// The schedule that a recognised setup runs.
fn own_schedule(setup: &Setup) -> Schedule {
    if setup.parallel.gpipe { Schedule::GPipe } else { Schedule::OneForwardOneBackward }
}

fn rate(setup: &Setup, gpu: &Gpu) -> f64 {
    if setup.precision == Precision::Fp32 { gpu.single } else { gpu.half }
}

/// Bytes that passes over weights and gradients move in a step, the optimizer's left out: under autocast 6 per
/// linear weight in forward (read fp32, write 16-bit) and 6 for its gradient, in each micro-batch; from the
/// second micro-batch on gradients are added (read two, write one). Sharded weights are copied out of the
/// gathered buffer.
fn passes(setup: &Setup) -> f64 {
    let local = Local::of(setup);
    let m = setup.micro_batches as f64;
    let gradient = if matches!(setup.precision, Precision::Amp | Precision::Fp32) { 4.0 } else { 2.0 };
    let casts =
        if setup.precision == Precision::Amp { 12.0 * (local.linear + local.output) * m } else { 0.0 };
    let sharded = match setup.parallel.sharding {
        Sharding::Full => 2.0,
        Sharding::KeepGathered => 1.0,
        _ => 0.0,
    };
    casts + 3.0 * gradient * local.trained(setup) * (m - 1.0) + sharded * 4.0 * local.all * m
}
