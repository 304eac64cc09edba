//! `whyidle diagnose` on files of other tools: each is read as what its content says it is, and each says what it
//! contributed.

use serde_json::Value;

use crate::support::{LANGUAGES, printed, root, run};

const TRACE: &str = "testdata/fed_small/trace.json.gz";
const DUMPS: &str = "crates/whyidle-readers/testdata/flight/never_enters";
const LOGS: &str = "crates/whyidle-readers/testdata/nccl/no_p2p";

/// The files of a folder, by path.
fn files(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let mut files: Vec<String> =
        entries.map(|entry| format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap())).collect();
    files.sort();
    files
}

fn diagnosed(paths: &[&str]) -> Value {
    let json = printed(&[&["diagnose"], paths, &["--format", "json"]].concat());
    serde_json::from_str(&json).unwrap()
}

pub(crate) fn assert_valid(schema: &str, report: &Value) {
    let path = root().join("crates/whyidle-report/schema").join(schema);
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> =
        validator.iter_errors(report).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

#[test]
fn a_trace_by_itself_gets_the_verdict_of_trace() {
    let [traced, diagnosed] = ["trace", "diagnose"]
        .map(|verb| serde_json::from_str::<Value>(&printed(&[verb, TRACE, "--format", "json"])).unwrap());
    assert_eq!(traced, diagnosed);
}

#[test]
fn other_evidence_stands_beside_the_verdict() {
    let dumps = files(DUMPS);
    let paths: Vec<&str> = [TRACE].into_iter().chain(dumps.iter().map(String::as_str)).collect();
    let report = diagnosed(&paths);
    assert_valid("whyidle.verdict-1.schema.json", &report);
    let evidence = &report["evidence"];
    let contributed = evidence["contributions"].as_array().unwrap();
    let kinds: Vec<&str> = contributed.iter().map(|given| given["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.len(), paths.len());
    assert_eq!((kinds[0], kinds[1]), ("kineto", "flight"));
    // The same page as by itself.
    let ranks = printed(&[&["ranks"], &paths[1..], &["--format", "json"]].concat());
    assert_eq!(evidence["ranks"], serde_json::from_str::<Value>(&ranks).unwrap());
}

#[test]
fn without_a_verdict_the_other_evidence_speaks() {
    let report = diagnosed(&[LOGS]);
    assert_valid("whyidle.evidence-1.schema.json", &report);
    assert_eq!(report["schema"], "whyidle.evidence/1");
    assert_eq!(report["evidence"]["ranks"]["links"][0]["slow"], "host-memory");
    let mut bad = report.clone();
    bad["evidence"]["surprise"] = Value::from(1);
    let schema: Value =
        serde_json::from_str(include_str!("../../../whyidle-report/schema/whyidle.evidence-1.schema.json"))
            .unwrap();
    assert!(!jsonschema::validator_for(&schema).unwrap().is_valid(&bad));
}

#[test]
fn every_file_says_what_it_contributed() {
    let dumps = files(DUMPS);
    for lang in LANGUAGES {
        let paths = [&["diagnose", TRACE], &*dumps.iter().map(String::as_str).collect::<Vec<_>>()].concat();
        let text = printed(&[&*paths, &["--lang", lang]].concat());
        let contributed = text.rsplit("────").next().unwrap();
        insta::assert_snapshot!(format!("evidence.contributions.{lang}"), contributed);
    }
}

#[test]
fn what_is_no_evidence_is_named() {
    for (path, words) in [("README.md", "text"), ("testdata/truth.json", "JSON"), ("Cargo.lock", "text")] {
        let refused = run(&["diagnose", path]);
        assert_eq!((refused.status, refused.out.as_str()), (Some(2), ""));
        assert!(refused.err.contains(words) && refused.err.contains("hint:"), "{}", refused.err);
    }
    let several = run(&["diagnose", "testdata/fed_small", "testdata/attn_flash"]);
    assert_eq!(several.status, Some(2));
    assert!(several.err.contains("one recording"), "{}", several.err);
}
