//! What forward keeps for backward, per layer, by whose code runs.
//!
//! Bytes per token are written as multiples of the widths, so that each figure can be followed: `d`
//! hidden, `f` intermediate, `q` = heads × head width, `k` the same of key-value heads; `e` bytes of a
//! product's element, `r` of the residual's. Checked against recorded runs; the sums equal the rows of
//! the table in §3 of the memory notes, and for 16-bit Megatron code those of arXiv 2205.05198.

use crate::setup::{AttentionKernel, Checkpointing, Code, Precision, Setup};
use crate::{Act, Family};

/// What one layer keeps on one GPU, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Saved {
    /// Of norm and attention.
    pub(crate) attention: f64,
    /// Of norm and MLP.
    pub(crate) mlp: f64,
    /// Score matrices, among `attention`.
    pub(crate) scores: f64,
}

impl Saved {
    pub(crate) fn total(&self) -> f64 {
        self.attention + self.mlp
    }
}

/// Widths and sizes of one micro-batch on one GPU.
pub(crate) struct Sizes {
    /// Tokens.
    pub(crate) n: f64,
    pub(crate) d: f64,
    pub(crate) f: f64,
    pub(crate) q: f64,
    pub(crate) k: f64,
    pub(crate) e: f64,
    pub(crate) r: f64,
    pub(crate) heads: f64,
    /// Tensor-parallel ranks.
    pub(crate) t: f64,
    /// Ranks that split activations between tensor-parallel parts.
    pub(crate) s: f64,
    /// Elements of one score matrix, of this rank's heads and share of the sequence.
    pub(crate) scores: f64,
}

impl Sizes {
    pub(crate) fn new(setup: &Setup) -> Self {
        let (at, p) = (&setup.model.attention, &setup.parallel);
        let t = p.tensor as f64;
        let n = setup.tokens();
        Self {
            n,
            d: setup.model.hidden as f64,
            f: setup.model.ffn as f64,
            q: (at.heads * at.head_dim) as f64,
            k: (at.kv_heads * at.head_dim) as f64,
            e: setup.precision.compute(),
            r: if setup.code == Code::Megatron {
                setup.precision.compute()
            } else {
                setup.precision.residual()
            },
            heads: at.heads as f64,
            t,
            s: if p.sequence { t } else { 1.0 },
            scores: n * setup.seq as f64 * at.heads as f64 / t,
        }
    }
}

/// What a layer keeps; `experts` for one with experts, `cross` with a second attention.
pub(crate) fn layer(setup: &Setup, experts: bool, cross: bool) -> Saved {
    let z = Sizes::new(setup);
    if setup.compiled && !experts && !cross {
        return compiled(setup, &z);
    }
    let mut saved = attention(setup, &z);
    if cross {
        // The encoder's states are cast anew for keys and values.
        let second = attention(setup, &z);
        saved.attention += second.attention;
        saved.scores += second.scores;
    }
    saved.mlp = if experts { mixture(setup, &z) } else { mlp(setup, &z) };
    saved
}

/// What a compiled layer keeps. The partitioner (min-cut rematerialisation) never computes a product's operand
/// again, so each linear layer's input is kept, once for all that read it, and the operands of attention and of
/// the activation; of a norm only what it starts from. Read off the partitioned graphs of torch 2.11:
/// LayerNorm keeps its normalised input, RMSNorm before the MLP the attention block's output and before
/// attention the residual. transformers repeats keys and values there, and the output of attention is laid out
/// anew for the projection.
fn compiled(setup: &Setup, z: &Sizes) -> Saved {
    let model = &setup.model;
    let split = z.n / z.t;
    let hf = setup.code == Code::HuggingFace;
    let (mid, statistics) = if model.norm_bias { (z.r, 8.0) } else { (z.e, 4.0) };
    let keys = if hf { 2.0 * z.q } else { 2.0 * z.k };
    let outputs = if hf && !model.norm_bias { 2.0 * z.q } else { z.q };
    let mut attention = z.n * (z.e * z.d + statistics) / z.s;
    attention += split * (z.e * (z.q + keys + outputs) + 4.0 * z.heads);
    let scores = if setup.attention == AttentionKernel::Eager { 2.0 * z.e * z.scores } else { 0.0 };
    attention += scores;
    let parts = if model.gated { 3.0 } else { 2.0 };
    let mlp = z.n * ((mid + z.e + z.r) * z.d + statistics) / z.s + split * parts * z.e * z.f;
    Saved { attention, mlp, scores }
}

/// A norm before `consumers` linear layers: its input, what it keeps inside, and the casts of its output.
fn norm(setup: &Setup, z: &Sizes, consumers: f64) -> f64 {
    let amp = setup.precision == Precision::Amp;
    let casts = if amp && setup.code == Code::HuggingFace { consumers * z.e } else { z.e };
    let (inside, statistics) = match (setup.code, setup.model.norm_bias) {
        // x − mean three times, and y, all in the residual's type.
        (Code::WrittenOut, _) => (4.0 * z.r, 0.0),
        (Code::HuggingFace, false) if setup.model.family == Family::T5 => (2.0 * z.r, 4.0),
        // fp32 copy of the input and the normalised value: fp32 where the input is, else 16-bit;
        // Gemma keeps both in fp32.
        (Code::HuggingFace, false) => {
            let gemma = setup.model.family == Family::Gemma2 || setup.model.name.starts_with("gemma");
            // A frozen weight asks for no gradient, so the normalised value is not kept.
            let normalised = match (setup.lora.is_some(), gemma) {
                (true, _) => 0.0,
                (_, true) => 4.0,
                _ => z.r,
            };
            (4.0 + normalised, 4.0)
        }
        (_, rms_is_false) => (z.r, if rms_is_false { 8.0 } else { 4.0 }),
    };
    z.n * ((inside + casts) * z.d + statistics) / z.s
}

fn attention(setup: &Setup, z: &Sizes) -> Saved {
    let (model, family) = (&setup.model, setup.model.family);
    let hf = setup.code == Code::HuggingFace;
    let consumers = match family {
        Family::Gpt | Family::Neox => 1.0,
        Family::DeepSeek => 2.0,
        _ => 3.0,
    };
    let mut bytes = norm(setup, z, consumers);
    if family == Family::Gemma2 {
        // A norm after attention: fp32 copy and normalised value of a 16-bit input.
        bytes += z.n * (8.0 * z.d + 4.0) / z.s;
    }
    // fp32 kernels know no grouped queries: keys and values are repeated and the scores written out.
    let grouped = model.attention.kv_heads < model.attention.heads;
    let eager =
        setup.attention == AttentionKernel::Eager || (hf && setup.precision == Precision::Fp32 && grouped);
    let split = z.n / z.t;
    bytes += if let Some(mla) = model.attention.mla {
        // Queries and keys joined anew, the buffer of keys and values, the output and its copy.
        let per_head = (2 * (mla.nope + mla.rope) + (mla.nope + mla.v) + 2 * mla.v) as f64;
        let latent = (mla.q_rank.unwrap_or(0) + mla.kv_rank) as f64;
        // Latents: fp32 copy and normalised value, and the cast of the norm's output.
        split * z.e * z.heads * per_head + z.n * latent * (4.0 + 2.0 * z.e)
    } else {
        let (keys, values) = if eager { (z.q, z.q) } else { (z.k, z.k) };
        let projected = match family {
            // Rotated queries and keys are new; values keep the fused buffer alive.
            // The output is copied once more.
            Family::Neox => 2.0 * z.q + 3.0 * z.q + z.q,
            _ => z.q + keys + values,
        };
        split * z.e * (projected + z.q)
    };
    if model.attention.qk_norm {
        bytes += split * (4.0 + if setup.precision == Precision::Fp32 { 4.0 } else { 2.0 }) * (z.q + z.k);
    }
    let scores = if eager { scores(setup, z) } else { 0.0 };
    if eager {
        bytes += scores;
    } else {
        // Log-sum-exp of a fused kernel.
        bytes += 4.0 * split * z.heads;
    }
    if setup.dropout {
        bytes += z.n * z.d / z.s;
    }
    Saved { attention: bytes, mlp: 0.0, scores }
}

/// What written-out attention keeps of its score matrices, bytes.
fn scores(setup: &Setup, z: &Sizes) -> f64 {
    if setup.checkpointing == Checkpointing::Selective {
        return 0.0;
    }
    // Of dropout the mask is kept, and its output in place of the copy that the product would keep.
    let mask = if setup.dropout { 1.0 } else { 0.0 };
    let per_score = match (setup.code, setup.precision) {
        // 16-bit softmax.
        (Code::Megatron, _) => z.e + if setup.dropout { z.e } else { 0.0 },
        // The softmax itself is what the product keeps.
        (_, Precision::Fp32) => 4.0 + if setup.dropout { 4.0 } else { 0.0 },
        // fp32 softmax and its 16-bit copy.
        _ => 6.0,
    };
    z.scores * (per_score + mask)
}

fn mlp(setup: &Setup, z: &Sizes) -> f64 {
    let model = &setup.model;
    let split = z.n / z.t;
    let consumers = if model.gated { 2.0 } else { 1.0 };
    let mut bytes = norm(setup, z, consumers);
    match model.family {
        Family::Gemma2 => bytes += z.n * (8.0 * z.d + 4.0) / z.s,
        // Both norms read the same residual.
        Family::Neox if setup.code == Code::HuggingFace => bytes -= z.n * z.r * z.d,
        _ => {}
    }
    let amp = setup.precision == Precision::Amp;
    bytes += split
        * match (setup.code, model.act, model.gated) {
            // Gate, its activation, up, their product.
            (_, _, true) => 4.0 * z.e * z.f,
            (Code::WrittenOut, _, _) => 5.0 * z.e * z.f,
            // Autocast runs pow in fp32: input, tanh and 1 + tanh in fp32; ½x and the product 16-bit.
            (Code::HuggingFace, Act::Written, _) if amp => 16.0 * z.f,
            (Code::HuggingFace, Act::Written, _) => 5.0 * z.e * z.f,
            (Code::HuggingFace, _, _) if model.family == Family::T5 => {
                z.f * (2.0 * z.e + if setup.dropout { 1.0 } else { 0.0 })
            }
            _ => 2.0 * z.e * z.f,
        };
    if setup.dropout {
        bytes += z.n * z.d / z.s;
    }
    bytes
}

/// A mixture of experts: inputs gathered per visit, gated MLPs, outputs before weighting.
fn mixture(setup: &Setup, z: &Sizes) -> f64 {
    let Some(moe) = setup.model.moe else { return mlp(setup, z) };
    let consumers = if moe.shared_ffn > 0 { 4.0 } else { 1.0 };
    let visits = z.n * moe.top_k as f64;
    // The router's scores in fp32: logits and softmax; DeepSeek's reads an fp32 copy of its input.
    let copy = if setup.model.family == Family::DeepSeek && z.e < 4.0 { 4.0 * z.d } else { 0.0 };
    let router = z.n * (8.0 * moe.experts as f64 + copy);
    // A gate keeps the shared experts' output.
    let gate = if moe.shared_gate { z.e * z.d } else { 0.0 };
    let shared = z.n / z.t * (4.0 * z.e * moe.shared_ffn as f64 + gate);
    norm(setup, z, consumers)
        + router
        + shared
        + visits * 2.0 * z.e * z.d / z.s
        + visits / z.t * 4.0 * z.e * moe.ffn as f64
}

/// What is kept before the first layer.
pub(crate) fn embedding(setup: &Setup) -> f64 {
    let z = Sizes::new(setup);
    if setup.compiled {
        return z.n * z.d * z.r / z.s;
    }
    let mask = if setup.dropout { z.n * z.d } else { 0.0 };
    match setup.model.family {
        // The norm's input and the dropout mask.
        Family::Bert => z.n * z.d * z.r + mask,
        _ => mask,
    }
}

/// What is kept between the last layer and the logits.
pub(crate) fn head(setup: &Setup) -> f64 {
    let z = Sizes::new(setup);
    match setup.model.head {
        crate::Head::MaskedLm => {
            let dense = if setup.precision == Precision::Amp { 4.0 } else { z.e };
            z.n * z.d * (3.0 * z.e + dense)
        }
        crate::Head::Lm if setup.compiled => z.n * z.d * z.e,
        crate::Head::Lm => norm(setup, &z, 1.0),
        crate::Head::Classifier { .. } | crate::Head::Bare { .. } => z.n * z.d * z.r,
    }
}
