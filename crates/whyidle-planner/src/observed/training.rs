//! How the step of a trace trains: types, optimizer, checkpointing, sharding, pipeline – from names and types.

use whyidle_analysis::communication::{Kind, collectives};
use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::kernelclass::{CopyKind, Work, classify_copy};
use whyidle_analysis::shapes::DType;
use whyidle_model::{HostKind, Trace};

use super::census::{Census, PRODUCT};
use super::network::Network;
use super::{Said, Unseen};
use crate::setup::{Checkpointing, Loss, Offload, Optimizer, OptimizerLoop, Parallel, Precision, Sharding};

/// Names in a step that tell who does what.
pub(super) struct Signs {
    optimizer: Option<Optimizer>,
    optimizer_loop: OptimizerLoop,
    fully_sharded: bool,
    replicated: bool,
    zero: bool,
}

impl Signs {
    /// Reads the names of annotations and of optimizers' operators.
    pub(super) fn new(trace: &Trace) -> Self {
        let mut signs = Self {
            optimizer: None,
            optimizer_loop: OptimizerLoop::Fused,
            fully_sharded: false,
            replicated: false,
            zero: false,
        };
        let (mut fused, mut foreach, mut single, mut momentum) = (false, false, false, false);
        let mut plain = false;
        let mut names: Vec<bool> = vec![false; trace.names.len()];
        for row in 0..trace.host.len() {
            if matches!(trace.host.kind[row], HostKind::Op | HostKind::Annotation) {
                names[trace.host.name[row].index()] = true;
            }
        }
        let mut at = 0;
        trace.names.map(|name| {
            let used = std::mem::replace(&mut names[at], false);
            at += 1;
            if !used {
                return;
            }
            signs.fully_sharded |= name.starts_with("FSDP::") || name.contains("FullyShardedDataParallel");
            signs.replicated |= name.starts_with("DistributedDataParallel");
            if let Some(class) =
                name.strip_prefix("Optimizer.step#").map(|rest| rest.trim_end_matches(".step"))
            {
                signs.zero |= class.contains("ZeroRedundancy");
                plain |= class == "SGD";
                signs.optimizer = signs.optimizer.or(named(class));
            }
            fused |= name.starts_with("aten::_fused_adam") || name == "aten::_fused_sgd_";
            foreach |=
                matches!(name, "aten::_foreach_addcdiv_" | "aten::_foreach_sqrt" | "aten::_foreach_lerp_");
            single |= name == "aten::addcdiv_";
            momentum |= name == "aten::_foreach_mul_";
        });
        if plain {
            signs.optimizer = Some(if momentum { Optimizer::SgdMomentum } else { Optimizer::Sgd });
        }
        signs.optimizer_loop = match (fused, foreach, single) {
            (true, ..) => OptimizerLoop::Fused,
            (_, true, _) => OptimizerLoop::Foreach,
            (_, _, true) => OptimizerLoop::ForLoop,
            _ if plain => OptimizerLoop::Foreach,
            _ => OptimizerLoop::Fused,
        };
        signs
    }

    /// The optimizer and its loop.
    pub(super) fn optimizer(&self) -> (Option<Optimizer>, OptimizerLoop) {
        (self.optimizer, self.optimizer_loop)
    }
}

/// The optimizer of a class's name.
fn named(class: &str) -> Option<Optimizer> {
    let lower = class.to_ascii_lowercase();
    Some(match lower.as_str() {
        _ if lower.contains("8bit") && lower.contains("adam") => Optimizer::AdamW8bit,
        "adam" | "adamw" | "fusedadam" => Optimizer::AdamW,
        "lion" => Optimizer::Lion,
        "adafactor" => Optimizer::Adafactor,
        "muon" => Optimizer::Muon,
        "sgd" => Optimizer::Sgd,
        _ => return None,
    })
}

/// Types of weights and of products.
pub(super) fn precision(census: &Census, signs: &Signs) -> Option<Precision> {
    let stored = census.of("aten::linear").find_map(|row| row.dtype(1));
    let stored = stored.or_else(|| census.of("aten::embedding").find_map(|row| row.dtype(0)))?;
    let computed = census
        .of(PRODUCT)
        .chain(census.of("aten::addmm"))
        .chain(census.of("aten::mm"))
        .find_map(|row| row.dtype(if row.dims(0).len() == 1 { 1 } else { 0 }))
        .unwrap_or(stored);
    Some(match (stored, computed) {
        (DType::F32, DType::F32) => Precision::Fp32,
        (DType::F32, half) if half.is_half() => Precision::Amp,
        (half, _) if half.is_half() && signs.fully_sharded => Precision::Mixed,
        (half, _) if half.is_half() => Precision::Pure16,
        _ => return None,
    })
}

/// What the loss keeps, and whether a loop may keep 16-bit logits beside it.
pub(super) fn loss(census: &Census, precision: Precision) -> (Loss, bool) {
    let half = census.of("aten::cross_entropy_loss").find_map(|row| row.dtype(0)).is_some_and(DType::is_half);
    match precision {
        // Logits of a 16-bit product that reach the loss as fp32 were cast, as transformers does.
        Precision::Amp | Precision::Pure16 | Precision::Mixed if !half => (Loss::Upcast, false),
        _ => (Loss::KeptLogits, true),
    }
}

/// Which layers run again in backward.
pub(super) fn checkpointing(network: &Network) -> Checkpointing {
    let (forward, again) = network.attentions;
    match again {
        0 => Checkpointing::None,
        _ if again >= forward => Checkpointing::Full,
        _ => Checkpointing::Every((forward / (forward - again)).max(2)),
    }
}

/// Who divides what.
pub(super) fn parallel(
    trace: &Trace,
    facts: &Facts,
    device: &DeviceFacts,
    census: &Census,
    signs: &Signs,
    said: &Said,
) -> Result<Parallel, Unseen> {
    let world = trace.meta.distributed.as_ref().map_or(1, |job| u64::from(job.world_size)).max(1);
    let pipeline = said.stages.unwrap_or(1).max(1);
    if world == 1 {
        return Ok(Parallel::default());
    }
    if !world.is_multiple_of(pipeline) {
        return Err(Unseen::Parallelism);
    }
    let data = world / pipeline;
    let sharding = if signs.fully_sharded {
        let again = collectives(trace, facts, device)
            .iter()
            .any(|each| each.kind == Kind::AllGather && each.in_backward);
        if again { Sharding::Full } else { Sharding::KeepGathered }
    } else if signs.zero {
        Sharding::Optimizer
    } else if signs.replicated || data == 1 {
        Sharding::None
    } else {
        return Err(Unseen::Parallelism);
    };
    Ok(Parallel {
        data,
        sharding,
        pipeline,
        gpipe: pipeline > 1 && !census.alternates,
        ..Parallel::default()
    })
}

/// Optimizer states on the host show as copies of about the weights' size in both directions.
pub(super) fn offload(trace: &Trace, facts: &Facts, device: &DeviceFacts, weights: f64) -> Offload {
    let (mut up, mut down) = (0_u64, 0_u64);
    for &row in &device.rows {
        let row = row as usize;
        if facts.works[row] == Work::HostCopy
            && device.steps.ended_at(trace.gpu.start[row] + trace.gpu.dur[row]).is_some()
        {
            match classify_copy(trace.names.get(trace.gpu.name[row])) {
                kind if kind.is_to_device() => up += trace.gpu.bytes[row],
                CopyKind::DeviceToDevice => {}
                _ => down += trace.gpu.bytes[row],
            }
        }
    }
    let steps = device.steps.used.len().max(1) as f64;
    if up.min(down) as f64 / steps >= 0.9 * weights { Offload::Optimizer } else { Offload::None }
}
