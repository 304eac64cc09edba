//! A job as a whole: how long, how busy, what was waited for, what it wasted, and the one change worth making.

use serde_json::{Value, json};
use whyidle_diagnosis::Message;
use whyidle_experiment::job::{Job, Part};

use super::words;
use crate::Catalog;
use crate::json::{rounded, sentences, text};
use crate::page::Block;

/// Waits that are shown.
const WAITS: usize = 5;
const HOUR: f64 = 3_600e9;

/// A job as JSON, `whyidle.job/1`.
pub(crate) fn json(job: &Job, catalog: &Catalog) -> String {
    let change = job.worth.as_ref().map(|worth| {
        json!({
            "cause": worth.cause,
            "id": worth.id,
            "step_ns": worth.step_ns,
            "after_ns": worth.after_ns,
            "saved_gpu_ns": worth.saved_gpu_ns,
            "summary": text(catalog, &worth.summary),
        })
    });
    let document: Value = json!({
        "schema": "whyidle.job/1",
        "tool": { "version": env!("CARGO_PKG_VERSION") },
        "job": job.id,
        "began": job.began,
        "ended": job.ended,
        "working_share": job.working.map(rounded),
        "resident_share": job.resident.map(rounded),
        "waits": job.waits,
        "seen_gpu_ns": job.seen_gpu_ns,
        "waste_gpu_ns": job.waste_gpu_ns,
        "waste_gpu_hours": job.waste_gpu_ns as f64 / HOUR,
        "waste_is_estimated": true,
        "change": change,
        "parts": job.parts,
        "damaged": job.damaged,
        "sentence": sentences(catalog, &answer(job)),
    });
    format!("{document:#}\n")
}

pub(crate) fn blocks(job: &Job, catalog: &Catalog, verbose: bool) -> Vec<Block> {
    let say = |message: &Message| catalog.message(message);
    let head = Message::new("job-head")
        .name("id", job.id.clone())
        .name("from", words::moment(job.began))
        .name("to", words::moment(job.ended))
        .message("span", span((job.ended - job.began).max(0)));
    let mut blocks = vec![Block::Head(say(&head)), Block::Sentence(catalog.sentences(&answer(job)))];
    blocks.push(Block::Note(say(&seen(job))));
    if job.working.is_some() && job.resident.is_some() {
        let share = job.resident.unwrap_or(0.0);
        blocks.push(Block::Note(say(&Message::new("job-resident-beside").share("share", share))));
    }
    if job.damaged > 0 {
        blocks.push(Block::Doubt(say(&Message::new("job-damaged").count("count", job.damaged))));
    }
    if !job.waits.is_empty() {
        blocks.push(Block::Title(catalog.word("job-title-waits")));
        let row = |wait: &whyidle_experiment::job::Wait| {
            vec![catalog.line(&wait.line), catalog.share(wait.share), say(&gpu_time(wait.gpu_ns as f64))]
        };
        blocks.push(Block::Table(job.waits.iter().take(WAITS).map(row).collect()));
    }
    if let Some(worth) = &job.worth {
        blocks.push(Block::Title(catalog.word("job-title-change")));
        let steps = Message::new("job-change")
            .time("before", worth.step_ns)
            .time("after", worth.after_ns)
            .message("saved", gpu_time(worth.saved_gpu_ns as f64));
        blocks.push(Block::Note(catalog.sentences(&[worth.summary.clone(), steps])));
        blocks.push(Block::Note(say(&Message::new("job-change-of").name("id", worth.id.to_string()))));
    }
    if verbose {
        blocks.push(Block::Title(catalog.word("job-title-parts")));
        blocks.push(Block::Table(job.parts.iter().map(|part| line(part, catalog)).collect()));
    }
    blocks
}

fn line(part: &Part, catalog: &Catalog) -> Vec<String> {
    let kind = if part.kind == "verdict" { "job-verdict" } else { "job-run" };
    let cause = part.cause.as_deref().map(|cause| format!("{} · ", catalog.cause(cause)));
    vec![
        format!("{:>5}  {}  {}", part.id, words::moment(part.began), catalog.word(kind)),
        catalog.time(part.seen_ns),
        part.busy.map(|busy| catalog.share(busy)).unwrap_or_default(),
        cause.unwrap_or_default() + &part.command,
    ]
}

/// Hours, or a time of less than one.
pub(crate) fn span(ns: i64) -> Message {
    let hours = ns as f64 / HOUR;
    if hours < 1.0 {
        Message::new("job-time").time("time", ns)
    } else {
        Message::new("job-hours").with("hours", words::figure(hours))
    }
}

/// `3.2 GPU-hours`, or a time of less than a hundredth of one.
pub(crate) fn gpu_time(ns: f64) -> Message {
    let hours = ns / HOUR;
    if hours < 0.01 {
        Message::new("job-gpu-time").time("time", ns as i64)
    } else {
        Message::new("job-gpu-hours").with("hours", words::figure(hours))
    }
}

pub(crate) fn answer(job: &Job) -> Vec<Message> {
    let mut said = vec![match (job.working, job.resident) {
        (Some(share), _) => Message::new("job-working").share("share", share),
        (None, Some(share)) => Message::new("job-resident").share("share", share),
        (None, None) => return vec![Message::new("job-nothing")],
    }];
    let id = if job.resident.is_some() { "job-waste-least" } else { "job-waste" };
    said.push(
        Message::new(id)
            .message("waste", gpu_time(job.waste_gpu_ns as f64))
            .message("seen", gpu_time(job.seen_gpu_ns as f64)),
    );
    if job.worth.is_none() && job.working.is_some() {
        said.push(Message::new("job-no-change"));
    }
    said
}

fn seen(job: &Job) -> Message {
    let count = |kind: &str| job.parts.iter().filter(|part| part.kind == kind).count();
    Message::new("job-seen")
        .message("verdicts", Message::new("job-verdicts").count("count", count("verdict")))
        .message("runs", Message::new("job-runs").count("count", count("run")))
}
