//! The traces that a path stands for: a file is itself, a directory is its traces.

use std::cmp::Ordering;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::error::{Found, ReadError};
use crate::sniff::{Format, HEAD, format_of, no_json, sniff};
use crate::source;

/// The traces at `path`, in natural order (`rank2` before `rank10`).
///
/// A file is itself, whatever it is. Of a directory, every `trace*.json[.gz]` and
/// `*.pt.trace.json[.gz]`, every other `*.json[.gz]` that begins like a trace, and every
/// `*.sqlite` that Nsight Systems exported. Where there is none, `*.pt.trace.json[.gz]` as TensorBoard keeps them: in
/// folders one or two levels down, or in `plugins/profile/RUN/` at the same depths. Of several such folders the last in
/// natural order, which is the newest run: TensorBoard names runs by their time.
///
/// # Errors
/// Where the path cannot be read, or is a directory without a trace.
pub fn find_traces(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let failed = |error| ReadError::io(path, error);
    if !fs::metadata(path).map_err(failed)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut traces = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if is_trace(&file) {
            traces.push(file);
        }
    }
    if traces.is_empty() {
        traces = of_tensorboard(path).0;
    }
    if traces.is_empty() {
        return Err(ReadError::NoTrace { path: path.to_owned() });
    }
    traces.sort_by(|a, b| natural(&a.to_string_lossy(), &b.to_string_lossy()));
    Ok(traces)
}

/// How many runs below the directory `path` [`find_traces`] leaves out, and the folder of the one that it takes; `None`
/// where it leaves none out.
#[must_use]
pub fn other_runs(path: &Path) -> Option<(usize, PathBuf)> {
    let taken = find_traces(path).ok()?.first()?.parent()?.to_owned();
    if taken == path || !path.is_dir() {
        return None;
    }
    let others = of_tensorboard(path).1.saturating_sub(1);
    (others > 0).then_some((others, taken))
}

/// Levels of folders that are looked into: `RUN/plugins/profile/TIME`, and one more.
const DEEPEST: usize = 4;
/// Folders that are looked into.
const MOST_FOLDERS: usize = 4_096;

/// The traces of the newest run in TensorBoard's log directory, and how many runs there are; none where there are none.
fn of_tensorboard(path: &Path) -> (Vec<PathBuf>, usize) {
    let mut level = vec![path.to_owned()];
    let mut newest: Option<(PathBuf, Vec<PathBuf>)> = None;
    let (mut looked, mut runs) = (0_usize, 0_usize);
    for _ in 0..=DEEPEST {
        let mut below = Vec::new();
        for folder in level {
            looked += 1;
            // What cannot be read holds nothing for us.
            let Some(entries) = fs::read_dir(&folder).ok().filter(|_| looked <= MOST_FOLDERS) else {
                continue;
            };
            let mut traces = Vec::new();
            for entry in entries.flatten() {
                let (file, kind) = (entry.path(), entry.file_type().ok());
                let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
                // Links may lead round in circles.
                if kind.is_some_and(|kind| kind.is_dir()) && !name.starts_with('.') {
                    below.push(file);
                } else if name.strip_suffix(".gz").unwrap_or(&name).ends_with(".pt.trace.json")
                    && file.is_file()
                {
                    traces.push(file);
                }
            }
            let is_newer = || {
                newest.as_ref().is_none_or(|(known, _)| {
                    natural(&known.to_string_lossy(), &folder.to_string_lossy()) == Ordering::Less
                })
            };
            runs += usize::from(!traces.is_empty());
            if !traces.is_empty() && is_newer() {
                newest = Some((folder, traces));
            }
        }
        level = below;
    }
    (newest.map_or_else(Vec::new, |(_, traces)| traces), runs)
}

/// The logs of NCCL at `path`: the file itself if it is one; of a directory, every file that begins like one.
///
/// # Errors
/// Where the directory cannot be read.
pub fn find_logs(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    // What is no regular file can be read only once.
    let is_log = |file: &Path| {
        let head = || source::head(File::open(file).ok()?, HEAD).ok();
        file.is_file() && head().is_some_and(|head| sniff(&head) == Some(Format::Nccl))
    };
    if !path.is_dir() {
        return Ok(if is_log(path) { vec![path.to_owned()] } else { Vec::new() });
    }
    let entries = fs::read_dir(path).map_err(|error| ReadError::io(path, error))?;
    let mut logs: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|file| is_log(file)).collect();
    logs.sort_by(|a, b| natural(&a.to_string_lossy(), &b.to_string_lossy()));
    Ok(logs)
}

/// The dumps of flight recorders and logs of NCCL at `path`, in natural order. A file is itself; of a directory, every
/// file that begins like one.
///
/// # Errors
/// Where the path cannot be read, is a file of another kind, or a directory without any.
pub fn find_dumps(path: &Path) -> Result<Vec<(PathBuf, Format)>, ReadError> {
    let failed = |error| ReadError::io(path, error);
    let format = |file: &Path| -> Option<Format> {
        let head = source::head(File::open(file).ok()?, HEAD).ok()?;
        sniff(&head).filter(|format| matches!(format, Format::Flight | Format::Nccl))
    };
    if !fs::metadata(path).map_err(failed)?.is_dir() {
        let head = source::head(File::open(path).map_err(failed)?, HEAD).map_err(failed)?;
        let found = || no_json(&head, path).unwrap_or(Found::Json);
        let format = sniff(&head).filter(|format| matches!(format, Format::Flight | Format::Nccl));
        let format = format.ok_or_else(|| ReadError::NotADump { path: path.to_owned(), found: found() })?;
        return Ok(vec![(path.to_owned(), format)]);
    }
    let mut dumps = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if let Some(format) = file.is_file().then(|| format(&file)).flatten() {
            dumps.push((file, format));
        }
    }
    if dumps.is_empty() {
        return Err(ReadError::NoDump { path: path.to_owned() });
    }
    dumps.sort_by(|(a, _), (b, _)| natural(&a.to_string_lossy(), &b.to_string_lossy()));
    Ok(dumps)
}

/// What `path` holds of evidence, each file by its content and in natural order. A file is itself; of a directory, every
/// file of a format that whyidle reads. Directories inside are not entered.
///
/// # Errors
/// Where the path cannot be read, or is a file of no format that whyidle reads.
pub fn find_evidence(path: &Path) -> Result<Vec<(PathBuf, Format)>, ReadError> {
    let failed = |error| ReadError::io(path, error);
    // Standard input can be read only once: it is taken for a trace.
    if path.as_os_str() == "-" {
        return Ok(vec![(path.to_owned(), Format::Kineto)]);
    }
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_dir() {
        // What is no regular file can be read only once: it is taken for a trace, whose reader says what it is not.
        if !metadata.is_file() {
            return Ok(vec![(path.to_owned(), Format::Kineto)]);
        }
        let Some(format) = recognised(path)? else {
            let head = source::head(File::open(path).map_err(failed)?, HEAD).map_err(failed)?;
            let found = match no_json(&head, path) {
                Some(Found::SqliteStream) if head.starts_with(crate::nsys::MAGIC) => Found::Sqlite,
                found => found.unwrap_or(Found::Json),
            };
            return Err(ReadError::NotEvidence { path: path.to_owned(), found });
        };
        return Ok(vec![(path.to_owned(), format)]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if !file.is_file() {
            continue;
        }
        // A file that cannot be opened is whoever's who reads it.
        if let Ok(Some(format)) = recognised(&file) {
            found.push((file, format));
        }
    }
    found.sort_by(|(a, _), (b, _)| natural(&a.to_string_lossy(), &b.to_string_lossy()));
    Ok(found)
}

/// The format of a file; a database is one only if Nsight Systems exported it.
fn recognised(file: &Path) -> Result<Option<Format>, ReadError> {
    let format = format_of(file)?;
    Ok(format.filter(|format| *format != Format::Sqlite || crate::nsys::is_export(file)))
}

fn is_trace(file: &Path) -> bool {
    let name = file.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if name.ends_with(".sqlite") {
        return file.is_file() && crate::nsys::is_export(file);
    }
    let Some(stem) = name.strip_suffix(".gz").unwrap_or(&name).strip_suffix(".json") else { return false };
    if !file.is_file() {
        return false;
    }
    stem.starts_with("trace")
        || stem.ends_with(".pt.trace")
        || File::open(file)
            .and_then(|file| source::head(file, HEAD))
            .is_ok_and(|head| sniff(&head) == Some(Format::Kineto))
}

/// Compares text with its runs of digits as numbers.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (Some(x), Some(y)) = (a.chars().next(), b.chars().next()) else { return a.len().cmp(&b.len()) };
        let order = if x.is_ascii_digit() && y.is_ascii_digit() {
            let (m, rest_a) = number(a);
            let (n, rest_b) = number(b);
            (a, b) = (rest_a, rest_b);
            m.len().cmp(&n.len()).then(m.cmp(n))
        } else {
            (a, b) = (&a[x.len_utf8()..], &b[y.len_utf8()..]);
            x.cmp(&y)
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// The digits at the start of `text` without leading zeros, and what follows them.
fn number(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].trim_start_matches('0'), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn natural_order() {
        let mut names = ["trace_rank10.json", "trace_rank9.json", "trace.json", "trace_rank09b.json"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["trace.json", "trace_rank9.json", "trace_rank09b.json", "trace_rank10.json"]);
    }

    #[test]
    fn the_newest_run_of_tensorboard_is_found() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        let put = |folder: &str, name: &str| -> std::io::Result<()> {
            fs::create_dir_all(dir.path().join(folder))?;
            fs::write(dir.path().join(folder).join(name), "x")
        };
        let found = || {
            find_traces(dir.path()).map(|paths| {
                paths
                    .iter()
                    .map(|path| path.strip_prefix(dir.path()).unwrap_or(path).display().to_string())
                    .collect::<Vec<_>>()
            })
        };
        put("run/plugins/profile/2026_11_29", "host_1.1.pt.trace.json")?;
        put("run/plugins/profile/2026_11_30", "host_1.2.pt.trace.json.gz")?;
        put("run/plugins/profile/2026_11_30", "notes.json")?;
        put("a/b/c/d/e/f", "host_1.3.pt.trace.json")?;
        assert_eq!(
            found().map_err(std::io::Error::other)?,
            ["run/plugins/profile/2026_11_30/host_1.2.pt.trace.json.gz"]
        );
        let taken = dir.path().join("run/plugins/profile/2026_11_30");
        assert_eq!(other_runs(dir.path()), Some((1, taken.clone())));
        assert_eq!((other_runs(&taken), other_runs(&taken.join("notes.json"))), (None, None));
        put("", "trace.json")?;
        assert_eq!(other_runs(dir.path()), None);
        assert_eq!(found().map_err(std::io::Error::other)?, ["trace.json"]);
        Ok(())
    }

    #[test]
    fn a_directory_is_its_traces() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        let put = |name: &str, text: &str| fs::write(dir.path().join(name), text);
        put("trace_rank1.json", "broken")?;
        put("host_1.2.pt.trace.json.gz", "x")?;
        put("other.json", "{\"traceEvents\": []}")?;
        put("case.json", "{\"steps_host_ms\": [1]}")?;
        put("trace.txt", "")?;
        put("history.sqlite", "SQLite format 3\0 of something else")?;
        let found = find_traces(dir.path()).map_err(std::io::Error::other)?;
        let names: Vec<_> = found.iter().filter_map(|p| p.file_name()?.to_str()).collect();
        assert_eq!(names, ["host_1.2.pt.trace.json.gz", "other.json", "trace_rank1.json"]);
        let empty = tempfile::tempdir()?;
        assert!(matches!(find_traces(empty.path()), Err(ReadError::NoTrace { .. })));
        assert!(matches!(find_traces(&empty.path().join("none")), Err(ReadError::Io { .. })));
        Ok(())
    }
}
