//! Reads a ring back: which recordings there are, and which one covers a moment. No agent need run.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use whyidle_diagnosis::Message;
use whyidle_readers::recording::{self, Recording};

use super::{folders, size, written};

/// Changes that are read of one recording.
const MOST: usize = 64;

/// A change of a run's step time, as a recording tells it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Told {
    /// When it was found, s of Unix time.
    pub t: f64,
    /// The program.
    pub pid: u32,
    /// Its job.
    pub job: String,
    /// Time of a step before, ms.
    pub before_ms: f64,
    /// Time of a step since, ms.
    pub after_ms: f64,
    /// What else is different.
    pub what: Vec<Message>,
}

/// A recording of a ring.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its folder.
    pub path: PathBuf,
    /// Its beginning, ns of Unix time.
    pub from: i64,
    /// Its last sample's time, about.
    pub until: i64,
    /// Bytes.
    pub bytes: u64,
    /// Its description; empty where it was not written whole.
    pub recorded: Recording,
    /// What changed in it.
    pub changes: Vec<Told>,
}

/// The part of a description that tells of changes.
#[derive(Deserialize)]
struct Description {
    #[serde(default)]
    changes: Vec<serde_json::Value>,
}

/// The recordings of a ring in the order of their beginnings.
///
/// # Errors
/// Where the folder cannot be read.
pub fn list(dir: &Path) -> io::Result<Vec<Entry>> {
    let entry = |(path, from): (PathBuf, i64)| {
        let tables = ["nvml.csv", "proc.csv", "system.csv", "stacks.jsonl"];
        let until = tables.into_iter().filter_map(|name| written(&path.join(name))).max().unwrap_or(from);
        // A description that is half written makes no recording unreadable.
        let recorded =
            recording::read_if_sound(&path, None).ok().and_then(|(found, _)| found).unwrap_or_default();
        let changes = changes(&path);
        Entry { from, until: until.max(from), bytes: size(&path), recorded, changes, path }
    };
    Ok(folders(dir)?.into_iter().map(entry).collect())
}

fn changes(path: &Path) -> Vec<Told> {
    let text = std::fs::read(path.join("recording.json")).unwrap_or_default();
    let told: Option<Description> = serde_json::from_slice(&text).ok();
    let all = told.map(|told| told.changes).unwrap_or_default();
    all.into_iter().take(MOST).filter_map(|value| serde_json::from_value(value).ok()).collect()
}

/// The recording that covers a moment: the last that began before it, unless that ended long before.
#[must_use]
pub fn at(entries: &[Entry], unix_ns: i64) -> Option<&Entry> {
    /// Samples may be so far apart.
    const SLACK: i64 = 60_000_000_000;
    let entry = entries.iter().rev().find(|entry| entry.from <= unix_ns)?;
    (unix_ns <= entry.until.saturating_add(SLACK)).then_some(entry)
}
