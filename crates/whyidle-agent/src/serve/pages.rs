//! Pages of recordings, kept while their files do not change. One is made at a time: each may need the memory of a whole
//! trace.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use super::Page;

/// Pages that are kept.
const KEPT: usize = 8;

/// What tells that a recording has changed: of each file in it, when it was written and how long it is.
type Stamp = Vec<(PathBuf, Option<SystemTime>, u64)>;

#[derive(Default)]
pub(super) struct Pages(Mutex<VecDeque<(PathBuf, Stamp, Page)>>);

impl Pages {
    /// The page of `path`; made by `make` where none is kept, or something has changed.
    pub(super) fn get(&self, path: &Path, make: impl FnOnce() -> Page) -> Page {
        // A page that could not be made leaves the others as they were.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = stamp(path);
        if let Some(at) = kept.iter().position(|(known, ..)| known == path)
            && let Some(one) = kept.remove(at)
            && one.1 == stamp
        {
            let page = one.2.clone();
            kept.push_back(one);
            return page;
        }
        let page = make();
        kept.push_back((path.to_owned(), stamp, page.clone()));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        page
    }
}

fn stamp(path: &Path) -> Stamp {
    let of = |path: PathBuf| {
        let about = fs::metadata(&path).ok();
        let length = about.as_ref().map_or(0, fs::Metadata::len);
        (path, about.and_then(|about| about.modified().ok()), length)
    };
    let mut stamp = vec![of(path.to_owned())];
    stamp.extend(fs::read_dir(path).into_iter().flatten().filter_map(|entry| Some(of(entry.ok()?.path()))));
    stamp.sort();
    stamp
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
