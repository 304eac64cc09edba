//! Memory of one GPU, itemised, at six moments of a step; the peak is their maximum.
//!
//! Figures are what `torch.cuda.max_memory_allocated` counts. Gradients and the loss buffers are never
//! at their maximum together: adding both is the commonest error of planners.

mod activations;
mod allocator;
mod moments;
mod sharded;
mod states;
#[cfg(test)]
mod tests;

use crate::PlanError;
use crate::setup::{Setup, Sharding};
pub(crate) use states::Local;

/// When in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MomentId {
    /// Logits and log-softmax are computed.
    LossForward,
    /// The gradient of the loss meets the saved buffers.
    LossBackward,
    /// Gradient of the output matrix.
    HeadBackward,
    /// The last layer's backward begins: all activations are still there.
    LayerBackward,
    /// All gradients are there, activations are gone.
    BackwardEnd,
    /// The optimizer's step.
    Optimizer,
}

impl MomentId {
    /// Every moment, in order.
    pub const ALL: [Self; 6] = [
        Self::LossForward,
        Self::LossBackward,
        Self::HeadBackward,
        Self::LayerBackward,
        Self::BackwardEnd,
        Self::Optimizer,
    ];

    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::LossForward => "loss-forward",
            Self::LossBackward => "loss-backward",
            Self::HeadBackward => "head-backward",
            Self::LayerBackward => "layer-backward",
            Self::BackwardEnd => "backward-end",
            Self::Optimizer => "optimizer",
        }
    }
}

/// A line of the bill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    /// Stable id: `weights`, `optimizer`, `gradients`, `activations`, …
    pub id: &'static str,
    /// Bytes.
    pub bytes: f64,
}

/// What is allocated at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// Which.
    pub id: MomentId,
    /// Its items; none is zero.
    pub items: Vec<Item>,
}

impl Moment {
    /// Bytes in all.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        self.items.iter().map(|item| item.bytes).sum()
    }
}

/// Memory of one GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// The moments, in order.
    pub moments: Vec<Moment>,
    /// Which of them is the peak.
    pub peak: MomentId,
    /// Pipeline stage that needs most.
    pub stage: u64,
    /// Peak of allocated memory, bytes.
    pub allocated: f64,
    /// The same in the first steps, where DDP may still hold its first set of buckets.
    pub first_steps: f64,
    /// CUDA context and libraries, with NCCL's where there are several GPUs.
    pub context: f64,
    /// Allocated memory and the rest of the segments that hold it, likely.
    pub reserved: f64,
    /// Activations of the layers, bytes: what checkpointing can save.
    pub activations: f64,
    /// Weights, gradients and optimizer states, bytes.
    pub states: f64,
}

impl Memory {
    /// What the device must have: reserved memory of the first steps, and the context.
    #[must_use]
    pub fn needed(&self) -> f64 {
        self.reserved.max(self.first_steps) + self.context
    }

    /// Bytes at the peak.
    #[must_use]
    pub fn peak_items(&self) -> &[Item] {
        self.moments.iter().find(|moment| moment.id == self.peak).map_or(&[], |moment| &moment.items)
    }
}

/// CUDA context, kernels' code and library handles: 0.80 GB measured in the runs of transformers on
/// an H200, 0.58–1.45 GB in others.
const CONTEXT: f64 = 0.8e9;
/// NCCL's buffers for one communicator beside it: about 0.85 GB measured on two H200s.
const NCCL: f64 = 0.85e9;

/// Memory of the stage that `setup` names.
///
/// # Errors
/// If sizes contradict each other.
pub fn memory_of(setup: &Setup) -> Result<Memory, PlanError> {
    setup.check()?;
    Ok(unchecked(setup))
}

/// Memory of the stage that needs most: with a pipeline the first or the last.
///
/// # Errors
/// If sizes contradict each other.
pub fn memory(setup: &Setup) -> Result<Memory, PlanError> {
    setup.check()?;
    Ok(worst(setup))
}

/// The same for a setup that was checked.
pub(crate) fn worst(setup: &Setup) -> Memory {
    if setup.parallel.pipeline == 1 {
        return unchecked(setup);
    }
    let at = |stage| unchecked(&Setup { stage, ..setup.clone() });
    let (first, last) = (at(0), at(setup.parallel.pipeline - 1));
    if last.allocated > first.allocated { last } else { first }
}

/// Memory of the stage that `setup` names, for a setup that was checked or recognised.
pub(crate) fn at_stage(setup: &Setup) -> Memory {
    unchecked(setup)
}

fn unchecked(setup: &Setup) -> Memory {
    let local = Local::of(setup);
    let sharded =
        matches!(setup.parallel.sharding, Sharding::Full | Sharding::KeepGathered) && setup.parallel.data > 1;
    let facts = moments::Facts::new(setup, &local);
    let moments = if sharded {
        sharded::moments(setup, &local, &facts)
    } else {
        moments::moments(setup, &local, &facts)
    };
    let (peak, allocated) = moments
        .iter()
        .map(|moment| (moment.id, moment.bytes()))
        .fold((MomentId::LossForward, 0.0), |best, next| if next.1 > best.1 { next } else { best });
    let world = setup.parallel.world();
    Memory {
        peak,
        stage: setup.stage,
        allocated,
        first_steps: allocated + facts.first_buckets,
        context: CONTEXT + if world > 1 { NCCL } else { 0.0 },
        // Reserved over allocated: 1.00–1.31 measured on one GPU, 1.23–1.36 with FSDP.
        reserved: allocated * if sharded { 1.25 } else { 1.08 },
        activations: facts.layers,
        states: facts.states,
        moments,
    }
}
