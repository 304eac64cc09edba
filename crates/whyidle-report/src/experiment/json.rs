//! Experiments as JSON: what is kept in the history, with the schema, its number and the sentence.

use serde_json::{Map, Value, json};
use whyidle_experiment::comparison::Comparison;
use whyidle_experiment::differential::Differential;
use whyidle_experiment::fix::Fix;
use whyidle_experiment::history::Row;
use whyidle_experiment::result::Run;

use super::{differential as fed, fix as remedies, words};
use crate::Catalog;
use crate::json::{rounded, sentences, text};

pub(super) fn document(schema: &str, id: Option<i64>, body: serde_json::Result<Value>) -> Map<String, Value> {
    let mut document = Map::new();
    document.insert("schema".to_owned(), json!(schema));
    document.insert("tool".to_owned(), json!({ "version": env!("CARGO_PKG_VERSION") }));
    document.insert("id".to_owned(), json!(id));
    if let Ok(Value::Object(body)) = body {
        document.extend(body);
    }
    document
}

pub(super) fn finished(document: Map<String, Value>) -> String {
    format!("{:#}\n", Value::Object(document))
}

/// A run, `whyidle.bench/1`.
pub(crate) fn run(run: &Run, id: Option<i64>, catalog: &Catalog) -> String {
    let mut document = document("whyidle.bench/1", id, serde_json::to_value(run));
    document.insert("samples_per_s".to_owned(), json!(run.samples_per_s()));
    document.insert("tokens_per_s".to_owned(), json!(run.tokens_per_s()));
    document.insert("energy_per_step_j".to_owned(), json!(run.energy_per_step_j()));
    document.insert("sentence".to_owned(), sentences(catalog, &words::answer(run)));
    let doubts: Vec<Value> = words::doubts(run).iter().map(|doubt| text(catalog, doubt)).collect();
    document.insert("doubts".to_owned(), json!(doubts));
    finished(document)
}

/// A comparison, `whyidle.compare/1`.
pub(crate) fn comparison(comparison: &Comparison, id: Option<i64>, catalog: &Catalog) -> String {
    let mut document = document("whyidle.compare/1", id, serde_json::to_value(comparison));
    document.insert("sentence".to_owned(), sentences(catalog, &words::compared(comparison)));
    let doubts: Vec<Value> =
        words::comparison_doubts(comparison).iter().map(|doubt| text(catalog, doubt)).collect();
    document.insert("doubts".to_owned(), json!(doubts));
    finished(document)
}

/// A program that was fed in four ways, `whyidle.differential/1`.
pub(crate) fn differential(found: &Differential, id: Option<i64>, catalog: &Catalog) -> String {
    let mut document = document("whyidle.differential/1", id, serde_json::to_value(found));
    document.insert("sentence".to_owned(), sentences(catalog, &[fed::answer(found)]));
    finished(document)
}

/// A search of remedies, `whyidle.fix/1`.
pub(crate) fn fix(found: &Fix, id: Option<i64>, catalog: &Catalog) -> String {
    let mut document = document("whyidle.fix/1", id, serde_json::to_value(found));
    document.insert("kept".to_owned(), json!(found.kept()));
    document.insert("sentence".to_owned(), sentences(catalog, &[remedies::answer(found)]));
    finished(document)
}

/// Entries of the history, `whyidle.history/1`.
pub(crate) fn history(rows: &[Row]) -> String {
    let row = |row: &Row| {
        json!({
            "id": row.id, "kind": row.kind, "label": row.label, "began": row.began, "command": row.command,
            "revision": row.revision, "step_ns": row.step_ns, "effect": row.effect, "answer": row.answer,
            "ended": row.ended, "job": row.job, "busy": row.busy.map(rounded), "seen_ns": row.seen_ns,
        })
    };
    let entries: Vec<Value> = rows.iter().map(row).collect();
    let document = json!({
        "schema": "whyidle.history/1",
        "tool": { "version": env!("CARGO_PKG_VERSION") },
        "entries": entries,
    });
    format!("{document:#}\n")
}
