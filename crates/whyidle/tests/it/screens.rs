//! What a person gets to see, on real traces. After a change that is meant: `make accept`, and read the diff.

use serde_json::{Value, json};

use crate::support::{EXAMPLE, LANGUAGES, printed, report, without_version};

#[test]
fn the_first_screen() {
    for lang in LANGUAGES {
        insta::assert_snapshot!(format!("starved.{lang}"), printed(&["trace", EXAMPLE, "--lang", lang]));
        for recording in ["gc_every_step", "vocab_50257"] {
            let path = format!("testdata/{recording}");
            insta::assert_snapshot!(
                format!("{recording}.{lang}"),
                printed(&["trace", &path, "--lang", lang])
            );
        }
    }
}

#[test]
fn without_the_true_step() {
    for lang in LANGUAGES {
        let path = format!("{EXAMPLE}/trace.json.gz");
        insta::assert_snapshot!(format!("starved.traced.{lang}"), printed(&["trace", &path, "--lang", lang]));
    }
}

#[test]
fn with_everything() {
    insta::assert_snapshot!(printed(&["trace", "testdata/vocab_50257", "-v"]));
}

#[test]
fn markdown() {
    insta::assert_snapshot!(printed(&["trace", "testdata/vocab_50257", "--format", "md"]));
}

/// The figures that people build on; wording and tables are in the other snapshots.
#[test]
fn json_in_short() {
    let report = report(EXAMPLE, &[]);
    let pick = |value: &Value, keys: &[&str]| -> Value {
        keys.iter().map(|&key| (key.to_owned(), value[key].clone())).collect::<serde_json::Map<_, _>>().into()
    };
    let each = |key: &str, keys: &[&str]| -> Vec<Value> {
        report[key].as_array().unwrap().iter().map(|item| pick(item, keys)).collect()
    };
    let short = json!({
        "schema": report["schema"],
        "tool": report["tool"],
        "inputs": report["inputs"],
        "subject": report["subject"],
        "step": report["step"],
        "working_share": report["working_share"],
        "resident_share": report["resident_share"],
        "ledger": each("ledger", &["id", "kind", "traced_ns", "ms", "low_ms", "high_ms", "share"]),
        "verdict": pick(&report["verdict"], &["primary", "healthy", "efficient", "confidence"]),
        "findings": each("findings", &["cause", "rank", "cost_ms", "share", "gain"]),
        "replay": report["replay"],
        "next": report["next"],
        "quality": each("quality", &["code", "severity", "count"]),
    });
    insta::assert_snapshot!(without_version(&format!("{short:#}")));
}

#[test]
fn the_page_of_a_cause() {
    for lang in LANGUAGES {
        insta::assert_snapshot!(
            format!("explain.{lang}"),
            printed(&["explain", "host.sync", "--lang", lang])
        );
    }
}
