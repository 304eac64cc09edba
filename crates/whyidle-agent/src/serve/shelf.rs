//! Which recordings lie below a folder. Links are not followed, and a path from outside never leads out of the folder.

use std::fs::{self, DirEntry, Metadata};
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use whyidle_readers::{Format, format_of};

/// Folders within folders that are looked into.
const DEEPEST: usize = 6;
/// Entries that are looked at.
const MOST_SEEN: usize = 5_000;
/// Recordings that are listed.
const MOST: usize = 500;
/// What lies beside nothing that is read, for all who train.
const ENDINGS: [&str; 8] = ["json", "gz", "sqlite", "pickle", "pkl", "csv", "txt", "log"];

/// What a recording says of itself lies in one of these.
const DESCRIBED: [&str; 2] = ["recording.json", "case.json"];

/// A recording, or a file that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its path below the root; parts with other than UTF-8 are not listed.
    pub path: String,
    /// What it is.
    pub kind: Format,
    /// Bytes; of a recording, of the files in it.
    pub bytes: u64,
    /// When it was written last, Unix time, ns.
    pub written: i64,
}

/// What lies below a folder, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The folder.
    pub root: PathBuf,
    /// Recordings and files.
    pub found: Vec<Found>,
    /// There may be more.
    pub more: bool,
}

/// What can be read below `root`.
pub(super) fn list(root: &Path) -> Listing {
    let mut listing = Listing { root: root.to_owned(), ..Listing::default() };
    let mut seen = 0;
    if let Some(own) = recording(root, root) {
        listing.found.push(own);
    }
    walk(root, root, DEEPEST, &mut seen, &mut listing);
    listing.found.sort_by(|a, b| b.written.cmp(&a.written).then_with(|| a.path.cmp(&b.path)));
    listing
}

fn walk(root: &Path, dir: &Path, deeper: usize, seen: &mut usize, listing: &mut Listing) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let mut entries: Vec<DirEntry> = entries.take(MOST_SEEN).filter_map(Result::ok).collect();
    entries.sort_by_key(DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        *seen += 1;
        if *seen > MOST_SEEN || listing.found.len() >= MOST {
            listing.more = true;
            break;
        }
        let (path, name) = (entry.path(), entry.file_name());
        let Ok(kind) = entry.file_type() else { continue };
        if name.to_str().is_none_or(|name| name.starts_with('.')) {
            continue;
        }
        if kind.is_dir() {
            if let Some(found) = recording(root, &path) {
                listing.found.push(found);
            } else if deeper > 0 {
                walk(root, &path, deeper - 1, seen, listing);
            } else {
                listing.more = true;
            }
        } else if kind.is_file() {
            files.extend(file(root, &path));
        }
    }
    listing.found.extend(together(root, dir, files));
}

/// Several traces in one folder are those of the ranks of a run: they are one entry, the folder.
fn together(root: &Path, dir: &Path, mut files: Vec<Found>) -> Vec<Found> {
    let traces = || files.iter().filter(|file| file.kind == Format::Kineto);
    if traces().count() < 2 || dir == root {
        return files;
    }
    let whole = relative(root, dir).map(|path| Found {
        path,
        kind: Format::Kineto,
        bytes: traces().map(|file| file.bytes).sum(),
        written: traces().map(|file| file.written).max().unwrap_or(0),
    });
    files.retain(|file| file.kind != Format::Kineto);
    files.extend(whole);
    files
}

/// A folder that says of itself that it is a recording.
fn recording(root: &Path, dir: &Path) -> Option<Found> {
    let described = DESCRIBED
        .iter()
        .find_map(|name| fs::symlink_metadata(dir.join(name)).ok().filter(Metadata::is_file))?;
    let sizes = fs::read_dir(dir).ok()?.filter_map(|entry| entry.ok()?.metadata().ok());
    Some(Found {
        path: relative(root, dir)?,
        kind: Format::Recording,
        bytes: sizes.filter(Metadata::is_file).map(|one| one.len()).sum(),
        written: written(&described),
    })
}

fn file(root: &Path, path: &Path) -> Option<Found> {
    let ending = path.extension()?.to_str()?.to_lowercase();
    if !ENDINGS.contains(&&*ending) {
        return None;
    }
    let about = fs::symlink_metadata(path).ok().filter(|about| about.is_file() && about.len() > 0)?;
    // What a recording says of itself is no recording.
    let kind = format_of(path).ok()?.filter(|kind| *kind != Format::Recording)?;
    Some(Found { path: relative(root, path)?, kind, bytes: about.len(), written: written(&about) })
}

fn relative(root: &Path, path: &Path) -> Option<String> {
    let below = path.strip_prefix(root).ok()?.to_str()?;
    Some(if below.is_empty() { ".".to_owned() } else { below.to_owned() })
}

fn written(about: &Metadata) -> i64 {
    let since = about.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}

/// The file or folder below `root` that is asked for as `asked`, which comes from outside; `None` where there is none,
/// or where it lies elsewhere.
pub(super) fn below(root: &Path, asked: &str) -> Option<PathBuf> {
    if asked == "." {
        return Some(root.to_owned());
    }
    // No way up, no root, no drive, and nothing hidden.
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(name) if name.to_str().is_some_and(|name| !name.starts_with('.')));
    if asked.is_empty() || asked.contains(['\0', '\\']) || !Path::new(asked).components().all(is_plain) {
        return None;
    }
    // A link on the way may lead out.
    let path = root.join(asked).canonicalize().ok()?;
    let about = fs::metadata(&path).ok()?;
    // A pipe would be waited for.
    let is_readable = about.is_file() || about.is_dir() && !leads_out(root, &path, DEEPEST);
    (path.starts_with(root) && is_readable).then_some(path)
}

/// A link in this folder, or in one below it, leads out of the root, or nowhere: readers would follow it.
fn leads_out(root: &Path, dir: &Path, deeper: usize) -> bool {
    let Ok(entries) = fs::read_dir(dir) else { return false };
    entries.take(MOST_SEEN).filter_map(Result::ok).any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_symlink() => {
            entry.path().canonicalize().map_or(true, |path| !path.starts_with(root))
        }
        Ok(kind) if kind.is_dir() && deeper > 0 => leads_out(root, &entry.path(), deeper - 1),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shelf() -> std::io::Result<tempfile::TempDir> {
        let dir = tempfile::tempdir()?;
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("inside/runs/42"))?;
        fs::write(at("inside/runs/42/recording.json"), "{}")?;
        fs::write(at("inside/runs/42/gpu.csv"), "t\n")?;
        fs::write(at("inside/trace.json"), "{\"traceEvents\": [")?;
        fs::write(at("inside/notes.txt"), "nothing of ours")?;
        fs::write(at("inside/.hidden.json"), "{\"traceEvents\": [")?;
        fs::write(at("secret.json"), "{\"traceEvents\": [")?;
        Ok(dir)
    }

    #[test]
    fn recordings_and_files_that_can_be_read_are_listed() -> std::io::Result<()> {
        let dir = shelf()?;
        let listing = list(&dir.path().join("inside"));
        let mut found: Vec<_> = listing.found.iter().map(|one| (&*one.path, one.kind, one.bytes)).collect();
        found.sort_by_key(|one| one.0);
        assert_eq!(found, [("runs/42", Format::Recording, 4), ("trace.json", Format::Kineto, 17)]);
        assert!(!listing.more);
        // Traces of several ranks.
        let ranks = dir.path().join("inside/ranks");
        fs::create_dir(&ranks)?;
        for rank in 0..2 {
            fs::write(ranks.join(format!("rank{rank}.json")), "{\"traceEvents\": [")?;
        }
        let listing = list(&dir.path().join("inside"));
        assert!(listing.found.iter().any(|one| one.path == "ranks" && one.bytes == 34));
        assert_eq!(listing.found.len(), 3);
        let own = list(&dir.path().join("inside/runs/42"));
        assert_eq!(own.found[0].path, ".");
        Ok(())
    }

    #[test]
    fn no_path_leads_out() -> std::io::Result<()> {
        let dir = shelf()?;
        let root = dir.path().join("inside").canonicalize()?;
        assert_eq!(below(&root, "runs/42"), Some(root.join("runs/42")));
        assert_eq!(below(&root, "."), Some(root.clone()));
        for asked in [
            "../secret.json",
            "runs/../../secret.json",
            "/etc/passwd",
            "runs/42/../../../secret.json",
            "./trace.json",
            ".hidden.json",
            "runs\\42",
            "trace.json\0",
            "",
            "not/there",
        ] {
            assert_eq!(below(&root, asked), None, "{asked:?}");
        }
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_listed_and_lead_nowhere() -> std::io::Result<()> {
        let dir = shelf()?;
        let root = dir.path().join("inside").canonicalize()?;
        std::os::unix::fs::symlink(dir.path().join("secret.json"), root.join("link.json"))?;
        std::os::unix::fs::symlink(dir.path(), root.join("up"))?;
        assert_eq!(list(&root).found.len(), 2);
        assert_eq!((below(&root, "link.json"), below(&root, "up/secret.json")), (None, None));
        // A pipe would be waited for.
        let pipe = root.join("pipe.json");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status()?.success());
        assert_eq!(below(&root, "pipe.json"), None);
        // A recording that borrows a trace from elsewhere is not read.
        assert!(below(&root, "runs/42").is_some());
        std::os::unix::fs::symlink(dir.path().join("secret.json"), root.join("runs/42/trace.json"))?;
        assert_eq!(below(&root, "runs/42"), None);
        Ok(())
    }
}
