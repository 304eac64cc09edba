//! Losses that a program writes into files or folders: only what it wrote since the run began counts. Files that were
//! there before are remembered by length and end; one that has grown behind the same end was added to, and what is new
//! is behind it; any other that changed was written anew, and counts as a whole.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use whyidle_readers::progress::losses::{self, Found, LARGEST, may_hold};
use whyidle_readers::progress::printed::Words;

use crate::progress::thinned;
use crate::stats::losses::Point;

/// Folders in folders.
const DEEPEST: usize = 8;
/// Files that are looked at.
const MOST_FILES: usize = 20_000;
/// So much of a file's end is remembered, bytes.
const END: u64 = 4_096;

/// Files and folders where a program writes its losses, as they were before it ran.
#[derive(Debug)]
pub struct Watched<'a> {
    paths: &'a [PathBuf],
    before: BTreeMap<PathBuf, State>,
}

/// A file as it was.
#[derive(Debug, PartialEq)]
struct State {
    length: u64,
    modified: Option<SystemTime>,
    end: Vec<u8>,
}

/// Losses, and the file that they are from; of several the one with the most.
pub type Written = (Vec<Point>, PathBuf);

impl<'a> Watched<'a> {
    /// As they are now.
    #[must_use]
    pub fn new(paths: &'a [PathBuf]) -> Self {
        let state = |(path, _): (PathBuf, bool)| {
            let state = State::of(&path, None)?;
            Some((path, state))
        };
        Self { paths, before: files(paths).into_iter().filter_map(state).collect() }
    }

    /// What was written since. Parts of one series in several files, as a resumed run writes them, are one.
    #[must_use]
    pub fn losses(&self, words: &Words) -> Option<Written> {
        let mut by_name: BTreeMap<String, (Vec<Point>, PathBuf)> = BTreeMap::new();
        for (path, is_given) in files(self.paths) {
            let Some(from) = self.new_from(&path) else { continue };
            let Some(found) = read(&path, from, is_given, words) else { continue };
            by_name.entry(found.name).or_insert_with(|| (Vec::new(), path)).0.extend(found.points);
        }
        let (mut points, path) = by_name.into_values().max_by_key(|(points, _)| points.len())?;
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.dedup_by(|later, first| later.0 == first.0);
        Some((thinned(points), path))
    }

    /// The byte from which on the file is new; `None` where nothing is.
    fn new_from(&self, path: &Path) -> Option<usize> {
        let Some(before) = self.before.get(path) else { return Some(0) };
        let now = State::of(path, Some(before.length))?;
        if now.length == before.length && now.modified == before.modified {
            return None;
        }
        let was_added_to = now.length > before.length && now.end == before.end;
        Some(if was_added_to { usize::try_from(before.length).ok()? } else { 0 })
    }
}

impl State {
    /// The file's state; its end is that before byte `length`, else that of the file.
    fn of(path: &Path, length: Option<u64>) -> Option<Self> {
        let mut file = File::open(path).ok()?;
        let about = file.metadata().ok()?;
        let until = length.unwrap_or(about.len()).min(about.len());
        let from = until.saturating_sub(END);
        file.seek(SeekFrom::Start(from)).ok()?;
        let mut end = Vec::new();
        file.take(until - from).read_to_end(&mut end).ok()?;
        Some(Self { length: about.len(), modified: about.modified().ok(), end })
    }
}

/// The losses of a file. A log is read as such where it was given by name: in a folder a text may be anything.
fn read(path: &Path, from: usize, is_given: bool, words: &Words) -> Option<Found> {
    let mut file = File::open(path).ok()?;
    if file.metadata().ok()?.len() > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    file.by_ref().take(END).read_to_end(&mut bytes).ok()?;
    if !may_hold(&bytes) {
        return None;
    }
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    if is_given { losses::read(&bytes, from, words) } else { losses::read_structured(&bytes, from, words) }
}

/// The files at `paths`, and in folders there; whether each was given by name. Links into elsewhere are not followed below
/// a folder.
fn files(paths: &[PathBuf]) -> Vec<(PathBuf, bool)> {
    let mut found = Vec::new();
    for path in paths {
        // Opening a pipe would wait for somebody to write into it.
        if path.is_file() {
            found.push((path.clone(), true));
        } else {
            walk(path, 0, &mut found);
        }
    }
    found.sort();
    found
}

fn walk(folder: &Path, depth: usize, found: &mut Vec<(PathBuf, bool)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if found.len() >= MOST_FILES {
            return;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_file() => found.push((entry.path(), false)),
            Ok(kind) if kind.is_dir() && depth < DEEPEST => walk(&entry.path(), depth + 1, found),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(steps: std::ops::Range<u32>, loss: f64) -> String {
        steps.map(|step| format!("{{\"step\": {step}, \"loss\": {loss}}}\n")).collect()
    }

    #[test]
    fn only_what_was_written_since_counts() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        let path = |name: &str| dir.path().join(name);
        fs::write(path("added.jsonl"), lines(0..9, 9.0))?;
        fs::write(path("anew.jsonl"), lines(0..20, 9.0))?;
        fs::write(path("old.jsonl"), lines(0..99, 9.0))?;
        let folder = [dir.path().to_owned()];
        let watched = Watched::new(&folder);
        assert_eq!(watched.losses(&Words::default()), None);
        fs::write(path("added.jsonl"), lines(0..9, 9.0) + &lines(9..14, 1.0))?;
        let found = watched.losses(&Words::default());
        assert_eq!(
            found.map(|(points, _)| points),
            Some((9..14).map(|step| (f64::from(step), 1.0)).collect())
        );
        // Shorter than before, and of another name.
        fs::write(path("anew.jsonl"), lines(0..8, 2.0).replace("loss", "train/loss"))?;
        fs::create_dir_all(path("version_1/deep"))?;
        fs::write(path("version_1/deep/notes.txt"), "step 1 loss 5\n".repeat(50))?;
        fs::write(path("version_1/deep/weights.bin"), [0_u8; 9_000])?;
        let Some((points, from)) = watched.losses(&Words::default()) else { panic!("losses") };
        assert_eq!((points.len(), points[0], from), (8, (0.0, 2.0), path("anew.jsonl")));
        Ok(())
    }

    #[test]
    fn a_log_counts_where_it_is_named_and_what_is_not_there_yet_is_no_fault() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        let log = [dir.path().join("train.log"), dir.path().join("never")];
        let watched = Watched::new(&log);
        fs::write(&log[0], "step 1 loss 5\nstep 2 loss nan\n")?;
        let found = watched.losses(&Words::default()).map(|(points, _)| points).unwrap_or_default();
        assert!(found.len() == 2 && found[1].1.is_nan(), "{found:?}");
        Ok(())
    }
}
