//! Options of `plan`.

use std::path::PathBuf;

use clap::ValueEnum;
use whyidle_planner::{
    AttentionKernel, Checkpointing, Code, Loss, Offload, Optimizer, OptimizerLoop, Precision, Schedule,
    Sharding,
};

use crate::args::{Format, Reporting};
use crate::values::{Unfit, efficiency, positive, share, whole};

/// What is planned.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "whyidle plan --model NAME --gpu NAME[xN] --global-batch N [OPTIONS]\n       \
    whyidle plan --calibrate PATH [OPTIONS]",
    after_help = "Examples:\n  whyidle plan --model llama-3-8b --gpu h100x8 --seq 8192 --global-batch 256\n  \
    whyidle plan --config config.json --gpu h200 --seq 2048 --batch 4\n  \
    whyidle plan --calibrate runs/42/ --batch 32\n  \
    whyidle plan --calibrate runs/42/ --gpu h100x8 --global-batch 256\n\n\
    Exit status: 0 it fits, 1 it does not or cannot be told, 2 bad usage or unreadable input."
)]
pub(crate) struct PlanOptions {
    /// A named model, as llama-3-8b
    ///
    /// An unknown name lists them.
    #[arg(long, value_name = "NAME", conflicts_with = "config")]
    pub(super) model: Option<String>,
    /// A config.json of Hugging Face transformers
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Start from a measured step: a recording or a trace
    #[arg(long, value_name = "PATH")]
    pub(super) calibrate: Option<PathBuf>,
    /// GPU and how many, as h200 or h100x8
    ///
    /// An unknown name lists them. Default: h100, or that of the recording.
    #[arg(long, value_name = "NAME[xN]")]
    pub(super) gpu: Option<String>,
    /// Tokens of a sample [default: at most 2048]
    ///
    /// Default: the model's limit, at most 2048, or as recorded.
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=8388608))]
    pub(super) seq: Option<u64>,
    /// Samples of a step on all GPUs: searches strategies
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=1048576), conflicts_with_all = SEARCHED)]
    pub(super) global_batch: Option<u64>,
    /// Samples on one GPU: judges the given strategy
    ///
    /// Those of one micro-batch.
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=1048576), conflicts_with = "global_batch")]
    pub(super) batch: Option<u64>,
    /// Micro-batches of a step [default: 1]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=1048576))]
    pub(super) micro_batches: Option<u64>,
    /// amp, bf16, fp32 or mixed
    ///
    /// Default: amp on one GPU, mixed on several, or as recorded. amp: fp32 weights, 16-bit products by
    /// torch.autocast; bf16: everything; mixed: 16-bit weights in the step, fp32 master weights.
    #[arg(long, value_enum, value_name = "TYPES", hide_possible_values = true)]
    pub(super) precision: Option<PrecisionArg>,
    /// Recompute: none, selective, full or every:K
    ///
    /// every:K keeps one layer in K; selective recomputes the scores of attention only.
    #[arg(long, value_name = "MODE", value_parser = checkpointing)]
    pub(super) checkpoint: Option<Checkpointing>,
    /// adamw, adamw-8bit, sgd, lion, adafactor, muon, …
    ///
    /// Also sgd-momentum. Default: adamw, or as recorded.
    #[arg(long, value_enum, value_name = "NAME", hide_possible_values = true)]
    pub(super) optimizer: Option<OptimizerArg>,
    /// none, zero1, zero2, fsdp or fsdp-keep
    ///
    /// What data-parallel ranks share out: nothing (DDP), optimizer states, gradients too, everything (ZeRO-3), or
    /// everything with gathered weights kept from forward to backward.
    #[arg(long, value_enum, value_name = "KIND", hide_possible_values = true)]
    pub(super) sharding: Option<ShardingArg>,
    /// Tensor-parallel ranks; pipeline and others: --help
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=65536))]
    pub(super) tp: Option<u64>,
    /// Tokens to train on, in billions: days and GPU hours
    #[arg(long, value_name = "BILLIONS", value_parser = positive)]
    pub(super) tokens: Option<f64>,
    /// text, md or json (schema whyidle.plan/1)
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT", hide_possible_values = true, hide_default_value = true)]
    pub(super) format: Format,
    /// Show every moment and the frameworks' flags
    #[arg(short, long)]
    pub(super) verbose: bool,
    #[command(flatten)]
    pub(super) page: Reporting,

    /// Layers; with --hidden, --heads and --vocab describes a model, or changes that of a named one
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=10000), help_heading = MODEL, hide_short_help = true)]
    pub(super) layers: Option<u64>,
    /// Hidden width
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=131072), help_heading = MODEL, hide_short_help = true)]
    pub(super) hidden: Option<u64>,
    /// Attention heads
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=16384), help_heading = MODEL, hide_short_help = true)]
    pub(super) heads: Option<u64>,
    /// Key-value heads [default: as many as heads]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=16384), help_heading = MODEL, hide_short_help = true)]
    pub(super) kv_heads: Option<u64>,
    /// Intermediate width [default: 4 × hidden]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=1048576), help_heading = MODEL, hide_short_help = true)]
    pub(super) ffn: Option<u64>,
    /// Vocabulary
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=2097152), help_heading = MODEL, hide_short_help = true)]
    pub(super) vocab: Option<u64>,
    /// Train adapters of this rank on every linear layer (LoRA)
    #[arg(long, value_name = "RANK", value_parser = whole::<u64>(1..=16384), help_heading = MODEL, hide_short_help = true)]
    pub(super) lora: Option<u64>,
    /// The same on 4-bit base weights (QLoRA)
    #[arg(long, value_name = "RANK", value_parser = whole::<u64>(1..=16384), help_heading = MODEL, hide_short_help = true, conflicts_with = "lora")]
    pub(super) qlora: Option<u64>,

    /// Whose code runs the blocks [default: hf]
    #[arg(long, value_enum, value_name = "CODE", help_heading = PROGRAM, hide_short_help = true)]
    pub(super) code: Option<CodeArg>,
    /// How attention is computed [default: fused]
    #[arg(long, value_enum, value_name = "KERNEL", help_heading = PROGRAM, hide_short_help = true)]
    pub(super) attention: Option<AttentionArg>,
    /// What the loss keeps [default: as transformers does]
    #[arg(long, value_enum, value_name = "LOSS", help_heading = PROGRAM, hide_short_help = true)]
    pub(super) loss: Option<LossArg>,
    /// How the optimizer goes over the parameters [default: fused]
    #[arg(long, value_enum, value_name = "LOOP", help_heading = PROGRAM, hide_short_help = true)]
    pub(super) optimizer_loop: Option<LoopArg>,
    /// The program runs under torch.compile
    #[arg(long, help_heading = PROGRAM, hide_short_help = true)]
    pub(super) compiled: bool,
    /// What lives in host memory [default: none]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = PROGRAM, hide_short_help = true)]
    pub(super) offload: Option<OffloadArg>,

    /// DDP's buckets are the gradients (gradient_as_bucket_view=True)
    #[arg(long, help_heading = RANKS, hide_short_help = true)]
    pub(super) bucket_view: bool,
    /// Sequence parallelism between tensor-parallel parts
    #[arg(long, requires = "tp", help_heading = RANKS, hide_short_help = true)]
    pub(super) sp: bool,
    /// Pipeline stages
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=65536), help_heading = RANKS, hide_short_help = true)]
    pub(super) pp: Option<u64>,
    /// Order of the pipeline: gpipe, 1f1b, interleaved:V, zero-bubble [default: 1f1b]
    #[arg(long, value_name = "ORDER", value_parser = schedule, help_heading = RANKS, hide_short_help = true)]
    pub(super) schedule: Option<Schedule>,
    /// Context-parallel ranks
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=65536), help_heading = RANKS, hide_short_help = true)]
    pub(super) cp: Option<u64>,
    /// Expert-parallel ranks, of the data-parallel ones
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=65536), help_heading = RANKS, hide_short_help = true)]
    pub(super) ep: Option<u64>,

    /// A table of further GPUs: [gpu.NAME] with memory_gib, bandwidth_gbs, half_tflops
    #[arg(long, value_name = "TOML", help_heading = MACHINE, hide_short_help = true)]
    pub(super) gpu_table: Option<PathBuf>,
    /// Link between nodes; an unknown name lists them
    #[arg(long, value_name = "LINK", default_value = "ib-ndr", help_heading = MACHINE, hide_short_help = true)]
    pub(super) network: String,
    /// Bus bandwidth between the GPUs of a node in GB/s [default: from the table]
    #[arg(long, value_name = "GB/S", value_parser = positive, help_heading = MACHINE, hide_short_help = true)]
    pub(super) bandwidth: Option<f64>,
    /// Share of memory that stays free
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share, help_heading = MACHINE, hide_short_help = true)]
    pub(super) free: f64,
    /// Share of the peak that matrix products reach [default: 0.5, or as measured]
    #[arg(long, value_name = "SHARE", value_parser = efficiency, help_heading = MACHINE, hide_short_help = true)]
    pub(super) efficiency: Option<f64>,
    /// Price of a GPU hour
    #[arg(long, value_name = "PRICE", requires = "tokens", value_parser = positive, help_heading = MACHINE, hide_short_help = true)]
    pub(super) price: Option<f64>,
}

impl PlanOptions {
    /// Tokens to train on.
    pub(super) fn tokens(&self) -> Option<f64> {
        self.tokens.map(|billions| billions * 1e9)
    }
}

const MODEL: &str = "The model in figures";
const PROGRAM: &str = "The program";
const RANKS: &str = "Ranks";
const MACHINE: &str = "Machine and budget";

/// What a search decides by itself.
const SEARCHED: [&str; 11] = [
    "micro_batches",
    "checkpoint",
    "sharding",
    "tp",
    "sp",
    "pp",
    "cp",
    "ep",
    "schedule",
    "offload",
    "bucket_view",
];

/// Share of the peak where nothing is measured or given.
pub(super) const EFFICIENCY: f64 = 0.5;

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

fn checkpointing(text: &str) -> Result<Checkpointing, Unfit> {
    match text.split_once(':').unwrap_or((text, "")) {
        ("none", "") => Ok(Checkpointing::None),
        ("selective", "") => Ok(Checkpointing::Selective),
        ("full", "") => Ok(Checkpointing::Full),
        ("every", k) => match k.parse() {
            Ok(k) if (2..=10_000).contains(&k) => Ok(Checkpointing::Every(k)),
            _ => Err(Unfit::new("cli-value-every")),
        },
        _ => Err(Unfit::new("cli-value-checkpoint")),
    }
}

fn schedule(text: &str) -> Result<Schedule, Unfit> {
    match text.split_once(':').unwrap_or((text, "")) {
        ("gpipe", "") => Ok(Schedule::GPipe),
        ("1f1b", "") => Ok(Schedule::OneForwardOneBackward),
        ("zero-bubble", "") => Ok(Schedule::ZeroBubble),
        ("interleaved", v) => match v.parse() {
            Ok(chunks) if (2..=10_000).contains(&chunks) => Ok(Schedule::Interleaved { chunks }),
            _ => Err(Unfit::new("cli-value-interleaved")),
        },
        _ => Err(Unfit::new("cli-value-schedule")),
    }
}
