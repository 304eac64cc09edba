//! What a file is, from its first bytes.

use std::fs::File;
use std::path::Path;

use memchr::memmem;

use crate::error::{Found, ReadError};
use crate::source;

/// How much of a file [`sniff`] looks at: headers before the first event can be long.
pub(crate) const HEAD: usize = 1 << 16;

/// A format that whyidle reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A trace of the PyTorch profiler, or another list of Chrome trace events: whether it is `torch_npu`'s, only its
    /// end may say.
    Kineto,
    /// A dump of PyTorch's flight recorder, as a pickle or JSON.
    Flight,
    /// What NCCL logs with `NCCL_DEBUG`.
    Nccl,
    /// A snapshot of CUDA memory (`torch.cuda.memory._dump_snapshot`).
    MemorySnapshot,
    /// What `torch.cuda.memory_summary()` prints, in any text.
    MemorySummary,
    /// A SQLite database; whether Nsight Systems wrote it, its tables say.
    Sqlite,
    /// What a recording says of itself: `recording.json`, `case.json`.
    Recording,
    /// What a rank says to the others.
    Digest,
    /// What Nsight Compute prints as CSV.
    Ncu,
    /// What `nvidia-smi` prints: `dmon`, queries, `-q`, `topo -m`, the table.
    Smi,
    /// What `iostat` prints.
    Iostat,
    /// What `top -b` prints.
    Top,
    /// What `vmstat` prints.
    Vmstat,
    /// What DCGM's exporter serves.
    Dcgm,
    /// Collapsed stacks: `py-spy record -f raw`, `export_stacks`.
    Collapsed,
    /// Speedscope's format.
    Speedscope,
    /// `py-spy record -f chrometrace`.
    StackEvents,
    /// `py-spy dump`.
    StackDump,
}

impl Format {
    /// Logs of a machine and its programs: what [`read_log`](crate::read_log) reads.
    pub const LOGS: [Self; 9] = [
        Self::Smi,
        Self::Iostat,
        Self::Top,
        Self::Vmstat,
        Self::Dcgm,
        Self::Collapsed,
        Self::Speedscope,
        Self::StackEvents,
        Self::StackDump,
    ];

    /// Stable id, as verdicts name kinds of inputs.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Kineto => "kineto",
            Self::Flight => "flight",
            Self::Nccl => "nccl",
            Self::Sqlite => "sqlite",
            Self::Recording => "recording",
            Self::Digest => "digest",
            Self::MemorySnapshot => "memory-snapshot",
            Self::MemorySummary => "memory-summary",
            Self::Ncu => "ncu",
            Self::Smi => "nvidia-smi",
            Self::Iostat => "iostat",
            Self::Top => "top",
            Self::Vmstat => "vmstat",
            Self::Dcgm => "dcgm",
            Self::Collapsed => "collapsed-stacks",
            Self::Speedscope => "speedscope",
            Self::StackEvents => "py-spy-chrometrace",
            Self::StackDump => "py-spy-dump",
        }
    }
}

/// The format of a file that begins with `head`, which may be gzipped; `None`: not one
/// that whyidle reads. 64 KiB are enough.
#[must_use]
pub fn sniff(head: &[u8]) -> Option<Format> {
    if source::is_gzip(head) {
        return sniff_text(&source::head(head, HEAD).ok()?);
    }
    sniff_text(head)
}

fn sniff_text(head: &[u8]) -> Option<Format> {
    if head.starts_with(crate::nsys::MAGIC) {
        return Some(Format::Sqlite);
    }
    let whole = head;
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let head = &head[..head.len().min(HEAD)];
    let has = |word: &str| memmem::find(head, word.as_bytes()).is_some();
    if crate::flight::is_dump(head) {
        return Some(Format::Flight);
    }
    if crate::memory::is_snapshot(head) {
        return Some(Format::MemorySnapshot);
    }
    // A trace may hold anything in its names, but not before its own head.
    let start = String::from_utf8_lossy(&head[..head.len().min(4_096)]);
    if let Some(found) = sniff_json(&start) {
        return Some(found);
    }
    match head.first()? {
        b'{' if has("\"whyidle.digest/") => Some(Format::Digest),
        b'{' if has("\"traceEvents\"") => Some(Format::Kineto),
        b'{' if has("\"steps_host_ms\"") || has("\"step_ms_mean\"") || has("\"whyidle.recording") => {
            Some(Format::Recording)
        }
        b'{' if has("\"schemaVersion\"") && has("\"deviceProperties\"") => Some(Format::Kineto),
        b'[' if has("\"ph\"") && has("\"ts\"") => Some(Format::Kineto),
        _ if crate::memory::is_summary(head) => Some(Format::MemorySummary),
        _ if crate::nccl::is_log(head) => Some(Format::Nccl),
        // Lines of prints may begin with blanks.
        _ => sniff_print(&crate::plain::clean(&whole[..whole.len().min(HEAD)])),
    }
}

/// What tools print for people, by what it holds.
fn sniff_print(text: &str) -> Option<Format> {
    type Print = (Format, fn(&str) -> bool);
    // Those that a single line decides come before those that look alike.
    let prints: [Print; 8] = [
        (Format::Ncu, crate::ncu::is_print),
        (Format::Dcgm, crate::dcgm::is_print),
        (Format::Top, crate::host::top::is_print),
        (Format::Vmstat, crate::host::vmstat::is_print),
        (Format::Iostat, crate::host::iostat::is_print),
        (Format::StackDump, crate::stacks::dump::is_print),
        (Format::Smi, crate::smi::is_print),
        (Format::Collapsed, crate::stacks::collapsed::is_print),
    ];
    sniff_json(text).or_else(|| prints.iter().find(|(_, is_print)| is_print(text)).map(|(format, _)| *format))
}

/// JSON that is no trace and no description.
fn sniff_json(text: &str) -> Option<Format> {
    if crate::stacks::speedscope::is_print(text) {
        return Some(Format::Speedscope);
    }
    if crate::stacks::events::is_print(text) {
        return Some(Format::StackEvents);
    }
    if text.trim_start().starts_with('[') && crate::stacks::dump::is_print(text) {
        return Some(Format::StackDump);
    }
    (text.trim_start().starts_with('{') && crate::host::iostat::is_print(text)).then_some(Format::Iostat)
}

/// How much of a file is looked at that a program's own output may begin.
const LONG_HEAD: usize = 1 << 20;

/// The format of the file at `path`; `None`: not one that whyidle reads, or no regular file.
///
/// # Errors
/// Where the file cannot be read.
pub fn format_of(path: &Path) -> Result<Option<Format>, ReadError> {
    let failed = |error| ReadError::io(path, error);
    // What is no regular file can be read only once.
    if !path.metadata().map_err(failed)?.is_file() {
        return Ok(None);
    }
    let head = source::head(File::open(path).map_err(failed)?, LONG_HEAD).map_err(failed)?;
    Ok(sniff(&head[..head.len().min(HEAD)]).or_else(|| sniff_print(&crate::plain::clean(&head))))
}

/// What a file that begins with `head` (inflated) is, where it is certainly no JSON.
pub(crate) fn no_json(head: &[u8], path: &Path) -> Option<Found> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let ends = |suffixes: &[&str]| {
        let name = path.to_string_lossy().to_ascii_lowercase();
        suffixes.iter().any(|suffix| name.ends_with(suffix))
    };
    Some(match text {
        [] => Found::Empty,
        [b'{' | b'[', ..] => return None,
        _ if head.starts_with(crate::nsys::MAGIC) => Found::SqliteStream,
        _ if ends(&[".nsys-rep", ".qdrep", ".qdstrm"]) => Found::NsysReport,
        _ if head.starts_with(b"PK\x03\x04") => Found::Zip,
        _ if is_compressed(head) => Found::OtherCompression,
        [0x80, 2..=5, ..] => Found::Pickle,
        [b'<', ..] => Found::Html,
        _ if is_text(head) => of_text(&String::from_utf8_lossy(text)),
        _ => Found::Binary,
    })
}

/// A text that is of no format may be what `nvidia-smi` says of a query that it does not understand, or has no header.
fn of_text(text: &str) -> Found {
    let first = text.lines().next().unwrap_or("");
    match () {
        () if first.starts_with("Field \"") && first.contains("is not a valid field to query") => {
            Found::SmiError
        }
        () if crate::smi::has_no_header(text) => Found::NoHeader,
        () => Found::Text,
    }
}

/// Zstandard, xz, bzip2, lz4.
fn is_compressed(head: &[u8]) -> bool {
    let magics: [&[u8]; 4] = [b"\x28\xb5\x2f\xfd", b"\xfd7zXZ", b"BZh", b"\x04\x22\x4d\x18"];
    magics.iter().any(|magic| head.starts_with(magic))
}

fn is_text(head: &[u8]) -> bool {
    let head = &head[..head.len().min(512)];
    !head.iter().any(|&b| b < b' ' && !b.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_apart() {
        assert_eq!(sniff(b"\n{\n  \"schemaVersion\": 1, \"traceEvents\": ["), Some(Format::Kineto));
        assert_eq!(sniff(b"[{\"ph\": \"X\", \"ts\": 1}"), Some(Format::Kineto));
        assert_eq!(sniff(b"{\"batch\": 16, \"steps_host_ms\": [1]}"), Some(Format::Recording));
        assert_eq!(sniff(b"{\"a\": 1}"), None);
        assert_eq!(sniff(b"SQLite format 3\0..."), Some(Format::Sqlite));
        assert_eq!(sniff(b""), None);
        assert_eq!(sniff(&[0x1f, 0x8b, 8, 0]), None);
    }

    #[test]
    fn what_is_no_json_has_a_name() {
        let found = |head: &[u8]| no_json(head, Path::new("x"));
        assert_eq!(found(b" \n"), Some(Found::Empty));
        assert_eq!(found(b"\x80\x04\x95"), Some(Found::Pickle));
        assert_eq!(found(b"SQLite format 3\0"), Some(Found::SqliteStream));
        assert_eq!(found(b"PK\x03\x04"), Some(Found::Zip));
        assert_eq!(found(b"<!DOCTYPE html>"), Some(Found::Html));
        assert_eq!(found(b"step,loss\n1,2\n"), Some(Found::Text));
        assert_eq!(found(b"\x00\x01\x02"), Some(Found::Binary));
        assert_eq!(found(b"{"), None);
        assert_eq!(no_json(b"\x00\x01", Path::new("a.nsys-rep")), Some(Found::NsysReport));
    }
}
