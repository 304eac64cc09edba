//! How a measured step trains: the setup that a trace shows, with what the recording says beside it.
//!
//! Nothing is taken from names of files or programs. The network is read off operators' shapes (needs
//! `record_shapes`), the rest off types, annotations and counts. What cannot be seen is listed as unknown; where
//! the measured peak decides between the possibilities, it does, and that is said.

mod census;
mod network;
mod training;

use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_model::Trace;

use crate::calibrate::CONTRADICTS;
use crate::gpu::{Gpu, by_product};
use crate::memory::{Memory, worst};
use crate::setup::{AttentionKernel, Loss, Optimizer, Setup, Sharding};
use crate::{Model, PlanError};
use census::Census;
use training::Signs;

/// What a recording says of its run. Everything is optional.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// Parameters of the model; of the whole model, not of a stage.
    pub params: Option<u64>,
    /// Stages of a pipeline.
    pub stages: Option<u64>,
    /// Micro-batches of a step.
    pub micro_batches: Option<u64>,
    /// `max_memory_allocated`, bytes.
    pub peak: Option<u64>,
    /// `max_memory_reserved`, bytes.
    pub reserved: Option<u64>,
}

/// Why a trace does not show a setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// No whole step, or no shapes (`record_shapes=True`).
    NoShapes,
    /// A graph compiler ran: most operators are not in the trace.
    Compiled,
    /// No attention, or of several shapes: no transformer, or lengths that vary.
    NoAttention,
    /// No loss over a vocabulary.
    NoLoss,
    /// The linear layers or norms of a block are of no family that is known.
    Blocks,
    /// Ranks divide something that the trace does not name.
    Parallelism,
    /// The shapes make another number of parameters than the recording states.
    Parameters {
        /// From the shapes.
        counted: u64,
        /// As recorded.
        said: u64,
    },
}

impl Unseen {
    /// Stable id; `plan-unseen-<id>` in the catalogues.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::NoShapes => "plan-unseen-shapes",
            Self::Compiled => "plan-unseen-compiled",
            Self::NoAttention => "plan-unseen-attention",
            Self::NoLoss => "plan-unseen-loss",
            Self::Blocks => "plan-unseen-blocks",
            Self::Parallelism => "plan-unseen-parallelism",
            Self::Parameters { .. } => "plan-unseen-parameters",
        }
    }
}

impl From<Unseen> for PlanError {
    fn from(unseen: Unseen) -> Self {
        match unseen {
            Unseen::Parameters { counted, said } => {
                Self::new(unseen.id()).with("counted", counted).with("said", said)
            }
            _ => Self::new(unseen.id()),
        }
    }
}

/// A setting that the trace does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// What holds, or is taken to: `logits-kept` or `logits-dropped`, `bucket-view` or `bucket-copies`, `tied` or
    /// `untied`, `optimizer`.
    pub id: &'static str,
    /// The measured peak decided it.
    pub by_peak: bool,
}

/// A setup that was recognised.
#[derive(Clone, Debug)]
pub struct Observed {
    /// How the step trains.
    pub setup: Setup,
    /// The parameter count equals the recorded one.
    pub counted: bool,
    /// What could not be seen.
    pub unknown: Vec<Unknown>,
    /// Least and most of the predicted peak over what is unknown, bytes.
    pub range: (f64, f64),
    /// Memory as predicted, before any calibration.
    pub memory: Memory,
    /// The GPU, where its product is in the table.
    pub gpu: Option<Gpu>,
}

/// Reads a setup off a trace. With `given`, the network is not searched for in the shapes.
///
/// # Errors
/// Names what the trace does not show.
pub fn observe(
    trace: &Trace,
    facts: &Facts,
    device: &DeviceFacts,
    said: &Said,
    given: Option<&Model>,
) -> Result<Observed, Unseen> {
    let census = Census::new(trace, facts, device).ok_or(Unseen::NoShapes)?;
    if census.compiled {
        return Err(Unseen::Compiled);
    }
    if !census.has_shapes() {
        return Err(Unseen::NoShapes);
    }
    let mut network = network::network(&census, said)?;
    if let Some(model) = given {
        if model.hidden != network.model.hidden || model.all_layers() != network.model.layers {
            return Err(Unseen::Parameters { counted: network.model.parameters(), said: model.parameters() });
        }
        (network.model, network.counted, network.tied_unknown) = (model.clone(), true, false);
    }
    let signs = Signs::new(trace);
    let mut setup = Setup::new(network.model.clone(), network.batch, network.seq);
    setup.dropout = network.model.dropout;
    setup.code = network.code;
    setup.attention = if network.eager { AttentionKernel::Eager } else { AttentionKernel::Fused };
    setup.precision = training::precision(&census, &signs).ok_or(Unseen::Blocks)?;
    setup.micro_batches = network.micro_batches;
    setup.checkpointing = training::checkpointing(&network);
    let (optimizer, optimizer_loop) = signs.optimizer();
    (setup.optimizer, setup.optimizer_loop) = (optimizer.unwrap_or(Optimizer::AdamW), optimizer_loop);
    setup.parallel = training::parallel(trace, facts, device, &census, &signs, said)?;
    if setup.parallel.pipeline > 1 {
        let rank = trace.meta.distributed.as_ref().map_or(0, |job| u64::from(job.rank));
        setup.stage = rank / setup.parallel.data;
    }
    let weights = 4.0 * setup.model.parameters() as f64;
    setup.offload = training::offload(trace, facts, device, weights);
    let properties = trace.meta.devices.iter().find(|properties| properties.id == device.device);
    let gpu = properties.and_then(|found| by_product(&found.name, found.memory_bytes));
    if let Some(gpu) = &gpu {
        setup.workspace = gpu.workspace;
    }
    if let Some(found) = properties.filter(|found| found.multiprocessors > 0) {
        setup.multiprocessors = u64::from(found.multiprocessors);
    }
    let (loss, kept_unknown) = training::loss(&census, setup.precision);
    setup.loss = loss;
    let mut open: Vec<Open> = Vec::new();
    if kept_unknown && setup.stage + 1 == setup.parallel.pipeline {
        open.push(["logits-kept", "logits-dropped"]);
    }
    if setup.parallel.data > 1 && setup.parallel.sharding == Sharding::None {
        open.push(["bucket-copies", "bucket-view"]);
    }
    if network.tied_unknown {
        open.push(["untied", "tied"]);
    }
    let mut observed = decide(&setup, &open, said.peak.map(|peak| peak as f64));
    observed.counted = network.counted;
    observed.gpu = gpu;
    if optimizer.is_none() {
        observed.unknown.push(Unknown { id: "optimizer", by_peak: false });
    }
    Ok(observed)
}

impl Observed {
    /// A setup that was described, not seen; `said` must agree with it.
    ///
    /// # Errors
    /// If the recording states another number of parameters.
    pub fn described(setup: Setup, gpu: Gpu, said: &Said) -> Result<Self, Unseen> {
        let counted = setup.model.parameters();
        if let Some(said) = said.params.filter(|&said| said != counted) {
            return Err(Unseen::Parameters { counted, said });
        }
        let memory = worst_of(&setup);
        let range = (memory.allocated, memory.allocated);
        Ok(Self { setup, counted: said.params.is_some(), unknown: Vec::new(), range, memory, gpu: Some(gpu) })
    }
}

/// Two possibilities, the usual one first.
type Open = [&'static str; 2];

/// Tries every combination of what is open; the one nearest to the measured peak is taken, or the first.
fn decide(setup: &Setup, open: &[Open], peak: Option<f64>) -> Observed {
    let variant = |bits: usize| {
        let mut setup = setup.clone();
        for (at, ids) in open.iter().enumerate() {
            match ids[bits >> at & 1] {
                "logits-dropped" => setup.loss = Loss::CrossEntropy,
                "bucket-view" => setup.parallel.bucket_view = true,
                "tied" => setup.model.tied = true,
                _ => {}
            }
        }
        let memory = worst_of(&setup);
        (setup, memory)
    };
    let all: Vec<(Setup, Memory)> = (0..1_usize << open.len()).map(variant).collect();
    let distance = |memory: &Memory| {
        peak.map_or(0.0, |peak| (memory.allocated - peak).abs().min((memory.first_steps - peak).abs()))
    };
    let best = all
        .iter()
        .enumerate()
        .min_by(|a, b| distance(&a.1.1).total_cmp(&distance(&b.1.1)))
        .map_or(0, |(at, _)| at);
    let bytes = |pick: fn(f64, f64) -> f64, start: f64| {
        all.iter().map(|(_, memory)| memory.allocated).fold(start, pick)
    };
    let range = (bytes(f64::min, f64::INFINITY), bytes(f64::max, 0.0));
    let (setup, memory) = all[best].clone();
    // A peak that contradicts every possibility decides between none.
    let decides = peak.is_some_and(|peak| distance(&memory) <= CONTRADICTS * peak);
    let chosen = |(at, ids): (usize, &Open)| Unknown { id: ids[best >> at & 1], by_peak: decides };
    let unknown = open.iter().enumerate().map(chosen).collect();
    Observed { setup, counted: false, unknown, range, memory, gpu: None }
}

/// Memory of the stage that a trace shows.
fn worst_of(setup: &Setup) -> Memory {
    if setup.parallel.pipeline > 1 { crate::memory::at_stage(setup) } else { worst(setup) }
}
