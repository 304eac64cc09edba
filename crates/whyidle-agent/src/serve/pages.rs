//! Pages of recordings, kept while their files do not change. One is made at a time: each may need the memory of a whole
//! trace. Who waits for that holds no thread, and what is kept is shown meanwhile.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

use super::Page;

/// Pages that are kept.
const KEPT: usize = 8;
/// Folders within a recording whose files are looked at: as deep as those that read it go.
const DEEPEST: usize = 6;
/// Files that are looked at.
const MOST: usize = 5_000;

/// What tells that a recording has changed: of each file in it, when it was written and how long it is.
type Stamp = Vec<(PathBuf, Option<SystemTime>, u64)>;

#[derive(Default)]
pub(super) struct Pages {
    kept: Mutex<VecDeque<(PathBuf, Stamp, Page)>>,
    turn: Arc<Turn<()>>,
}

impl Pages {
    /// Waits until no other page is being made.
    pub(super) async fn turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }

    fn pages(&self) -> MutexGuard<'_, VecDeque<(PathBuf, Stamp, Page)>> {
        // A page that could not be made leaves the others as they were.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page of `path`, where it is kept and nothing has changed.
    pub(super) fn kept(&self, path: &Path) -> Option<Page> {
        self.find(path, &stamp(path))
    }

    fn find(&self, path: &Path, stamp: &Stamp) -> Option<Page> {
        self.pages().iter().find(|one| one.0 == path && one.1 == *stamp).map(|one| one.2.clone())
    }

    /// The page of `path`; made by `make` where none is kept, or something has changed.
    pub(super) fn get(&self, path: &Path, make: impl FnOnce() -> Page) -> Page {
        // Before it is made: what is written meanwhile makes it old at once.
        let stamp = stamp(path);
        if let Some(page) = self.find(path, &stamp) {
            return page;
        }
        let page = make();
        let mut kept = self.pages();
        kept.retain(|(known, ..)| known != path);
        kept.push_back((path.to_owned(), stamp, page.clone()));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        page
    }
}

fn stamp(path: &Path) -> Stamp {
    let mut stamp = Vec::new();
    look(path.to_owned(), DEEPEST, &mut stamp);
    stamp.sort();
    stamp
}

fn look(path: PathBuf, deeper: usize, stamp: &mut Stamp) {
    let about = fs::symlink_metadata(&path).ok();
    let is_dir = about.as_ref().is_some_and(fs::Metadata::is_dir);
    let length = about.as_ref().map_or(0, fs::Metadata::len);
    if is_dir && deeper > 0 {
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            if stamp.len() >= MOST {
                break;
            }
            look(entry.path(), deeper - 1, stamp);
        }
    }
    stamp.push((path, about.and_then(|about| about.modified().ok()), length));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_made_again_once_a_file_has_changed_and_the_oldest_goes() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        let (pages, path) = (Pages::default(), dir.path().join("a"));
        fs::write(&path, "1")?;
        let page = |text: &str| Page { html: text.to_owned(), found: true };
        assert_eq!(pages.get(&path, || page("first")).html, "first");
        assert_eq!(pages.get(&path, || panic!("kept")).html, "first");
        fs::write(&path, "longer")?;
        assert_eq!(pages.get(&path, || page("second")).html, "second");
        for at in 0..KEPT {
            pages.get(&dir.path().join(at.to_string()), || page("other"));
        }
        assert_eq!(pages.get(&path, || page("third")).html, "third");
        Ok(())
    }
}
