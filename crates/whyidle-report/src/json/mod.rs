//! The verdict as `whyidle.verdict/1`, the schema that everything else is a rendering of.
//! `schema/whyidle.verdict-1.schema.json` describes it; the tests hold the two together.

mod parts;
mod ranks;
mod words;

pub(crate) use words::{sentences, text};

use crate::{Catalog, text::tail::quality_text};
use parts::{answer, critical_path, details, finding, input, line, run, rung, step, subject};
use ranks::{rank, together};
use serde_json::{Value, json};
use whyidle_diagnosis::{QualityNote, Refusal, Verdict};
use whyidle_model::Severity;
pub(crate) use words::rounded;

const SCHEMA: &str = "whyidle.verdict/1";

/// A verdict as JSON, indented; `catalog` decides the language of its texts.
#[must_use]
pub fn render_json(verdict: &Verdict, catalog: &Catalog) -> String {
    pretty(&value(verdict, catalog))
}

/// Why there is no verdict, as JSON.
#[must_use]
pub fn refusal_json(refusal: &Refusal, catalog: &Catalog) -> String {
    pretty(&refusal_value(refusal, catalog))
}

/// As [`refusal_json`], not yet printed.
pub(crate) fn refusal_value(refusal: &Refusal, catalog: &Catalog) -> Value {
    json!({
        "schema": SCHEMA,
        "tool": tool(),
        "inputs": refusal.inputs.iter().map(input).collect::<Vec<_>>(),
        "refused": {
            "code": refusal.code,
            "reason": text(catalog, &refusal.reason),
            "hint": text(catalog, &refusal.hint),
        },
        "quality": quality(catalog, &refusal.quality),
    })
}

/// As [`render_json`], not yet printed.
pub(crate) fn value(verdict: &Verdict, catalog: &Catalog) -> Value {
    let step_ns = verdict.step.unprofiled.ns;
    json!({
        "schema": SCHEMA,
        "tool": tool(),
        "inputs": verdict.inputs.iter().map(input).collect::<Vec<_>>(),
        "subject": subject(&verdict.subject),
        "step": step(&verdict.step),
        "working_share": rounded(verdict.working_share),
        "resident_share": rounded(verdict.resident_share),
        "ledger": verdict.ledger.iter().map(|entry| line(catalog, entry)).collect::<Vec<_>>(),
        "run": verdict.run.as_ref().map(run),
        "ranks": verdict.ranks.iter().map(|entry| rank(catalog, entry)).collect::<Vec<_>>(),
        "verdict": ruling(verdict, catalog),
        "findings": verdict.findings.iter().map(|entry| finding(catalog, entry, step_ns)).collect::<Vec<_>>(),
        "ladder": verdict.ladder.iter().map(|entry| rung(entry, step_ns)).collect::<Vec<_>>(),
        "what_if": verdict.what_if.iter().map(|entry| answer(catalog, entry, step_ns)).collect::<Vec<_>>(),
        "critical_path": verdict.critical_path.as_ref().map(critical_path),
        "replay": verdict.replay.as_ref().map(|replay| json!({
            "error": rounded(replay.error),
            "slack": rounded(replay.slack),
            "unrecorded": rounded(replay.unrecorded),
            "usable": replay.usable,
        })),
        "together": verdict.together.as_ref().map(|facts| together(catalog, facts)),
        "next": verdict.next,
        "quality": quality(catalog, &verdict.quality),
        "details": details(catalog, &verdict.details),
    })
}

fn ruling(verdict: &Verdict, catalog: &Catalog) -> Value {
    let ruling = &verdict.ruling;
    json!({
        "primary": ruling.primary,
        "healthy": ruling.healthy,
        "efficient": ruling.efficient,
        "confidence": ruling.confidence.id(),
        "sentence": sentences(catalog, &ruling.sentence),
        "doubts": ruling.doubts.iter().map(|doubt| text(catalog, doubt)).collect::<Vec<_>>(),
    })
}

fn quality(catalog: &Catalog, notes: &[QualityNote]) -> Vec<Value> {
    notes
        .iter()
        .map(|note| {
            let mut worded = text(catalog, &note.text);
            worded["text"] = json!(quality_text(catalog, note));
            json!({
                "code": note.code,
                "severity": severity(note.severity),
                "count": note.count,
                "text": worded,
            })
        })
        .collect()
}

/// Notes as the pages beside a verdict have them: each text in words alone.
pub(crate) fn worded_notes(catalog: &Catalog, notes: &[QualityNote]) -> Vec<Value> {
    let note = |note: &QualityNote| {
        json!({
            "code": note.code,
            "severity": severity(note.severity),
            "count": note.count,
            "text": quality_text(catalog, note),
        })
    };
    notes.iter().map(note).collect()
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Suspect => "suspect",
        Severity::Loss => "loss",
    }
}

pub(crate) fn tool() -> Value {
    json!({ "version": env!("CARGO_PKG_VERSION") })
}

pub(crate) fn pretty(value: &Value) -> String {
    // `{:#}` of a `Value` is its indented form and cannot fail.
    format!("{value:#}\n")
}
