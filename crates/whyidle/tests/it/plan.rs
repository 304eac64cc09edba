//! `whyidle plan`: its pages, its JSON, and how it refuses.

use std::fs;

use serde_json::Value;

use crate::support::{LANGUAGES, printed, root, run};

const LLAMA: [&str; 9] =
    ["plan", "--model", "llama-3-8b", "--gpu", "h100x8", "--seq", "8192", "--global-batch", "256"];

#[test]
fn the_page_of_a_search() {
    for lang in LANGUAGES {
        insta::assert_snapshot!(
            format!("plan.search.{lang}"),
            printed(&[&LLAMA[..], &["--lang", lang]].concat())
        );
    }
}

#[test]
fn the_page_of_a_measured_step() {
    for lang in LANGUAGES {
        let args = ["plan", "--calibrate", "testdata/ckpt_needless", "--lang", lang];
        insta::assert_snapshot!(format!("plan.measured.{lang}"), printed(&args));
        let args = ["plan", "--calibrate", "testdata/ckpt_needless", "--checkpoint", "none", "--batch", "32"];
        insta::assert_snapshot!(
            format!("plan.calibrated.{lang}"),
            printed(&[&args[..], &["--lang", lang]].concat())
        );
    }
}

fn json(args: &[&str]) -> Value {
    let (status, value) = json_with_status(args);
    assert_eq!(status, Some(0), "{args:?}");
    value
}

/// A plan or a refusal as JSON, which obeys the schema and is all that is said.
fn json_with_status(args: &[&str]) -> (Option<i32>, Value) {
    let run = run(&[args, &["--format", "json"]].concat());
    assert_eq!(run.err, "", "{args:?}");
    let value: Value = serde_json::from_str(&run.out).unwrap();
    let path = root().join("crates/whyidle-report/schema/whyidle.plan-1.schema.json");
    let schema = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{args:?}: {}", errors.join("\n"));
    (run.status, value)
}

/// The network of the recordings whose names begin with `fed`.
#[rustfmt::skip]
const FED: &[&str] = &[
    "--layers", "12", "--hidden", "1024", "--heads", "16", "--vocab", "32000",
    "--code", "torch", "--loss", "kept-logits",
];

#[test]
fn json_obeys_its_schema() {
    assert!(json(&LLAMA)["search"]["judged"].as_u64().unwrap() > 1000);
    let measured = json(&["plan", "--calibrate", "testdata/ckpt_needless"]);
    let back = &measured["calibrated"]["give_back"][0];
    assert_eq!(
        (back["id"].as_str(), back["step"]["method"].as_str()),
        (Some("checkpointing"), Some("replay"))
    );
    for recording in ["testdata/fed_small", "testdata/fsdp_full", "testdata/ddp_small", "testdata/pp_m2"] {
        let value = json(&["plan", "--calibrate", recording, "--batch", "2"]);
        assert_eq!(value["calibrated"]["same"], false, "{recording}");
    }
    let offline = json(&[&["plan", "--calibrate", "testdata/fed_small/case.json"][..], FED].concat());
    assert_eq!(offline["calibrated"]["counted"], true);
}

/// A recording made on one GPU plans for others.
#[test]
fn a_measured_step_plans_for_other_gpus() {
    let here = json(&["plan", "--calibrate", "testdata/attn_flash"]);
    let there = json(&["plan", "--calibrate", "testdata/attn_flash", "--gpu", "a100"]);
    assert!(there["step"]["seconds"].as_f64().unwrap() > 2.0 * here["step"]["seconds"].as_f64().unwrap());
    let eight =
        json(&["plan", "--calibrate", "testdata/attn_flash", "--gpu", "h200x8", "--sharding", "fsdp"]);
    assert_eq!((eight["strategy"]["dp"].as_u64(), eight["gpu"]["count"].as_u64()), (Some(8), Some(8)));
}

/// Every error names what is wrong and what to do.
#[test]
fn what_cannot_be_planned_is_refused_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let config = |text: &str| {
        let path = folder.path().join(format!("{}.json", text.len()));
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let llama = |more: &str| {
        config(&format!(
            r#"{{"model_type":"llama","vocab_size":32000,"hidden_size":4096,"intermediate_size":11008,"num_hidden_layers":32,{more}}}"#
        ))
    };
    let unknown = config(r#"{"model_type":"mamba2"}"#);
    let grouped = llama(r#""num_attention_heads":32,"num_key_value_heads":5"#);
    let odd = llama(r#""num_attention_heads":33"#);
    let cases: &[(&[&str], &[&str])] = &[
        (&["--config", &unknown, "--batch", "1"], &["mamba2", "llama", "--layers"]),
        (&["--config", &grouped, "--batch", "1"], &["32", "5", "key-value"]),
        (&["--config", &odd, "--batch", "1"], &["4096", "33", "head_dim"]),
        (
            &["--model", "llama-3-8b", "--gpu", "h100x64", "--tp", "64", "--batch", "1"],
            &["64", "32 heads", "divisor"],
        ),
        (&["--model", "llama-9", "--batch", "1"], &["llama-9", "llama-3-8b"]),
        (&["--model", "llama-3-8b", "--gpu", "gtx680", "--batch", "1"], &["gtx680", "--gpu-table"]),
        (&["--model", "llama-3-8b", "--network", "smoke", "--batch", "1"], &["smoke", "ib-ndr"]),
        (&["--model", "gpt2", "--seq", "4096", "--batch", "1"], &["4096", "1024 positions"]),
        (&["--model", "llama-3-8b", "--gpu", "h100x8", "--pp", "3", "--batch", "1"], &["8 GPUs", "3"]),
        (&["--layers", "12", "--batch", "1"], &["--hidden"]),
        (&["--calibrate", "testdata/nowhere"], &["nowhere"]),
    ];
    for (args, wanted) in cases {
        let run = run(&[&["plan"][..], args].concat());
        assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{args:?}");
        assert!(run.err.starts_with("error: "), "{}", run.err);
        for word in *wanted {
            assert!(run.err.contains(word), "{word} in {}", run.err);
        }
    }
}

/// What a trace does not show is not guessed; what does not fit says by how much. Both are status 1.
#[test]
fn refusals_and_plans_that_do_not_fit() {
    for (recording, word) in [("testdata/fed_compiled", "compiler"), ("testdata/h2d_pinned", "attention")] {
        let run = run(&["plan", "--calibrate", recording]);
        assert_eq!((run.status, run.out.as_str()), (Some(1), ""), "{recording}");
        assert!(run.err.contains(word), "{}", run.err);
    }
    let nowhere = ["plan", "--model", "llama-3.1-405b", "--gpu", "l4x4", "--global-batch", "4"];
    let run = run(&nowhere);
    assert_eq!(run.status, Some(1));
    assert!(run.out.contains("No strategy fits") && run.out.contains("missing"), "{}", run.out);
}

/// Programs are told why there is no plan, with the figures.
#[test]
fn refusals_are_json_where_json_is_asked_for() {
    for (args, status, code, figure) in [
        (&["plan", "--calibrate", "testdata/fed_compiled"][..], 1, "compiled", None),
        (&["plan", "--model", "gpt2", "--batch", "1", "--tp", "4"], 2, "world", Some(("ranks", 4))),
        (
            &["plan", "--model", "llama-3-8b", "--gpu", "h100x64", "--tp", "64", "--batch", "1"],
            2,
            "tensor-parallel",
            Some(("heads", 32)),
        ),
        (
            &["plan", "--model", "gpt2", "--gpu", "h100x7", "--global-batch", "4"],
            2,
            "batch",
            Some(("batch", 4)),
        ),
        (&["plan", "--model", "gpt2"], 2, "no-batch", None),
        (&["plan"], 2, "nothing", None),
    ] {
        let (found, value) = json_with_status(args);
        let refused = &value["refused"];
        assert_eq!((found, refused["code"].as_str()), (Some(status), Some(code)), "{args:?}");
        if let Some((name, count)) = figure {
            assert_eq!(refused["reason"]["args"][name]["count"], count, "{value}");
        }
    }
    let (status, value) =
        json_with_status(&["plan", "--model", "llama-3.1-405b", "--gpu", "l4x4", "--global-batch", "4"]);
    assert_eq!((status, value["memory"]["fits"].as_bool()), (Some(1), Some(false)));
    assert!(value["memory"]["missing"].as_u64().unwrap() > 100 << 30);
}

/// What lacks a model or a batch is answered with a command that runs.
#[test]
fn what_is_missing_comes_with_a_command_that_runs() {
    for args in [&["plan"][..], &["plan", "--model", "gpt2", "--seq", "512"]] {
        let missing = run(args);
        assert_eq!(missing.status, Some(2), "{}", missing.err);
        let (_, command) = missing.err.split_once("for example: whyidle ").expect("a command");
        let run = run(&command.split_whitespace().collect::<Vec<_>>());
        assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "{command}");
    }
}

/// The step without checkpointing is the same whether it is given back or asked for; so is that of one gather.
#[test]
fn both_ways_to_a_step_answer_alike() {
    for (recording, saver, options) in [
        ("testdata/ckpt_needless", "checkpointing", ["--checkpoint", "none"]),
        ("testdata/fsdp_full", "regathering", ["--sharding", "fsdp-keep"]),
    ] {
        let measured = json(&["plan", "--calibrate", recording]);
        let back = measured["calibrated"]["give_back"].as_array().unwrap();
        let back = &back.iter().find(|each| each["id"] == saver).expect("a saver")["step"];
        let asked = json(&[&["plan", "--calibrate", recording][..], &options].concat());
        let of = |value: &Value| value.as_f64().unwrap();
        for (given, planned) in [
            (of(&back["seconds"]), of(&asked["step"]["seconds"])),
            (of(&back["low"]), of(&asked["calibrated"]["step"]["low"])),
            (of(&back["high"]), of(&asked["calibrated"]["step"]["high"])),
        ] {
            assert!((given / planned - 1.0).abs() < 1e-6, "{recording}: {given} {planned}");
        }
    }
}

/// A rate that is stated is not called measured.
#[test]
fn a_stated_efficiency_is_not_as_measured() {
    let args = ["plan", "--calibrate", "testdata/fed_small", "--efficiency", "0.4"];
    let value = json(&args);
    assert_eq!(
        (&value["calibrated"]["same"], &value["calibrated"]["step"]),
        (&Value::Bool(false), &Value::Null)
    );
    let page = printed(&args);
    assert!(!page.contains("As measured") && page.contains("--efficiency states its rate"), "{page}");
}

/// Strategies around a measured step, by the very model that judges one.
#[test]
fn a_search_starts_from_a_measured_step() {
    let args = ["plan", "--calibrate", "testdata/fed_small", "--gpu", "h200x4"];
    let found = json(&[&args[..], &["--global-batch", "64"]].concat());
    assert!(found["search"]["judged"].as_u64().unwrap() > 100);
    let strategy = &found["strategy"];
    let sharding = match strategy["sharding"].as_str() {
        Some("FSDP keep") => "fsdp-keep",
        Some("FSDP") => "fsdp",
        Some("ZeRO-1") => "zero1",
        _ => "none",
    };
    let (batch, micro) = (strategy["batch"].to_string(), strategy["micro_batches"].to_string());
    let one =
        json(&[&args[..], &["--batch", &batch, "--micro-batches", &micro, "--sharding", sharding]].concat());
    assert_eq!(found["step"]["seconds"], one["step"]["seconds"]);
    assert_eq!(found["memory"]["allocated"], one["memory"]["allocated"]);
    // Another precision than the measured one: its memory still counts, its pace does not, and that is said.
    let page = printed(&[&args[..], &["--global-batch", "64", "--precision", "bf16"]].concat());
    assert!(page.contains("their rate is stated, not measured"), "{page}");
}

/// A recorded peak that the model cannot explain is said to contradict it; one that no run has is refused.
#[test]
fn a_peak_that_contradicts_the_model_is_not_used_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let args = [&["plan", "--calibrate", &path][..], FED].concat();
    let recorded = |peak: u64| {
        let says = format!(
            r#"{{"step_ms_mean": 58.38, "batch": 16, "seq": 1024, "gpu": "NVIDIA H200", "max_memory_allocated": {peak}}}"#
        );
        std::fs::write(folder.path().join("recording.json"), says).unwrap();
    };
    recorded(16_700_000_000);
    let value = json(&args);
    assert_eq!(value["calibrated"]["contradicts"], false, "{value}");
    for (peak, words) in [(26_000_000_000, "above the model's"), (9_000_000_000, "below the model's")] {
        recorded(peak);
        assert_eq!(json(&args)["calibrated"]["contradicts"], true);
        let page = printed(&args);
        assert!(page.contains(words), "{page}");
    }
    for (peak, code) in [(100_000_000, "peak-low"), (900_000_000_000, "peak-high")] {
        recorded(peak);
        let (status, value) = json_with_status(&args);
        assert_eq!((status, value["refused"]["code"].as_str()), (Some(1), Some(code)));
        assert!(value["refused"]["reason"]["args"]["missing"]["bytes"].as_u64() > Some(1 << 30), "{value}");
    }
}

/// What a compiler hides in the trace can be described; the recording beside it still measures it.
#[test]
fn a_compiled_run_is_calibrated_on_its_recording() {
    let described = [&["plan", "--calibrate", "testdata/fed_compiled"][..], FED, &["--compiled"]].concat();
    let value = json(&described);
    let of = |key: &str| value["calibrated"][key].as_f64().unwrap();
    assert!((of("predicted") / of("peak") - 1.0).abs() < 0.02, "{} {}", of("predicted"), of("peak"));
    assert_eq!(value["calibrated"]["counted"], true);
}

/// A GPU of one's own, a link of one's own.
#[test]
fn a_table_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("gpus.toml");
    fs::write(&table, "[gpu.mine]\nmemory_gib = 100\nbandwidth_gbs = 2000\nhalf_tflops = 500\n").unwrap();
    let table = table.to_str().unwrap();
    let args = [
        "plan",
        "--model",
        "llama-3.2-1b",
        "--gpu-table",
        table,
        "--gpu",
        "minex2",
        "--batch",
        "1",
        "--sharding",
        "fsdp",
    ];
    let slow = json(&[&args[..], &["--bandwidth", "1"]].concat());
    let fast = json(&[&args[..], &["--bandwidth", "400"]].concat());
    assert_eq!(slow["gpu"]["source"], "TOML");
    assert!(slow["step"]["exposed"].as_f64() > fast["step"]["exposed"].as_f64());
}

/// Days and cost of a token budget.
#[test]
fn a_budget_has_days_and_a_price() {
    let value = json(&[&LLAMA[..], &["--tokens", "1000", "--price", "2"]].concat());
    let budget = &value["budget"];
    let (days, hours) = (budget["days"].as_f64().unwrap(), budget["gpu_hours"].as_f64().unwrap());
    assert!((hours - days * 24.0 * 8.0).abs() < 1e-6 && days > 1.0);
    assert!((budget["price"].as_f64().unwrap() - 2.0 * hours).abs() < 1e-6);
}

/// Where nothing else states the peak, a memory snapshot beside the recording does.
#[test]
fn a_memory_snapshot_gives_the_peak() {
    let folder = tempfile::tempdir().unwrap();
    let snapshot = crate::support::root().join("crates/whyidle-readers/tests/data/memory_snapshot.pickle");
    std::fs::copy(snapshot, folder.path().join("memory_snapshot.pickle")).unwrap();
    let says = r#"{"step_ms_mean": 58.38, "batch": 16, "seq": 1024, "gpu": "NVIDIA H200"}"#;
    std::fs::write(folder.path().join("recording.json"), says).unwrap();
    let path = folder.path().display().to_string();
    let network = ["--layers", "12", "--hidden", "1024", "--heads", "16", "--vocab", "50304"];
    let plan = crate::support::printed(&[&["plan", "--calibrate", &path][..], &network].concat());
    assert!(plan.contains("Peak 15.6 GiB measured"), "{plan}");
    std::fs::write(folder.path().join("memory_snapshot.pickle"), b"\x80\x04cos\nsystem\n.").unwrap();
    let run = crate::support::run(&[&["plan", "--calibrate", &path][..], &network].concat());
    assert_eq!(run.status, Some(2), "{}", run.err);
    assert!(run.err.contains("memory_snapshot.pickle") && run.err.contains("byte 2"), "{}", run.err);
}
