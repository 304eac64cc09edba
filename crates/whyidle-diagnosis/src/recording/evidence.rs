//! Evidence from samples, in messages: places, counters, what could not be had.

use whyidle_analysis::signals::{Doing, GpuSignals, Signals};
use whyidle_model::Severity;

use super::waits::Waits;
use super::{Run, View, phases};
use crate::message::{Arg, Message};
use crate::verdict::{Evidence, QualityNote};

/// What the main thread does where a cause holds.
fn doings(cause: &str) -> &'static [Doing] {
    match cause {
        "data.workers" | "data.storage" => &[Doing::WaitsForWorkers, Doing::StartsLoader],
        "data.in_process" => &[Doing::PreparesData],
        "data.transfer" => &[Doing::Copies, Doing::UserCode],
        "host.python" => &[Doing::UserCode],
        "host.gc" => &[Doing::Collects],
        "host.sync" => &[Doing::Synchronises],
        "host.optimizer" => &[Doing::Optimizes],
        "memory.allocator" => &[Doing::EmptiesCache],
        "compile.recompile" => &[Doing::Compiles],
        "io.checkpoint" | "run.checkpoint" => &[Doing::Saves],
        "run.epoch" => &[Doing::StartsLoader],
        "run.eval" => &[Doing::Evaluates],
        "host.gil" => &[Doing::WaitsForGil],
        "io.logging" => &[Doing::Logs],
        _ => &[],
    }
}

/// The function to look at: where workers prepare items, else where the main thread is.
pub(crate) fn place(view: &View<'_>, cause: &str) -> Option<String> {
    if matches!(cause, "data.workers" | "data.storage") {
        return view.signals.workers.as_ref()?.places.first().map(|place| place.name.clone());
    }
    if cause == "host.optimizer" {
        return None;
    }
    let main = view.signals.main.as_ref()?;
    let places = doings(cause).iter().filter_map(|&doing| main.place(doing));
    places.max_by(|a, b| a.share.total_cmp(&b.share)).map(|place| place.name.clone())
}

/// Why the wait is believed in.
pub(crate) fn of_wait(view: &View<'_>, waits: &Waits, cause: &str) -> Vec<Evidence> {
    let mut found = Vec::new();
    let doings = doings(cause);
    if let Some(main) = &view.signals.main {
        let share: f64 = doings.iter().map(|&doing| main.share(doing)).sum();
        let counted = waits.all.iter().find(|wait| wait.cause == cause);
        if let Some(error) = counted.map(|wait| wait.error).filter(|_| share > 0.0) {
            let text = Message::new("ev-live-main")
                .share("share", share)
                .share("error", error)
                .count("samples", i64::from(main.samples));
            found.push(shared(text, share, None));
        }
        for place in doings.iter().flat_map(|doing| main.places.get(doing)).flatten().take(2) {
            let mut text =
                Message::new("ev-live-place").name("place", &place.name).share("share", place.share);
            if let Some(source) = &place.source {
                text = Message::new("ev-live-source")
                    .name("place", &place.name)
                    .name("source", source)
                    .share("share", place.share);
            }
            found.push(shared(text, place.share, Some(place.name.clone())));
        }
        if cause == "host.launch" && main.share(Doing::Synchronises) >= 0.05 {
            let share = main.share(Doing::Synchronises);
            let place = main.place(Doing::Synchronises).map(|place| place.name.clone()).unwrap_or_default();
            let text = Message::new("ev-live-sync").share("share", share).name("place", &place);
            found.push(shared(text, share, Some(place)));
        }
    }
    if matches!(cause, "data.workers" | "data.storage") {
        found.extend(of_workers(view));
    }
    if cause == "host.contention" {
        found.extend(of_contention(view));
    }
    found.extend(phases::evidence(view, cause));
    found
}

fn of_contention(view: &View<'_>) -> Vec<Evidence> {
    let (Some(process), Some(cores)) = (&view.signals.process, view.signals.cores_busy) else {
        return Vec::new();
    };
    let switches = process.involuntary.unwrap_or(0.0);
    let text = Message::new("ev-live-contention")
        .share("busy", process.user + process.system)
        .share("cores", cores)
        .count("switches", switches.round() as i64);
    vec![shared(text, process.user + process.system, None)]
}

/// Another process on the same GPU.
pub(crate) fn shares_gpu(pid: u32, memory: Option<u64>) -> Evidence {
    let text = match memory {
        Some(bytes) => Message::new("ev-live-shares-memory")
            .name("pid", pid.to_string())
            .with("memory", Arg::Bytes(i64::try_from(bytes).unwrap_or(i64::MAX))),
        None => Message::new("ev-live-shares").name("pid", pid.to_string()),
    };
    let value = memory.map(|bytes| bytes as f64);
    Evidence { text, value, unit: "bytes", place: None }
}

fn of_workers(view: &View<'_>) -> Vec<Evidence> {
    let mut found = Vec::new();
    let Some(workers) = &view.signals.workers else { return found };
    let count = i64::try_from(workers.pids.len()).unwrap_or(i64::MAX);
    if let Some(busy) = workers.busy {
        let text = Message::new("ev-live-workers-busy").count("count", count).share("busy", busy);
        found.push(shared(text, busy, None));
    }
    if let Some(place) = workers.places.first() {
        let text = Message::new("ev-live-workers-at").name("place", &place.name).share("share", place.share);
        found.push(shared(text, place.share, Some(place.name.clone())));
    }
    if let Some(disk) = workers.disk.filter(|disk| *disk > 0.05) {
        found.push(shared(Message::new("ev-live-disk").share("share", disk), disk, None));
    }
    if pin_thread_is_the_limit(view) {
        let busy = view.signals.process.as_ref().map_or(0.0, |process| process.user + process.system);
        found.push(shared(Message::new("ev-live-pin").share("busy", busy), busy, None));
    }
    found
}

/// The main thread waits for batches, its process is busy all the same, and the workers are not: the thread that
/// pins them is what is slow.
pub(crate) fn pin_thread_is_the_limit(view: &View<'_>) -> bool {
    let busy = view.signals.process.as_ref().map(|process| process.user + process.system);
    let waits = view.main(Doing::WaitsForWorkers);
    let workers = view.signals.workers.as_ref().and_then(|workers| workers.busy);
    waits > 0.5
        && busy.is_some_and(|busy| busy > 0.7 + (1.0 - waits))
        && workers.is_some_and(|busy| busy < 0.6)
}

pub(crate) fn of_ranks(view: &View<'_>) -> Vec<Evidence> {
    let Some(gpu) = &view.signals.gpu else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(sm) = gpu.sm {
        let text = Message::new("ev-live-hollow").share("resident", gpu.resident).share("sm", sm);
        found.push(shared(text, sm, None));
    }
    for peer in
        view.signals.other_gpus.iter().filter(|peer| peer.memory.is_some_and(|(used, all)| used > 0.01 * all))
    {
        let text =
            Message::new("ev-live-peer").count("gpu", i64::from(peer.index)).share("resident", peer.resident);
        found.push(shared(text, peer.resident, None));
    }
    found
}

pub(crate) fn units(fp32: f64, tensor: f64) -> Evidence {
    shared(Message::new("ev-live-units").share("fp32", fp32).share("tensor", tensor), fp32, None)
}

pub(crate) fn recomputes(share: f64, memory: Option<(f64, f64)>) -> Evidence {
    let text = match memory {
        Some((used, all)) if all > 0.0 => {
            Message::new("ev-live-recomputes-memory").share("share", share).share("memory", used / all)
        }
        _ => Message::new("ev-live-recomputes").share("share", share),
    };
    shared(text, share, None)
}

pub(crate) fn throttled(gpu: &GpuSignals) -> Evidence {
    let id = if gpu.trouble & 0x60 != 0 { "ev-live-thermal" } else { "ev-live-brake" };
    shared(Message::new(id).share("share", gpu.throttled), gpu.throttled, None)
}

fn shared(text: Message, share: f64, place: Option<String>) -> Evidence {
    Evidence { text, value: Some(share), unit: "share", place }
}

/// What could not be had or read.
pub(crate) fn notes(signals: &Signals, run: &Run) -> Vec<QualityNote> {
    let mut notes = Vec::new();
    let mut note =
        |code, severity, count: u64, text: Message| notes.push(QualityNote { code, severity, count, text });
    for (what, code, detail) in &run.missing {
        let severity = if what == "gpm" { Severity::Info } else { Severity::Suspect };
        let id = if what == "stacks" && detail.is_empty() && code == "unreadable" {
            "note-live-no-python"
        } else {
            missing(what, code)
        };
        note("missing", severity, 1, Message::new(id).name("detail", detail));
    }
    if let Some(rank) = run.rank.filter(|_| run.watched_ranks > 1) {
        let text =
            Message::new("note-live-rank").count("ranks", run.watched_ranks).count("rank", i64::from(rank));
        note("rank-judged", Severity::Suspect, 1, text);
    }
    if run.undescribed {
        note("undescribed", Severity::Loss, 1, Message::new("note-live-undescribed"));
    }
    for name in &run.unread {
        note("table-unread", Severity::Loss, 1, Message::new("note-live-unread").name("name", name));
    }
    if run.dropped > 0 {
        let text =
            Message::new("note-live-dropped").count("count", i64::try_from(run.dropped).unwrap_or(i64::MAX));
        note("rows-dropped", Severity::Suspect, run.dropped, text);
    }
    if let Some(ns) = run.ended_ns.filter(|_| !run.began) {
        note("ended", Severity::Suspect, 1, Message::new("note-live-ended").time("time", ns));
    }
    if let Some(ns) = run.cut_short_ns {
        note("cut-short", Severity::Suspect, 1, Message::new("note-live-cut-short").time("time", ns));
    }
    if let Some(gpu) = &signals.gpu
        && gpu.util.is_some_and(|util| util > 0.9)
        && gpu.sm.is_some_and(|sm| sm < 0.5)
    {
        let text = Message::new("note-live-hollow")
            .share("util", gpu.util.unwrap_or(0.0))
            .share("sm", gpu.sm.unwrap_or(0.0));
        note("hollow", Severity::Info, 1, text);
    }
    notes
}

/// The message for something that is missing.
fn missing(what: &str, code: &str) -> &'static str {
    match (what, code) {
        ("gpu", "no-nvml" | "no-driver" | "no-gpu") => "note-live-no-gpu",
        ("gpu", "nvml-vanished") => "note-live-gpu-vanished",
        ("gpu", _) => "note-live-gpu-failed",
        ("gpm", _) => "note-live-no-gpm",
        ("stacks", "ptrace-scope") => "note-live-ptrace-scope",
        ("stacks", "other-user") => "note-live-other-user",
        ("stacks", "not-wanted") => "note-live-stacks-off",
        ("stacks", _) => "note-live-no-stacks",
        ("trace", "no-torch") => "note-live-trace-no-torch",
        ("trace", "old-torch") => "note-live-trace-old-torch",
        ("trace", "not-polled") => "note-live-trace-not-polled",
        ("trace", "not-written") => "note-live-trace-not-written",
        ("trace", "ended") => "note-live-trace-ended",
        ("trace", "not-wanted") => "note-live-trace-off",
        _ => "note-live-missing",
    }
}
