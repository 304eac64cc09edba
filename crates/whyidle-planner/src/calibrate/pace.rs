//! How fast a measured step ran, and the steps that follow from it.
//!
//! The GPU's own work is split into the optimizer, passes over the weights (their bytes over the memory bandwidth)
//! and the rest, whose rate in FLOPs is kept; the host's pace is kept per layer and micro-batch, the loader's per
//! sample, and the slowest of them is the step. A replay gives further points: the step without layers that run again,
//! and with weights gathered once. Setups that do so start from there, so that whoever asks for the step without
//! checkpointing gets that of the replay.

use super::{Measured, Range};
use crate::Schedule;
use crate::gpu::{Gpu, Link};
use crate::memory::Local;
use crate::setup::{Checkpointing, Parallel, Precision, Setup, Sharding};
use crate::work::{Estimate, estimate, optimizer_bytes_moved, rows_efficiency, work};

/// How far predicted steps of recorded pairs were from the measured ones, where the GPU sets the pace of both: up to
/// 8.3 %.
const RATE: f64 = 0.10;
/// The same where the host does: its pace comes from a replay, and launch-bound runs of the lab alone differ by
/// 7–8 % from phase to phase. The worst of the recorded pairs was 34 % off.
const HOST: f64 = 0.35;
/// From twice the rows on, larger products may reach the rate that the planner assumes where nothing is measured.
const ASSUMED: f64 = 0.5;
/// Layers' worth of launches around the layers of a pass.
const AROUND: f64 = 2.0;

/// One step whose length is known, ready to predict others.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    /// How it trains.
    setup: Setup,
    /// The GPU it ran on.
    gpu: Gpu,
    /// Its times.
    measured: Measured,
    /// Its length: without a range where it was measured, with that of the replay otherwise.
    step: Range,
    /// Layers ran again in the measured step and no longer do here.
    unhooked: bool,
    /// Share of the peak rate that its work reaches, the optimizer and passes over the weights left out.
    pub(super) efficiency: f64,
}

impl Pace {
    /// The pace of a step of `setup`.
    pub(super) fn new(setup: Setup, gpu: Gpu, measured: Measured, step: Range) -> Self {
        let peak_rate = rate(&setup, &gpu);
        let done = work(&setup).hardware / setup.parallel.world() as f64;
        let products = (measured.working - measured.optimizer - passes(&setup) / gpu.bandwidth)
            .max(0.2 * measured.working);
        let efficiency = (done / products / peak_rate).clamp(1e-4, 1.0);
        Self { setup, gpu, measured, step, unhooked: false, efficiency }
    }

    /// The pace that `setup` starts from: the measured step, or what a replay says of it where `setup` runs fewer
    /// layers again or gathers weights once.
    pub(crate) fn of(&self, setup: &Setup) -> Self {
        self.running_again(setup.checkpointing).gathering(&setup.parallel)
    }

    /// Between the measured step and the replayed one where fewer layers run again.
    fn running_again(&self, checkpointing: Checkpointing) -> Self {
        let setup = Setup { checkpointing, ..self.setup.clone() };
        let (then, here) = (again(&self.setup), again(&setup));
        let Some(replayed) = self.measured.without_again.filter(|_| here < then) else {
            return self.clone();
        };
        // Kept in part, a layer returns its part.
        let between = |from: f64, to: f64| from + (to - from) * (1.0 - here / then);
        let from = &self.measured;
        let step = Range {
            best: between(from.step, replayed.step.best),
            low: between(from.step, replayed.step.low),
            high: between(from.step, replayed.step.high),
        };
        let measured = Measured {
            step: step.best,
            working: between(from.working, replayed.working),
            host: from.host.zip(replayed.host).map(|(host, without)| between(host, without)),
            without_again: None,
            ..*from
        };
        Self { unhooked: true, ..Self::new(setup, self.gpu.clone(), measured, step) }
    }

    /// Without the second gather where sharding keeps weights or is none. A reduction moves what a scatter and a
    /// gather move: beyond the second gather nothing is known to be won.
    fn gathering(self, asked: &Parallel) -> Self {
        let base = &self.setup.parallel;
        let once = matches!(asked.sharding, Sharding::KeepGathered | Sharding::None);
        let Some(replayed) = self.measured.gathered_once.filter(|_| once && base.sharding == Sharding::Full)
        else {
            return self;
        };
        // The replay is of the step as it was recorded, layers that run again included.
        let less = |step: f64, by: f64| (step - by).max(0.1 * step);
        let step = Range {
            best: less(self.step.best, replayed.best),
            low: less(self.step.low, replayed.high),
            high: less(self.step.high, replayed.low),
        };
        let parallel = Parallel { sharding: asked.sharding, bucket_view: asked.bucket_view, ..*base };
        let working = self.measured.working.min(step.best);
        let measured = Measured { step: step.best, working, gathered_once: None, ..self.measured };
        let unhooked = self.unhooked;
        Self { unhooked, ..Self::new(Setup { parallel, ..self.setup }, self.gpu, measured, step) }
    }

    /// The host's pace: with layers and micro-batches. Around its layers a pass runs about as much as two of them
    /// do (steps of 2, 6, 12 and 24 layers in the lab).
    fn host(&self, setup: &Setup) -> f64 {
        let passes = |s: &Setup| {
            (s.model.all_layers() as f64 / s.parallel.pipeline as f64 + AROUND) * s.micro_batches as f64
        };
        let host = self.measured.host.unwrap_or(0.0);
        let (here, then) = (again(setup), again(&self.setup));
        // What running all layers again costs: measured where the step did, else a forward, half the host's work.
        let whole = match self.measured.without_again.and_then(|replayed| replayed.host) {
            Some(without) if then > 0.0 => (host - without) / then,
            _ if then > 0.0 => 0.0,
            _ => 0.5 * host,
        };
        (host + whole * (here - then)) * passes(setup) / passes(&self.setup)
    }

    /// A step of `setup` on `gpu`, with its range.
    pub(super) fn step(
        &self,
        setup: &Setup,
        gpu: &Gpu,
        network: &Link,
        schedule: Schedule,
    ) -> (Estimate, Range) {
        let curved = self.curved(setup);
        let best = self.at(setup, gpu, network, schedule, curved);
        if setup == &self.setup && gpu == &self.gpu {
            return (best, self.step);
        }
        let twice = setup.tokens() >= 2.0 * self.setup.tokens();
        let quick = curved.max(if twice { ASSUMED } else { self.efficiency });
        let low = self.at(setup, gpu, network, schedule, quick).step;
        let high = self.at(setup, gpu, network, schedule, curved.min(self.efficiency)).step;
        let doubt = if best.waiting > RATE * best.step { HOST } else { RATE };
        let mut range = Range {
            best: best.step,
            low: low * (1.0 - doubt) * self.step.low / self.step.best,
            high: high * (1.0 + doubt) * self.step.high / self.step.best,
        };
        if self.unhooked || again(setup) != again(&self.setup) {
            // What checkpointing itself costs the host – its hooks – is in no replay.
            range.low = range.low.min((best.step - best.waiting) * (1.0 - RATE));
        }
        (best, range)
    }

    /// The best figure of the step of `setup` on `gpu`.
    pub(crate) fn best(&self, setup: &Setup, gpu: &Gpu, network: &Link, schedule: Schedule) -> Estimate {
        self.at(setup, gpu, network, schedule, self.curved(setup))
    }

    /// The efficiency that products of as many rows as those of `setup` reach.
    fn curved(&self, setup: &Setup) -> f64 {
        self.efficiency * rows_efficiency(setup.tokens()) / rows_efficiency(self.setup.tokens())
    }

    fn at(&self, setup: &Setup, gpu: &Gpu, network: &Link, schedule: Schedule, efficiency: f64) -> Estimate {
        let base = &self.setup;
        let mut found = self.work(setup, gpu, network, schedule, efficiency);
        let then = self.work(base, &self.gpu, network, base.parallel.schedule(), self.efficiency);
        let samples = |s: &Setup| (s.batch * s.micro_batches) as f64;
        let layers =
            |s: &Setup| s.model.all_layers() as f64 / s.parallel.pipeline as f64 * s.micro_batches as f64;
        let step = self.measured.step;
        let explained = then.step.max(self.host(base));
        // Of the measured step itself no more than its length is explained: communication that is modelled as exposed
        // may have been hidden.
        let shrink = (step / explained).min(1.0);
        shorten(&mut found, shrink);
        let host = self.host(setup) * shrink;
        let paced = if self.measured.loader {
            found.step.max(host).max(step * samples(setup) / samples(base))
        } else {
            // What neither explains – pauses between kernels, waits for other ranks – goes with the launches.
            let rest = (step - explained).max(0.0);
            found.step.max(host) + rest * layers(setup) / layers(base)
        };
        let plain = found.step;
        found.waiting = paced - plain;
        found.step = paced;
        found.mfu *= plain / paced;
        found.tokens_per_second *= plain / paced;
        found
    }

    /// The GPU's work, communication and bubble. On another GPU than the measured one shares of the peak rate are
    /// taken to be equal, and what reads memory goes with the bandwidth: an assumption.
    fn work(
        &self,
        setup: &Setup,
        gpu: &Gpu,
        network: &Link,
        schedule: Schedule,
        efficiency: f64,
    ) -> Estimate {
        let mut found = estimate(setup, gpu, network, schedule, efficiency);
        let plain = found.step;
        let passes = passes(setup) / gpu.bandwidth;
        let optimizer = self.measured.optimizer * self.gpu.bandwidth / gpu.bandwidth
            * optimizer_bytes_moved(setup)
            / optimizer_bytes_moved(&self.setup).max(1.0);
        if setup.offload == self.setup.offload {
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

/// Every part of a step, `share` times as long.
fn shorten(step: &mut Estimate, share: f64) {
    let parts = [&mut step.compute, &mut step.bubble, &mut step.exposed, &mut step.optimizer, &mut step.step];
    parts.into_iter().for_each(|part| *part *= share);
    step.flows.iter_mut().for_each(|(_, _, exposed)| *exposed *= share);
    step.mfu /= share;
    step.tokens_per_second /= share;
}

/// Share of the layers that run again in backward.
fn again(setup: &Setup) -> f64 {
    match setup.checkpointing {
        Checkpointing::None | Checkpointing::Selective => 0.0,
        Checkpointing::Full => 1.0,
        Checkpointing::Every(k) => (k - 1) as f64 / k as f64,
    }
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
