//! `whyidle plan`: memory, communication and strategies before anything runs.

mod options;

pub(crate) use options::PlanOptions;

use whyidle_diagnosis::Message;
use whyidle_planner::{
    Act, Attention, Family, Gpu, Head, Link, Model, Parallel, PlanError, Precision, Request, Schedule, Setup,
    estimate, from_config, gpu, link, memory, parse_gpus, preset, search,
};
use whyidle_report::{PlanReport, render_plan_json, render_plan_markdown, render_plan_text};

use crate::args::Format;
use crate::output::Output;
use crate::{REACHED, REFUSED, UNREADABLE};

pub(crate) fn run(options: &PlanOptions, output: &Output) -> u8 {
    match plan(options) {
        Ok(report) => {
            let text = match options.format {
                Format::Text => {
                    render_plan_text(&report, &output.catalog, &output.text_options(options.verbose))
                }
                Format::Json => render_plan_json(&report),
                Format::Md => render_plan_markdown(&report, &output.catalog),
            };
            output.data(&text, if report.missing() > 0.0 { REFUSED } else { REACHED })
        }
        Err(error) => {
            let message = error
                .args
                .iter()
                .fold(Message::new(error.id), |message, (name, value)| message.name(name, value.clone()));
            output.error(&message, None);
            UNREADABLE
        }
    }
}

fn plan(options: &PlanOptions) -> Result<PlanReport, PlanError> {
    let (gpu, gpus) = machine(options)?;
    let network = link(&options.network)?;
    let base = base(options, &gpu, gpus)?;
    if let Some(global_batch) = options.global_batch {
        return searched(options, base, gpu, gpus, network, global_batch);
    }
    let setup = strategy(options, base, gpus)?;
    let memory = memory(&setup)?;
    let cost = estimate(&setup, &gpu, &network, options.schedule, options.efficiency);
    Ok(report(options, setup, gpu, gpus, network, memory, cost, options.schedule, None))
}

fn searched(
    options: &PlanOptions,
    base: Setup,
    gpu: Gpu,
    gpus: u64,
    network: Link,
    global_batch: u64,
) -> Result<PlanReport, PlanError> {
    let request = Request {
        base,
        gpu: gpu.clone(),
        gpus,
        network,
        global_batch,
        free: options.free,
        efficiency: options.efficiency,
    };
    let found = search(&request)?;
    let best =
        found.best.first().or(found.too_big.first()).cloned().ok_or_else(|| {
            PlanError::new("plan-error-batch").with("batch", global_batch).with("gpus", gpus)
        })?;
    Ok(report(
        options,
        best.setup,
        gpu,
        gpus,
        network,
        best.memory,
        best.estimate,
        best.schedule,
        Some(found),
    ))
}

#[expect(clippy::too_many_arguments, reason = "the parts of a report")]
fn report(
    options: &PlanOptions,
    setup: Setup,
    gpu: Gpu,
    gpus: u64,
    network: Link,
    memory: whyidle_planner::Memory,
    estimate: whyidle_planner::Estimate,
    schedule: Schedule,
    search: Option<whyidle_planner::Search>,
) -> PlanReport {
    PlanReport {
        setup,
        gpu,
        gpus,
        network,
        memory,
        estimate,
        schedule,
        efficiency: options.efficiency,
        free: options.free,
        search,
        tokens: options.tokens.map(|billions| billions * 1e9),
        price: options.price,
    }
}

/// `h100x8` → the GPU and 8.
fn machine(options: &PlanOptions) -> Result<(Gpu, u64), PlanError> {
    let own = match &options.gpu_table {
        Some(path) => parse_gpus(&read(path)?)?,
        None => Vec::new(),
    };
    let (name, count) = match options.gpu.rsplit_once(['x', '*']) {
        // "mi300x" ends in an x; "mi300xx8" has a count after it.
        Some((name, count)) if !name.is_empty() && count.parse::<u64>().is_ok() => {
            (name, count.parse().unwrap_or(1))
        }
        _ => (options.gpu.as_str(), 1),
    };
    if count == 0 {
        return Err(PlanError::new("plan-error-zero").with("name", "--gpu"));
    }
    let mut gpu = match gpu(name, &own) {
        // "rtx3090" and the like hold an x of their own.
        Err(error) => gpu(&options.gpu, &own).map(|whole| (whole, 1)).map_err(|_| error)?,
        Ok(gpu) => (gpu, count),
    };
    if let Some(rate) = options.bandwidth {
        gpu.0.link.bus = rate * 1e9;
    }
    Ok(gpu)
}

fn read(path: &std::path::Path) -> Result<String, PlanError> {
    std::fs::read_to_string(path)
        .map_err(|error| PlanError::new("plan-error-read").with("path", path.display()).with("reason", error))
}

/// Model, types, code and optimizer: what a search keeps.
fn base(options: &PlanOptions, gpu: &Gpu, gpus: u64) -> Result<Setup, PlanError> {
    let model = model(options)?;
    let limit = if model.max_seq > 0 { model.max_seq } else { 2048 };
    let seq = options.seq.unwrap_or(limit.min(2048));
    let mut setup = Setup::new(model, options.batch.unwrap_or(1), seq);
    let several = if gpus > 1 { Precision::Mixed } else { Precision::Amp };
    setup.precision = options.precision.map_or(several, Into::into);
    setup.code = options.code.into();
    setup.attention = options.attention.into();
    if let Some(loss) = options.loss {
        setup.loss = loss.into();
    }
    setup.optimizer = options.optimizer.into();
    setup.optimizer_loop = options.optimizer_loop.into();
    setup.workspace = gpu.workspace;
    setup.micro_batches = options.micro_batches;
    Ok(setup)
}

fn strategy(options: &PlanOptions, mut setup: Setup, gpus: u64) -> Result<Setup, PlanError> {
    let ranks = options.tp * options.pp * options.cp;
    if ranks == 0 || !gpus.is_multiple_of(ranks) {
        return Err(PlanError::new("plan-error-world").with("gpus", gpus).with("ranks", ranks));
    }
    setup.checkpointing = options.checkpoint;
    setup.offload = options.offload.into();
    setup.parallel = Parallel {
        data: gpus / ranks,
        sharding: options.sharding.into(),
        tensor: options.tp,
        sequence: options.sp,
        pipeline: options.pp,
        chunks: if let Schedule::Interleaved { chunks } = options.schedule { chunks } else { 1 },
        gpipe: options.schedule == Schedule::GPipe,
        context: options.cp,
        expert: options.ep,
        bucket_view: options.bucket_view,
    };
    Ok(setup)
}

fn model(options: &PlanOptions) -> Result<Model, PlanError> {
    let mut model = match (&options.model, &options.config) {
        (Some(name), _) => preset(name)?,
        (None, Some(path)) => from_config(&read(path)?)?,
        (None, None) => return described(options),
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
    Ok(model)
}

/// A model from figures: GPT-like without key-value heads, Llama-like with them.
fn described(options: &PlanOptions) -> Result<Model, PlanError> {
    let (Some(layers), Some(hidden), Some(heads), Some(vocab)) =
        (options.layers, options.hidden, options.heads, options.vocab)
    else {
        return Err(PlanError::new("plan-error-nothing"));
    };
    if heads == 0 || !hidden.is_multiple_of(heads) {
        return Err(PlanError::new("plan-error-heads-hidden").with("hidden", hidden).with("heads", heads));
    }
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
        positions: if llama { 0 } else { options.seq.unwrap_or(2048) },
        max_seq: 0,
        extra_embeddings: 0,
        tied: false,
        dropout: false,
        attention: Attention {
            heads,
            kv_heads: options.kv_heads.unwrap_or(heads),
            head_dim: hidden / heads,
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
    Ok(model)
}
