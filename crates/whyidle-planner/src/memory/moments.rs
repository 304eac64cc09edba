//! The six moments where every data-parallel rank holds its weights whole: one GPU, DDP, ZeRO-1 and
//! -2, tensor, context and pipeline parallelism.

use super::activations::{self, Saved, Sizes};
use super::allocator::MIB;
use super::states::{Local, optimizer_bytes, optimizer_temporary, widths};
use super::{Item, Moment, MomentId};
use crate::setup::{AttentionKernel, Checkpointing, Code, Loss, Offload, Precision, Setup, Sharding};
use crate::{Family, Head};

/// What several moments share, bytes.
pub(crate) struct Facts {
    /// There for the whole step, by item.
    pub(crate) base: Vec<Item>,
    /// Weights, gradients and optimizer states.
    pub(crate) states: f64,
    /// Kept by the layers until backward reaches them.
    pub(crate) layers: f64,
    /// Of one layer when it is computed (again).
    pub(crate) one: Saved,
    /// Before and after the layers.
    pub(crate) ends: f64,
    /// 16-bit copies of linear weights that autograd holds.
    pub(crate) copies: f64,
    /// Gradients of a whole step.
    pub(crate) gradients: f64,
    /// The second set of DDP's buckets.
    pub(crate) first_buckets: f64,
    /// Logits × tokens, elements.
    pub(crate) logits: f64,
    /// Bytes per logit.
    pub(crate) loss: LossBytes,
    /// The optimizer's temporaries.
    pub(crate) temporary: f64,
    pub(crate) z: Sizes,
}

/// Bytes per logit at the moments of the loss.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LossBytes {
    pub(crate) forward: f64,
    pub(crate) backward: f64,
    pub(crate) kept: f64,
}

impl LossBytes {
    fn of(setup: &Setup) -> Self {
        let bytes = |forward, backward, kept| Self { forward, backward, kept };
        let amp = setup.precision == Precision::Amp;
        let fp32 = setup.precision == Precision::Fp32;
        match setup.loss {
            Loss::Fused => bytes(0.0, 0.0, 0.0),
            // Only the logits are kept: log-softmax is computed again. Its gradient is fp32.
            // Logits that are handed out besides are written twice in forward.
            Loss::Upcast if setup.compiled && !fp32 => bytes(2.0, 6.0, 0.0),
            _ if setup.compiled && !fp32 => bytes(4.0, 6.0, 2.0),
            _ if setup.compiled => bytes(4.0, 8.0, 4.0),
            // Logits 2 and fp32 4, log-softmax 4; then log-softmax, two gradients.
            Loss::Upcast => bytes(if fp32 { 8.0 } else { 10.0 }, 12.0, 0.0),
            Loss::CrossEntropy if fp32 => bytes(8.0, 12.0, 0.0),
            // log-softmax stays 16-bit, its fp32 copy for nll_loss, the copy's gradient.
            Loss::CrossEntropy if amp => bytes(8.0, 10.0, 0.0),
            Loss::CrossEntropy => bytes(4.0, 6.0, 0.0),
            Loss::KeptLogits if fp32 => bytes(8.0, 16.0, 4.0),
            Loss::KeptLogits if amp => bytes(8.0, 12.0, 2.0),
            Loss::KeptLogits => bytes(4.0, 8.0, 2.0),
        }
    }
}

/// Items that are not zero.
pub(super) fn items(list: &[(&'static str, f64)]) -> Vec<Item> {
    list.iter().filter(|(_, bytes)| *bytes != 0.0).map(|&(id, bytes)| Item { id, bytes }).collect()
}

impl Facts {
    pub(crate) fn new(setup: &Setup, local: &Local) -> Self {
        let z = Sizes::new(setup);
        let (p, model) = (&setup.parallel, &setup.model);
        let last = setup.stage + 1 == p.pipeline;
        let (weight, gradient, master) = widths(setup.precision);
        let n = p.data as f64;
        let (shard_o, shard_g) = match p.sharding {
            Sharding::None => (1.0, 1.0),
            Sharding::Optimizer => (n, 1.0),
            _ => (n, n),
        };
        let shard_w = if matches!(p.sharding, Sharding::Full | Sharding::KeepGathered) { n } else { 1.0 };
        let trained = local.trained(setup);
        // The allocator's rounding grows with every set of fp32 tensors.
        let rounding = match setup.precision {
            Precision::Mixed => 0.0,
            _ if setup.lora.is_some() => 0.0,
            _ => local.rounding,
        };
        let frozen = setup.lora.map_or(0.0, |lora| {
            // NF4: half a byte and a scale per 64, quantised again: 0.516; embeddings and head stay 16-bit.
            if lora.quantised {
                0.516 * local.linear + 2.0 * (local.all - local.linear)
            } else {
                weight * local.all
            }
        });
        let weights =
            if setup.lora.is_some() { frozen + 4.0 * trained } else { weight * local.all + rounding };
        let mut optimizer = (optimizer_bytes(setup, local) + master * trained) / shard_o;
        if setup.optimizer == crate::Optimizer::AdamW {
            optimizer += 2.0 * rounding / shard_o;
        }
        let mut gradients = gradient * trained / shard_g + rounding / shard_g;
        if setup.offload != Offload::None {
            optimizer = 0.0;
        }
        let ddp = p.data > 1
            && matches!(p.sharding, Sharding::None | Sharding::Optimizer)
            && setup.precision != Precision::Mixed;
        // As views the buckets are the gradients: they stay when the gradients are set to None, and no
        // second set is made.
        let buckets = if ddp { gradient * trained } else { 0.0 };
        if ddp && p.bucket_view {
            gradients = 0.0;
        }
        let resident = if setup.micro_batches > 1 && !p.gpipe { gradients } else { 0.0 };
        if setup.offload == Offload::All {
            gradients = 2.0 * gradient * local.one_layer;
        }
        let lt = if local.biases { MIB } else { 0.0 };
        let one_dense = activations::layer(setup, false, false);
        let one_moe = activations::layer(setup, true, false);
        let moe_layers = model.moe_layers() as f64;
        let dense_layers = model.layers as f64 - moe_layers;
        let mut whole = dense_layers * one_dense.total() + moe_layers * one_moe.total();
        let mut one =
            if model.moe.is_some() && one_moe.total() > one_dense.total() { one_moe } else { one_dense };
        if model.decoder_layers > 0 {
            one = activations::layer(setup, false, true);
            whole += model.decoder_layers as f64 * one.total();
        }
        let all = model.all_layers() as f64;
        let input = z.r * z.n * z.d / z.s;
        let kept_layers = match setup.checkpointing {
            Checkpointing::None | Checkpointing::Selective => whole,
            Checkpointing::Full => all * input,
            Checkpointing::Every(k) => {
                let kept = all / k as f64;
                whole / all * kept + (all - kept) * input
            }
        };
        // In flight: all micro-batches (GPipe), or as many as there are stages from here on (1F1B);
        // interleaving holds (p − 1)/(p·v) more on the first (arXiv 2104.04473, §2.2).
        let flight = if p.pipeline == 1 {
            1.0
        } else if p.gpipe {
            setup.micro_batches as f64
        } else {
            let depth = (p.pipeline - setup.stage).min(setup.micro_batches) as f64;
            let more = if p.chunks > 1 {
                1.0 + (p.pipeline - 1) as f64 / (p.pipeline * p.chunks) as f64
            } else {
                1.0
            };
            depth * more
        };
        // Received inputs and stage outputs of the micro-batches in flight.
        let pipe = if p.pipeline > 1 { flight * 2.0 * input } else { 0.0 };
        let layers = kept_layers / p.pipeline as f64 * flight + pipe;
        let copied = setup.precision == Precision::Amp;
        let head_copy = if copied && last { 2.0 * local.output } else { 0.0 };
        let dense_copy = if copied && last && model.head == Head::MaskedLm { 2.0 * z.d * z.d } else { 0.0 };
        let ends = if setup.stage == 0 { activations::embedding(setup) } else { 0.0 }
            + if last { activations::head(setup) + head_copy + dense_copy } else { 0.0 };
        let logits = match model.head {
            Head::Lm | Head::MaskedLm if last => z.n * model.vocab as f64 / z.t,
            _ => 0.0,
        };
        let held = if p.pipeline > 1 && p.gpipe && last { setup.micro_batches as f64 - 1.0 } else { 0.0 };
        let mut loss = LossBytes::of(setup);
        if model.softcap {
            // The tanh's output, until the logits' gradient has passed it.
            loss.forward += z.e;
            loss.backward += z.e;
        }
        if held > 0.0 {
            // GPipe computes all losses in forward: logits and log-softmax of every micro-batch stay.
            let extra = held * loss.forward;
            loss.forward += extra;
            loss.backward += extra;
        }
        let base = items(&[
            (
                "weights",
                if setup.offload == Offload::All {
                    2.0 * weight * local.one_layer + weight * local.root
                } else {
                    weights
                },
            ),
            ("optimizer", optimizer),
            ("gradients", resident),
            ("buckets", buckets),
            ("workspace", 2.0 * setup.workspace as f64 + lt),
            ("inputs", inputs(setup)),
        ]);
        Self {
            states: weights / shard_w + optimizer + gradients,
            base,
            layers,
            one,
            ends,
            copies: if copied { 2.0 * local.linear } else { 0.0 },
            gradients,
            first_buckets: if p.bucket_view { 0.0 } else { buckets },
            logits,
            loss,
            temporary: if setup.offload == Offload::None {
                optimizer_temporary(setup, local) / shard_o
            } else {
                0.0
            },
            z,
        }
    }

    /// A layer is computed again in backward.
    pub(crate) fn recomputes(setup: &Setup) -> bool {
        matches!(setup.checkpointing, Checkpointing::Full | Checkpointing::Every(_))
    }

    /// Gradients of the layer in hand, and what backward writes meanwhile: at the MLP, at attention.
    pub(crate) fn transients(&self, setup: &Setup, local: &Local) -> (f64, f64) {
        let z = &self.z;
        let model = &setup.model;
        let split = z.n / z.t;
        let width = model.moe.map_or(z.f, |moe| {
            let routed = (moe.top_k * moe.ffn + moe.shared_ffn) as f64;
            if model.moe_layers() < model.layers { routed.max(z.f) } else { routed }
        });
        let products = if model.gated { 2.0 } else { 1.0 };
        let mut mlp = z.e * (z.n * z.d + products * split * width + z.d * z.f / z.t);
        if model.act == crate::Act::Written && setup.code == Code::HuggingFace {
            mlp += 8.0 * split * z.f;
        }
        if model.mlp_bias {
            mlp += bias_scratch(setup, z.f / z.t);
        }
        let mut attention = split * (2.0 * z.e * (z.q + 2.0 * z.k) + 4.0 * z.q + 4.0 * z.heads);
        let grouped = setup.precision == Precision::Fp32
            && setup.code == Code::HuggingFace
            && model.attention.kv_heads < model.attention.heads;
        if setup.attention == AttentionKernel::Eager || grouped {
            // fp32 gradient of the softmax, its product with the output, and the result; the 16-bit
            // copy is gone by then.
            let per_score = match (setup.code, setup.precision) {
                (Code::Megatron, _) => 3.0 * z.e,
                (_, Precision::Fp32) => 12.0,
                _ => 10.0,
            };
            attention = per_score * z.scores;
        }
        let gradient = widths(setup.precision).1;
        let copies = if setup.precision == Precision::Amp { 2.0 } else { 0.0 };
        attention += (gradient - copies) * local.one_mlp - self.one.mlp;
        (mlp, attention)
    }

    /// HF keeps the fp32 output of the final norm while the loss is computed.
    fn hidden_out(&self, setup: &Setup) -> f64 {
        let hf = setup.code == Code::HuggingFace && !setup.compiled;
        if hf && setup.precision == Precision::Amp && self.logits > 0.0 {
            4.0 * self.z.n * self.z.d
        } else {
            0.0
        }
    }

    /// Chunked losses: a chunk of logits, and gradients of the hidden states.
    pub(crate) fn fused_loss(&self, setup: &Setup) -> f64 {
        if setup.loss == Loss::Fused { 10.0 * self.z.n * self.z.d } else { 0.0 }
    }
}

/// Token ids and labels of 8 bytes each; of images, the pixels in fp32.
pub(super) fn inputs(setup: &Setup) -> f64 {
    match setup.model.family {
        Family::Vit => 4.0 * setup.tokens() * setup.model.vocab as f64,
        _ => 16.0 * setup.tokens(),
    }
}

/// Scratch of a bias gradient, a column sum on `outs` columns (ATen's reduction over all SMs).
fn bias_scratch(setup: &Setup, outs: f64) -> f64 {
    let n = setup.tokens();
    if n < 1024.0 {
        return 0.0;
    }
    let blocks = (16.0 * setup.multiprocessors as f64 * 128.0 / outs).ceil();
    let c = blocks.min((n / 64.0).ceil()).max((n / 1024.0).ceil());
    4.0 * outs * 128.0 * c
}

pub(super) fn moments(setup: &Setup, local: &Local, facts: &Facts) -> Vec<Moment> {
    let z = &facts.z;
    let recomputes = Facts::recomputes(setup);
    let copies = if recomputes { 0.0 } else { facts.copies };
    let (weight_grad, layer_copy) = (
        widths(setup.precision).1,
        if copies > 0.0 || facts.copies == 0.0 { 0.0 } else { 2.0 * local.one_layer },
    );
    let kept = facts.loss.kept * facts.logits;
    let head_grad = if setup.lora.is_some() { 0.0 } else { weight_grad * local.output };
    let forward = facts.loss.forward * facts.logits + facts.fused_loss(setup) + facts.hidden_out(setup);
    let backward = facts.loss.backward * facts.logits + facts.fused_loss(setup);
    let again = if recomputes { facts.one.total() } else { 0.0 };
    let (mlp, attention) = facts.transients(setup, local);
    let residual = z.r * z.n * z.d / z.s;
    let tied = if setup.model.tied { head_grad } else { 0.0 };
    let embedding = if setup.model.family == Family::Vit || setup.stage > 0 {
        0.0
    } else {
        tied + if z.n >= 3072.0 { 4.4 * z.n * z.d } else { 0.0 }
    };
    // Gradients of earlier micro-batches are in the base already: new ones replace them one by one.
    let resident = facts.base.iter().any(|item| item.id == "gradients");
    let gradients = if resident { 0.0 } else { facts.gradients };
    let product =
        if weight_grad > z.e { (z.e + weight_grad) * local.output } else { weight_grad * local.output };
    // A compiled graph keeps the output matrix's 16-bit copy until both its products are done.
    let head_copy = if setup.compiled && facts.copies > 0.0 { 2.0 * local.output } else { 0.0 };
    let table: [(MomentId, Vec<(&'static str, f64)>); 6] = [
        (
            MomentId::LossForward,
            vec![
                ("activations", facts.layers),
                ("ends", facts.ends),
                ("copies", facts.copies),
                ("loss", forward),
            ],
        ),
        (
            MomentId::LossBackward,
            vec![("activations", facts.layers), ("ends", facts.ends), ("copies", copies), ("loss", backward)],
        ),
        (
            MomentId::HeadBackward,
            vec![
                ("activations", facts.layers),
                ("copies", copies + head_copy),
                ("loss", kept),
                ("new-gradients", product),
                ("transient", 8.0 * z.n * z.d),
            ],
        ),
        (
            MomentId::LayerBackward,
            vec![
                ("activations", facts.layers),
                ("recomputed", again),
                ("copies", copies + layer_copy),
                ("loss", kept),
                ("new-gradients", head_grad),
                ("transient", residual + mlp.max(attention)),
            ],
        ),
        (
            MomentId::BackwardEnd,
            vec![("new-gradients", gradients), ("loss", kept), ("transient", residual + embedding)],
        ),
        (
            MomentId::Optimizer,
            vec![("new-gradients", gradients), ("loss", kept), ("optimizer-temporary", facts.temporary)],
        ),
    ];
    table
        .into_iter()
        .map(|(id, own)| {
            let mut all = facts.base.clone();
            all.extend(items(&own));
            Moment { id, items: all }
        })
        .collect()
}
