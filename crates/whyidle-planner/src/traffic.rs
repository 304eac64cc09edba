//! Bytes that one GPU sends per optimizer step, by what asks for them and over which link.
//!
//! Ring algorithms: an all-reduce of n bytes over N ranks moves 2n(N − 1)/N per GPU, a gather or a
//! scatter half of that. ZeRO: arXiv 1910.02054, §7; tensor parallelism: arXiv 2104.04473, §3.2.

use crate::gpu::{Gpu, Link};
use crate::memory::Local;
use crate::setup::{Checkpointing, Precision, Setup, Sharding};

/// Where a flow runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkScope {
    /// Among the GPUs of a node.
    Node,
    /// Between nodes.
    Network,
}

/// One kind of communication.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Stable id: `data`, `gather`, `tensor`, `pipeline`, `context`, `expert`.
    pub id: &'static str,
    /// Bytes that one GPU sends in a step.
    pub bytes: f64,
    /// Collectives or messages in a step.
    pub calls: f64,
    /// Steps of a ring per call.
    pub hops: f64,
    /// Over which link.
    pub scope: LinkScope,
    /// Share that compute can hide: 0 where the next product waits for it.
    pub hidden: f64,
}

impl Flow {
    /// Seconds on `link`.
    #[must_use]
    pub fn seconds(&self, link: &Link) -> f64 {
        self.bytes / link.bus + self.calls * self.hops * link.latency
    }

    /// Seconds that no computation hides, when `window` seconds of it are there to hide under.
    #[must_use]
    pub fn exposed(&self, link: &Link, window: f64) -> f64 {
        let seconds = self.seconds(link);
        seconds - (seconds * self.hidden).min(window)
    }
}

/// What `setup` sends per step.
#[must_use]
pub fn traffic(setup: &Setup, gpu: &Gpu) -> Vec<Flow> {
    let p = &setup.parallel;
    let local = Local::of(setup);
    let m = setup.micro_batches as f64;
    let mut flows = Vec::new();
    // Ranks are laid out tensor first, then context, data, pipeline.
    let scope = |ranks: u64| if ranks <= gpu.per_node { LinkScope::Node } else { LinkScope::Network };
    let inner = p.tensor * p.context;
    let share = |ranks: u64| (ranks - 1) as f64 / ranks as f64;
    let trained = local.trained(setup);
    let replicas = p.data * p.context;
    let gradient = if matches!(setup.precision, Precision::Amp | Precision::Fp32) { 4.0 } else { 2.0 };
    let weight = gradient;
    let layers = setup.model.all_layers() as f64 / p.pipeline as f64;
    if replicas > 1 {
        let part = share(replicas);
        let hops = (replicas - 1) as f64;
        let scope = scope(inner * p.data);
        // Of m micro-batches only the last reduces, unless gradients are sharded: then each does.
        let (reduced, gathered) = match p.sharding {
            Sharding::None => (2.0 * gradient, 0.0),
            Sharding::Optimizer => (gradient, weight),
            Sharding::Gradients => (gradient * m, weight),
            Sharding::Full => (gradient * m, 2.0 * weight * m),
            Sharding::KeepGathered => (gradient * m, weight * m),
        };
        let buckets = (trained * gradient / 25e6).max(1.0).ceil();
        // Reduction runs under backward: at best two thirds of compute, and not the last bucket.
        flows.push(Flow {
            id: "data",
            bytes: reduced * trained * part,
            calls: buckets,
            hops,
            scope,
            hidden: 0.95,
        });
        if gathered > 0.0 {
            let per_layer = matches!(p.sharding, Sharding::Full | Sharding::KeepGathered);
            let calls = if per_layer {
                layers * m * if p.sharding == Sharding::Full { 2.0 } else { 1.0 }
            } else {
                1.0
            };
            let hidden = if per_layer { 0.9 } else { 0.0 };
            flows.push(Flow { id: "gather", bytes: gathered * local.all * part, calls, hops, scope, hidden });
        }
    }
    let width = setup.model.hidden as f64;
    let e = setup.precision.compute();
    let hidden = e * setup.tokens() * width;
    if p.tensor > 1 {
        // Per layer and micro-batch: an all-reduce after attention and MLP, forward and backward; with
        // recomputation two more. Sequence parallelism splits each into a scatter and a gather.
        let passes = if matches!(setup.checkpointing, Checkpointing::Full) { 6.0 } else { 4.0 };
        flows.push(Flow {
            id: "tensor",
            bytes: passes * 2.0 * hidden * share(p.tensor) * layers * m,
            calls: passes * layers * m,
            hops: 2.0 * (p.tensor - 1) as f64,
            scope: scope(p.tensor),
            hidden: 0.0,
        });
    }
    if p.pipeline > 1 {
        let split = if p.sequence { p.tensor as f64 } else { 1.0 };
        flows.push(Flow {
            id: "pipeline",
            bytes: 2.0 * hidden / split * m * p.chunks as f64,
            calls: 2.0 * m * p.chunks as f64,
            hops: 1.0,
            scope: scope(inner * p.data * 2),
            hidden: 0.8,
        });
    }
    if p.context > 1 {
        // Keys and values go round the ring; backward sends them and their gradients.
        let kv = 2.0 * hidden * setup.model.kv_share() * 3.0;
        flows.push(Flow {
            id: "context",
            bytes: kv * (p.context - 1) as f64 / p.tensor as f64 * layers * m,
            calls: 3.0 * (p.context - 1) as f64 * layers * m,
            hops: 1.0,
            scope: scope(inner),
            hidden: 0.9,
        });
    }
    if p.expert > 1 {
        let moe = setup.model.moe.map_or(0.0, |moe| moe.top_k as f64);
        let moe_layers = setup.model.moe_layers() as f64 / p.pipeline as f64;
        flows.push(Flow {
            id: "expert",
            bytes: 4.0 * hidden * moe * share(p.expert) * moe_layers * m,
            calls: 4.0 * moe_layers * m,
            hops: 1.0,
            scope: scope(p.expert * p.tensor),
            hidden: 0.0,
        });
    }
    flows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Parallel, Precision, gpu, preset};

    fn bytes(sharding: Sharding) -> f64 {
        let mut setup = Setup::new(preset("llama-2-7b").expect("a preset"), 1, 2048);
        setup.precision = Precision::Mixed;
        setup.parallel = Parallel { data: 64, sharding, ..Parallel::default() };
        traffic(&setup, &gpu("h100", &[]).expect("a GPU")).iter().map(|flow| flow.bytes).sum()
    }

    /// ZeRO-1 and -2 send what DDP sends, ZeRO-3 and FSDP half as much again (arXiv 1910.02054, §7).
    #[test]
    fn full_sharding_costs_half_as_much_again() {
        let ddp = bytes(Sharding::None);
        let whole = 2.0 * 2.0 * 6_738_415_616.0 * 63.0 / 64.0;
        assert!((ddp - whole).abs() < 1.0, "{ddp} {whole}");
        assert_eq!(bytes(Sharding::Gradients), ddp);
        assert!((bytes(Sharding::Full) / ddp - 1.5).abs() < 1e-12);
    }

    /// Tensor parallelism: 8bsh(t − 1)/t elements per layer, forward and backward (arXiv 2104.04473, §3.2).
    #[test]
    fn tensor_parallelism_sends_four_all_reduces_per_layer() {
        let mut setup = Setup::new(preset("llama-2-7b").expect("a preset"), 2, 2048);
        setup.precision = Precision::Mixed;
        setup.parallel = Parallel { tensor: 8, ..Parallel::default() };
        let flows = traffic(&setup, &gpu("h100", &[]).expect("a GPU"));
        let expected = 8.0 * 2.0 * 2048.0 * 4096.0 * 2.0 * 7.0 / 8.0 * 32.0;
        assert!((flows[0].bytes - expected).abs() < 1.0);
    }
}
