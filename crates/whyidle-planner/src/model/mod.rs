//! The shape of a network: what decides its parameters, its activations and its work.

mod config;
mod presets;
mod tensors;
#[cfg(test)]
mod tests;

pub use config::from_config;
pub use presets::preset;
pub use tensors::{Part, Role, Tensor};

use crate::PlanError;

/// Whose code computes a block: decides the order of norms and which activations are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Fused qkv, pre-norm LayerNorm, GELU, biases: nanoGPT-like programs, GPT-2.
    Gpt,
    /// Pre-norm with attention and MLP side by side: GPT-NeoX, Pythia.
    Neox,
    /// RMSNorm, rotary positions, gated MLP, grouped queries: Llama and its relatives.
    Llama,
    /// The same with four norms per layer: Gemma 2 and 3.
    Gemma2,
    /// Post-norm encoder with separate q, k, v.
    Bert,
    /// Pre-norm vision encoder.
    Vit,
    /// Encoder and decoder with relative position bias.
    T5,
    /// Multi-head latent attention.
    DeepSeek,
}

/// What follows the last layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Logits over the vocabulary for every token.
    Lm,
    /// A dense layer, an activation and a norm before the logits (BERT).
    MaskedLm,
    /// Logits of `classes` per sample.
    Classifier {
        /// Number of classes.
        classes: u64,
    },
    /// Nothing: the bare encoder, with BERT's pooler where `pooler`.
    Bare {
        /// A square dense layer on the first token.
        pooler: bool,
    },
}

/// Activation function of a plain MLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// One kernel: its input is kept, its output is the next product's input.
    Fused,
    /// tanh-GELU written out in Python (`gelu_new`): five tensors are kept.
    Written,
}

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mla {
    /// Rank of the compressed query; `None` for a full projection.
    pub q_rank: Option<u64>,
    /// Rank of the compressed keys and values.
    pub kv_rank: u64,
    /// Query-key width per head without positions.
    pub nope: u64,
    /// Query-key width per head with rotary positions.
    pub rope: u64,
    /// Value width per head.
    pub v: u64,
}

/// Shape of self-attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attention {
    /// Query heads.
    pub heads: u64,
    /// Key and value heads; equal to `heads` without grouping.
    pub kv_heads: u64,
    /// Width of a head.
    pub head_dim: u64,
    /// The q, k and v projections have biases.
    pub qkv_bias: bool,
    /// The output projection has a bias.
    pub out_bias: bool,
    /// Norms on queries and keys, per head (Qwen3, Gemma 3).
    pub qk_norm: bool,
    /// Latent attention instead of plain projections.
    pub mla: Option<Mla>,
}

/// Which layers hold experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// So many layers at the start are dense.
    pub dense_first: u64,
    /// Of the rest, every n-th holds experts.
    pub every: u64,
}

/// Mixture of experts in place of the MLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moe {
    /// Routed experts per layer.
    pub experts: u64,
    /// Experts that a token visits.
    pub top_k: u64,
    /// Intermediate width of an expert.
    pub ffn: u64,
    /// Intermediate width of the shared experts together; 0 without.
    pub shared_ffn: u64,
    /// The shared expert has a gate of its own (Qwen-MoE).
    pub shared_gate: bool,
    /// Which layers hold experts.
    pub pattern: Pattern,
}

/// The shape of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Name of the preset, or the `model_type` of the configuration.
    pub name: String,
    /// Whose blocks.
    pub family: Family,
    /// Layers; of an encoder-decoder, those of the encoder.
    pub layers: u64,
    /// Layers of the decoder; 0 without one.
    pub decoder_layers: u64,
    /// Hidden width.
    pub hidden: u64,
    /// Intermediate width of a dense MLP.
    pub ffn: u64,
    /// The MLP is gated: three matrices instead of two.
    pub gated: bool,
    /// Its activation function.
    pub act: Act,
    /// The MLP has biases.
    pub mlp_bias: bool,
    /// Rows of the token embedding; for images the width of a patch's input.
    pub vocab: u64,
    /// Learned absolute positions; 0 with rotary or relative ones.
    pub positions: u64,
    /// Longest sequence that the model was made for; 0 if unlimited.
    pub max_seq: u64,
    /// Rows of further embeddings (token types, relative position buckets × heads).
    pub extra_embeddings: u64,
    /// The output matrix is the token embedding.
    pub tied: bool,
    /// Dropout on hidden states during training.
    pub dropout: bool,
    /// Self-attention.
    pub attention: Attention,
    /// Norms have biases (LayerNorm).
    pub norm_bias: bool,
    /// Experts.
    pub moe: Option<Moe>,
    /// Logits go through a tanh, whose output is kept (Gemma 2).
    pub softcap: bool,
    /// The output.
    pub head: Head,
}

impl Model {
    /// Layers of any kind.
    #[must_use]
    pub(crate) fn all_layers(&self) -> u64 {
        self.layers + self.decoder_layers
    }

    /// Keys and values per query: 1 without grouping.
    #[must_use]
    pub(crate) fn kv_share(&self) -> f64 {
        self.attention.kv_heads as f64 / self.attention.heads as f64
    }

    /// Layers that hold experts.
    #[must_use]
    pub(crate) fn moe_layers(&self) -> u64 {
        self.moe
            .map_or(0, |moe| self.layers.saturating_sub(moe.pattern.dense_first) / moe.pattern.every.max(1))
    }

    /// Fails if sizes contradict each other.
    ///
    /// # Errors
    /// Names the sizes that do not go together.
    pub fn check(&self) -> Result<(), PlanError> {
        let at = &self.attention;
        for (name, value) in [
            ("layers", self.layers),
            ("hidden", self.hidden),
            ("heads", at.heads),
            ("kv_heads", at.kv_heads),
            ("head_dim", at.head_dim),
            ("ffn", self.ffn),
        ] {
            if value == 0 {
                return Err(PlanError::new("plan-error-zero").with("name", name));
            }
        }
        if !at.heads.is_multiple_of(at.kv_heads) {
            return Err(PlanError::new("plan-error-kv-heads")
                .with("heads", at.heads)
                .with("kv_heads", at.kv_heads));
        }
        if let Some(moe) = self.moe.filter(|moe| !(1..=moe.experts).contains(&moe.top_k)) {
            return Err(PlanError::new("plan-error-experts")
                .with("top_k", moe.top_k)
                .with("experts", moe.experts));
        }
        if self.rough_parameters() > MOST_PARAMETERS {
            return Err(PlanError::new("plan-error-too-many-parameters"));
        }
        Ok(())
    }

    /// No less than the parameters, about: whatever the sizes, this is a number.
    fn rough_parameters(&self) -> f64 {
        let size = |n: u64| n as f64;
        let (at, hidden) = (&self.attention, size(self.hidden));
        let experts = self.moe.map_or(0.0, |moe| size(moe.experts) * size(moe.ffn) + size(moe.shared_ffn));
        let low_rank = at.mla.map_or(0.0, |mla| size(mla.kv_rank) + mla.q_rank.map_or(0.0, size));
        let width = size(at.heads) * size(at.head_dim);
        let layer = 4.0 * (hidden + low_rank) * width + 3.0 * hidden * (size(self.ffn) + experts);
        let rows = size(self.vocab) + size(self.positions) + size(self.extra_embeddings);
        (size(self.layers) + size(self.decoder_layers)) * layer + 2.0 * rows * hidden
    }
}

/// More than a thousand times what any model has is a slip.
const MOST_PARAMETERS: f64 = 1e15;

/// The width of a head, where the heads share the hidden width.
///
/// # Errors
/// If they cannot.
pub fn shared_width(hidden: u64, heads: u64) -> Result<u64, PlanError> {
    if heads == 0 {
        return Err(PlanError::new("plan-error-zero").with("name", "heads"));
    }
    if !hidden.is_multiple_of(heads) {
        return Err(PlanError::new("plan-error-heads-hidden").with("hidden", hidden).with("heads", heads));
    }
    Ok(hidden / heads)
}
