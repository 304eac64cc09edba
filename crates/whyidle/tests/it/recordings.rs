//! `whyidle diagnose` on recordings without a trace: the right family, the right function, and no worse than the
//! trace where there is one.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{LANGUAGES, root, run, whyidle};

/// Recordings that ship, without traces; what must come first, and what the verdict must name.
const SHIPPED: [(&str, &str, &str); 21] = [
    ("tok_heavy_workers2", "data.workers", "TokenizeOnTheFly.__getitem__"),
    ("tok_heavy_workers12", "compute.bound", ""),
    ("tok_workers0", "data.in_process", "TokenizeOnTheFly.__getitem__"),
    ("jsonl_worker1", "data.workers", "JsonLines.__getitem__"),
    ("gc_every_step", "host.python", "<lambda>"),
    ("h2d_pageable", "data.transfer", "conv.<locals>.step"),
    ("h2d_pinned", "data.workers", ""),
    ("hf_llama_bf16_w0", "data.in_process", "Raw.__getitem__"),
    ("opt_forloop", "host.optimizer", ""),
    ("fed", "compute.bound", ""),
    ("fed_small", "host.launch", ""),
    ("fp32_strict", "compute.bound", ""),
    ("ckpt_needless", "compute.bound", ""),
    ("sync_item", "host.launch", ""),
    ("straggler_data", "rank.straggler", ""),
    ("pp_m2", "pipeline.bubble", ""),
    ("ddp_small", "host.launch", ""),
    ("fsdp_full", "host.launch", ""),
    // Recorded by whyidle itself: stacks with times, source lines, GPU counters at its own rates.
    ("attached_workers", "data.workers", "TokenizeOnTheFly.__getitem__"),
    ("attached_gc", "host.gc", "<lambda>"),
    ("attached_two_ranks", "data.in_process", "slow_tokenise"),
];

pub(crate) fn recordings() -> PathBuf {
    root().join("crates/whyidle/tests/recordings")
}

/// The JSON report on a recording.
pub(crate) fn diagnosed(dir: &Path) -> Value {
    let run = run(&["diagnose", &dir.display().to_string(), "--format", "json"]);
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "{}", dir.display());
    serde_json::from_str(&run.out).unwrap()
}

fn primary(report: &Value) -> &str {
    report["verdict"]["primary"].as_str().unwrap()
}

/// The part of a cause before the dot; recomputation is compute, a late rank and the pipeline are families of
/// their own.
fn family(cause: &str) -> &str {
    match cause {
        "memory.recompute" => "compute",
        cause => cause.split('.').next().unwrap_or(cause),
    }
}

#[test]
fn samples_alone_name_cause_and_function() {
    for (name, cause, function) in SHIPPED {
        let report = diagnosed(&recordings().join(name));
        assert_eq!(primary(&report), cause, "{name}");
        let sentence = report["verdict"]["sentence"]["text"].as_str().unwrap();
        assert!(sentence.contains(function), "{name}: {sentence}");
        let total: f64 =
            report["ledger"].as_array().unwrap().iter().map(|line| line["ms"].as_f64().unwrap()).sum();
        let step = report["step"]["unprofiled_ms"].as_f64().unwrap();
        assert!((total - step).abs() < 1e-5, "{name}: the ledger sums to {total} ms, the step is {step} ms");
    }
}

#[test]
fn what_the_instruments_hint_at_is_a_finding() {
    let causes = |name: &str| {
        let report = diagnosed(&recordings().join(name));
        let findings = report["findings"].as_array().unwrap().clone();
        findings.iter().map(|finding| finding["cause"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(causes("fp32_strict").contains(&"compute.precision".to_owned()));
    assert!(causes("ckpt_needless").contains(&"memory.recompute".to_owned()));
    assert_eq!(causes("fed"), Vec::<String>::new());
    // At the software power cap, as busy cards are: no throttling.
    assert!(!causes("tok_heavy_workers12").contains(&"power.throttle".to_owned()));
}

#[test]
fn of_two_ranks_the_one_that_is_waited_for_is_judged() {
    let report = diagnosed(&recordings().join("attached_two_ranks"));
    assert!(report["working_share"].as_f64().unwrap() < 0.1);
    let notes = report["quality"].as_array().unwrap();
    let judged = notes.iter().find(|note| note["code"] == "rank-judged").unwrap();
    assert_eq!(judged["text"]["args"]["rank"]["count"], 1, "{judged}");
}

/// `whyidle.watch()` on two H200s under DDP; the loader of rank 1 prepares each sample for some 0.8 ms.
#[test]
fn ranks_that_watched_themselves_are_judged_together() {
    let report = diagnosed(&recordings().join("watched_two_ranks"));
    assert_eq!((primary(&report), report["step"]["basis"].as_str()), ("rank.straggler", Some("measured")));
    let step = report["step"]["unprofiled_ms"].as_f64().unwrap();
    assert!((step - 70.4).abs() < 0.1, "{step}: the GPU's own clock over 472 steps said 70.41 ms");
    let sentence = report["verdict"]["sentence"]["text"].as_str().unwrap();
    assert!(sentence.starts_with("Rank 1 is late"), "{sentence}");
}

#[test]
fn a_pin_memory_thread_is_not_cured_by_workers() {
    let report = diagnosed(&recordings().join("h2d_pinned"));
    assert_eq!(report["findings"][0]["remedy"]["summary"]["msg"], "fix-live-pin-thread");
}

#[test]
fn recordings_without_a_part_still_get_what_the_rest_carries() {
    let dir = tempfile::tempdir().unwrap();
    let without = |files: &[&str], name: &str| {
        let target = dir.path().join(format!("{name}-{}", files.join("-")));
        fs::create_dir_all(&target).unwrap();
        for entry in fs::read_dir(recordings().join(name)).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap().to_owned();
            if !files.contains(&file.as_str()) {
                fs::copy(&path, target.join(file)).unwrap();
            }
        }
        target
    };
    let report = diagnosed(&without(&["case.json"], "tok_heavy_workers2"));
    assert_eq!((primary(&report), report["step"]["found_by"].as_str()), ("data.workers", Some("batches")));
    let report = diagnosed(&without(&["case.json", "proc.csv"], "tok_heavy_workers2"));
    assert_eq!((primary(&report), report["step"]["found_by"].as_str()), ("data.workers", Some("second")));
    let report = diagnosed(&without(&["stacks.txt"], "tok_heavy_workers2"));
    assert_eq!(report["verdict"]["confidence"], "low");
    // Without a GPU, the host's side only; nothing is claimed of the GPU.
    let report = diagnosed(&without(&["nvml.csv"], "tok_workers0"));
    assert_eq!((primary(&report), &report["working_share"]), ("data.in_process", &Value::Null));
    let nothing = without(&["nvml.csv", "stacks.txt"], "fed");
    let refused = run(&["diagnose", &nothing.display().to_string()]);
    assert_eq!(refused.status, Some(1), "{}", refused.out);
}

/// A copy of a shipped recording without some of its files; `change` sees the rest.
pub(crate) fn copied(
    name: &str,
    without: &[&str],
    change: impl Fn(&str, String) -> String,
) -> tempfile::TempDir {
    let target = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(recordings().join(name)).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !without.contains(&file.as_str()) {
            fs::write(target.path().join(&file), change(&file, fs::read_to_string(&path).unwrap())).unwrap();
        }
    }
    target
}

pub(crate) fn as_it_is(_: &str, text: String) -> String {
    text
}

/// Why there is no verdict, by its code.
fn refusal(dir: &Path, more: &[&str]) -> String {
    let dir = dir.display().to_string();
    let args: Vec<&str> =
        ["diagnose", &dir, "--format", "json"].into_iter().chain(more.iter().copied()).collect();
    let run = run(&args);
    assert_eq!(run.status, Some(1), "{}", run.out);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    report["refused"]["code"].as_str().unwrap().to_owned()
}

/// Without its description or its GPU's samples a recording loses confidence or its verdict, and never turns to
/// another one.
#[test]
fn what_is_missing_never_turns_a_verdict() {
    for (name, cause, _) in SHIPPED {
        let described = ["recording.json", "case.json", "case_rank0.json"];
        let bare = copied(name, &described, as_it_is);
        let report = diagnosed(bare.path());
        assert_eq!(primary(&report), cause, "{name} without its description");
        assert_ne!(report["verdict"]["confidence"], "high", "{name}");
        let blind = copied(name, &["nvml.csv"], as_it_is);
        let dir = blind.path().display().to_string();
        let found = run(&["diagnose", &dir, "--format", "json"]);
        let report: Value = serde_json::from_str(&found.out).unwrap();
        match found.status {
            Some(1) => assert_eq!(report["refused"]["code"], "no-gpu-samples", "{name}"),
            // That a function copies is in the GPU's counters of PCIe only; the function is named all the same.
            _ if cause == "data.transfer" => {
                assert_eq!(primary(&report), "host.python");
                assert_eq!(report["verdict"]["confidence"], "medium");
            }
            _ => assert_eq!(primary(&report), cause, "{name} without its GPU"),
        }
    }
}

/// A garbage collection in every step of 208 ms makes the GPU dip; a GPU-bound and a launch-bound run are flat.
#[test]
fn dips_of_the_gpu_are_told_from_a_flat_level() {
    let rhythm = |name: &str| {
        let report = diagnosed(&recordings().join(name));
        let figures = report["details"]["statistics"].as_array().unwrap().clone();
        let is = |figure: &&Value| {
            ["stat-live-dips", "stat-live-flat", "stat-live-irregular"]
                .contains(&figure["msg"].as_str().unwrap())
        };
        figures.iter().find(is).unwrap_or_else(|| panic!("{name}: {figures:?}")).clone()
    };
    let dips = rhythm("gc_every_step");
    let text = dips["text"].as_str().unwrap();
    assert!(dips["msg"] == "stat-live-dips" && text.contains("203 ms"), "{text}");
    for name in ["fed", "opt_forloop", "fp32_strict"] {
        assert_eq!(rhythm(name)["msg"], "stat-live-flat", "{name}");
    }
}

#[test]
fn a_damaged_file_costs_confidence() {
    let whole = diagnosed(&recordings().join("tok_heavy_workers2"));
    assert_eq!(whole["verdict"]["confidence"], "high");
    let garbled = |file: &str, text: String| {
        if file != "nvml.csv" {
            return text;
        }
        let garble = |(at, line): (usize, &str)| {
            if at > 0 && at % 3 == 0 { line.replace('1', "\u{1}") } else { line.to_owned() }
        };
        text.lines().enumerate().map(garble).collect::<Vec<_>>().join("\n") + "\n"
    };
    let report = diagnosed(copied("tok_heavy_workers2", &[], garbled).path());
    assert_eq!((primary(&report), report["verdict"]["confidence"].as_str()), ("data.workers", Some("low")));
    let doubts = report["verdict"]["doubts"].as_array().unwrap();
    assert!(doubts.iter().any(|doubt| doubt["msg"] == "doubt-live-damaged"), "{doubts:?}");
}

/// How often a note was made of a recording.
fn noted(report: &Value, code: &str) -> u64 {
    let notes = report["quality"].as_array().unwrap();
    notes.iter().filter(|note| note["code"] == code).map(|note| note["count"].as_u64().unwrap()).sum()
}

#[test]
fn a_bad_description_leaves_the_tables_and_is_said() {
    let name = "attached_workers";
    for text in ["{\"schema\": \"whyidle.rec", "[]"] {
        let bad =
            copied(name, &[], |file, whole| if file == "recording.json" { text.to_owned() } else { whole });
        let report = diagnosed(bad.path());
        assert_eq!((primary(&report), noted(&report, "undescribed")), ("data.workers", 1));
    }
    let newer = copied(name, &[], |_, text| text.replace("whyidle.recording/1", "whyidle.recording/2"));
    let refused = run(&["diagnose", &newer.path().display().to_string()]);
    assert_eq!(refused.status, Some(2), "{}", refused.err);
    assert!(refused.err.contains("whyidle.recording/2") && refused.err.contains("later"), "{}", refused.err);
}

#[test]
fn tables_that_are_none_and_rows_from_before_the_watch_are_said() {
    let folder = copied("attached_workers", &["system.csv"], as_it_is);
    fs::create_dir(folder.path().join("system.csv")).unwrap();
    assert_eq!(noted(&diagnosed(folder.path()), "table-unread"), 1);
    let early = copied("attached_workers", &[], |file, text| {
        let Some((head, rows)) = text.split_once('\n').filter(|_| file == "nvml.csv") else { return text };
        let first = rows.lines().next().unwrap();
        let (_, values) = first.split_once(',').unwrap();
        format!("{head}\n1.5,{values}\n{rows}")
    });
    let report = diagnosed(early.path());
    assert_eq!((primary(&report), noted(&report, "rows-dropped")), ("data.workers", 1));
}

#[test]
fn a_step_that_the_recording_contradicts_is_refused() {
    let timed = recordings().join("tok_heavy_workers2");
    assert_eq!(refusal(&timed, &["--step-ms", "20"]), "step-contradicted");
    assert_eq!(refusal(&timed, &["--step-ms", "2000"]), "step-contradicted");
    let counted = copied("jsonl_worker1", &["case.json"], as_it_is);
    assert_eq!(refusal(counted.path(), &["--step-ms", "10"]), "step-contradicted");
    let dir = counted.path().display().to_string();
    assert_eq!(run(&["diagnose", &dir, "--step-ms", "57"]).status, Some(0));
    // With a trace too: testdata has the samples' program with its own timing of the steps.
    let traced = copied("tok_workers0", &["case.json"], as_it_is);
    fs::copy(root().join("testdata/tok_workers0/trace.json.gz"), traced.path().join("trace.json.gz"))
        .unwrap();
    assert_eq!(refusal(traced.path(), &["--step-ms", "5"]), "step-contradicted");
}

/// A recording of a CPU-only program: one stack after the other, `(function, file, samples)`, at 4 Hz.
fn made(
    stacks: &[(&[(&str, &str)], usize)],
    cpu_per_s: f64,
    involuntary: f64,
    cores_busy: f64,
) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let (mut lines, mut sightings) = (String::new(), Vec::new());
    for (number, (frames, samples)) in stacks.iter().enumerate() {
        let frames: Vec<Value> =
            frames.iter().map(|(function, file)| serde_json::json!([function, file, 3])).collect();
        let stack = serde_json::json!({"stack": number, "pid": 7, "parents": [], "thread": "MainThread", "frames": frames});
        lines.push_str(&format!("{stack}\n"));
        sightings.extend(std::iter::repeat_n(number, *samples));
    }
    let mut process = "t,pid,ppid,cmd,status,user_s,sys_s,rchar,wchar,vctx,ivctx,minflt,role\n".to_owned();
    let mut system = "t,cpu_user,cpu_sys,cpu_iowait,cpu_idle\n".to_owned();
    for (at, number) in sightings.iter().enumerate() {
        let t = at as f64 / 4.0;
        let stamp = format!("{:.2}", 1_795_971_809.0 + t);
        lines.push_str(&format!("{{\"t\":{stamp},\"s\":[[{number},\"S\"]]}}\n"));
        let (cpu, switches) = (10.0 + cpu_per_s * t, involuntary * t);
        process.push_str(&format!("{stamp},7,1,python,sleeping,{cpu:.2},0.0,0,0,0,{switches:.0},0,driver\n"));
        system.push_str(&format!("{stamp},{:.2},0.0,0.0,{:.2}\n", cores_busy * t, (1.0 - cores_busy) * t));
    }
    fs::write(dir.path().join("stacks.jsonl"), lines).unwrap();
    fs::write(dir.path().join("proc.csv"), process).unwrap();
    fs::write(dir.path().join("system.csv"), system).unwrap();
    let about = r#"{"pids": [7], "missing": [{"what": "gpu", "code": "no-nvml", "detail": ""}]}"#;
    fs::write(dir.path().join("recording.json"), about).unwrap();
    dir
}

const MODULE: (&str, &str) = ("<module>", "/w/train.py");
const BACKWARD: &[(&str, &str)] = &[MODULE, ("_engine_run_backward", "torch/autograd/graph.py")];

#[test]
fn a_program_that_starts_up_or_stands_still_gets_a_reason_and_no_verdict() {
    let imports: &[(&str, &str)] = &[MODULE, ("_find_and_load", "<frozen importlib._bootstrap>")];
    assert_eq!(refusal(made(&[(imports, 40)], 1.0, 0.0, 0.3).path(), &[]), "starting-up");
    let waits: &[(&str, &str)] = &[MODULE, ("Condition.wait", "threading.py")];
    assert_eq!(refusal(made(&[(BACKWARD, 20), (waits, 80)], 0.0, 0.0, 0.1).path(), &[]), "stuck");
    let builds: &[(&str, &str)] = &[MODULE, ("prepare", "/w/train.py")];
    assert_eq!(refusal(made(&[(builds, 40)], 1.0, 0.0, 0.3).path(), &[]), "no-loop");
}

#[test]
fn contention_without_a_gpu_has_a_line_and_no_more_than_it_takes() {
    let report = diagnosed(made(&[(BACKWARD, 120)], 0.3, 400.0, 0.98).path());
    assert_eq!(primary(&report), "host.contention");
    let ledger = report["ledger"].as_array().unwrap();
    let line = ledger.iter().find(|line| line["id"] == "host.contention").unwrap();
    assert!((line["share"].as_f64().unwrap() - 0.7).abs() < 0.02, "{line}");
    assert_eq!(report["findings"][0]["share"], line["share"]);
}

#[test]
fn checkpoints_that_recur_are_a_matter_of_the_run() {
    let saves: &[(&str, &str)] = &[MODULE, ("keep", "/w/train.py"), ("save", "torch/serialization.py")];
    let report =
        diagnosed(made(&[(BACKWARD, 40), (saves, 12), (BACKWARD, 40), (saves, 12)], 1.0, 0.0, 0.3).path());
    assert_eq!(primary(&report), "run.checkpoint");
    let run = &report["run"];
    let lines = run["lines"].as_array().unwrap();
    let sum: i64 = lines.iter().map(|line| line["ns"].as_i64().unwrap()).sum();
    assert_eq!(Some(sum), run["watched_ns"].as_i64());
    let line = lines.iter().find(|line| line["id"] == "run.checkpoint").unwrap();
    assert_eq!((line["visits"].as_i64(), line["period_ms"].as_f64()), (Some(2), Some(13_000.0)));
    assert!(line["where"].as_str().unwrap().starts_with("keep"), "{line}");
}

#[test]
fn the_step_is_found_from_the_bytes_that_workers_write() {
    let dir = tempfile::tempdir().unwrap();
    for (name, truth) in
        [("fed", 58.5), ("fed_small", 24.7), ("jsonl_worker1", 56.7), ("gc_every_step", 208.0)]
    {
        let target = dir.path().join(name);
        fs::create_dir(&target).unwrap();
        for file in ["nvml.csv", "proc.csv", "stacks.txt"] {
            fs::copy(recordings().join(name).join(file), target.join(file)).unwrap();
        }
        let observed: Value =
            serde_json::from_str(&fs::read_to_string(recordings().join(name).join("case.json")).unwrap())
                .unwrap();
        let observed = observed["observed_step_ms_mean"].as_f64().unwrap_or(truth);
        let found = diagnosed(&target)["step"]["unprofiled_ms"].as_f64().unwrap();
        assert!((found - observed).abs() / observed < 0.05, "{name}: {found} ms, observed {observed} ms");
    }
}

#[test]
fn screens_of_recordings() {
    for lang in LANGUAGES {
        for name in ["tok_heavy_workers2", "fed"] {
            let path = format!("crates/whyidle/tests/recordings/{name}");
            let output = whyidle(&["diagnose", &path, "--lang", lang, "-v"]).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            insta::assert_snapshot!(format!("recording.{name}.{lang}"), text);
        }
    }
}

/// Every recording of the lab, its traces removed: the right family on nine of ten, and on all that have one GPU
/// the function where one is planted.
#[test]
fn the_lab_without_its_traces() {
    let Some(lab) = std::env::var_os("WHYIDLE_LAB").map(PathBuf::from) else {
        println!("skipped: WHYIDLE_LAB names no folder of recordings");
        return;
    };
    let truth: Value = serde_json::from_str(&fs::read_to_string(lab.join("truth.json")).unwrap()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (mut right, mut all, mut wrong) = (0, 0, Vec::new());
    for (name, expected) in truth.as_object().unwrap() {
        let from = lab.join(name);
        if expected["ranks"] != 1 || !from.join("stacks.txt").exists() {
            continue;
        }
        let target = dir.path().join(name);
        fs::create_dir(&target).unwrap();
        for entry in fs::read_dir(&from).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap().to_owned();
            if !file.starts_with("trace") {
                fs::copy(&path, target.join(file)).unwrap();
            }
        }
        let report = diagnosed(&target);
        let causes = expected["primary"].as_array().unwrap().iter().map(|cause| cause.as_str().unwrap());
        let is_right = causes.clone().any(|cause| family(cause) == family(primary(&report)));
        all += 1;
        right += usize::from(is_right);
        if !is_right {
            wrong.push(format!("{name}: {} for {:?}", primary(&report), causes.collect::<Vec<_>>()));
        }
        let sentence = report["verdict"]["sentence"]["text"].as_str().unwrap();
        let function = match name {
            name if name.starts_with("tok_") && !is_fed(expected) => "TokenizeOnTheFly.__getitem__",
            name if name.starts_with("jsonl_") => "JsonLines.__getitem__",
            name if name.starts_with("gc_") => "<lambda>",
            _ => "",
        };
        assert!(sentence.contains(function), "{name}: {sentence}");
    }
    println!("{right} of {all} families right without a trace; wrong: {wrong:?}");
    assert!(all > 20 && right * 10 >= all * 9, "{wrong:#?}");
}

fn is_fed(expected: &Value) -> bool {
    expected["primary"].as_array().unwrap().iter().any(|cause| cause == "compute.bound")
}

/// With its traces, a recording gets the trace's own verdict and the samples' evidence beside it.
#[test]
fn the_lab_with_its_traces() {
    let Some(lab) = std::env::var_os("WHYIDLE_LAB").map(PathBuf::from) else {
        println!("skipped: WHYIDLE_LAB names no folder of recordings");
        return;
    };
    let truth: Value = serde_json::from_str(&fs::read_to_string(lab.join("truth.json")).unwrap()).unwrap();
    for (name, expected) in truth.as_object().unwrap() {
        let path = lab.join(name).display().to_string();
        if expected["ranks"] != 1 || !Path::new(&path).exists() {
            continue;
        }
        let traced = run(&["trace", &path, "--format", "json"]);
        let both = run(&["diagnose", &path, "--format", "json"]);
        assert_eq!(traced.status, both.status, "{name}");
        let verdict = |text: &str| serde_json::from_str::<Value>(text).unwrap()["verdict"]["primary"].clone();
        assert_eq!(verdict(&traced.out), verdict(&both.out), "{name}");
    }
}

/// Counters alone show that the GPU waits for the host, and nothing of what the host does.
#[test]
fn without_stacks_nothing_is_said_of_what_the_host_does() {
    for name in ["fed_small", "opt_forloop"] {
        let dir = copied(name, &["stacks.txt"], as_it_is);
        let report = diagnosed(dir.path());
        let sentence = report["verdict"]["sentence"]["text"].as_str().unwrap();
        assert!(sentence.contains("needs stacks, or a trace") && !sentence.contains("launch"), "{sentence}");
    }
}

/// A driver that vanishes half-way leaves samples of a part of the watch.
#[test]
fn samples_of_the_gpu_for_a_part_of_the_watch_cost_confidence() {
    let third = |file: &str, text: String| {
        if file != "nvml.csv" {
            return text;
        }
        let lines: Vec<&str> = text.lines().collect();
        lines[..lines.len() / 3].join("\n") + "\n"
    };
    let dir = copied("tok_heavy_workers2", &[], third);
    let report = diagnosed(dir.path());
    assert_eq!(primary(&report), "data.workers");
    assert_eq!(report["verdict"]["confidence"], "low", "{}", report["verdict"]);
    let doubts = report["verdict"].to_string();
    assert!(doubts.contains("of the watch only"), "{doubts}");
}
