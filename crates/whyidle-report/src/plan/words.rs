//! Catalogue keys of the planner's ids.

use whyidle_planner::{Checkpointing, Offload, Optimizer, Precision, Schedule, Setup, Sharding};

use crate::Catalog;

macro_rules! keys {
    ($(#[$doc:meta])* $name:ident: $($id:literal => $key:literal),+ $(,)?) => {
        $(#[$doc])*
        pub(super) fn $name(id: &str) -> &'static str {
            match id {
                $($id => $key,)+
                _ => "plan-other",
            }
        }
    };
}

keys! {
    /// Lines of the bill.
    item:
    "weights" => "plan-item-weights", "optimizer" => "plan-item-optimizer", "gradients" => "plan-item-gradients",
    "new-gradients" => "plan-item-new-gradients", "buckets" => "plan-item-buckets",
    "workspace" => "plan-item-workspace", "inputs" => "plan-item-inputs",
    "activations" => "plan-item-activations", "recomputed" => "plan-item-recomputed",
    "ends" => "plan-item-ends", "copies" => "plan-item-copies", "loss" => "plan-item-loss",
    "transient" => "plan-item-transient", "measured-difference" => "plan-item-measured-difference",
     "optimizer-temporary" => "plan-item-optimizer-temporary",
    "gathered" => "plan-item-gathered", "unsharded-gradients" => "plan-item-unsharded-gradients",
}

keys! {
    /// Moments of a step.
    moment:
    "loss-forward" => "plan-moment-loss-forward", "loss-backward" => "plan-moment-loss-backward",
    "head-backward" => "plan-moment-head-backward", "layer-backward" => "plan-moment-layer-backward",
    "backward-end" => "plan-moment-backward-end", "optimizer" => "plan-moment-optimizer",
}

keys! {
    /// Kinds of communication.
    flow:
    "data" => "plan-flow-data", "gather" => "plan-flow-gather", "tensor" => "plan-flow-tensor",
    "pipeline" => "plan-flow-pipeline", "context" => "plan-flow-context", "expert" => "plan-flow-expert",
}

keys! {
    /// Why a strategy is not the best.
    loses:
    "best" => "plan-loses-best", "recompute" => "plan-loses-recompute", "bubble" => "plan-loses-bubble",
    "exposed" => "plan-loses-exposed", "optimizer" => "plan-loses-optimizer", "equal" => "plan-loses-equal",
}

keys! {
    /// What binds the best strategy.
    limit:
    "compute" => "plan-limit-compute", "communication" => "plan-limit-communication",
    "bubble" => "plan-limit-bubble", "memory" => "plan-limit-memory", "host" => "plan-limit-host",
}

keys! {
    /// Rules of thumb.
    rule:
    "checkpointing" => "plan-rule-checkpointing", "eight-bit" => "plan-rule-eight-bit",
    "zero" => "plan-rule-zero", "bubble" => "plan-rule-bubble", "margin" => "plan-rule-margin",
}

keys! {
    /// Savers of memory.
    saver:
    "checkpointing" => "plan-saver-checkpointing", "regathering" => "plan-saver-regathering",
    "sharding" => "plan-saver-sharding", "eight-bit" => "plan-saver-eight-bit",
    "offload" => "plan-saver-offload", "micro-batches" => "plan-saver-micro-batches",
}

keys! {
    /// Settings that a trace does not show.
    unknown:
    "logits-kept" => "plan-unknown-logits-kept", "logits-dropped" => "plan-unknown-logits-dropped",
    "bucket-view" => "plan-unknown-bucket-view", "bucket-copies" => "plan-unknown-bucket-copies",
    "tied" => "plan-unknown-tied", "untied" => "plan-unknown-untied", "optimizer" => "plan-unknown-optimizer",
}

keys! {
    /// Parts of a plan that no measured peak stands behind.
    untested:
    "tensor" => "plan-untested-tensor", "context" => "plan-untested-context",
    "expert" => "plan-untested-expert", "pipeline" => "plan-untested-pipeline", "zero" => "plan-untested-zero",
    "offload" => "plan-untested-offload", "qlora" => "plan-untested-qlora",
    "megatron" => "plan-untested-megatron", "selective" => "plan-untested-selective",
    "fused-loss" => "plan-untested-fused-loss", "compiled" => "plan-untested-compiled",
}

keys! {
    /// How a step was found.
    method:
    "replay" => "method-replay", "model" => "method-model", "bound" => "method-bound",
}

/// A strategy in short: `dp 4 · ZeRO-1 · tp 2 + sp · checkpoint · batch 1 × 64`.
pub(super) fn strategy(catalog: &Catalog, setup: &Setup, schedule: Schedule) -> String {
    let p = &setup.parallel;
    let mut parts = Vec::new();
    if p.data > 1 {
        parts.push(format!("dp {}", p.data));
        parts.push(sharding(p.sharding).to_owned());
    }
    if p.tensor > 1 {
        parts.push(format!("tp {}{}", p.tensor, if p.sequence { " + sp" } else { "" }));
    }
    if p.pipeline > 1 {
        let by = match schedule {
            Schedule::GPipe => "GPipe".to_owned(),
            Schedule::OneForwardOneBackward => "1F1B".to_owned(),
            Schedule::Interleaved { chunks } => format!("1F1B × {chunks}"),
            Schedule::ZeroBubble => "ZB-H1".to_owned(),
        };
        parts.push(format!("pp {} {by}", p.pipeline));
    }
    if p.context > 1 {
        parts.push(format!("cp {}", p.context));
    }
    if p.expert > 1 {
        parts.push(format!("ep {}", p.expert));
    }
    match setup.checkpointing {
        Checkpointing::None => {}
        Checkpointing::Full => parts.push(catalog.word("plan-checkpoint-full")),
        Checkpointing::Selective => parts.push(catalog.word("plan-checkpoint-selective")),
        Checkpointing::Every(k) => {
            parts.push(catalog.format("plan-checkpoint-every", &[("k", (k as i64).into())]));
        }
    }
    if setup.offload != Offload::None {
        parts.push(catalog.word("plan-offload"));
    }
    parts.push(catalog.format(
        "plan-batch",
        &[("batch", (setup.batch as i64).into()), ("micro", (setup.micro_batches as i64).into())],
    ));
    parts.join(" · ")
}

pub(super) fn sharding(sharding: Sharding) -> &'static str {
    match sharding {
        Sharding::None => "DDP",
        Sharding::Optimizer => "ZeRO-1",
        Sharding::Gradients => "ZeRO-2",
        Sharding::Full => "FSDP",
        Sharding::KeepGathered => "FSDP keep",
    }
}

pub(super) fn precision(precision: Precision) -> &'static str {
    match precision {
        Precision::Amp => "amp",
        Precision::Pure16 => "bf16",
        Precision::Fp32 => "fp32",
        Precision::Mixed => "mixed",
    }
}

pub(super) fn optimizer(optimizer: Optimizer) -> &'static str {
    match optimizer {
        Optimizer::AdamW => "AdamW",
        Optimizer::AdamW8bit => "AdamW 8-bit",
        Optimizer::Sgd => "SGD",
        Optimizer::SgdMomentum => "SGD + momentum",
        Optimizer::Lion => "Lion",
        Optimizer::Adafactor => "Adafactor",
        Optimizer::Muon => "Muon",
    }
}
