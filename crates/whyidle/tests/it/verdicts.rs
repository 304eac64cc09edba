//! The JSON report on every shipped recording: it obeys its schema, and its ledger adds up.

use std::fs;
use std::sync::LazyLock;

use serde_json::Value;

use crate::support::{recordings, report, root};

/// Each recording's name and English report, made once.
static REPORTS: LazyLock<Vec<(String, Value)>> = LazyLock::new(|| {
    recordings().into_iter().map(|recording| (recording.clone(), report(&recording, &[]))).collect()
});

fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("{key} is no list"))
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} is no number"))
}

fn sum_ns(lines: &[Value]) -> i64 {
    lines.iter().map(|line| line["traced_ns"].as_i64().unwrap()).sum()
}

/// Milliseconds with six decimals are whole nanoseconds.
fn ns(ms: f64) -> i64 {
    (ms * 1e6).round() as i64
}

/// The schema that ships, ready to check reports.
pub(crate) fn schema() -> jsonschema::Validator {
    let path = root().join("crates/whyidle-report/schema/whyidle.verdict-1.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn every_report_obeys_the_schema_and_says_the_same_in_both_languages() {
    let schema = schema();
    for (recording, english) in REPORTS.iter() {
        let chinese = report(recording, &["--lang", "zh"]);
        for report in [english, &chinese] {
            let errors: Vec<String> = schema
                .iter_errors(report)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{recording}:\n{}", errors.join("\n"));
        }
        assert_ne!(english, &chinese, "{recording}");
        assert_eq!(without_texts(english.clone()), without_texts(chinese), "{recording}");
    }
}

/// The report without its wording.
fn without_texts(mut report: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(members) => {
                if members.contains_key("msg") {
                    members.remove("text");
                }
                // Names in words.
                members.remove("label");
                members.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut report);
    report
}

#[test]
fn the_ledger_sums_to_the_traced_and_to_the_unprofiled_step() {
    for (recording, report) in REPORTS.iter() {
        let ranks = array(report, "ranks").iter().map(|rank| (&rank["step"], array(rank, "ledger")));
        let top = std::iter::once((&report["step"], array(report, "ledger")));
        for (step, ledger) in top.chain(ranks) {
            let traced: i64 = array(step, "traced_each_ns").iter().map(|ns| ns.as_i64().unwrap()).sum();
            assert_eq!(sum_ns(ledger), traced, "{recording}: the traced steps, exactly");
            let unprofiled: i64 = ledger.iter().map(|line| ns(number(line, "ms"))).sum();
            let off = unprofiled - ns(number(step, "unprofiled_ms"));
            assert!(off.abs() <= 1, "{recording}: {off} ns off the unprofiled step");
            let shares: f64 = ledger.iter().map(|line| number(line, "share")).sum();
            assert!((shares - 1.0).abs() < 1e-4, "{recording}: shares sum to {shares}");
        }
    }
}

#[test]
fn figures_lie_inside_their_intervals() {
    for (recording, report) in REPORTS.iter() {
        let inside = |value: &Value, best: &str| {
            let (low, high) = (number(value, "low_ms"), number(value, "high_ms"));
            assert!(low <= number(value, best) && number(value, best) <= high, "{recording}: {value}");
            assert!(low >= 0.0, "{recording}: {value}");
        };
        inside(&report["step"], "unprofiled_ms");
        array(report, "ledger").iter().for_each(|line| inside(line, "ms"));
        let gains = array(report, "findings").iter().map(|finding| &finding["gain"]);
        gains.filter(|gain| !gain.is_null()).for_each(|gain| {
            inside(gain, "step_ms_after");
            assert!(
                number(gain, "step_ms_after") <= number(&report["step"], "unprofiled_ms"),
                "{recording}: {gain}"
            );
        });
    }
}

/// Whoever stops waiting still works: kernels keep their length. Changes to the work itself are free of this.
#[test]
fn curing_a_wait_leaves_the_work() {
    const CHANGES_THE_WORK: [&str; 4] = ["compute.", "memory.", "pipeline.", "comm."];
    for (recording, report) in REPORTS.iter() {
        let working = array(report, "ledger").iter().filter(|line| line["kind"] == "working");
        let working: f64 = working.map(|line| number(line, "ms")).sum();
        for finding in array(report, "findings").iter().filter(|finding| !finding["gain"].is_null()) {
            let cause = finding["cause"].as_str().unwrap();
            let after = number(&finding["gain"], "step_ms_after");
            let free = CHANGES_THE_WORK.iter().any(|family| cause.starts_with(family));
            assert!(free || after >= 0.99 * working, "{recording}: {cause} leaves {after} of {working} ms");
        }
    }
}

#[test]
fn what_works_is_resident() {
    for (recording, report) in REPORTS.iter() {
        let (working, resident) = (number(report, "working_share"), number(report, "resident_share"));
        assert!(0.0 < working && working <= resident && resident <= 1.0, "{recording}");
    }
}

#[test]
fn a_directory_brings_the_step_time_that_lies_in_it_and_a_file_does_not() {
    let basis = |path: &str, more: &[&str]| report(path, more)["step"]["basis"].clone();
    assert_eq!(basis("testdata/fed_small", &[]), "measured");
    assert_eq!(basis("testdata/fed_small/trace.json.gz", &[]), "estimated");
    assert_eq!(basis("testdata/fed_small", &["--step-ms", "23.1"]), "given");
    assert_eq!(basis("examples/starved-by-two-workers/trace.json.gz", &[]), "traced");
}

#[test]
fn the_rank_to_show_can_be_chosen() {
    let shown = |more: &[&str]| report("testdata/ddp_small", more)["subject"]["rank_shown"].clone();
    assert_eq!(shown(&["--rank", "1"]), 1);
    assert_eq!(shown(&["--rank", "0"]), 0);
}

#[test]
fn steps_can_be_chosen() {
    let steps = |range: &str| report("testdata/fed_small", &["--step", range])["step"].clone();
    let one = steps("4");
    assert_eq!((&one["count"], &one["first"]), (&Value::from(1), &Value::from(4)));
    assert_eq!(steps("4..5")["count"], 2);
}
