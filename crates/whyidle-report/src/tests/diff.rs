//! Comparisons of hand-made verdicts: they obey their schema, and say what changed and what chance explains.

use serde_json::Value;
use whyidle_diagnosis::Verdict;
use whyidle_diagnosis::diff::{Diff, Side, diff};

use super::sample::{catalog, verdicts};
use crate::{Document, Lang, TextOptions};

const SCHEMA: &str = include_str!("../../schema/whyidle.diff-1.schema.json");

pub(super) fn of(a: &Verdict, b: &Verdict) -> Diff {
    let side = |path: &str, verdict: &Verdict| Side::new(path.to_owned(), verdict.clone());
    diff(side("runs/41", a), side("runs/42", b))
}

fn text(diff: &Diff, lang: Lang) -> String {
    let options = TextOptions { width: 80, colour: false, verbose: false };
    Document::Diff(diff).text(&catalog(lang), &options)
}

#[test]
fn every_comparison_obeys_the_schema_in_both_languages() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a sound schema");
    for (_, a) in verdicts() {
        for (_, b) in verdicts() {
            let diff = of(&a, &b);
            for lang in Lang::ALL {
                let value: Value =
                    serde_json::from_str(&Document::Diff(&diff).json(&catalog(lang))).expect("JSON");
                let errors: Vec<_> = validator
                    .iter_errors(&value)
                    .map(|error| format!("{}: {error}", error.instance_path()))
                    .collect();
                assert!(errors.is_empty(), "{}", errors.join("\n"));
                for page in [text(&diff, lang), Document::Diff(&diff).markdown(&catalog(lang))] {
                    assert!(page.contains("runs/41") && !page.contains("diff-"), "{page}");
                }
            }
        }
    }
}

#[test]
fn the_schema_notices_what_does_not_belong() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a sound schema");
    let all = verdicts();
    let good: Value =
        serde_json::from_str(&Document::Diff(&of(&all[0].1, &all[1].1)).json(&catalog(Lang::En)))
            .expect("JSON");
    assert!(validator.is_valid(&good));
    for spoil in [
        |value: &mut Value| value["surprise"] = Value::from(1),
        |value: &mut Value| value["step"]["a"] = Value::Null,
        |value: &mut Value| value["ledger"][0]["difference_ns"] = Value::from(0.5),
        |value: &mut Value| value["a"]["basis"] = Value::from("guessed"),
    ] {
        let mut bad = good.clone();
        spoil(&mut bad);
        assert!(!validator.is_valid(&bad));
    }
}

#[test]
fn a_run_compared_with_itself_has_no_clear_difference() {
    for (name, verdict) in verdicts() {
        let diff = of(&verdict, &verdict);
        assert!(!diff.step.clear && diff.ledger.iter().all(|row| !row.clear), "{name}");
        assert!(diff.caveats.is_empty(), "{name}: {:?}", diff.caveats);
        assert!(text(&diff, Lang::En).contains("No clear difference"), "{name}");
    }
}

#[test]
fn the_ledgers_differences_sum_to_that_of_the_step() {
    let all = verdicts();
    for (_, a) in &all {
        for (_, b) in &all {
            let diff = of(a, b);
            let sum: i64 = diff.ledger.iter().map(|row| row.difference_ns()).sum();
            let lines = |verdict: &Verdict| verdict.ledger.iter().map(|line| line.unprofiled.ns).sum::<i64>();
            assert_eq!(sum, lines(b) - lines(a));
        }
    }
}
