//! A strategy in the words of the frameworks: lines to paste. No prose.

use crate::setup::{Checkpointing, Offload, Optimizer, Precision, Setup, Sharding};

/// Whose flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framework {
    /// torch with FSDP2 or DDP.
    Torch,
    /// DeepSpeed's JSON.
    DeepSpeed,
    /// Megatron-LM's arguments.
    Megatron,
    /// transformers' `TrainingArguments`.
    Transformers,
}

impl Framework {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Torch, Self::DeepSpeed, Self::Megatron, Self::Transformers];

    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Torch => "torch",
            Self::DeepSpeed => "deepspeed",
            Self::Megatron => "megatron",
            Self::Transformers => "transformers",
        }
    }
}

/// The lines for `setup`; `None` where the framework cannot do it.
#[must_use]
pub fn flags(setup: &Setup, framework: Framework) -> Option<Vec<String>> {
    let p = &setup.parallel;
    let plain = p.tensor == 1 && p.pipeline == 1 && p.context == 1 && p.expert == 1;
    if !(plain || framework == Framework::Megatron) || !can(setup, framework) {
        return None;
    }
    match framework {
        Framework::Torch => Some(torch(setup)),
        Framework::DeepSpeed => deepspeed(setup),
        Framework::Megatron => megatron(setup),
        Framework::Transformers => Some(transformers(setup)),
    }
}

/// Whether these lines say all of a strategy: half of one would be another.
fn can(setup: &Setup, framework: Framework) -> bool {
    let (sharding, checkpointing) = (setup.parallel.sharding, setup.checkpointing);
    let whole = matches!(checkpointing, Checkpointing::None | Checkpointing::Full);
    let adam = matches!(setup.optimizer, Optimizer::AdamW);
    match framework {
        Framework::Torch => {
            let offload = setup.offload == Offload::None
                || setup.offload == Offload::All
                    && matches!(sharding, Sharding::Full | Sharding::KeepGathered);
            setup.lora.is_none()
                && offload
                && sharding != Sharding::Gradients
                && (sharding != Sharding::Optimizer || adam)
                && checkpointing != Checkpointing::Selective
        }
        Framework::DeepSpeed => setup.lora.is_none() && checkpointing == Checkpointing::None && adam,
        Framework::Megatron => {
            setup.lora.is_none() && setup.offload != Offload::All && adam && !setup.compiled
        }
        Framework::Transformers => {
            setup.offload == Offload::None
                && whole
                && !matches!(setup.optimizer, Optimizer::SgdMomentum | Optimizer::Muon)
        }
    }
}

fn torch(setup: &Setup) -> Vec<String> {
    let mut lines = Vec::new();
    match setup.parallel.sharding {
        Sharding::None if setup.parallel.data > 1 => {
            let view = if setup.parallel.bucket_view { ", gradient_as_bucket_view=True" } else { "" };
            lines.push(format!("model = DistributedDataParallel(model{view})"));
        }
        Sharding::None => {}
        Sharding::Optimizer | Sharding::Gradients => lines.push(
            "optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW)"
                .to_owned(),
        ),
        Sharding::Full | Sharding::KeepGathered => {
            let reshard = if setup.parallel.sharding == Sharding::Full { "True" } else { "False" };
            let policy = if setup.precision == Precision::Mixed {
                ", mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16)"
            } else {
                ""
            };
            let offload =
                if setup.offload == Offload::All { ", offload_policy=CPUOffloadPolicy()" } else { "" };
            lines.push(format!("kw = dict(reshard_after_forward={reshard}{policy}{offload})"));
            lines.push("for layer in layers: fully_shard(layer, **kw)  # the model's blocks".to_owned());
            lines.push("fully_shard(model, **kw)".to_owned());
        }
    }
    match setup.checkpointing {
        Checkpointing::Full => lines.push("x = checkpoint(layer, x, use_reentrant=False)".to_owned()),
        Checkpointing::Every(k) => {
            lines
                .push(format!("x = layer(x) if i % {k} == 0 else checkpoint(layer, x, use_reentrant=False)"));
        }
        Checkpointing::None | Checkpointing::Selective => {}
    }
    if setup.compiled {
        lines.push("model = torch.compile(model)".to_owned());
    }
    if !matches!(setup.parallel.sharding, Sharding::Optimizer | Sharding::Gradients) {
        lines.push(optimizer(setup).to_owned());
    }
    if setup.precision == Precision::Amp {
        lines.push("with torch.autocast(\"cuda\", dtype=torch.bfloat16): loss = model(batch)".to_owned());
    }
    lines.push(format!("batch_size={}  # × {} micro-batches", setup.batch, setup.micro_batches));
    lines
}

/// Products in 16 bits.
fn is_half(setup: &Setup) -> bool {
    setup.precision != Precision::Fp32
}

/// The optimizer in torch's words.
fn optimizer(setup: &Setup) -> &'static str {
    match setup.optimizer {
        Optimizer::AdamW => "optimizer = torch.optim.AdamW(model.parameters(), fused=True)",
        Optimizer::AdamW8bit => "optimizer = bitsandbytes.optim.AdamW8bit(model.parameters())",
        Optimizer::Sgd => "optimizer = torch.optim.SGD(model.parameters())",
        Optimizer::SgdMomentum => "optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)",
        Optimizer::Lion => "optimizer = lion_pytorch.Lion(model.parameters())",
        Optimizer::Adafactor => "optimizer = torch.optim.Adafactor(model.parameters())",
        Optimizer::Muon => "optimizers = torch.optim.Muon(matrices), torch.optim.AdamW(others, fused=True)",
    }
}

fn deepspeed(setup: &Setup) -> Option<Vec<String>> {
    let stage = match setup.parallel.sharding {
        Sharding::None => 0,
        Sharding::Optimizer => 1,
        Sharding::Gradients => 2,
        Sharding::Full => 3,
        Sharding::KeepGathered => return None,
    };
    let offload = match setup.offload {
        Offload::None => "",
        Offload::Optimizer => ", \"offload_optimizer\": {\"device\": \"cpu\"}",
        Offload::All => {
            ", \"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": {\"device\": \"cpu\"}"
        }
    };
    Some(vec![
        "{".to_owned(),
        format!("  \"train_micro_batch_size_per_gpu\": {},", setup.batch),
        format!("  \"gradient_accumulation_steps\": {},", setup.micro_batches),
        format!("  \"bf16\": {{\"enabled\": {}}},", is_half(setup)),
        format!("  \"zero_optimization\": {{\"stage\": {stage}{offload}}}"),
        "}".to_owned(),
    ])
}

fn megatron(setup: &Setup) -> Option<Vec<String>> {
    let p = &setup.parallel;
    let mut line = vec![
        format!("--micro-batch-size {}", setup.batch),
        format!("--global-batch-size {}", setup.global_batch()),
        format!("--tensor-model-parallel-size {}", p.tensor),
        format!("--pipeline-model-parallel-size {}", p.pipeline),
    ];
    if is_half(setup) {
        line.push("--bf16".to_owned());
    }
    if p.sequence {
        line.push("--sequence-parallel".to_owned());
    }
    if p.context > 1 {
        line.push(format!("--context-parallel-size {}", p.context));
    }
    if p.expert > 1 {
        line.push(format!("--expert-model-parallel-size {}", p.expert));
    }
    if p.chunks > 1 {
        let layers = setup.model.all_layers() / (p.pipeline * p.chunks);
        line.push(format!("--num-layers-per-virtual-pipeline-stage {layers}"));
    }
    match p.sharding {
        Sharding::None => {}
        Sharding::Optimizer => line.push("--use-distributed-optimizer".to_owned()),
        _ => return None,
    }
    match setup.checkpointing {
        Checkpointing::None => {}
        Checkpointing::Selective => line.push("--recompute-granularity selective".to_owned()),
        Checkpointing::Full => line.extend([
            "--recompute-granularity full --recompute-method uniform".to_owned(),
            "--recompute-num-layers 1".to_owned(),
        ]),
        Checkpointing::Every(k) => {
            let layers = setup.model.all_layers() / p.pipeline * (k - 1) / k;
            line.push(format!(
                "--recompute-granularity full --recompute-method block --recompute-num-layers {layers}"
            ));
        }
    }
    if setup.offload == Offload::Optimizer {
        line.push("--optimizer-cpu-offload".to_owned());
    }
    Some(line)
}

fn transformers(setup: &Setup) -> Vec<String> {
    let mut lines = vec![
        format!("per_device_train_batch_size={}", setup.batch),
        format!("gradient_accumulation_steps={}", setup.micro_batches),
    ];
    if is_half(setup) {
        lines.push("bf16=True".to_owned());
    }
    if setup.checkpointing == Checkpointing::Full {
        lines.push("gradient_checkpointing=True".to_owned());
    }
    let optimizer = match setup.optimizer {
        Optimizer::AdamW => Some("adamw_torch_fused"),
        Optimizer::AdamW8bit => Some("adamw_8bit"),
        Optimizer::Sgd => Some("sgd"),
        Optimizer::Lion => Some("lion_32bit"),
        Optimizer::Adafactor => Some("adafactor"),
        Optimizer::SgdMomentum | Optimizer::Muon => None,
    };
    lines.extend(optimizer.map(|name| format!("optim=\"{name}\"")));
    if setup.compiled {
        lines.push("torch_compile=True".to_owned());
    }
    if let Some(lora) = setup.lora {
        lines.push(format!("LoraConfig(r={}, target_modules=\"all-linear\")  # peft", lora.rank));
        if lora.quantised {
            lines.push(
                "BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=\"nf4\", bnb_4bit_use_double_quant=True)"
                    .to_owned(),
            );
        }
    }
    match setup.parallel.sharding {
        Sharding::Full => lines.push("fsdp=\"full_shard auto_wrap\"".to_owned()),
        Sharding::KeepGathered => lines.push("fsdp=\"shard_grad_op auto_wrap\"".to_owned()),
        Sharding::Optimizer | Sharding::Gradients => lines.push("deepspeed=\"ds_config.json\"".to_owned()),
        Sharding::None => {}
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Parallel, preset};

    #[test]
    fn frameworks_that_cannot_say_so() {
        let mut setup = Setup::new(preset("llama-3-8b").expect("a preset"), 1, 8192);
        setup.parallel = Parallel { data: 8, sharding: Sharding::Full, ..Parallel::default() };
        assert!(flags(&setup, Framework::Megatron).is_none());
        let torch = flags(&setup, Framework::Torch).expect("FSDP2");
        assert!(torch[0].contains("reshard_after_forward=True"));
        let json = flags(&setup, Framework::DeepSpeed).expect("ZeRO-3").join("\n");
        assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
        setup.precision = Precision::Fp32;
        for framework in Framework::ALL {
            let lines = flags(&setup, framework).unwrap_or_default().join("\n");
            assert!(
                !lines.contains("bf16\": {\"enabled\": true}") && !lines.contains("bf16=True"),
                "{lines}"
            );
        }
        setup.precision = Precision::Mixed;
        setup.offload = Offload::Optimizer;
        assert!(
            flags(&setup, Framework::Torch).is_none() && flags(&setup, Framework::Transformers).is_none()
        );
        setup.offload = Offload::None;
        setup.optimizer = Optimizer::Adafactor;
        setup.lora = Some(crate::Lora { rank: 16, quantised: true });
        let lines = flags(&setup, Framework::Transformers).expect("arguments").join("\n");
        for word in ["optim=\"adafactor\"", "r=16", "load_in_4bit"] {
            assert!(lines.contains(word), "{word} in {lines}");
        }
        (setup.optimizer, setup.lora) = (Optimizer::AdamW, None);
        setup.parallel = Parallel { data: 2, tensor: 4, sequence: true, ..Parallel::default() };
        assert!(flags(&setup, Framework::Torch).is_none());
        assert!(
            flags(&setup, Framework::Megatron).expect("arguments").join(" ").contains("--sequence-parallel")
        );
    }
}
