//! The JSON report against its schema, and against the verdict it was made of.

use super::sample::{catalog, refused, starved, verdicts};
use crate::{Lang, refusal_json, render_json};
use serde_json::Value;

const SCHEMA: &str = include_str!("../../schema/whyidle.verdict-1.schema.json");

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).expect("well-formed JSON")
}

fn assert_valid(what: &str, json: &str) {
    let validator = jsonschema::validator_for(&parsed(SCHEMA)).expect("a sound schema");
    let errors: Vec<_> = validator
        .iter_errors(&parsed(json))
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{what}:\n{}", errors.join("\n"));
}

#[test]
fn every_report_obeys_the_schema() {
    for lang in Lang::ALL {
        let catalog = catalog(lang);
        for (name, verdict) in verdicts() {
            assert_valid(name, &render_json(&verdict, &catalog));
        }
        assert_valid("refused", &refusal_json(&refused(), &catalog));
    }
}

#[test]
fn the_schema_notices_what_does_not_belong() {
    let validator = jsonschema::validator_for(&parsed(SCHEMA)).expect("a sound schema");
    let good = parsed(&render_json(&starved(), &catalog(Lang::En)));
    assert!(validator.is_valid(&good));
    for spoil in [
        |report: &mut Value| report["surprise"] = Value::from(1),
        |report: &mut Value| report["step"]["basis"] = Value::from("guessed"),
        |report: &mut Value| report["ledger"][0]["traced_ns"] = Value::from(1.5),
        |report: &mut Value| report["findings"][0]["gain"]["method"] = Value::Null,
        |report: &mut Value| report["verdict"]["sentence"] = Value::from("text alone"),
        |report: &mut Value| drop(report.as_object_mut().expect("an object").remove("next")),
    ] {
        let mut bad = good.clone();
        spoil(&mut bad);
        assert!(!validator.is_valid(&bad));
    }
}

#[test]
fn both_languages_say_the_same_apart_from_the_texts() {
    for (name, verdict) in verdicts() {
        let [en, zh] = Lang::OF_PAGES.map(|lang| {
            let mut report = parsed(&render_json(&verdict, &catalog(lang)));
            without_texts(&mut report);
            report
        });
        assert_eq!(en, zh, "{name}");
    }
}

/// Drops the `text` of every text object.
fn without_texts(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("msg") {
                fields.remove("text");
            }
            fields.remove("label");
            fields.values_mut().for_each(without_texts);
        }
        Value::Array(items) => items.iter_mut().for_each(without_texts),
        _ => {}
    }
}

#[test]
fn nanoseconds_stay_exact() {
    let mut verdict = starved();
    verdict.ledger[0].traced_ns = 123_456_789_012_345_678;
    verdict.ledger[0].unprofiled.ns = 36_000_001;
    let report = parsed(&render_json(&verdict, &catalog(Lang::En)));
    assert_eq!(report["ledger"][0]["traced_ns"], 123_456_789_012_345_678_i64);
    assert_eq!(report["ledger"][0]["ms"], 36.000_001);
}
