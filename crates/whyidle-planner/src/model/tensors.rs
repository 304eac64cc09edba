//! Every parameter tensor of a model: exact counts, and what the allocator has to place.

use super::{Family, Head, Model};

/// Where a tensor belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Embeddings, before the layers.
    Embedding,
    /// A layer.
    Layer,
    /// Final norm and output matrix.
    Head,
}

/// What a tensor is, which decides casts and how it is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Weight or bias of a linear layer, split by tensor parallelism; autocast keeps a 16-bit copy.
    Linear,
    /// Weight of an expert, split by expert parallelism.
    Expert,
    /// Weight of a linear layer that every tensor-parallel rank holds whole (routers, latent
    /// projections).
    Whole,
    /// Norms: never cast, never split.
    Norm,
    /// Embedding tables, split by tensor parallelism; never cast.
    Embedding,
}

/// Tensors alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Where.
    pub part: Part,
    /// What.
    pub role: Role,
    /// Elements of one.
    pub elements: u64,
    /// How many of them in the model.
    pub count: u64,
    /// True for a matrix, false for a vector.
    pub matrix: bool,
}

impl Model {
    /// All parameter tensors; a tied output matrix appears once, as the embedding.
    #[must_use]
    pub fn tensors(&self) -> Vec<Tensor> {
        let mut list = List(Vec::with_capacity(32));
        self.embeddings(&mut list);
        let dense = self.layers - self.moe_layers();
        self.blocks(&mut list, self.layers, false);
        self.mlp(&mut list, dense);
        self.experts(&mut list);
        if self.decoder_layers > 0 {
            self.blocks(&mut list, self.decoder_layers, true);
            self.mlp(&mut list, self.decoder_layers);
        }
        self.output(&mut list);
        list.0
    }

    /// Parameters, exactly.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        self.tensors().iter().map(|tensor| tensor.elements * tensor.count).sum()
    }

    /// Parameters that a token meets: of the experts, only those it visits.
    #[must_use]
    pub fn active_parameters(&self) -> u64 {
        let Some(moe) = self.moe else { return self.parameters() };
        let experts: u64 = self
            .tensors()
            .iter()
            .filter(|tensor| tensor.role == Role::Expert)
            .map(|tensor| tensor.elements * tensor.count)
            .sum();
        self.parameters() - experts + experts.checked_div(moe.experts).unwrap_or(0) * moe.top_k
    }

    fn embeddings(&self, list: &mut List) {
        let d = self.hidden;
        let push = |list: &mut List, rows: u64| list.put(Part::Embedding, Role::Embedding, rows * d, 1, true);
        match self.family {
            Family::Vit => {
                // Projection of a patch, class token, positions.
                list.put(Part::Embedding, Role::Linear, self.vocab * d, 1, true);
                list.put(Part::Embedding, Role::Linear, d, 1, false);
                list.put(Part::Embedding, Role::Embedding, d, 1, false);
                push(list, self.positions);
            }
            Family::T5 => {
                push(list, self.vocab);
                // One table of relative positions per stack.
                list.put(Part::Embedding, Role::Embedding, self.extra_embeddings, 2, true);
            }
            _ => {
                push(list, self.vocab);
                if self.positions > 0 {
                    push(list, self.positions);
                }
                if self.extra_embeddings > 0 {
                    push(list, self.extra_embeddings);
                }
            }
        }
        if self.family == Family::Bert {
            self.norm(list, Part::Embedding, d, 1);
        }
    }

    /// Attention and norms of `layers` layers; with `cross`, a second attention on the encoder.
    fn blocks(&self, list: &mut List, layers: u64, cross: bool) {
        let (at, d) = (&self.attention, self.hidden);
        let norms = match (self.family, cross) {
            (Family::Gemma2, _) => 4,
            (_, true) => 3,
            _ => 2,
        };
        self.norm(list, Part::Layer, d, norms * layers);
        let (q, kv) = (at.heads * at.head_dim, at.kv_heads * at.head_dim);
        for _ in 0..=u64::from(cross) {
            if let Some(mla) = at.mla {
                let qk = at.heads * (mla.nope + mla.rope);
                match mla.q_rank {
                    Some(rank) => {
                        list.put(Part::Layer, Role::Whole, d * rank, layers, true);
                        list.put(Part::Layer, Role::Norm, rank, layers, false);
                        list.put(Part::Layer, Role::Linear, rank * qk, layers, true);
                    }
                    None => list.put(Part::Layer, Role::Linear, d * qk, layers, true),
                }
                list.put(Part::Layer, Role::Whole, d * (mla.kv_rank + mla.rope), layers, true);
                list.put(Part::Layer, Role::Norm, mla.kv_rank, layers, false);
                list.put(
                    Part::Layer,
                    Role::Linear,
                    mla.kv_rank * at.heads * (mla.nope + mla.v),
                    layers,
                    true,
                );
                list.put(Part::Layer, Role::Linear, at.heads * mla.v * d, layers, true);
                continue;
            }
            if matches!(self.family, Family::Gpt | Family::Neox) {
                list.put(Part::Layer, Role::Linear, d * (q + 2 * kv), layers, true);
                list.bias(at.qkv_bias, q + 2 * kv, layers);
            } else {
                list.put(Part::Layer, Role::Linear, d * q, layers, true);
                list.put(Part::Layer, Role::Linear, d * kv, 2 * layers, true);
                list.bias(at.qkv_bias, q, layers);
                list.bias(at.qkv_bias, kv, 2 * layers);
            }
            list.put(Part::Layer, Role::Linear, q * d, layers, true);
            list.bias(at.out_bias, d, layers);
            if at.qk_norm {
                list.put(Part::Layer, Role::Norm, at.head_dim, 2 * layers, false);
            }
        }
    }

    fn mlp(&self, list: &mut List, layers: u64) {
        let (d, f) = (self.hidden, self.ffn);
        let up = if self.gated { 2 } else { 1 };
        list.put(Part::Layer, Role::Linear, d * f, (up + 1) * layers, true);
        list.bias(self.mlp_bias, f, up * layers);
        list.bias(self.mlp_bias, d, layers);
    }

    fn experts(&self, list: &mut List) {
        let (Some(moe), d) = (self.moe, self.hidden) else { return };
        let layers = self.moe_layers();
        list.put(Part::Layer, Role::Whole, d * moe.experts, layers, true);
        // transformers 5 holds the experts of a layer in two tensors: gate and up, and down.
        list.put(Part::Layer, Role::Expert, moe.experts * 2 * d * moe.ffn, layers, true);
        list.put(Part::Layer, Role::Expert, moe.experts * d * moe.ffn, layers, true);
        if moe.shared_ffn > 0 {
            list.put(Part::Layer, Role::Linear, d * moe.shared_ffn, 3 * layers, true);
        }
        if moe.shared_gate {
            list.put(Part::Layer, Role::Whole, d, layers, true);
        }
    }

    fn output(&self, list: &mut List) {
        let d = self.hidden;
        // BERT's layers end in a norm of their own.
        if self.family != Family::Bert {
            self.norm(list, Part::Head, d, if self.family == Family::T5 { 2 } else { 1 });
        }
        match self.head {
            Head::Lm if !self.tied => list.put(Part::Head, Role::Linear, self.vocab * d, 1, true),
            Head::Lm => {}
            Head::MaskedLm => {
                list.put(Part::Head, Role::Linear, d * d, 1, true);
                list.put(Part::Head, Role::Linear, d, 1, false);
                self.norm(list, Part::Head, d, 1);
                if !self.tied {
                    list.put(Part::Head, Role::Linear, self.vocab * d, 1, true);
                }
                list.put(Part::Head, Role::Linear, self.vocab, 1, false);
            }
            Head::Classifier { classes } => {
                list.put(Part::Head, Role::Linear, classes * d, 1, true);
                list.put(Part::Head, Role::Linear, classes, 1, false);
            }
            Head::Bare { pooler: true } => {
                list.put(Part::Head, Role::Linear, d * d, 1, true);
                list.put(Part::Head, Role::Linear, d, 1, false);
            }
            Head::Bare { pooler: false } => {}
        }
    }

    fn norm(&self, list: &mut List, part: Part, width: u64, count: u64) {
        list.put(part, Role::Norm, width, count * if self.norm_bias { 2 } else { 1 }, false);
    }
}

struct List(Vec<Tensor>);

impl List {
    fn put(&mut self, part: Part, role: Role, elements: u64, count: u64, matrix: bool) {
        if elements > 0 && count > 0 {
            self.0.push(Tensor { part, role, elements, count, matrix });
        }
    }

    fn bias(&mut self, present: bool, elements: u64, count: u64) {
        if present {
            self.put(Part::Layer, Role::Linear, elements, count, false);
        }
    }
}
