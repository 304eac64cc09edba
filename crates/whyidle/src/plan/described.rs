//! Options as the planner's terms: the machine, the model, and how it is trained.

use std::path::Path;

use whyidle_planner::{
    Act, Attention, Family, Gpu, Head, Lora, Model, Parallel, PlanError, Precision, Schedule, Setup,
    from_config, gpu, parse_gpus, preset, shared_width,
};

use super::options::PlanOptions;

/// The GPU where none is named.
const DEFAULT_GPU: &str = "h100";

/// More GPUs than any job has are a slip.
const MOST_GPUS: u64 = 1 << 17;

/// `h100x8` → the GPU and 8.
pub(super) fn machine(options: &PlanOptions) -> Result<(Gpu, u64), PlanError> {
    let own = match &options.gpu_table {
        Some(path) => parse_gpus(&read(path)?)?,
        None => Vec::new(),
    };
    let wanted = options.gpu.as_deref().unwrap_or(DEFAULT_GPU);
    let (name, count) = match wanted.rsplit_once(['x', '*']) {
        // "mi300x" ends in an x; "mi300xx8" has a count after it.
        Some((name, count)) if !name.is_empty() && count.parse::<u64>().is_ok() => {
            (name, count.parse().unwrap_or(1))
        }
        _ => (wanted, 1),
    };
    if count > MOST_GPUS {
        return Err(PlanError::new("plan-error-gpus").with("most", MOST_GPUS));
    }
    if count == 0 {
        return Err(PlanError::new("plan-error-zero").with("name", "--gpu"));
    }
    let mut gpu = match gpu(name, &own) {
        // "rtx3090" and the like hold an x of their own.
        Err(_) => (gpu(wanted, &own)?, 1),
        Ok(gpu) => (gpu, count),
    };
    faster(&mut gpu.0, options);
    Ok(gpu)
}

/// The link as `--bandwidth` has it.
pub(super) fn faster(gpu: &mut Gpu, options: &PlanOptions) {
    if let Some(rate) = options.bandwidth {
        gpu.link.bus = rate * 1e9;
    }
}

/// No configuration and no table is larger.
const MOST_BYTES: u64 = 16 << 20;

/// Reads a text file.
pub(super) fn read(path: &Path) -> Result<String, PlanError> {
    let length = path.metadata().map_or(0, |data| data.len());
    if length > MOST_BYTES {
        let named = PlanError::new("plan-error-too-large").with("path", path.display().to_string());
        return Err(named.bytes("bytes", length as f64).bytes("most", MOST_BYTES as f64));
    }
    let text = if path.is_dir() {
        Err(std::io::Error::from(std::io::ErrorKind::IsADirectory))
    } else if path.exists() && !path.is_file() {
        Err(std::io::Error::from(std::io::ErrorKind::InvalidInput))
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|error| {
        PlanError::new("plan-error-read")
            .with("path", path.display().to_string())
            .with("reason", error.to_string())
    })
}

/// Model, types, code and optimizer: what a search keeps.
pub(super) fn base(options: &PlanOptions, gpu: &Gpu, gpus: u64) -> Result<Setup, PlanError> {
    let model = model(options, options.seq)?.ok_or_else(|| PlanError::new("plan-error-nothing"))?;
    described(options, model, gpu, gpus)
}

/// How `model` is trained, by the options.
pub(super) fn described(
    options: &PlanOptions,
    model: Model,
    gpu: &Gpu,
    gpus: u64,
) -> Result<Setup, PlanError> {
    let limit = if model.max_seq > 0 { model.max_seq } else { 2048 };
    let mut setup = Setup::new(model, options.batch.unwrap_or(1), limit.min(2048));
    setup.precision = if gpus > 1 { Precision::Mixed } else { Precision::Amp };
    setup.workspace = gpu.workspace;
    change(options, &mut setup);
    Ok(setup)
}

/// Every option that is given, put into a setup.
pub(super) fn change(options: &PlanOptions, setup: &mut Setup) {
    let set = |given: Option<u64>, field: &mut u64| {
        if let Some(value) = given {
            *field = value;
        }
    };
    set(options.batch, &mut setup.batch);
    set(options.seq, &mut setup.seq);
    set(options.micro_batches, &mut setup.micro_batches);
    if let Some(precision) = options.precision {
        setup.precision = precision.into();
    }
    if let Some(code) = options.code {
        setup.code = code.into();
    }
    if let Some(attention) = options.attention {
        setup.attention = attention.into();
    }
    if let Some(loss) = options.loss {
        setup.loss = loss.into();
    }
    if let Some(optimizer) = options.optimizer {
        setup.optimizer = optimizer.into();
    }
    if let Some(optimizer_loop) = options.optimizer_loop {
        setup.optimizer_loop = optimizer_loop.into();
    }
    if let Some(checkpointing) = options.checkpoint {
        setup.checkpointing = checkpointing;
    }
    if let Some(offload) = options.offload {
        setup.offload = offload.into();
    }
    setup.compiled |= options.compiled;
    let adapters = |rank, quantised| Lora { rank, quantised };
    setup.lora = options
        .lora
        .map(|rank| adapters(rank, false))
        .or(options.qlora.map(|rank| adapters(rank, true)))
        .or(setup.lora);
}

/// Ranks as the options divide them, on `gpus` GPUs.
pub(super) fn divide(options: &PlanOptions, setup: &mut Setup, gpus: u64) -> Result<(), PlanError> {
    let stages = setup.parallel.pipeline;
    let p = &mut setup.parallel;
    p.tensor = options.tp.unwrap_or(p.tensor);
    p.pipeline = options.pp.unwrap_or(p.pipeline);
    p.context = options.cp.unwrap_or(p.context);
    p.expert = options.ep.unwrap_or(p.expert);
    let ranks = p.tensor * p.pipeline * p.context;
    if ranks == 0 || !gpus.is_multiple_of(ranks) {
        return Err(PlanError::new("plan-error-world").with("gpus", gpus).with("ranks", ranks));
    }
    let schedule = options.schedule.unwrap_or(p.schedule());
    *p = Parallel {
        data: gpus / ranks,
        sharding: options.sharding.map_or(p.sharding, Into::into),
        sequence: options.sp || p.sequence,
        chunks: if let Schedule::Interleaved { chunks } = schedule { chunks } else { 1 },
        gpipe: schedule == Schedule::GPipe,
        bucket_view: options.bucket_view || p.bucket_view,
        ..*p
    };
    if p.pipeline != stages {
        setup.stage = 0;
    }
    Ok(())
}

/// The model of the options, if they name or describe one; `positions` are those of a GPT in figures.
pub(super) fn model(options: &PlanOptions, positions: Option<u64>) -> Result<Option<Model>, PlanError> {
    let mut model = match (&options.model, &options.config) {
        (Some(name), _) => preset(name)?,
        (None, Some(path)) => from_config(&read(path)?)?,
        (None, None) => return figures(options, positions),
    };
    for (given, field) in [
        (options.layers, &mut model.layers),
        (options.hidden, &mut model.hidden),
        (options.heads, &mut model.attention.heads),
        (options.kv_heads, &mut model.attention.kv_heads),
        (options.ffn, &mut model.ffn),
        (options.vocab, &mut model.vocab),
    ] {
        if let Some(value) = given {
            *field = value;
        }
    }
    model.check()?;
    Ok(Some(model))
}

/// A model from figures: GPT-like without key-value heads, Llama-like with them.
fn figures(options: &PlanOptions, positions: Option<u64>) -> Result<Option<Model>, PlanError> {
    let given = [options.layers, options.hidden, options.heads, options.vocab];
    if given.iter().all(Option::is_none) {
        return Ok(None);
    }
    let [Some(layers), Some(hidden), Some(heads), Some(vocab)] = given else {
        return Err(PlanError::new("plan-error-nothing"));
    };
    let head_dim = shared_width(hidden, heads)?;
    let llama = options.kv_heads.is_some();
    let model = Model {
        name: if llama { "llama-like" } else { "gpt-like" }.to_owned(),
        family: if llama { Family::Llama } else { Family::Gpt },
        layers,
        decoder_layers: 0,
        hidden,
        ffn: options.ffn.unwrap_or(4 * hidden),
        gated: llama,
        act: Act::Fused,
        mlp_bias: !llama,
        vocab,
        positions: if llama { 0 } else { positions.unwrap_or(2048) },
        max_seq: 0,
        extra_embeddings: 0,
        tied: false,
        dropout: false,
        attention: Attention {
            heads,
            kv_heads: options.kv_heads.unwrap_or(heads),
            head_dim,
            qkv_bias: !llama,
            out_bias: !llama,
            qk_norm: false,
            mla: None,
        },
        norm_bias: !llama,
        moe: None,
        softcap: false,
        head: Head::Lm,
    };
    model.check()?;
    Ok(Some(model))
}
