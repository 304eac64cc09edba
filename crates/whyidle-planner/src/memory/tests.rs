//! Predictions against measured peaks: the recorded lab, and ten runs of transformers by phase.

use super::*;
use crate::{
    Act, Attention, AttentionKernel, Checkpointing, Code, Family, Head, Lora, Loss, Model, Optimizer,
    OptimizerLoop, Parallel, Precision, from_config,
};
use serde_json::Value;

const TRANSFORMERS: &str = include_str!("../../testdata/transformers.json");
const FURTHER: &str = include_str!("../../testdata/further.json");
const LAB: &str = include_str!("../../testdata/lab.json");

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("test data")
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name} in {value}"))
}

/// The GPT of the lab's program: learned positions, heads of 64, untied output without bias.
fn lab_model(d: u64, layers: u64, vocab: u64, positions: u64) -> Model {
    Model {
        name: "lab".to_owned(),
        family: Family::Gpt,
        layers,
        decoder_layers: 0,
        hidden: d,
        ffn: 4 * d,
        gated: false,
        act: Act::Fused,
        mlp_bias: true,
        vocab,
        positions,
        max_seq: positions,
        extra_embeddings: 0,
        tied: false,
        dropout: false,
        attention: Attention {
            heads: d / 64,
            kv_heads: d / 64,
            head_dim: 64,
            qkv_bias: true,
            out_bias: true,
            qk_norm: false,
            mla: None,
        },
        norm_bias: true,
        moe: None,
        softcap: false,
        head: Head::Lm,
    }
}

fn lab_setup(row: &Value) -> Setup {
    let (d, seq) = (number(row, "d"), number(row, "seq"));
    let mut model = lab_model(d, number(row, "layers"), number(row, "vocab"), seq);
    if row["llama"] == true {
        let config = r#"{"model_type":"llama","vocab_size":32000,"hidden_size":1024,"intermediate_size":2816,
            "num_hidden_layers":12,"num_attention_heads":16,"num_key_value_heads":4}"#;
        model = from_config(config).expect("a configuration");
        assert_eq!(model.parameters(), 200_827_904);
    } else if row["pipeline"].is_u64() {
        (model.positions, model.max_seq) = (0, 0);
    }
    let mut setup = Setup::new(model, number(row, "batch"), seq);
    if row["llama"] != true {
        (setup.code, setup.loss) = (Code::Torch, Loss::KeptLogits);
    }
    match text(row, "precision") {
        "fp32" => setup.precision = Precision::Fp32,
        "mixed" => setup.precision = Precision::Mixed,
        _ => {}
    }
    if text(row, "code") == "written-out" {
        setup.code = Code::WrittenOut;
    }
    if text(row, "attention") == "eager" {
        setup.attention = AttentionKernel::Eager;
    }
    if row["checkpoint"] == true {
        setup.checkpointing = Checkpointing::Full;
    }
    if text(row, "loop") == "for" {
        setup.optimizer_loop = OptimizerLoop::ForLoop;
    }
    setup.micro_batches = row["micro_batches"].as_u64().unwrap_or(1);
    let world = row["world"].as_u64().unwrap_or(1);
    let pipeline = row["pipeline"].as_u64().unwrap_or(1);
    setup.parallel = Parallel {
        data: world / pipeline,
        pipeline,
        gpipe: pipeline > 1,
        sharding: match text(row, "sharding") {
            "full" => Sharding::Full,
            "keep" => Sharding::KeepGathered,
            _ => Sharding::None,
        },
        ..Parallel::default()
    };
    setup
}

/// Within 2 % of what was measured; DDP's ranks of either of two figures, steady and first steps.
#[test]
fn every_lab_case_within_two_percent() {
    for row in parsed(LAB).as_array().expect("rows") {
        let mut setup = lab_setup(row);
        for (rank, measured) in row["allocated"].as_array().expect("ranks").iter().enumerate() {
            let measured = measured.as_f64().expect("bytes");
            setup.stage = if setup.parallel.pipeline > 1 { rank as u64 } else { 0 };
            let memory = memory_of(&setup).expect("a plan");
            let (steady, first) = (memory.allocated / measured - 1.0, memory.first_steps / measured - 1.0);
            let error = if first.abs() < steady.abs() { first } else { steady };
            assert!(error.abs() <= 0.02, "{} rank {rank}: {:+.2} %", text(row, "case"), 100.0 * error);
        }
    }
}

fn transformers_setup(run: &Value) -> Setup {
    let lab = &run["lab"];
    let model = match lab.is_object() {
        true => lab_model(number(lab, "d"), number(lab, "layers"), number(lab, "vocab"), number(run, "seq")),
        false => from_config(&run["config"].to_string()).expect("a configuration"),
    };
    if run["params"].is_u64() && !run["lora"].is_u64() {
        assert_eq!(model.parameters(), number(run, "params"));
    }
    let mut setup = Setup::new(model, number(run, "batch"), number(run, "seq"));
    if lab.is_object() {
        (setup.code, setup.loss) = (Code::Torch, Loss::KeptLogits);
    }
    setup.lora = run["lora"].as_u64().map(|rank| Lora { rank, quantised: false });
    setup.precision = match (run["amp"] == true, text(run, "dtype")) {
        (true, _) => Precision::Amp,
        (false, "bfloat16") => Precision::Pure16,
        (false, "mixed") => Precision::Mixed,
        _ => Precision::Fp32,
    };
    if text(run, "attn") == "eager" {
        setup.attention = AttentionKernel::Eager;
    }
    if run["ckpt"] == true {
        setup.checkpointing = run["every"].as_u64().map_or(Checkpointing::Full, Checkpointing::Every);
    }
    match text(run, "opt") {
        "lion" => setup.optimizer = Optimizer::Lion,
        "adafactor" => setup.optimizer = Optimizer::Adafactor,
        "muon" => setup.optimizer = Optimizer::Muon,
        "sgd" => setup.optimizer = Optimizer::Sgd,
        "foreach" => setup.optimizer_loop = OptimizerLoop::Foreach,
        "forloop" => setup.optimizer_loop = OptimizerLoop::ForLoop,
        "momentum" => {
            (setup.optimizer, setup.optimizer_loop) = (Optimizer::SgdMomentum, OptimizerLoop::Foreach);
        }
        "adamw8bit" => setup.optimizer = Optimizer::AdamW8bit,
        _ => {}
    }
    setup.compiled = run["compiled"] == true;
    setup.parallel.data = run["world"].as_u64().unwrap_or(1);
    setup.parallel.bucket_view = text(run, "sharding") == "ddp-view";
    setup.parallel.sharding = match text(run, "sharding") {
        "full" => Sharding::Full,
        "keep" => Sharding::KeepGathered,
        "zero1" => Sharding::Optimizer,
        _ => Sharding::None,
    };
    setup
}

/// Phases too: forward, backward, step – within 3 %.
#[test]
fn ten_runs_of_transformers_within_three_percent_by_phase() {
    for (name, run) in parsed(TRANSFORMERS).as_object().expect("runs") {
        let memory = memory_of(&transformers_setup(run)).expect("a plan");
        let most = |ids: &[MomentId]| {
            memory.moments.iter().filter(|m| ids.contains(&m.id)).map(Moment::bytes).fold(0.0, f64::max)
        };
        for (phase, predicted) in [
            ("peak_forward", most(&[MomentId::LossForward])),
            ("peak_backward", most(&MomentId::ALL[1..5])),
            ("peak_step", most(&[MomentId::Optimizer])),
            ("peak", memory.allocated),
        ] {
            let error = predicted / number(run, phase) as f64 - 1.0;
            assert!(error.abs() <= 0.03, "{name} {phase}: {:+.2} %", 100.0 * error);
        }
    }
}

/// Compiled runs of the lab: the same network, written out or not, leaves the same graph.
#[test]
fn compiled_lab_cases() {
    for (d, layers, batch, seq, measured) in
        [(1024, 12, 16, 1024, 13_633_396_224_u64), (512, 24, 1, 128, 1_843_301_376)]
    {
        let mut setup = Setup::new(lab_model(d, layers, 32_000, seq), batch, seq);
        (setup.code, setup.loss, setup.compiled) = (Code::Torch, Loss::KeptLogits, true);
        let memory = memory_of(&setup).expect("a plan");
        let error = memory.allocated / measured as f64 - 1.0;
        assert!(error.abs() <= 0.02, "{d}: {:+.2} %", 100.0 * error);
    }
}

/// Table 1 of arXiv 1910.02054: 7.5 B parameters on 64 GPUs take 120, 31.4, 16.6 and 1.9 GB.
#[test]
fn zero_as_in_its_table() {
    let mut model = lab_model(4096, 36, 50_304, 1024);
    model.layers = 36;
    let parameters = model.parameters() as f64;
    let mut setup = Setup::new(model, 1, 1024);
    setup.precision = Precision::Mixed;
    for (sharding, gigabytes) in [
        (Sharding::None, 120.0),
        (Sharding::Optimizer, 31.4),
        (Sharding::Gradients, 16.6),
        (Sharding::Full, 1.88),
    ] {
        setup.parallel = Parallel { data: 64, sharding, ..Parallel::default() };
        let states = memory_of(&setup).expect("a plan").states / parameters * 7.5;
        assert!((states / gigabytes - 1.0).abs() < 4e-3, "{sharding:?}: {states}");
    }
}

/// Table 2 of arXiv 2205.05198: bytes of activations per layer over sbh, with dropout and 16-bit types.
#[test]
fn activations_as_in_the_table_of_megatron() {
    let mut model = lab_model(12288, 96, 51_200, 2048);
    (model.attention.heads, model.attention.kv_heads, model.attention.head_dim) = (96, 96, 128);
    let mut setup = Setup::new(model, 1, 2048);
    (setup.precision, setup.code) = (Precision::Mixed, Code::Megatron);
    (setup.attention, setup.dropout) = (AttentionKernel::Eager, true);
    let scores = 5.0 * 96.0 * 2048.0 / 12288.0;
    let t = 8.0;
    for (tensor, sequence, selective, expected) in [
        (1, false, false, 34.0 + scores),
        (8, false, false, 10.0 + 24.0 / t + scores / t),
        (8, true, false, (34.0 + scores) / t),
        (8, false, true, 10.0 + 24.0 / t),
        (8, true, true, 34.0 / t),
    ] {
        setup.parallel = Parallel { tensor, sequence, ..Parallel::default() };
        setup.checkpointing = if selective { Checkpointing::Selective } else { Checkpointing::None };
        let per_token = activations::layer(&setup, false, false).total() / (2048.0 * 12288.0);
        // The statistics of the norms, 16 bytes per token, are not in the table.
        assert!((per_token - expected).abs() < 2e-3, "{tensor} {sequence}: {per_token} {expected}");
    }
}

/// Predicted before they were measured: within 5 % but for four of the first 41, which led to corrections
/// (temporaries of 8-bit and SGD steps, buckets as views, compiled graphs); the last twelve within 3.1 %.
#[test]
fn further_runs_within_five_percent_of_what_was_predicted_before() {
    let missed = [
        "llama_8bit_b1_s512",
        "llama_momentum_foreach_b1_s256",
        "llama_ddp_view_amp_b2_s1024",
        "llama_compiled_amp_b4_s2048",
    ];
    let runs = parsed(FURTHER);
    let mut before = 0;
    for (name, run) in runs.as_object().expect("runs") {
        let measured = number(&run["measured"], "peak") as f64;
        let predicted = number(&run["predicted"], "peak") as f64;
        let error = predicted / measured - 1.0;
        assert_eq!(error.abs() > 0.05, missed.contains(&name.as_str()), "{name}: {:+.2} %", 100.0 * error);
        before += usize::from(error.abs() <= 0.05);
        let now = memory_of(&transformers_setup(run)).expect("a plan").allocated / measured - 1.0;
        assert!(now.abs() <= 0.05, "{name}: {:+.2} %", 100.0 * now);
    }
    assert!(before == 49, "{before}");
}

/// Only `DistributedDataParallel` has buckets: FSDP in any precision has none to hold twice.
#[test]
fn sharded_weights_have_no_buckets() {
    let mut setup = Setup::new(crate::preset("llama-3.2-1b").expect("a preset"), 1, 1024);
    for (sharding, twice) in [
        (Sharding::None, true),
        (Sharding::Optimizer, true),
        (Sharding::Full, false),
        (Sharding::KeepGathered, false),
    ] {
        setup.parallel = Parallel { data: 8, sharding, ..Parallel::default() };
        let memory = memory_of(&setup).expect("a plan");
        assert_eq!(memory.first_steps > memory.allocated, twice, "{sharding:?}");
    }
}

/// Writes predictions for the runs in `WHYIDLE_PREDICT`, to be measured afterwards.
#[test]
#[ignore = "makes test data"]
fn predict() {
    let path = std::env::var("WHYIDLE_PREDICT").expect("a path");
    let mut runs = parsed(&std::fs::read_to_string(&path).expect("runs"));
    for (name, run) in runs.as_object_mut().expect("runs") {
        let memory = memory_of(&transformers_setup(run)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let most = |ids: &[MomentId]| {
            memory.moments.iter().filter(|m| ids.contains(&m.id)).map(Moment::bytes).fold(0.0, f64::max)
                as u64
        };
        run["predicted"] = serde_json::json!({
            "forward": most(&[MomentId::LossForward]),
            "backward": most(&MomentId::ALL[1..5]),
            "step": most(&[MomentId::Optimizer]),
            "peak": memory.allocated as u64,
            "moment": memory.peak.id(),
        });
    }
    std::fs::write(&path, serde_json::to_string_pretty(&runs).expect("JSON")).expect("a file");
}
