//! The parts of a verdict as JSON.

use super::words::{ms, rounded, text};
use crate::Catalog;
use serde_json::{Map, Value, json};
use whyidle_diagnosis::{
    Answer, Change, CriticalPath, Details, Evidence, Finding, Gain, Input, Instruments, Line, LineKind,
    Reading, RunLedger, RunLine, Rung, Step, Subject, Total,
};

pub(super) fn input(input: &Input) -> Value {
    json!({ "path": input.path, "kind": input.kind, "events": input.events, "rank": input.rank })
}

pub(super) fn subject(subject: &Subject) -> Value {
    let version =
        |wanted: &str| subject.versions.iter().find(|(name, _)| name == wanted).map(|(_, version)| version);
    let versions: Map<String, Value> =
        subject.versions.iter().map(|(name, version)| (name.clone(), json!(version))).collect();
    json!({
        "gpu": subject.gpu,
        "device": subject.device,
        "gpus": subject.gpus,
        "ranks": subject.ranks,
        "world_size": subject.world_size,
        "rank_shown": subject.rank_shown,
        "torch": version("torch"),
        "cuda": version("cuda"),
        "versions": versions,
    })
}

pub(super) fn step(step: &Step) -> Value {
    json!({
        "count": step.count,
        "traced_ms": ms(step.traced_ns),
        "unprofiled_ms": ms(step.unprofiled.ns),
        "basis": step.basis.id(),
        "low_ms": ms(step.unprofiled.low_ns),
        "high_ms": ms(step.unprofiled.high_ns),
        "found_by": step.found_by,
        "first": step.first,
        "traced_each_ns": step.traced_each_ns,
        "host_span_ms": ms(step.host_span_ns),
        "host_ahead_ms": ms(step.host_ahead_ns),
    })
}

pub(super) fn line(catalog: &Catalog, line: &Line) -> Value {
    let kind = match line.kind {
        LineKind::Working => "working",
        LineKind::Waiting => "waiting",
        LineKind::Rest => "rest",
    };
    json!({
        "id": line.id,
        "label": catalog.line(line.id),
        "kind": kind,
        "traced_ns": line.traced_ns,
        "ms": ms(line.unprofiled.ns),
        "low_ms": ms(line.unprofiled.low_ns),
        "high_ms": ms(line.unprofiled.high_ns),
        "share": rounded(line.share),
        "details": line.details.iter().map(|detail| text(catalog, detail)).collect::<Vec<_>>(),
    })
}

pub(super) fn run(run: &RunLedger) -> Value {
    let line = |line: &RunLine| {
        json!({
            "id": line.id,
            "ns": line.ns,
            "share": rounded(line.ns as f64 / run.watched_ns.max(1) as f64),
            "visits": line.visits,
            "period_ms": line.period_ns.map(ms),
            "period_steps": line.period_steps,
            "where": line.place,
        })
    };
    json!({ "watched_ns": run.watched_ns, "lines": run.lines.iter().map(line).collect::<Vec<_>>() })
}

pub(super) fn finding(catalog: &Catalog, finding: &Finding, step_ns: i64) -> Value {
    json!({
        "cause": finding.cause,
        "label": catalog.cause(finding.cause),
        "rank": finding.rank,
        "cost_ms": ms(finding.cost.ns),
        "low_ms": ms(finding.cost.low_ns),
        "high_ms": ms(finding.cost.high_ns),
        "share": rounded(finding.share),
        "gain": finding.gain.as_ref().map(|found| gain(found, step_ns)),
        "evidence": finding.evidence.iter().map(|entry| evidence(catalog, entry)).collect::<Vec<_>>(),
        "remedy": {
            "summary": text(catalog, &finding.remedy.summary),
            "steps": finding.remedy.steps.iter().map(|step| text(catalog, step)).collect::<Vec<_>>(),
            "code": finding.remedy.code,
        },
    })
}

/// `step_ns` is today's step.
fn gain(gain: &Gain, step_ns: i64) -> Value {
    json!({
        "step_ms_after": ms(gain.step_after.ns),
        "low_ms": ms(gain.step_after.low_ns),
        "high_ms": ms(gain.step_after.high_ns),
        "saved": rounded(gain.saved(step_ns)),
        "method": gain.method.id(),
        "change": change(&gain.change),
        "next_limit": gain.next_limit,
    })
}

pub(super) fn rung(rung: &Rung, step_ns: i64) -> Value {
    let mut value = gain(&rung.gain, step_ns);
    value["cause"] = json!(rung.cause);
    value
}

pub(super) fn answer(catalog: &Catalog, answer: &Answer, step_ns: i64) -> Value {
    let gain = answer.gain.as_ref();
    json!({
        "asked": answer.asked,
        "cause": answer.causes.join("+"),
        "change": answer.changes.first().filter(|_| answer.changes.len() == 1).map(change),
        "changes": answer.changes.iter().map(change).collect::<Vec<_>>(),
        "step_ms_after": gain.map(|gain| ms(gain.step_after.ns)),
        "low_ms": gain.map(|gain| ms(gain.step_after.low_ns)),
        "high_ms": gain.map(|gain| ms(gain.step_after.high_ns)),
        "saved": gain.map(|gain| rounded(gain.saved(step_ns))),
        "method": gain.map(|gain| gain.method.id()),
        "next_limit": gain.map(|gain| gain.next_limit),
        "notes": answer.notes.iter().map(|note| text(catalog, note)).collect::<Vec<_>>(),
    })
}

pub(super) fn critical_path(path: &CriticalPath) -> Value {
    let parts = path.parts.iter().map(|part| json!({ "id": part.id, "ns": part.ns }));
    let names = path
        .names
        .iter()
        .map(|name| json!({ "name": name.name, "part": name.part, "nodes": name.nodes, "ns": name.ns }));
    json!({
        "length_ns": path.length_ns,
        "parts": parts.collect::<Vec<_>>(),
        "names": names.collect::<Vec<_>>(),
    })
}

fn change(change: &Change) -> Value {
    json!({ "what": change.what, "from": change.from, "to": change.to })
}

fn evidence(catalog: &Catalog, evidence: &Evidence) -> Value {
    json!({
        "text": text(catalog, &evidence.text),
        "value": evidence.value.map(rounded),
        "unit": evidence.unit,
        "where": evidence.place,
    })
}

pub(super) fn details(catalog: &Catalog, details: &Details) -> Value {
    let totals = |totals: &[Total]| totals.iter().map(total).collect::<Vec<_>>();
    json!({
        "kernels": totals(&details.kernels),
        "operators": totals(&details.operators),
        "modules": totals(&details.modules),
        "gaps": totals(&details.gaps),
        "instruments": details.instruments.as_ref().map(|found| instruments(catalog, found)),
        "statistics": details.statistics.iter().map(|figure| text(catalog, figure)).collect::<Vec<_>>(),
    })
}

fn instruments(catalog: &Catalog, found: &Instruments) -> Value {
    let reading = |reading: &Reading| {
        json!({
            "id": reading.id,
            "value": reading.value.map(rounded),
            "unit": reading.unit,
            "detail": reading.detail.as_ref().map(|detail| text(catalog, detail)),
        })
    };
    json!({
        "gpu": found.gpu,
        "readings": found.readings.iter().map(reading).collect::<Vec<_>>(),
        "disagreements": found.disagreements.iter().map(|why| text(catalog, why)).collect::<Vec<_>>(),
    })
}

fn total(total: &Total) -> Value {
    json!({
        "name": total.name,
        "kind": total.kind,
        "count": total.count,
        "total_ns": total.total_ns,
        "longest_ns": total.longest_ns,
    })
}
