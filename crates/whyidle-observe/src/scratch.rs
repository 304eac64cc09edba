//! Temporary folders that do not outlive their owner for long. A folder is removed when its owner is done with it; what
//! a watcher that was killed left behind is removed at the next start of another one.
//!
//! The owner holds a lock on a file in the folder for as long as it lives; the system gives the lock up with the
//! process, whatever ended it. A folder is stale if it belongs to this user, has such a file, that file is a minute old,
//! and its lock can be had.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

/// How the names of such folders begin.
const PREFIX: &str = "whyidle-";
/// The file whose lock tells that the owner lives.
const LOCK: &str = ".whyidle.lock";
/// A younger folder may not be locked by its owner yet.
const YOUNG: Duration = Duration::from_secs(60);

/// A temporary folder; removed when it is dropped.
pub struct Scratch {
    dir: TempDir,
    _lock: File,
}

impl Scratch {
    /// A new folder below `parent`, for this user only. Removes stale ones there first.
    ///
    /// # Errors
    /// Where it cannot be made or locked.
    pub fn new_in(parent: &Path) -> io::Result<Self> {
        remove_stale(parent, YOUNG);
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = File::create_new(dir.path().join(LOCK))?;
        lock.lock()?;
        Ok(Self { dir, _lock: lock })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Removes what dead owners left below `parent`. What cannot be looked at or removed stays: it is in nobody's way.
fn remove_stale(parent: &Path, young: Duration) {
    let own = rustix::process::geteuid().as_raw();
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        // Not through links: what they point to is not ours to remove.
        let is_own_folder = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && fs::symlink_metadata(&path).is_ok_and(|about| about.is_dir() && about.uid() == own);
        if is_own_folder && is_stale(&path.join(LOCK), own, young) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn is_stale(lock: &PathBuf, own: u32, young: Duration) -> bool {
    let about = fs::symlink_metadata(lock).ok().filter(|about| about.is_file() && about.uid() == own);
    let is_old =
        about.and_then(|about| about.modified().ok()?.elapsed().ok()).is_some_and(|age| age >= young);
    is_old
        && File::open(lock).is_ok_and(|file| {
            !matches!(file.try_lock(), Err(TryLockError::WouldBlock | TryLockError::Error(_)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_dead_owners_left_is_removed() -> io::Result<()> {
        let parent = tempfile::tempdir()?;
        let make = |name: &str| {
            let dir = parent.path().join(name);
            fs::create_dir(&dir).map(|()| dir)
        };
        let living = Scratch::new_in(parent.path())?;
        fs::write(living.path().join("nvml.csv"), "t\n")?;
        let dead = make("whyidle-dead")?;
        fs::write(dead.join(LOCK), "")?;
        let (unlocked, foreign) = (make("whyidle-mine")?, make("other")?);
        fs::write(foreign.join(LOCK), "")?;
        let outside = tempfile::tempdir()?;
        fs::write(outside.path().join(LOCK), "")?;
        std::os::unix::fs::symlink(outside.path(), parent.path().join("whyidle-link"))?;
        remove_stale(parent.path(), YOUNG);
        assert!(dead.exists(), "its owner may be about to lock it");
        remove_stale(parent.path(), Duration::ZERO);
        assert!(!dead.exists());
        assert!(living.path().exists() && unlocked.exists() && foreign.exists());
        assert!(outside.path().join(LOCK).exists());
        let path = living.path().to_owned();
        drop(living);
        assert!(!path.exists());
        Ok(())
    }
}
