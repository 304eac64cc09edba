//! Options of `plan`.

use std::path::PathBuf;

use clap::ValueEnum;
use whyidle_planner::{
    AttentionKernel, Checkpointing, Code, Loss, Offload, Optimizer, OptimizerLoop, Precision, Schedule,
    Sharding,
};

use crate::args::Format;

/// What is planned.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  whyidle plan --model llama-3-8b --gpu h100x8 --seq 8192 --global-batch 256\n  \
    whyidle plan --config config.json --gpu h200 --seq 2048 --batch 4\n  \
    whyidle plan --model llama-3-8b --gpu a100x8 --seq 4096 --batch 1 --micro-batches 16 --sharding fsdp --checkpoint full\n\n\
    With --batch the given strategy is judged, with --global-batch strategies are searched.\n\
    Exit status: 0 it fits, 1 it does not, 2 bad usage or unreadable input."
)]
pub(crate) struct PlanOptions {
    /// A named model, as llama-3-8b; an unknown name lists them
    #[arg(long, value_name = "NAME", conflicts_with = "config")]
    pub(super) model: Option<String>,
    /// A config.json of Hugging Face transformers
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Layers; with --hidden, --heads and --vocab describes a model, or changes that of a named one
    #[arg(long, value_name = "N")]
    pub(super) layers: Option<u64>,
    /// Hidden width
    #[arg(long, value_name = "N")]
    pub(super) hidden: Option<u64>,
    /// Attention heads
    #[arg(long, value_name = "N")]
    pub(super) heads: Option<u64>,
    /// Key-value heads [default: as many as heads]
    #[arg(long, value_name = "N")]
    pub(super) kv_heads: Option<u64>,
    /// Intermediate width [default: 4 × hidden]
    #[arg(long, value_name = "N")]
    pub(super) ffn: Option<u64>,
    /// Vocabulary
    #[arg(long, value_name = "N")]
    pub(super) vocab: Option<u64>,
    /// GPU and how many, as h200 or h100x8; an unknown name lists them
    #[arg(long, value_name = "NAME[xN]", default_value = "h100")]
    pub(super) gpu: String,
    /// A table of further GPUs: [gpu.NAME] with memory_gib, bandwidth_gbs, half_tflops
    #[arg(long, value_name = "TOML")]
    pub(super) gpu_table: Option<PathBuf>,
    /// Link between nodes; an unknown name lists them
    #[arg(long, value_name = "LINK", default_value = "ib-ndr")]
    pub(super) network: String,
    /// Bus bandwidth between the GPUs of a node in GB/s [default: from the table]
    #[arg(long, value_name = "GB/S", value_parser = positive)]
    pub(super) bandwidth: Option<f64>,
    /// Tokens of a sample [default: the model's limit, at most 2048]
    #[arg(long, value_name = "N")]
    pub(super) seq: Option<u64>,
    /// Samples of a micro-batch on one GPU: judges one strategy
    #[arg(long, value_name = "N", required_unless_present = "global_batch", conflicts_with = "global_batch")]
    pub(super) batch: Option<u64>,
    /// Samples of an optimizer step on all GPUs: searches strategies
    #[arg(long, value_name = "N")]
    pub(super) global_batch: Option<u64>,
    /// Micro-batches of a step
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) micro_batches: u64,
    /// Which types hold what [default: amp on one GPU, mixed on several]
    #[arg(long, value_enum, value_name = "TYPES")]
    pub(super) precision: Option<PrecisionArg>,
    /// Whose code runs the blocks
    #[arg(long, value_enum, value_name = "CODE", default_value_t = CodeArg::Hf)]
    pub(super) code: CodeArg,
    /// How attention is computed
    #[arg(long, value_enum, value_name = "KERNEL", default_value_t = AttentionArg::Fused)]
    pub(super) attention: AttentionArg,
    /// What the loss keeps [default: as transformers does]
    #[arg(long, value_enum, value_name = "LOSS")]
    pub(super) loss: Option<LossArg>,
    /// Activations computed again: none, selective, full, every:K (one layer in K kept)
    #[arg(long, value_name = "MODE", default_value = "none", value_parser = checkpointing)]
    pub(super) checkpoint: Checkpointing,
    /// The optimizer
    #[arg(long, value_enum, value_name = "NAME", default_value_t = OptimizerArg::Adamw)]
    pub(super) optimizer: OptimizerArg,
    /// How it goes over the parameters
    #[arg(long, value_enum, value_name = "LOOP", default_value_t = LoopArg::Fused)]
    pub(super) optimizer_loop: LoopArg,
    /// What data-parallel ranks share out
    #[arg(long, value_enum, value_name = "KIND", default_value_t = ShardingArg::None)]
    pub(super) sharding: ShardingArg,
    /// DDP's buckets are the gradients (gradient_as_bucket_view=True)
    #[arg(long)]
    pub(super) bucket_view: bool,
    /// Tensor-parallel ranks
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) tp: u64,
    /// Sequence parallelism between tensor-parallel parts
    #[arg(long, requires = "tp")]
    pub(super) sp: bool,
    /// Pipeline stages
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) pp: u64,
    /// Order of the pipeline: gpipe, 1f1b, interleaved:V, zero-bubble
    #[arg(long, value_name = "ORDER", default_value = "1f1b", value_parser = schedule)]
    pub(super) schedule: Schedule,
    /// Context-parallel ranks
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) cp: u64,
    /// Expert-parallel ranks, of the data-parallel ones
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) ep: u64,
    /// What lives in host memory
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = OffloadArg::None)]
    pub(super) offload: OffloadArg,
    /// Share of memory that stays free
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share)]
    pub(super) free: f64,
    /// Share of the peak that matrix products reach
    #[arg(long, value_name = "SHARE", default_value = "0.5", value_parser = share)]
    pub(super) efficiency: f64,
    /// Tokens to train on, in billions: days and GPU hours
    #[arg(long, value_name = "BILLIONS", value_parser = positive)]
    pub(super) tokens: Option<f64>,
    /// Price of a GPU hour
    #[arg(long, value_name = "PRICE", requires = "tokens", value_parser = positive)]
    pub(super) price: Option<f64>,
    /// How to print the plan; JSON has the schema whyidle.plan/1
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub(super) format: Format,
    /// Show every moment and the frameworks' flags
    #[arg(short, long)]
    pub(super) verbose: bool,
}

macro_rules! choices {
    ($(#[$doc:meta])* $name:ident -> $target:ident { $($(#[$help:meta])* $variant:ident => $value:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
        pub(crate) enum $name {
            $($(#[$help])* $variant,)+
        }

        impl From<$name> for $target {
            fn from(choice: $name) -> Self {
                match choice {
                    $($name::$variant => Self::$value,)+
                }
            }
        }
    };
}

choices! {
    /// Types.
    PrecisionArg -> Precision {
        /// fp32 weights, 16-bit products by torch.autocast
        Amp => Amp,
        /// Weights, gradients and optimizer states in bf16
        Bf16 => Pure16,
        /// Everything in fp32
        Fp32 => Fp32,
        /// 16-bit weights in the step, fp32 master weights in the optimizer
        Mixed => Mixed,
    }
}

choices! {
    /// Code.
    CodeArg -> Code {
        /// Hugging Face transformers
        Hf => HuggingFace,
        /// Plain torch modules
        Torch => Torch,
        /// Norms and GELU written out in element-wise operations
        WrittenOut => WrittenOut,
        /// Megatron-LM
        Megatron => Megatron,
    }
}

choices! {
    /// Attention.
    AttentionArg -> AttentionKernel {
        /// One kernel: SDPA, FlashAttention
        Fused => Fused,
        /// The score matrix is written out
        Eager => Eager,
    }
}

choices! {
    /// Loss.
    LossArg -> Loss {
        /// F.cross_entropy on logits that the caller drops
        CrossEntropy => CrossEntropy,
        /// The same; the loop keeps the logits
        KeptLogits => KeptLogits,
        /// Logits are made fp32 first
        Upcast => Upcast,
        /// Fused or chunked: logits never exist as a whole
        Fused => Fused,
    }
}

choices! {
    /// Optimizers.
    OptimizerArg -> Optimizer {
        /// AdamW or Adam
        Adamw => AdamW,
        /// With 8-bit moments
        #[value(name = "adamw-8bit")]
        Adamw8bit => AdamW8bit,
        /// SGD without momentum
        Sgd => Sgd,
        /// SGD with momentum
        SgdMomentum => SgdMomentum,
        /// Lion
        Lion => Lion,
        /// Adafactor without momentum
        Adafactor => Adafactor,
        /// Muon for matrices, AdamW for the rest
        Muon => Muon,
    }
}

choices! {
    /// Loops.
    LoopArg -> OptimizerLoop {
        /// One kernel
        Fused => Fused,
        /// All tensors at once
        Foreach => Foreach,
        /// One after the other
        For => ForLoop,
    }
}

choices! {
    /// Sharding.
    ShardingArg -> Sharding {
        /// DDP
        None => None,
        /// Optimizer states
        Zero1 => Optimizer,
        /// Optimizer states and gradients
        Zero2 => Gradients,
        /// Everything, gathered layer by layer: ZeRO-3, FSDP
        Fsdp => Full,
        /// The same; gathered weights stay from forward to backward
        FsdpKeep => KeepGathered,
    }
}

choices! {
    /// Offload.
    OffloadArg -> Offload {
        /// Nothing
        None => None,
        /// Optimizer states
        Optimizer => Optimizer,
        /// Those, weights and gradients
        All => All,
    }
}

fn checkpointing(text: &str) -> Result<Checkpointing, String> {
    match text.split_once(':').unwrap_or((text, "")) {
        ("none", "") => Ok(Checkpointing::None),
        ("selective", "") => Ok(Checkpointing::Selective),
        ("full", "") => Ok(Checkpointing::Full),
        ("every", k) => match k.parse() {
            Ok(k) if k >= 2 => Ok(Checkpointing::Every(k)),
            _ => Err("give every:K with K of 2 or more".to_owned()),
        },
        _ => Err("give none, selective, full or every:K".to_owned()),
    }
}

fn schedule(text: &str) -> Result<Schedule, String> {
    match text.split_once(':').unwrap_or((text, "")) {
        ("gpipe", "") => Ok(Schedule::GPipe),
        ("1f1b", "") => Ok(Schedule::OneForwardOneBackward),
        ("zero-bubble", "") => Ok(Schedule::ZeroBubble),
        ("interleaved", v) => match v.parse() {
            Ok(chunks) if chunks >= 2 => Ok(Schedule::Interleaved { chunks }),
            _ => Err("give interleaved:V with V of 2 or more".to_owned()),
        },
        _ => Err("give gpipe, 1f1b, interleaved:V or zero-bubble".to_owned()),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("must be a number above 0".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..1.0).contains(&value) => Ok(value),
        _ => Err("must be a share from 0 to below 1, as 0.1".to_owned()),
    }
}
