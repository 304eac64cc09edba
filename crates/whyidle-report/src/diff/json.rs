//! What changed as `whyidle.diff/1`: every line and every name; `schema/whyidle.diff-1.schema.json` describes it.

use serde_json::{Value, json};
use whyidle_diagnosis::LineKind;
use whyidle_diagnosis::diff::{Diff, Figure, Row, Side};

use super::described::labelled;
use super::words;
use crate::Catalog;
use crate::json::{rounded, sentences, text};

const SCHEMA: &str = "whyidle.diff/1";

/// What changed as JSON, indented. Times are whole nanoseconds per step.
pub(crate) fn set(diff: &Diff, catalog: &Catalog) -> String {
    let names = diff.names.as_ref();
    let rows = |rows: Option<&Vec<Row>>| -> Value {
        rows.map(|rows| rows.iter().map(|entry| row(entry, "name", None)).collect()).unwrap_or(Value::Null)
    };
    let value = json!({
        "schema": SCHEMA,
        "tool": { "version": env!("CARGO_PKG_VERSION") },
        "a": side(&diff.a),
        "b": side(&diff.b),
        "sentence": sentences(catalog, &labelled(&words::answer(diff), catalog)),
        "caveats": diff.caveats.iter().map(|caveat| json!({
            "code": caveat.id(),
            "text": text(catalog, &words::caveat(caveat)),
        })).collect::<Vec<_>>(),
        "step": row(&diff.step, "id", None),
        "ledger": diff.ledger.iter().map(|line| row(line, "id", Some(catalog))).collect::<Vec<_>>(),
        "kernels": rows(names.map(|names| &names.kernels)),
        "operators": rows(names.map(|names| &names.operators)),
        "host": rows(names.map(|names| &names.host)),
        "readings": diff.readings.iter().map(|reading| json!({
            "id": reading.id,
            "unit": reading.unit,
            "a": reading.a.map(rounded),
            "b": reading.b.map(rounded),
        })).collect::<Vec<_>>(),
        "places": diff.places.iter().map(|place| json!({
            "name": place.name,
            "a": rounded(place.a),
            "b": rounded(place.b),
            "clear": place.clear,
        })).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}

fn side(side: &Side) -> Value {
    let verdict = &side.verdict;
    json!({
        "path": side.path,
        "inputs": verdict.inputs.iter().map(|input| json!({
            "path": input.path,
            "kind": input.kind,
            "rank": input.rank,
        })).collect::<Vec<_>>(),
        "gpu": verdict.subject.gpu,
        "ranks": verdict.subject.ranks,
        "rank_shown": verdict.subject.rank_shown,
        "basis": verdict.step.basis.id(),
        "found_by": verdict.step.found_by,
        "steps": verdict.step.count,
        "traced_ns": verdict.step.traced_ns,
        "working_share": rounded(verdict.working_share),
        "primary": verdict.ruling.primary,
        "has_trace": side.has_trace(),
    })
}

fn figure(figure: &Figure) -> Value {
    json!({ "ns": figure.ns, "low_ns": figure.low_ns, "high_ns": figure.high_ns, "calls": figure.calls })
}

fn row(row: &Row, key: &str, labels: Option<&Catalog>) -> Value {
    let mut value = json!({
        key: row.name,
        "a": row.a.as_ref().map(figure),
        "b": row.b.as_ref().map(figure),
        "difference_ns": row.difference_ns(),
        "clear": row.clear,
    });
    if let Some(catalog) = labels {
        value["label"] = Value::from(catalog.line(&row.name));
        value["kind"] = Value::from(row.kind.map(|kind| match kind {
            LineKind::Working => "working",
            LineKind::Waiting => "waiting",
            LineKind::Rest => "rest",
        }));
    }
    value
}
