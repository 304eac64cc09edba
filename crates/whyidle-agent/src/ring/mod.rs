//! Recordings that are kept for a while: one folder for every ten minutes, in the format of every recording, so that
//! any moment can be looked at with the commands that look at one. The oldest are removed once all take more than
//! their limit, or are too old; those in which something changed go last.
//!
//! A folder is named after its beginning in UTC, as `20261130T031000Z`. What was written stays readable whatever ends
//! the agent; what is not named so, or holds anything else, is not the ring's, and is left alone.

mod read;
mod segment;

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub use read::{Entry, Told, at, list, within};
pub use segment::{Held, Segment};

use whyidle_readers::samples;

use crate::settings::RingSettings;
use crate::time::{parse_stamp, stamp};

/// The file whose lock tells that an agent writes here.
const LOCK: &str = ".whyidle-agent.lock";
/// A recording in which something changed.
pub(crate) const CHANGED: &str = "changed";

/// A recording that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kept {
    path: PathBuf,
    /// Its beginning, ns of Unix time, by its name.
    began: i64,
    bytes: u64,
    changed: bool,
}

/// Recordings that are kept.
pub struct Ring {
    dir: PathBuf,
    settings: RingSettings,
    /// In the order of their beginnings; the one being written is not among them.
    kept: Vec<Kept>,
    lock: File,
}

/// Closing is not enough: a process that is just being started holds a copy of the file until it runs its own program.
impl Drop for Ring {
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

impl Ring {
    /// The ring in `dir`, which is made if it is not there. What an earlier agent left is kept.
    ///
    /// # Errors
    /// Where the folder cannot be used, or another agent writes there (`WouldBlock`).
    pub fn open(dir: &Path, settings: RingSettings) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        private(dir)?;
        let lock =
            File::options().create(true).truncate(false).write(true).mode(0o600).open(dir.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let mut ring = Self { dir: dir.to_owned(), settings, kept: Vec::new(), lock };
        for (path, began) in folders(dir)? {
            ring.keep(path, began);
        }
        Ok(ring)
    }

    /// Other limits hold from now on.
    pub fn limit(&mut self, settings: RingSettings) {
        self.settings = settings;
    }

    /// The limits.
    #[must_use]
    pub fn settings(&self) -> &RingSettings {
        &self.settings
    }

    /// The folder for a recording that begins now.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn begin(&self, unix_ns: i64) -> io::Result<PathBuf> {
        for second in 0..3_600 {
            let path = self.dir.join(stamp(unix_ns + second * 1_000_000_000));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// A recording is finished.
    pub fn end(&mut self, path: PathBuf) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if let Some(began) = parse_stamp(&name) {
            self.keep(path, began);
        }
    }

    fn keep(&mut self, path: PathBuf, began: i64) {
        let changed = path.join(CHANGED).exists();
        let bytes = size(&path);
        let at = self.kept.partition_point(|kept| kept.began <= began);
        self.kept.insert(at, Kept { path, began, bytes, changed });
    }

    /// Bytes of the finished recordings.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.kept.iter().map(|kept| kept.bytes).sum()
    }

    /// Removes what is too old or too much, with `writing` bytes in the recording that is being written. The number of
    /// recordings that could not be removed.
    pub fn trim(&mut self, unix_ns: i64, writing: u64) -> usize {
        let mut failures = 0;
        let age = i64::try_from(self.settings.age().as_nanos()).unwrap_or(i64::MAX);
        let limit = self.settings.bytes();
        loop {
            let too_much = self.bytes().saturating_add(writing) > limit;
            let oldest = self.kept.iter().position(|kept| kept.began.saturating_add(age) < unix_ns);
            let first_plain = || self.kept.iter().position(|kept| !kept.changed);
            let at = oldest.or_else(|| too_much.then(|| first_plain().unwrap_or(0)));
            let Some(at) = at.filter(|at| *at < self.kept.len()) else { return failures };
            let gone = self.kept.remove(at);
            if fs::remove_dir_all(&gone.path).is_err() && gone.path.exists() {
                failures += 1;
            }
        }
    }
}

/// Only this user may look: recordings name programs, files and functions.
fn private(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    let about = fs::metadata(dir)?;
    // A folder with somebody's own permissions keeps them.
    let is_new = fs::read_dir(dir)?.next().is_none();
    if is_new && about.mode() & 0o077 != 0 {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// The folders of recordings in a ring, in the order of their beginnings.
fn folders(dir: &Path) -> io::Result<Vec<(PathBuf, i64)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let began = parse_stamp(&entry.file_name().to_string_lossy());
        // Not through links: what they point to is not the ring's to remove.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if let Some(began) = began.filter(|_| is_folder && is_own(&entry.path())) {
            found.push((entry.path(), began));
        }
    }
    found.sort_by_key(|(_, began)| *began);
    Ok(found)
}

/// The folder holds what an agent writes, and nothing else: backups are named by their time as well.
fn is_own(dir: &Path) -> bool {
    let is_ours = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_known = samples::FILES.contains(&&*name) || name == CHANGED;
            entry.file_type().is_ok_and(|kind| kind.is_file())
                && (is_known || name.trim_start_matches('.').starts_with("recording.json"))
        })
    };
    fs::read_dir(dir).is_ok_and(|mut entries| entries.all(is_ours))
}

fn size(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|about| about.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;
    const DAY: i64 = 86_400 * S;

    fn recording(ring: &mut Ring, at: i64, bytes: usize, changed: bool) -> io::Result<PathBuf> {
        let path = ring.begin(at)?;
        fs::write(path.join("nvml.csv"), vec![b'x'; bytes])?;
        if changed {
            fs::write(path.join(CHANGED), "")?;
        }
        ring.end(path.clone());
        Ok(path)
    }

    #[test]
    fn the_oldest_go_first_and_what_changed_last() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let settings = RingSettings { megabytes: 1, days: 2, ..RingSettings::default() };
        let mut ring = Ring::open(dir.path(), settings.clone())?;
        let foreign = dir.path().join("mine");
        fs::create_dir(&foreign)?;
        // Somebody's backup, named by its time.
        let backup = dir.path().join("20200103T000000Z");
        fs::create_dir(&backup)?;
        fs::write(backup.join("thesis.txt"), "mine")?;
        let base = 1_795_000_000 * S;
        let changed = recording(&mut ring, base, 400_000, true)?;
        let first = recording(&mut ring, base + 600 * S, 400_000, false)?;
        let second = recording(&mut ring, base + 1_200 * S, 400_000, false)?;
        assert_eq!(ring.trim(base + 1_800 * S, 0), 0);
        assert!(changed.exists() && !first.exists() && second.exists() && foreign.exists());
        assert!(ring.bytes() <= 1_000_000);
        // What is being written counts as well.
        ring.trim(base + 1_800 * S, 500_000);
        assert!(changed.exists() && !second.exists());
        // Age takes everything.
        ring.trim(base + 3 * DAY, 0);
        assert!(!changed.exists() && foreign.exists() && backup.join("thesis.txt").exists());
        drop(ring);
        Ring::open(dir.path(), settings)?.trim(base + 3 * DAY, 0);
        assert!(backup.join("thesis.txt").exists());
        Ok(())
    }

    #[test]
    fn one_agent_writes_and_the_next_finds_what_it_left() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let settings = RingSettings::default();
        let mut ring = Ring::open(dir.path(), settings.clone())?;
        recording(&mut ring, 1_795_000_000 * S, 1_000, false)?;
        // Twice in one second: two folders.
        recording(&mut ring, 1_795_000_000 * S, 1_000, false)?;
        let other = Ring::open(dir.path(), settings.clone());
        assert_eq!(other.err().map(|error| error.kind()), Some(io::ErrorKind::WouldBlock));
        drop(ring);
        assert_eq!(Ring::open(dir.path(), settings)?.bytes(), 2_000);
        Ok(())
    }
}
