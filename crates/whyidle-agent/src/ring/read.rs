//! Reads a ring back: which recordings there are, and which one covers a moment. No agent need run.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use whyidle_diagnosis::Message;
use whyidle_readers::recording::{self, Recording};

use super::{folders, size};

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

/// Tables whose rows begin with their time.
const TABLES: [&str; 3] = ["nvml.csv", "proc.csv", "system.csv"];
/// No description is longer, bytes.
const LARGEST: u64 = 64 << 20;
/// No row is longer.
const LONGEST_ROW: u64 = 64 << 10;

/// Time of the last whole row of a table, ns of Unix time. A recording that is played is written faster than its
/// samples are apart: when a file was written says nothing of them.
fn last_row(path: &Path) -> Option<i64> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_ROW))).ok()?;
    let mut tail = Vec::new();
    file.take(LONGEST_ROW).read_to_end(&mut tail).ok()?;
    let whole = tail.iter().rposition(|byte| *byte == b'\n')?;
    let row = tail[..whole].rsplit(|byte| *byte == b'\n').next()?;
    let seconds: f64 = std::str::from_utf8(row.split(|byte| *byte == b',').next()?).ok()?.parse().ok()?;
    (seconds.is_finite() && seconds.abs() < 9e9).then_some((seconds * 1e9) as i64)
}

/// The recordings of a ring in the order of their beginnings.
///
/// # Errors
/// Where the folder cannot be read.
pub fn list(dir: &Path) -> io::Result<Vec<Entry>> {
    let entry = |(path, from): (PathBuf, i64)| {
        let until = TABLES.into_iter().filter_map(|name| last_row(&path.join(name))).max().unwrap_or(from);
        // A description that is half written makes no recording unreadable.
        let recorded =
            recording::read_if_sound(&path, None).ok().and_then(|(found, _)| found).unwrap_or_default();
        let changes = changes(&path);
        Entry { from, until: until.max(from), bytes: size(&path), recorded, changes, path }
    };
    Ok(folders(dir)?.into_iter().map(entry).collect())
}

fn changes(path: &Path) -> Vec<Told> {
    let mut text = Vec::new();
    // What is cut off is no JSON any more.
    let read =
        File::open(path.join("recording.json")).and_then(|file| file.take(LARGEST).read_to_end(&mut text));
    if read.is_err() {
        return Vec::new();
    }
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

/// The recording that covers a stretch, and the moment of it to look at: the stretch's beginning, else where a
/// recording begins in it.
#[must_use]
pub fn within(entries: &[Entry], from: i64, until: i64) -> Option<(&Entry, i64)> {
    let begins =
        || entries.iter().find(|entry| (from..=until).contains(&entry.from)).map(|entry| (entry, entry.from));
    at(entries, from).map(|entry| (entry, from)).or_else(begins)
}
