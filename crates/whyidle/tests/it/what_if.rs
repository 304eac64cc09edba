//! `--what-if`, `--critical-path`, `--no-replay`.

use serde_json::Value;

use crate::support::{EXAMPLE, LANGUAGES, printed, report, run};

/// The answers as JSON.
fn answers(path: &str, asked: &[&str]) -> Vec<Value> {
    let options: Vec<&str> = asked.iter().flat_map(|text| ["--what-if", text]).collect();
    report(path, &options)["what_if"].as_array().unwrap().clone()
}

#[test]
fn a_screen_with_answers_and_the_critical_path() {
    for lang in LANGUAGES {
        let args = ["trace", EXAMPLE, "--critical-path", "--lang", lang, "--what-if", "data.workers=4"];
        let screen = printed(&[&args[..], &["--what-if", "host.gc"]].concat());
        insta::assert_snapshot!(format!("answers.{lang}"), screen);
    }
}

#[test]
fn answers_come_in_order_one_per_option() {
    let answers = answers(EXAMPLE, &["host.gc", "data.workers=12", "data.workers=12+compute.elementwise"]);
    let asked: Vec<&str> = answers.iter().map(|answer| answer["asked"].as_str().unwrap()).collect();
    assert_eq!(asked, ["host.gc", "data.workers=12", "data.workers=12+compute.elementwise"]);
    assert_eq!(answers[0]["step_ms_after"], Value::Null);
    assert_eq!(answers[0]["notes"][0]["msg"], "what-if-nothing-there");
    assert_eq!(answers[2]["cause"], "data.workers+compute.elementwise");
    let after = |answer: &Value| answer["step_ms_after"].as_f64().unwrap();
    assert!(after(&answers[2]) < after(&answers[1]));
}

/// Workers that set the pace deliver in proportion to their number, until something else is the limit.
#[test]
fn more_workers_bring_a_step_to_their_pace() {
    let answers =
        answers(EXAMPLE, &["data.workers=1", "data.workers=3", "data.workers=4", "data.workers=64"]);
    let after: Vec<f64> = answers.iter().map(|answer| answer["step_ms_after"].as_f64().unwrap()).collect();
    let step = report(EXAMPLE, &[])["step"]["unprofiled_ms"].as_f64().unwrap();
    assert!((after[0] - step).abs() < 0.001, "fewer workers are no gain: {}", after[0]);
    assert!((after[1] - step * 2.0 / 3.0).abs() < 0.001, "{}", after[1]);
    assert!((after[2] - step / 2.0).abs() < 0.001, "{}", after[2]);
    assert!(after[3] < step / 3.0, "{}", after[3]);
    let limits: Vec<&str> = answers.iter().map(|answer| answer["next_limit"].as_str().unwrap()).collect();
    assert_eq!(limits[1..], ["data.workers", "data.workers", "compute.bound"]);
}

#[test]
fn what_is_not_understood_is_a_usage_error_with_a_hint() {
    for (asked, words) in [
        ("data.worker", "there is no cause"),
        ("compute.bound", "has no remedy"),
        ("data.workers=0", "does not take"),
        ("host.gc=3", "without ="),
        ("compute.precision=fp64", "tf32, bf16, fp16"),
    ] {
        let run = run(&["trace", EXAMPLE, "--what-if", asked]);
        assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{asked}");
        assert!(run.err.contains(words) && run.err.contains("hint: "), "{asked}: {}", run.err);
    }
}

#[test]
fn without_a_replay_nothing_is_predicted_and_the_ledger_stands() {
    let report = report("testdata/sync_item", &["--no-replay"]);
    assert_eq!(report["replay"], Value::Null);
    assert!(report["findings"].as_array().unwrap().iter().all(|finding| finding["gain"].is_null()));
    assert_eq!(report["verdict"]["doubts"][0]["msg"], "doubt-not-replayed");
    let with = crate::support::report("testdata/sync_item", &[]);
    let traced = |report: &Value| -> i64 {
        report["ledger"].as_array().unwrap().iter().map(|line| line["traced_ns"].as_i64().unwrap()).sum()
    };
    assert_eq!(traced(&report), traced(&with));
    for other in ["--critical-path", "--what-if=host.sync"] {
        assert_eq!(run(&["trace", EXAMPLE, "--no-replay", other]).status, Some(2), "{other}");
    }
}
