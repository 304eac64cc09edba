//! `whyidle diagnose` on CUDA memory snapshots and tables of `memory_summary()`.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::{LANGUAGES, printed, root, run};

const DATA: &str = "crates/whyidle-readers/testdata/memory";
const MADE: [&str; 6] = ["healthy", "kept_graph", "evaluation", "emptied", "fragmented", "small_pieces"];
const SHIPPED: &str = "crates/whyidle-readers/tests/data/memory_snapshot.pickle";

fn made(name: &str) -> String {
    format!("{DATA}/{name}.pickle.gz")
}

fn json(paths: &[&str]) -> Value {
    let args = [&["diagnose", "--format", "json"][..], paths].concat();
    let mut report: Value = serde_json::from_str(&printed(&args)).unwrap();
    report["evidence"]["memory"].take()
}

fn device(path: &str) -> Value {
    json(&[path])["snapshots"][0]["devices"][0].take()
}

fn advice(path: &str) -> Vec<String> {
    let found = device(path);
    found["advice"]
        .as_array()
        .unwrap()
        .iter()
        .map(|advice| advice["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Snapshots that do not ship: the lab's, and a public one.
fn outside() -> Vec<PathBuf> {
    let at = |variable: &str, default: &str, file: &str| {
        let folder = std::env::var_os(variable).map_or_else(|| root().join(default), PathBuf::from);
        let path = folder.join(file);
        if !path.is_file() {
            println!("skipped: {} is not there", path.display());
        }
        path
    };
    let found = [
        at("WHYIDLE_LAB", "../shared/lab", "fed/memory_snapshot.pickle"),
        at("WHYIDLE_PUBLIC", "../shared/public-traces", "mosaic_memory_snapshot.pickle"),
    ];
    found.into_iter().filter(|path| path.is_file()).collect()
}

#[test]
fn the_screens() {
    for lang in LANGUAGES {
        for name in ["healthy", "kept_graph", "fragmented"] {
            let screen = printed(&["diagnose", &made(name), "--lang", lang]);
            insta::assert_snapshot!(format!("memory_{name}_{lang}"), screen);
        }
        for name in ["evaluate", "loss_kept"] {
            let screen = printed(&["diagnose", &real(name), "--lang", lang]);
            insta::assert_snapshot!(format!("memory_real_{name}_{lang}"), screen);
        }
        let summary = printed(&["diagnose", &format!("{DATA}/summary.txt"), "--lang", lang]);
        insta::assert_snapshot!(format!("memory_summary_{lang}"), summary);
    }
    let markdown = printed(&["diagnose", &made("emptied"), "--format", "md"]);
    insta::assert_snapshot!("memory_emptied_md", markdown);
}

/// Totals by Python's own pickle, whose script shares no code with the program.
#[test]
fn totals_are_those_of_pythons_pickle() {
    let mut paths: Vec<String> = MADE.iter().map(|name| made(name)).collect();
    paths.push(SHIPPED.to_owned());
    paths.extend(outside().iter().map(|path| path.display().to_string()));
    let script = format!("{DATA}/totals.py");
    let python = Command::new("python3").arg(script).args(&paths).current_dir(root()).output();
    let Some(python) = python.ok().filter(|output| output.status.success()) else {
        println!("skipped: no python3");
        return;
    };
    let expected: Value = serde_json::from_slice(&python.stdout).unwrap();
    for (path, expected) in paths.iter().zip(expected.as_array().unwrap()) {
        let report = json(&[path]);
        let devices = report["snapshots"][0]["devices"].as_array().unwrap();
        assert_eq!(devices.len(), expected.as_array().unwrap().len(), "{path}");
        for (found, expected) in devices.iter().zip(expected.as_array().unwrap()) {
            for key in ["device", "end", "peak", "peak_reserved", "events"] {
                assert_eq!(found[key], expected[key], "{path}: {key}");
            }
            let parts: u64 =
                found["parts"].as_array().unwrap().iter().map(|part| part["bytes"].as_u64().unwrap()).sum();
            assert_eq!(parts, found["peak"]["allocated"].as_u64().unwrap(), "{path}");
        }
    }
}

/// `torch.cuda.max_memory_allocated()` and `max_memory_reserved()` of the run that wrote the snapshot.
#[test]
fn the_peak_of_a_real_run_is_the_measured_one_to_the_byte() {
    let found = device(SHIPPED);
    assert_eq!(found["peak"]["allocated"], 16_710_967_296_u64);
    assert_eq!((&found["peak_reserved"], &found["exact"]), (&19_214_106_624_u64.into(), &true.into()));
    assert_eq!(found["advice"], Value::Array(Vec::new()));
}

/// Runs on an H200, one fault each; PyTorch's own counters of them lie beside the snapshots.
const REAL: [(&str, &[&str]); 8] = [
    ("healthy", &[]),
    ("total_loss", &[]),
    ("varying", &[]),
    ("varying_expandable", &[]),
    // What was free in pieces was given back when a large request came, and the request was met.
    ("fragmented", &[]),
    ("empty_cache", &["keep-cache"]),
    ("loss_kept", &["detach"]),
    ("evaluate", &["no-grad"]),
];

fn real(name: &str) -> String {
    format!("{DATA}/h200/{name}.pickle.gz")
}

#[test]
fn real_runs_are_told_to_the_byte_and_advised_only_where_there_is_a_fault() {
    let truth = std::fs::read(root().join(DATA).join("h200/truth.json")).unwrap();
    let truth: Value = serde_json::from_slice(&truth).unwrap();
    for (name, expected) in REAL {
        let (found, truth) = (device(&real(name)), &truth[name]);
        assert_eq!(found["exact"], true, "{name}");
        assert_eq!(found["peak"]["allocated"], truth["max_allocated"], "{name}");
        assert_eq!(found["peak_reserved"], truth["max_reserved"], "{name}");
        for key in ["allocated", "active", "requested", "reserved"] {
            assert_eq!(
                found["end"][key],
                truth["stats"][format!("{key}_bytes.all.current")],
                "{name}: {key}"
            );
        }
        // Free pieces between blocks in use, as the allocator itself counts them.
        if name != "varying_expandable" {
            let split = &truth["stats"]["inactive_split_bytes.all.current"];
            assert_eq!(&found["fragmentation"]["split"], split, "{name}");
        }
        assert_eq!(found["driver"]["went"], truth["stats"]["num_device_free"], "{name}");
        assert_eq!(found["fragmentation"]["failures"].as_array().map(Vec::len), Some(0), "{name}");
        assert_eq!(advice(&real(name)), *expected, "{name}");
        let grows = matches!(name, "loss_kept" | "evaluate");
        assert_eq!(found["growth"].is_null(), !grows, "{name}");
    }
}

/// Two training steps, then five forward passes kept with their graph; by PyTorch's counters 1.31 GiB each.
#[test]
fn growth_in_a_part_of_a_history_is_found() {
    let growth = device(&real("evaluate"))["growth"].take();
    assert_eq!((&growth["kind"], &growth["periods"]), (&"evaluation".into(), &3.into()));
    assert_eq!(growth["per_period"], 1_409_548_288_u64);
    assert_eq!(device(&real("evaluate"))["periods"]["by"], "part");
    let growth = device(&real("loss_kept"))["growth"].take();
    assert_eq!((&growth["kind"], &growth["per_period"]), (&"graph".into(), &1_409_614_848_u64.into()));
}

/// Counted from the history by other means: before 29 of 30 segments came, as many bytes lay free.
#[test]
fn pieces_that_were_of_no_use_are_counted() {
    let found = device(&real("fragmented"));
    let pieces = &found["fragmentation"];
    assert_eq!((&pieces["grew_while_free"], &pieces["grew_bytes"]), (&29.into(), &1_885_339_648_u64.into()));
    assert_eq!((&found["driver"]["came"], &found["driver"]["went"]), (&30.into(), &34.into()));
}

#[test]
fn a_trace_of_the_same_steps_is_joined() {
    let trace = format!("{DATA}/h200/with_trace.trace.json.gz");
    let found = json(&[&real("with_trace"), &trace])["snapshots"][0]["devices"][0].take();
    assert_eq!(found["gaps"]["joined"], true, "{}", found["gaps"]);
    let of = |name: &str| found["gaps"][name].as_u64().unwrap();
    assert!(of("went") + of("came") > 40 && of("gaps") > 0, "{}", found["gaps"]);
    assert!(of("with_ns") * 10 > of("all_ns") * 9, "{}", found["gaps"]);
    assert_eq!(advice(&real("with_trace")), ["keep-cache"]);
    let verdict: Value =
        serde_json::from_str(&printed(&["diagnose", &real("with_trace"), &trace, "--format", "json"]))
            .unwrap();
    let lines = verdict["ledger"].as_array().unwrap();
    let allocator = lines.iter().find(|line| line["id"] == "memory.allocator").unwrap();
    assert!(allocator["share"].as_f64().unwrap() > 0.05);
}

/// Room for a larger batch needs a peak: a snapshot of the run shows one.
#[test]
fn the_peak_of_a_snapshot_is_known_to_the_verdict_of_a_trace() {
    let trace = "testdata/fed_small/trace.json.gz";
    let finding = |paths: &[&str]| {
        let args = [&["diagnose", "--format", "json"][..], paths].concat();
        let verdict: Value = serde_json::from_str(&printed(&args)).unwrap();
        let findings = verdict["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["cause"] == "memory.headroom").cloned()
    };
    assert_eq!(finding(&[trace]), None);
    let found = finding(&[trace, SHIPPED]).unwrap();
    let used = found["evidence"][0]["value"].as_f64().unwrap();
    assert!((used - 16_710_967_296.0 / 150_109_880_320.0).abs() < 1e-6, "{found}");
    // Of another day, it is of another run.
    assert_eq!(finding(&[trace, &made("healthy")]), None);
    // What the recording itself says stands.
    let own = finding(&["testdata/fed_small"]).unwrap();
    assert!(own["evidence"][0]["value"].as_f64().unwrap() < 0.04, "{own}");
}

#[test]
fn each_kind_of_trouble_has_its_advice_and_a_healthy_run_none() {
    assert_eq!(advice(&made("healthy")), Vec::<String>::new());
    assert_eq!(advice(&made("kept_graph")), ["detach"]);
    assert_eq!(advice(&made("evaluation")), ["no-grad"]);
    assert_eq!(advice(&made("emptied")), ["keep-cache"]);
    assert_eq!(advice(&made("fragmented")), ["expandable"]);
    assert_eq!(advice(&made("small_pieces")), ["same-sizes"]);
}

#[test]
fn growth_names_its_places_and_steps() {
    let growth = device(&made("kept_graph"))["growth"].take();
    assert_eq!((&growth["kind"], &growth["periods"]), (&"graph".into(), &6.into()));
    // Sixteen activations of 8 MiB and a bit, in blocks of 8 MiB and 1,024 bytes.
    let per_step = growth["per_period"].as_u64().unwrap();
    assert!((128 << 20..132 << 20).contains(&per_step), "{per_step}");
    let first = &growth["sites"][0]["site"];
    assert_eq!((&first["phase"], &first["place"]["function"]), (&"forward".into(), &"forward".into()));
}

#[test]
fn every_report_obeys_the_schema() {
    let schema = include_str!("../../../whyidle-report/schema/whyidle.memory-1.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let summary = format!("{DATA}/summary.txt");
    let mut cases: Vec<Vec<String>> = MADE.iter().map(|name| vec![made(name)]).collect();
    cases.push(vec![summary, SHIPPED.to_owned(), "testdata/fed_small/trace.json.gz".to_owned()]);
    cases.extend(REAL.map(|(name, _)| vec![real(name)]));
    for case in cases {
        let paths: Vec<&str> = case.iter().map(String::as_str).collect();
        let report = json(&paths);
        let errors: Vec<_> = validator
            .iter_errors(&report)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{case:?}: {}", errors.join("\n"));
        let mut bad = report.clone();
        bad["surprise"] = Value::from(1);
        assert!(!validator.is_valid(&bad));
    }
}

#[test]
fn a_trace_beside_it_gives_the_gpus_memory_and_is_joined_only_if_of_the_same_time() {
    let found = json(&["testdata/fed_small/trace.json.gz", SHIPPED])["snapshots"][0]["devices"][0].take();
    assert_eq!(found["capacity"], 150_109_880_320_u64);
    assert_eq!((&found["gaps"]["joined"], &found["gaps"]["why"]), (&false.into(), &"times".into()));
}

#[test]
fn pages_are_worded_completely() {
    for lang in LANGUAGES {
        let real = REAL.map(|(name, _)| real(name));
        for path in MADE.map(made).iter().chain(&real).map(String::as_str).chain([SHIPPED]) {
            let page = printed(&["diagnose", path, "-v", "--lang", lang]);
            assert!(!page.contains("memory-") && !page.contains("{$"), "{page}");
            assert!(page.lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= 80), "{page}");
        }
    }
}

#[test]
fn what_is_no_snapshot_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let whole = std::fs::read(root().join(SHIPPED)).unwrap();
    let cut = run(&["diagnose", &write("cut.pickle", &whole[..whole.len() / 2])]);
    assert_eq!((cut.status, cut.out.as_str()), (Some(2), ""));
    assert!(cut.err.contains("ends in the middle") && cut.err.contains("hint:"), "{}", cut.err);
    let mut hostile = whole[..whole.len() - 2].to_vec();
    hostile.extend(b"cos\nsystem\n(X\x04\x00\x00\x00truetR.");
    let hostile = run(&["diagnose", &write("hostile.pickle", &hostile)]);
    assert_eq!(hostile.status, Some(2));
    assert!(hostile.err.contains("asks for code to be run"), "{}", hostile.err);
}
