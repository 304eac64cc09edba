//! Floating-point work of a step and what it takes: FLOPs, step time, tokens per second, days, cost.

use crate::bubble::Schedule;
use crate::gpu::{Gpu, Link};
use crate::memory::Local;
use crate::setup::{Checkpointing, Offload, Optimizer, OptimizerLoop, Precision, Setup, Sharding};
use crate::traffic::{Flow, LinkScope, traffic};
use crate::{Family, Head};

/// Work of one optimizer step on all GPUs, FLOP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Needed by the model: forward and backward.
    pub model: f64,
    /// Done, with recomputation.
    pub hardware: f64,
    /// Of this, for the logits.
    pub head: f64,
}

/// FLOPs of a step: 6 per active parameter and token in matrix products, and 12·L·heads·width·s per
/// token in attention, halved where it is causal (arXiv 2104.04473, appendix; PaLM, arXiv 2204.02311,
/// appendix B). Recomputing all layers adds their forward pass again.
#[must_use]
pub fn work(setup: &Setup) -> Work {
    let model = &setup.model;
    let tokens = (setup.global_batch() * setup.seq) as f64;
    // Lookups are no products; a tied output matrix is one all the same.
    let tables = (model.vocab + model.positions + model.extra_embeddings) as f64 * model.hidden as f64;
    let lookups = match model.family {
        Family::Vit => 0.0,
        _ if model.tied && matches!(model.head, Head::Lm | Head::MaskedLm) => {
            tables - (model.vocab * model.hidden) as f64
        }
        _ => tables,
    };
    let products = model.active_parameters() as f64 - lookups;
    let at = &model.attention;
    let value = at.mla.map_or(at.head_dim, |mla| mla.v);
    let causal = !matches!(model.family, Family::Bert | Family::Vit | Family::T5);
    let scores = 6.0
        * model.all_layers() as f64
        * (at.heads * (at.head_dim + value)) as f64
        * setup.seq as f64
        * if causal { 0.5 } else { 1.0 };
    let output = (model.vocab * model.hidden) as f64;
    let per_token = 6.0 * products + scores;
    let logits = matches!(model.head, Head::Lm | Head::MaskedLm);
    let forward_again = (2.0 * (products - output).max(0.0) + scores / 3.0)
        * match setup.checkpointing {
            Checkpointing::None => 0.0,
            Checkpointing::Selective => 0.0,
            Checkpointing::Full => 1.0,
            Checkpointing::Every(k) => (k - 1) as f64 / k as f64,
        };
    let scores_again = if setup.checkpointing == Checkpointing::Selective { scores / 3.0 } else { 0.0 };
    let model_work = per_token * tokens;
    Work {
        model: model_work,
        hardware: model_work + (forward_again + scores_again) * tokens,
        head: if logits { 6.0 * output * tokens } else { 0.0 },
    }
}

/// Parameters that one GPU updates.
fn updated(setup: &Setup) -> f64 {
    let shared = if setup.parallel.sharding == Sharding::None { 1.0 } else { setup.parallel.data as f64 };
    Local::of(setup).trained(setup) / shared
}

/// Bytes that the optimizer's pass moves on one GPU: it reads weight, gradient and states, and writes weight and
/// states – 28 per parameter of AdamW in fp32; tensor lists (`foreach`) read and write temporaries besides,
/// about as much again.
pub(crate) fn optimizer_bytes_moved(setup: &Setup) -> f64 {
    // Weight and gradient as the optimizer sees them.
    let w = if setup.precision == Precision::Pure16 { 2.0 } else { 4.0 };
    let states = match setup.optimizer {
        Optimizer::AdamW => 2.0 * w,
        Optimizer::AdamW8bit => 2.0,
        Optimizer::Sgd | Optimizer::Adafactor => 0.0,
        Optimizer::SgdMomentum | Optimizer::Lion | Optimizer::Muon => w,
    };
    let again = if setup.optimizer_loop == OptimizerLoop::Fused { 1.0 } else { 2.0 };
    (3.0 * w + 2.0 * states) * updated(setup) * again
}

/// Share of its rate that a product of `rows` rows keeps, against one of 4096: an assumption, half is lost at 512
/// rows less.
pub(crate) fn rows_efficiency(rows: f64) -> f64 {
    (rows / (rows + 512.0) * (4096.0 + 512.0) / 4096.0).min(1.0)
}

/// Time of a step and where it goes, s.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Useful computation and recomputation.
    pub compute: f64,
    /// Fill and drain of the pipeline, and waiting for its slowest stage.
    pub bubble: f64,
    /// Communication that nothing hides.
    pub exposed: f64,
    /// The optimizer's pass over its states.
    pub optimizer: f64,
    /// What the host or the loader adds where it is slower than the GPU; known of measured steps only.
    pub waiting: f64,
    /// All of a step.
    pub step: f64,
    /// Model FLOPs over peak FLOPs of the step.
    pub mfu: f64,
    /// Tokens per second on all GPUs.
    pub tokens_per_second: f64,
    /// Each flow with its seconds and the exposed part.
    pub flows: Vec<(Flow, f64, f64)>,
}

/// What a number of tokens takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Days.
    pub days: f64,
    /// GPU hours.
    pub gpu_hours: f64,
}

impl Estimate {
    /// Days and GPU hours for `tokens` on `gpus` GPUs.
    #[must_use]
    pub fn cost(&self, tokens: f64, gpus: u64) -> Cost {
        let seconds = tokens / self.tokens_per_second;
        Cost { days: seconds / 86_400.0, gpu_hours: seconds / 3600.0 * gpus as f64 }
    }
}

/// Step time of `setup` when matrix products run at `efficiency` of the peak.
#[must_use]
pub fn estimate(setup: &Setup, gpu: &Gpu, network: &Link, schedule: Schedule, efficiency: f64) -> Estimate {
    let p = &setup.parallel;
    let world = p.world() as f64;
    let done = work(setup);
    let peak = if setup.precision == Precision::Fp32 { gpu.single } else { gpu.half };
    let compute = done.hardware / world / (peak * efficiency);
    // Stages take equal layers; the last computes the logits besides, and every other one waits for it:
    // m micro-batches at the pace of the slowest stage (arXiv 2104.04473, §2.2, assumes equal stages).
    let uneven = done.head / done.hardware * (p.pipeline - 1) as f64;
    let bubble = compute * (schedule.bubble(p.pipeline, setup.micro_batches) + uneven);
    let mut window = compute;
    let flows: Vec<_> = traffic(setup, gpu)
        .into_iter()
        .map(|flow| {
            let link = if flow.scope == LinkScope::Node { &gpu.link } else { network };
            let (seconds, exposed) = (flow.seconds(link), flow.exposed(link, window));
            window = (window - (seconds - exposed)).max(0.0);
            (flow, seconds, exposed)
        })
        .collect();
    let exposed: f64 = flows.iter().map(|(_, _, exposed)| exposed).sum();
    // Offloaded, 16 bytes per parameter cross PCIe and a host core group updates them: about 12 GB/s per
    // GPU together, an assumption.
    let optimizer = match setup.offload {
        Offload::None => optimizer_bytes_moved(setup) / gpu.bandwidth,
        _ => 16.0 * updated(setup) / 12e9,
    };
    let step = compute + bubble + exposed + optimizer;
    Estimate {
        compute,
        bubble,
        exposed,
        optimizer,
        waiting: 0.0,
        step,
        mfu: done.model / world / peak / step,
        tokens_per_second: (setup.global_batch() * setup.seq) as f64 / step,
        flows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::LINKS;
    use crate::{gpu, preset};

    /// 96·B·s·L·h²(1 + s/6h + V/16Lh) with recomputation of every layer (arXiv 2104.04473, eq. 3):
    /// 72 and V/12Lh without. The paper counts full, not causal, attention.
    #[test]
    fn work_agrees_with_the_formula_of_megatron() {
        let mut setup = Setup::new(preset("gpt2-xl").expect("a preset"), 8, 1024);
        let (l, h, s, v, b) = (48.0, 1600.0, 1024.0, 50257.0, 8.0);
        // Causal attention is half of s/6h.
        let expected = 72.0 * b * s * l * h * h * (1.0 + s / (12.0 * h) + v / (12.0 * l * h));
        let found = work(&setup);
        assert!((found.model / expected - 1.0).abs() < 2e-3, "{}", found.model / expected);
        setup.checkpointing = Checkpointing::Full;
        let again = 96.0 * b * s * l * h * h * (1.0 + s / (12.0 * h) + v / (16.0 * l * h));
        assert!((work(&setup).hardware / again - 1.0).abs() < 2e-3);
    }

    /// The last stage's logits hold up the others: with p stages the step is p times the last one's work.
    #[test]
    fn stages_wait_for_the_one_with_the_logits() {
        let mut setup = Setup::new(preset("llama-3-8b").expect("a preset"), 1, 8192);
        (setup.parallel.pipeline, setup.micro_batches) = (4, 256);
        let gpu = gpu("h100", &[]).expect("a GPU");
        let found = estimate(&setup, &gpu, &LINKS[12], Schedule::OneForwardOneBackward, 0.5);
        let done = work(&setup);
        let last = (done.hardware - done.head) / 4.0 + done.head;
        let slowest = last / (gpu.half * 0.5);
        let fill = found.compute * 3.0 / 256.0;
        assert!(((found.compute + found.bubble) / (slowest + fill) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_step_adds_up() {
        let mut setup = Setup::new(preset("llama-3-8b").expect("a preset"), 1, 8192);
        setup.parallel.data = 8;
        setup.micro_batches = 32;
        let gpu = gpu("h100", &[]).expect("a GPU");
        let found = estimate(&setup, &gpu, &LINKS[12], Schedule::OneForwardOneBackward, 0.5);
        assert!((found.compute + found.bubble + found.exposed + found.optimizer - found.step).abs() < 1e-9);
        assert!(found.mfu > 0.4 && found.mfu < 0.5, "{}", found.mfu);
        let cost = found.cost(1e12, 8);
        assert!((cost.gpu_hours - cost.days * 24.0 * 8.0).abs() < 1e-6);
    }
}
