//! How a model is trained: precision, batch, optimizer, checkpointing, parallelism.

use crate::{Model, PlanError, Schedule};

/// Which types hold what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// fp32 weights, 16-bit products by `torch.autocast`.
    Amp,
    /// Weights, gradients and optimizer states in bf16.
    Pure16,
    /// Everything in fp32 (TF32 changes no size).
    Fp32,
    /// 16-bit weights and gradients in the step, fp32 master weights in the optimizer (FSDP2 with a
    /// mixed-precision policy, DeepSpeed, Megatron).
    Mixed,
}

impl Precision {
    /// Bytes of an element in products.
    #[must_use]
    pub fn compute(self) -> f64 {
        if self == Self::Fp32 { 4.0 } else { 2.0 }
    }

    /// Bytes of an element of the residual: under autocast the embedding is fp32, and fp32 + bf16 is fp32.
    #[must_use]
    pub fn residual(self) -> f64 {
        if matches!(self, Self::Amp | Self::Fp32) { 4.0 } else { 2.0 }
    }
}

/// Whose code runs the blocks, which decides what backward finds saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// Plain torch modules: fused norms, GELU, one cast per input.
    Torch,
    /// Norms and GELU written out in element-wise operations.
    WrittenOut,
    /// Hugging Face transformers.
    HuggingFace,
    /// Megatron-LM: 16-bit residual, fused softmax and norms (arXiv 2205.05198).
    Megatron,
}

/// How attention is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttentionKernel {
    /// One fused kernel: the scores are never in memory.
    Fused,
    /// The score matrix is written out.
    Eager,
}

/// What the loss keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// `F.cross_entropy` on the logits, which the caller drops.
    CrossEntropy,
    /// The same; the loop keeps the logits in a variable through the whole step.
    KeptLogits,
    /// Logits are made fp32 first (causal models of transformers).
    Upcast,
    /// Logits never exist as a whole (fused or chunked cross-entropy).
    Fused,
}

/// Which activations are computed again in backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Checkpointing {
    /// None: all are kept.
    None,
    /// Only the scores of attention (arXiv 2205.05198, selective).
    Selective,
    /// Every layer: its input is kept.
    Full,
    /// Of `n` layers, one is kept whole and the others are computed again.
    Every(u64),
}

/// The optimizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Optimizer {
    /// Adam or AdamW: two moments.
    AdamW,
    /// The same with 8-bit moments, a scale per 256 elements.
    AdamW8bit,
    /// SGD without momentum.
    Sgd,
    /// SGD with momentum.
    SgdMomentum,
    /// Lion: one moment.
    Lion,
    /// Adafactor: one row and one column per matrix.
    Adafactor,
    /// Muon: one moment for matrices of layers, AdamW for the rest.
    Muon,
}

/// How the optimizer goes over the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OptimizerLoop {
    /// One kernel: no temporaries.
    Fused,
    /// All tensors at once: a temporary of every parameter's size.
    Foreach,
    /// One after the other: two temporaries of the largest parameter.
    ForLoop,
}

/// What data-parallel ranks share out among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharding {
    /// Nothing: `DistributedDataParallel`, or one GPU.
    None,
    /// Optimizer states (ZeRO-1).
    Optimizer,
    /// Optimizer states and gradients (ZeRO-2).
    Gradients,
    /// Everything, gathered layer by layer and dropped again (ZeRO-3, FSDP `FULL_SHARD`).
    Full,
    /// Everything, kept from forward to backward (FSDP `SHARD_GRAD_OP`, `reshard_after_forward=False`).
    KeepGathered,
}

impl Sharding {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::None, Self::Optimizer, Self::Gradients, Self::Full, Self::KeepGathered];
}

/// Ranks by what they divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parallel {
    /// Data-parallel replicas.
    pub data: u64,
    /// Sharding among them.
    pub sharding: Sharding,
    /// Tensor-parallel ranks.
    pub tensor: u64,
    /// Activations between tensor-parallel parts are split along the sequence.
    pub sequence: bool,
    /// Pipeline stages.
    pub pipeline: u64,
    /// Pieces of a stage that interleave; 1 for none.
    pub chunks: u64,
    /// All micro-batches go forward before any goes backward (GPipe).
    pub gpipe: bool,
    /// Ranks that share a sequence.
    pub context: u64,
    /// Ranks that share the experts; they are data-parallel ranks as well.
    pub expert: u64,
    /// DDP's buckets are the gradients (`gradient_as_bucket_view=True`).
    pub bucket_view: bool,
}

impl Default for Parallel {
    fn default() -> Self {
        Self {
            data: 1,
            sharding: Sharding::None,
            tensor: 1,
            sequence: false,
            pipeline: 1,
            chunks: 1,
            gpipe: false,
            context: 1,
            expert: 1,
            bucket_view: false,
        }
    }
}

impl Parallel {
    /// GPUs in all.
    #[must_use]
    pub fn world(&self) -> u64 {
        self.data * self.tensor * self.pipeline * self.context
    }

    /// The order in which its pipeline runs.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        match self.chunks {
            _ if self.gpipe => Schedule::GPipe,
            chunks if chunks > 1 => Schedule::Interleaved { chunks },
            _ => Schedule::OneForwardOneBackward,
        }
    }
}

/// What lives in host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Offload {
    /// Nothing.
    None,
    /// Optimizer states and master weights.
    Optimizer,
    /// Those, parameters and gradients.
    All,
}

/// Low-rank adapters on every linear layer of the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lora {
    /// Rank.
    pub rank: u64,
    /// The base weights are 4-bit (QLoRA: NF4, a scale per 64 elements, scales quantised again).
    pub quantised: bool,
}

/// Tokens of a micro-batch on one GPU, and samples of a step, beyond which a figure is a slip.
const MOST_TOKENS: u64 = 1 << 32;

/// Everything that decides the memory of one GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The network.
    pub model: Model,
    /// Types.
    pub precision: Precision,
    /// Whose code.
    pub code: Code,
    /// Attention.
    pub attention: AttentionKernel,
    /// Dropout is active in training.
    pub dropout: bool,
    /// `torch.compile` made the graph: what backward finds saved is the partitioner's choice.
    pub compiled: bool,
    /// Samples of one micro-batch on one data-parallel rank.
    pub batch: u64,
    /// Tokens of a sample.
    pub seq: u64,
    /// Micro-batches of a step.
    pub micro_batches: u64,
    /// Loss.
    pub loss: Loss,
    /// Checkpointing.
    pub checkpointing: Checkpointing,
    /// Optimizer.
    pub optimizer: Optimizer,
    /// Its loop.
    pub optimizer_loop: OptimizerLoop,
    /// Parallelism.
    pub parallel: Parallel,
    /// Pipeline stage that is looked at.
    pub stage: u64,
    /// Offload.
    pub offload: Offload,
    /// Adapters.
    pub lora: Option<Lora>,
    /// cuBLAS workspace of one handle, bytes; there are two: one for forward, one for autograd's thread.
    pub workspace: u64,
    /// Streaming multiprocessors, for the scratch of bias gradients.
    pub multiprocessors: u64,
}

impl Setup {
    /// Training `model` with transformers, autocast and fused AdamW on one Hopper GPU.
    #[must_use]
    pub fn new(model: Model, batch: u64, seq: u64) -> Self {
        let dropout = model.dropout;
        let loss = match model.head {
            crate::Head::Lm if model.family != crate::Family::T5 => Loss::Upcast,
            _ => Loss::CrossEntropy,
        };
        Self {
            model,
            precision: Precision::Amp,
            code: Code::HuggingFace,
            attention: AttentionKernel::Fused,
            dropout,
            compiled: false,
            batch,
            seq,
            micro_batches: 1,
            loss,
            checkpointing: Checkpointing::None,
            optimizer: Optimizer::AdamW,
            optimizer_loop: OptimizerLoop::Fused,
            parallel: Parallel::default(),
            stage: 0,
            offload: Offload::None,
            lora: None,
            workspace: 32 << 20,
            multiprocessors: 132,
        }
    }

    /// Tokens of a micro-batch on one GPU.
    #[must_use]
    pub fn tokens(&self) -> f64 {
        self.batch as f64 * self.seq as f64 / self.parallel.context as f64
    }

    /// Samples of a step on all GPUs.
    #[must_use]
    pub fn global_batch(&self) -> u64 {
        self.batch * self.micro_batches * self.parallel.data
    }

    /// Fails if sizes contradict each other.
    ///
    /// # Errors
    /// Names what does not go together.
    pub fn check(&self) -> Result<(), PlanError> {
        self.model.check()?;
        let (model, p) = (&self.model, &self.parallel);
        for (name, value) in [
            ("batch", self.batch),
            ("seq", self.seq),
            ("micro-batches", self.micro_batches),
            ("dp", p.data),
            ("tp", p.tensor),
            ("pp", p.pipeline),
            ("cp", p.context),
            ("ep", p.expert),
        ] {
            if value == 0 {
                return Err(PlanError::new("plan-error-zero").with("name", name));
            }
        }
        // Products of larger figures are no numbers, and no step is that large.
        let tokens = self.batch.checked_mul(self.seq).filter(|&tokens| tokens <= MOST_TOKENS);
        if tokens.is_none() || self.global_batch() > MOST_TOKENS {
            return Err(PlanError::new("plan-error-too-many-tokens")
                .with("batch", self.batch)
                .with("seq", self.seq)
                .with("samples", self.global_batch()));
        }
        if model.max_seq > 0 && self.seq > model.max_seq && model.positions > 0 {
            return Err(PlanError::new("plan-error-sequence-positions")
                .with("seq", self.seq)
                .with("positions", model.max_seq));
        }
        let at = &model.attention;
        if !at.heads.is_multiple_of(p.tensor)
            || !(at.kv_heads.is_multiple_of(p.tensor) || p.tensor.is_multiple_of(at.kv_heads))
        {
            return Err(PlanError::new("plan-error-tensor-parallel")
                .with("tp", p.tensor)
                .with("heads", at.heads)
                .with("kv_heads", at.kv_heads));
        }
        if p.pipeline > 1 && !model.all_layers().is_multiple_of(p.pipeline * p.chunks) {
            return Err(PlanError::new("plan-error-pipeline")
                .with("pp", p.pipeline * p.chunks)
                .with("layers", model.all_layers()));
        }
        if p.expert > 1 && model.moe.is_none() {
            return Err(PlanError::new("plan-error-no-experts"));
        }
        if p.expert > 1
            && !model
                .moe
                .is_some_and(|moe| moe.experts.is_multiple_of(p.expert) && p.data.is_multiple_of(p.expert))
        {
            return Err(PlanError::new("plan-error-expert-parallel")
                .with("ep", p.expert)
                .with("experts", model.moe.map_or(0, |moe| moe.experts))
                .with("dp", p.data));
        }
        if !self.seq.is_multiple_of(p.context) {
            return Err(PlanError::new("plan-error-context-parallel")
                .with("cp", p.context)
                .with("seq", self.seq));
        }
        if p.chunks > 1 && !self.micro_batches.is_multiple_of(p.pipeline) {
            return Err(PlanError::new("plan-error-interleave")
                .with("micro", self.micro_batches)
                .with("pp", p.pipeline));
        }
        Ok(())
    }
}
