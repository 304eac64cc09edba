//! Plans that start from one measured step.
//!
//! Memory: what the measured peak has beyond the predicted one is carried over, as it is (the lower end of the
//! range where it is positive) and in proportion (the other end). A peak that the model cannot explain is said to
//! contradict it, and one that no run of the setup can have is refused. Time: `pace.rs`. For the measured setup
//! itself every figure is the measured one.

mod pace;
#[cfg(test)]
mod tests;

pub(crate) use pace::Pace;

use crate::gpu::{Gpu, Link};
use crate::memory::{Item, Memory, at_stage, worst};
use crate::observed::Observed;
use crate::setup::Setup;
use crate::work::{Estimate, rows_efficiency};
use crate::{PlanError, Schedule};

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
    /// The same step if no layer ran again in backward, by a replay; `None` where none does.
    pub without_again: Option<WithoutAgain>,
    /// Time that it returns, s, if sharded weights were gathered once, by a replay; `None` where none does.
    pub gathered_once: Option<Range>,
    /// The loader sets the pace, which goes with samples.
    pub loader: bool,
    /// `max_memory_allocated`, bytes.
    pub peak: Option<f64>,
    /// `max_memory_reserved`, bytes.
    pub reserved: Option<f64>,
}

impl Measured {
    /// A step of which nothing else is known. All in s.
    #[must_use]
    pub fn new(step: f64, working: f64, optimizer: f64) -> Self {
        Self {
            step,
            working,
            optimizer,
            host: None,
            without_again: None,
            gathered_once: None,
            loader: false,
            peak: None,
            reserved: None,
        }
    }
}

/// A measured step as a replay has it without layers that run again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WithoutAgain {
    /// Its length, s.
    pub step: Range,
    /// The GPU's work in it, s.
    pub working: f64,
    /// The host's pace, s.
    pub host: Option<f64>,
}

/// A setup that was measured, ready to predict others.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The measured setup.
    pub observed: Observed,
    /// The GPU it ran on.
    pub gpu: Gpu,
    /// The GPU that others are predicted on.
    pub target: Gpu,
    /// What was measured.
    pub measured: Measured,
    /// Measured peak less the predicted one, bytes; 0 where no peak is known.
    pub difference: f64,
    /// Measured over predicted peak; 1 where no peak is known.
    pub ratio: f64,
    /// The measured peak is that of DDP's first steps.
    pub first_steps: bool,
    /// How fast it ran.
    pace: Pace,
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

impl Range {
    /// A figure that is known.
    #[must_use]
    pub fn exact(figure: f64) -> Self {
        Self { best: figure, low: figure, high: figure }
    }
}

/// How far peaks that one recording predicts of others may be off: 1.5 % in the lab.
const MODEL: f64 = 0.02;
/// A measured peak further from the predicted one contradicts it: the bound within which an architecture counts as
/// tested.
pub(crate) const CONTRADICTS: f64 = 0.08;
/// Times the measured rows per product, beyond which nothing is said.
const FURTHEST: f64 = 16.0;

impl Calibration {
    /// Calibrates on a measured step of `observed`.
    ///
    /// # Errors
    /// If no run of the setup can have the measured peak: it is below its weights, gradients and optimizer states, or
    /// beyond the GPU's memory.
    pub fn new(observed: Observed, gpu: Gpu, measured: Measured) -> Result<Self, PlanError> {
        let memory = &observed.memory;
        let (mut difference, mut ratio, mut first_steps) = (0.0, 1.0, false);
        if let Some(peak) = measured.peak {
            first_steps = (memory.first_steps - peak).abs() < (memory.allocated - peak).abs();
            let predicted = if first_steps { memory.first_steps } else { memory.allocated };
            (difference, ratio) = (peak - predicted, peak / predicted);
            let impossible = |id, bound: f64| {
                Err(PlanError::new(id)
                    .bytes("peak", peak)
                    .bytes("bound", bound)
                    .bytes("missing", (peak - bound).abs()))
            };
            if peak < memory.states * (1.0 - CONTRADICTS) {
                return impossible("plan-unseen-peak-low", memory.states);
            }
            if peak > gpu.memory {
                return impossible("plan-unseen-peak-high", gpu.memory);
            }
        }
        let pace = Pace::new(observed.setup.clone(), gpu.clone(), measured, Range::exact(measured.step));
        let target = gpu.clone();
        Ok(Self { observed, gpu, target, measured, difference, ratio, first_steps, pace })
    }

    /// The same measured step, to predict setups on another GPU.
    #[must_use]
    pub fn on(self, target: Gpu) -> Self {
        Self { target, ..self }
    }

    /// It is used for another GPU, or another link, than it was measured on.
    #[must_use]
    pub fn moved(&self) -> bool {
        self.target != self.gpu
    }

    /// The measured peak is further from the predicted one than the model's error: something is in memory that the
    /// setup does not show, or the run trains otherwise.
    #[must_use]
    pub fn contradicts(&self) -> bool {
        (self.ratio - 1.0).abs() > CONTRADICTS
    }

    /// Share of the peak rate that the measured work reaches, the optimizer and passes over the weights left out.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        self.pace.efficiency
    }

    /// The same for products of 4096 rows and more.
    #[must_use]
    pub fn long_efficiency(&self) -> f64 {
        (self.pace.efficiency / rows_efficiency(self.observed.setup.tokens())).min(1.0)
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
        // No setup holds less than its weights, gradients and states.
        let difference = self.difference.max(memory.states.min(plain) - plain);
        let (same, scaled) = (plain + difference, plain * self.ratio);
        for moment in &mut memory.moments {
            if difference != 0.0 {
                moment.items.push(Item { id: "measured-difference", bytes: difference });
            }
        }
        memory.allocated = same;
        memory.first_steps += difference;
        // How much of its segments a program fills goes with its kinds of tensors.
        let alike = |s: &Setup| (s.checkpointing, s.parallel.sharding, s.attention);
        let alike = alike(setup) == alike(&self.observed.setup);
        let held = match (self.measured.reserved, self.measured.peak) {
            (Some(reserved), Some(peak)) if reserved >= peak && alike => reserved / peak,
            _ => memory.reserved / plain,
        };
        memory.reserved = memory.allocated * held;
        if setup == &self.observed.setup {
            return (memory, self.of_itself(same));
        }
        let mut range = Range {
            best: same,
            low: same.min(scaled) * (1.0 - MODEL),
            high: same.max(scaled) * (1.0 + MODEL),
        };
        if self.contradicts() {
            // What the model does not know may be of another moment, and not grow or stay with the setup.
            (range.low, range.high) =
                (range.low.min(plain * (1.0 - MODEL)), range.high.max(plain * (1.0 + MODEL)));
        }
        self.widen(&mut range);
        (memory, range)
    }

    /// The range of the measured setup's own peak: none where it was measured.
    fn of_itself(&self, same: f64) -> Range {
        let mut range = Range::exact(same);
        self.widen(&mut range);
        range
    }

    /// Without a peak nothing decided what the trace does not show.
    fn widen(&self, range: &mut Range) {
        if self.measured.peak.is_none() {
            let (least, most) = self.observed.range;
            range.low *= (1.0 - MODEL) * least / self.observed.memory.allocated;
            range.high *= (1.0 + MODEL) * most / self.observed.memory.allocated;
        }
    }

    /// Whether the measured rates say something of `setup`: it is alike, and has not many times the rows per product,
    /// as tiny kernels take their time whatever they compute.
    #[must_use]
    pub fn compares(&self, setup: &Setup) -> bool {
        self.alike(setup) && self.within_reach(setup)
    }

    /// Of the same types, code, attention and optimizer loop as the measured setup.
    #[must_use]
    pub fn alike(&self, setup: &Setup) -> bool {
        let kind = |s: &Setup| (s.precision, s.code, s.attention, s.optimizer_loop, s.model.family);
        kind(setup) == kind(&self.observed.setup)
    }

    /// Not many times the measured rows per product.
    pub(crate) fn within_reach(&self, setup: &Setup) -> bool {
        setup.tokens() <= FURTHEST * self.observed.setup.tokens()
    }

    /// A step of `setup`, with its range.
    #[must_use]
    pub fn estimate(&self, setup: &Setup, network: &Link, schedule: Schedule) -> (Estimate, Range) {
        self.pace(setup).step(setup, &self.target, network, schedule)
    }

    /// The pace that steps of `setup` start from.
    pub(crate) fn pace(&self, setup: &Setup) -> Pace {
        self.pace.of(setup)
    }
}
