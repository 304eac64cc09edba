//! Memory of the host, `/dev/shm` and open files against their limits: what ends or stalls a run that the GPU could
//! go on with.

use whyidle_model::Severity;

use super::View;
use crate::message::{Arg, Message};
use crate::verdict::QualityNote;

/// From this share of a limit on it is said.
const TIGHT: f64 = 0.85;

/// Figures for `-v`.
pub(crate) fn rows(view: &View<'_>) -> Vec<Message> {
    let mut rows = Vec::new();
    let bytes = |value: f64| Arg::Bytes(value as i64);
    if let Some(workers) = &view.signals.workers
        && let Some(memory) = workers.memory
    {
        rows.push(
            Message::new("stat-live-workers-memory")
                .count("count", workers.pids.len())
                .with("memory", bytes(memory)),
        );
    }
    if let Some(machine) = &view.signals.machine {
        let used = machine.memory - machine.available;
        rows.push(
            Message::new("stat-live-host-memory")
                .with("used", bytes(used))
                .share("share", used / machine.memory.max(1.0)),
        );
    }
    if let Some((used, all)) = shm(view) {
        rows.push(Message::new("stat-live-shm").with("used", bytes(used)).share("share", used / all));
    }
    if let Some((open, limit)) = files(view) {
        rows.push(Message::new("stat-live-files").count("open", open as i64).count("limit", limit as i64));
    }
    rows
}

/// What is close to its limit.
pub(crate) fn notes(view: &View<'_>) -> Vec<QualityNote> {
    let mut notes = Vec::new();
    let mut note = |code, share: f64, id| {
        if share >= TIGHT {
            let text = Message::new(id).share("share", share);
            notes.push(QualityNote { code, severity: Severity::Suspect, count: 1, text });
        }
    };
    if let Some(machine) = &view.signals.machine {
        note("memory-tight", 1.0 - machine.available / machine.memory.max(1.0), "note-live-memory-tight");
    }
    if let Some((used, all)) = shm(view) {
        note("shm-tight", used / all, "note-live-shm-tight");
    }
    if let Some((open, limit)) = files(view) {
        note("files-tight", open / limit, "note-live-files-tight");
    }
    notes
}

fn shm(view: &View<'_>) -> Option<(f64, f64)> {
    let used = view.signals.machine.as_ref()?.shm_used?;
    let all = view.run.shm_bytes.filter(|bytes| *bytes > 0)? as f64;
    // The kernel counts all shared memory of the machine, also that of other containers: more than fits here says nothing.
    (used <= all).then_some((used, all))
}

fn files(view: &View<'_>) -> Option<(f64, f64)> {
    let open = view.signals.process.as_ref()?.open_files?;
    let limit = view.run.open_files_limit.filter(|limit| *limit > 0)? as f64;
    Some((open, limit))
}
