//! The jobs of a cluster by wasted GPU time: what each held, what of it was idle, and whom it waited for.

use std::time::Duration;

use serde_json::{Value, json};
use whyidle_diagnosis::fleet::{Fleet, FleetJob, FleetWait};
use whyidle_diagnosis::{Arg, Message};

use crate::Catalog;
use crate::experiment::{gpu_time, moment, span};
use crate::explain::CAUSES;
use crate::json::{rounded, sentences};
use crate::page::Block;

const NS_PER_MS: f64 = 1e6;
const MS_PER_HOUR: f64 = 3_600e3;
/// Waits that are shown of a job.
const WAITS: usize = 3;
/// Characters of a command that are shown.
const COMMAND: usize = 70;
/// Jobs whose part of the waste is named.
const FIRST: usize = 3;

/// A ranking, and what it was asked for.
#[derive(Clone, Debug)]
pub struct FleetReport {
    /// What the metrics come to.
    pub fleet: Fleet,
    /// Whose metrics.
    pub server: String,
    /// The span of time.
    pub since: Duration,
    /// Which series: a selector.
    pub matching: Option<String>,
    /// Jobs that are shown at most.
    pub limit: usize,
}

/// The ranking as JSON, `whyidle.fleet/1`.
pub(crate) fn json(report: &FleetReport, catalog: &Catalog) -> String {
    let fleet = &report.fleet;
    let shown = fleet.jobs.iter().take(report.limit);
    let document: Value = json!({
        "schema": "whyidle.fleet/1",
        "tool": { "version": env!("CARGO_PKG_VERSION") },
        "server": report.server,
        "at": fleet.at,
        "since_s": report.since.as_secs(),
        "match": report.matching,
        "jobs": shown.map(job).collect::<Vec<_>>(),
        "jobs_not_shown": fleet.jobs.len().saturating_sub(report.limit),
        "held_gpu_ms": fleet.held_gpu_ms,
        "idle_gpu_ms": fleet.idle_gpu_ms,
        "idle_gpu_hours": hours(fleet.idle_gpu_ms),
        "idle_share": rounded(fleet.idle_share()),
        "idle_is_estimated": true,
        "cards": fleet.cards.map(|cards| json!({
            "count": cards.count,
            "busy_gpu_ms": cards.busy_gpu_ms,
            "idle_held_gpu_ms": cards.idle_held_gpu_ms,
        })),
        "unusable": fleet.unusable,
        "sentence": sentences(catalog, &answer(report)),
        "next": next(fleet),
    });
    format!("{document:#}\n")
}

fn job(job: &FleetJob) -> Value {
    let wait = |wait: &FleetWait| json!({ "waiting_for": wait.waiting_for, "gpu_ms": wait.gpu_ms, "share": rounded(wait.share) });
    json!({
        "job": job.id,
        "user": job.user,
        "namespace": job.namespace,
        "cluster": job.cluster,
        "nodes": job.nodes,
        "held_gpu_ms": job.held_gpu_ms,
        "idle_gpu_ms": job.idle_gpu_ms,
        "idle_gpu_hours": hours(job.idle_gpu_ms),
        "idle_share": rounded(job.idle_share()),
        "healthy": job.is_healthy(),
        "waits": job.waits.iter().map(wait).collect::<Vec<_>>(),
        "command": job.command,
        "step_changes": job.step_changes,
    })
}

fn hours(ms: i64) -> Value {
    rounded(ms as f64 / MS_PER_HOUR)
}

/// A span of time: whole days from two on, else hours.
fn lasting(since: Duration) -> Message {
    let days = since.as_secs() / 86_400;
    if days > 1 && since.as_secs().is_multiple_of(86_400) {
        Message::new("fleet-days").count("count", days)
    } else {
        span(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
    }
}

/// GPU time in words.
fn time(ms: i64) -> Message {
    gpu_time(ms as f64 * NS_PER_MS)
}

pub(crate) fn blocks(report: &FleetReport, catalog: &Catalog, verbose: bool) -> Vec<Block> {
    let say = |message: &Message| catalog.message(message);
    let fleet = &report.fleet;
    let head = Message::new("fleet-head")
        .message("span", lasting(report.since))
        .name("to", moment(fleet.at))
        .name("server", report.server.clone());
    let mut blocks = vec![Block::Head(say(&head)), Block::Sentence(catalog.sentences(&answer(report)))];
    blocks.push(Block::Note(catalog.word("fleet-defined")));
    if let Some(cards) = fleet.cards {
        let own = Message::new("fleet-cards")
            .count("count", cards.count)
            .message("busy", time(cards.busy_gpu_ms))
            .message("idle", time(cards.idle_held_gpu_ms));
        blocks.push(Block::Note(say(&own)));
    }
    if let Some(matching) = &report.matching {
        blocks.push(Block::Note(say(&Message::new("fleet-matching").name("matching", matching.clone()))));
    }
    if fleet.unusable > 0 {
        blocks.push(Block::Doubt(say(&Message::new("fleet-unusable").count("count", fleet.unusable))));
    }
    blocks.push(Block::Title(catalog.word("fleet-title")));
    let shown = fleet.jobs.iter().take(report.limit).enumerate();
    blocks.push(Block::Table(shown.map(|(at, job)| line(at, job, catalog, verbose)).collect()));
    let more = fleet.jobs.len().saturating_sub(report.limit);
    if more > 0 {
        blocks.push(Block::Note(say(&Message::new("fleet-more").count("count", more))));
    }
    if let Some(command) = next(fleet) {
        blocks.push(Block::Title(catalog.word("fleet-next")));
        blocks.push(Block::Code(vec![command]));
    }
    blocks
}

/// A job: its name, what it wasted, what part of what it held that is, and below that the reason.
fn line(at: usize, job: &FleetJob, catalog: &Catalog, verbose: bool) -> Vec<String> {
    let nodes =
        (job.nodes > 1).then(|| catalog.message(&Message::new("fleet-nodes").count("count", job.nodes)));
    let named = |text: &String| (!text.is_empty()).then(|| text.clone());
    let name = [Some(job.id.clone()), named(&job.user), named(&job.namespace), named(&job.cluster), nodes];
    let name: Vec<String> = name.into_iter().flatten().collect();
    let mut said = vec![catalog.message(&why(job, catalog, verbose))];
    if job.step_changes > 0 {
        said.push(catalog.message(&Message::new("fleet-step-changes").count("count", job.step_changes)));
    }
    said.extend(job.command.as_ref().map(|command| if verbose { command.clone() } else { cut(command) }));
    vec![
        format!("{:>3}  {}", at + 1, name.join(" · ")),
        if job.idle_gpu_ms == 0 { "–".to_owned() } else { catalog.message(&time(job.idle_gpu_ms)) },
        catalog.share(job.idle_share()),
        said.join(" · "),
    ]
}

fn why(job: &FleetJob, catalog: &Catalog, verbose: bool) -> Message {
    let held = time(job.held_gpu_ms);
    if job.waits.is_empty() {
        return Message::new("fleet-none-of").message("held", held);
    }
    let waits = job.waits.iter().take(if verbose { usize::MAX } else { WAITS });
    let wait = |wait: &FleetWait| {
        let what = Message::new("fleet-wait").name("what", waited_for(&wait.waiting_for, catalog));
        Arg::Message(Box::new(what.share("share", wait.share)))
    };
    let id = if job.is_healthy() { "fleet-healthy-of" } else { "fleet-waits-of" };
    Message::new(id).message("held", held).with("waits", Arg::List(waits.map(wait).collect()))
}

/// The name of what was waited for: a cause or a line of the ledger, else its family, else as it came.
fn waited_for(id: &str, catalog: &Catalog) -> String {
    let named = catalog.line(id);
    if named != id {
        return named;
    }
    match id.split('.').next().unwrap_or(id) {
        "data" => catalog.word("fleet-family-data"),
        "host" => catalog.word("fleet-family-host"),
        "comm" => catalog.word("fleet-family-comm"),
        "memory" => catalog.word("fleet-family-memory"),
        "io" => catalog.word("fleet-family-io"),
        "run" => catalog.word("fleet-family-run"),
        "compile" => catalog.word("fleet-family-compile"),
        "rank" | "pipeline" => catalog.word("fleet-family-rank"),
        "unknown" => catalog.word("fleet-family-unknown"),
        _ => id.to_owned(),
    }
}

fn cut(command: &str) -> String {
    let short: String = command.chars().take(COMMAND).collect();
    if short.len() < command.len() { short + "…" } else { short }
}

fn answer(report: &FleetReport) -> Vec<Message> {
    let fleet = &report.fleet;
    let held = Message::new("fleet-held").message("held", time(fleet.held_gpu_ms));
    if fleet.idle_gpu_ms == 0 {
        return vec![held, Message::new("fleet-none")];
    }
    let idle = Message::new("fleet-idle")
        .message("idle", time(fleet.idle_gpu_ms))
        .share("share", fleet.idle_share());
    let mut said = vec![held, idle];
    if fleet.jobs.len() > FIRST {
        let first: i64 =
            fleet.jobs.iter().take(FIRST).map(|job| job.idle_gpu_ms).fold(0, i64::saturating_add);
        let share = first as f64 / fleet.idle_gpu_ms as f64;
        said.push(Message::new("fleet-first").count("count", FIRST).share("share", share));
    }
    said
}

/// What to type next: the page of what the worst job that is not healthy waits for most.
fn next(fleet: &Fleet) -> Option<String> {
    let worst = fleet.jobs.iter().find(|job| !job.is_healthy())?;
    let cause = worst.waits.iter().map(|wait| wait.waiting_for.as_str()).find(|id| CAUSES.contains(id))?;
    Some(format!("whyidle explain {cause}"))
}
