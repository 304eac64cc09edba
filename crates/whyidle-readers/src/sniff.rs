//! What a file is, from its first bytes.

use std::path::Path;

use memchr::memmem;

use crate::error::Found;
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
    /// A SQLite database; whether Nsight Systems wrote it, its tables say.
    Sqlite,
    /// What a recording says of itself: `recording.json`, `case.json`.
    Recording,
    /// What a rank says to the others.
    Digest,
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
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let head = &head[..head.len().min(HEAD)];
    let has = |word: &str| memmem::find(head, word.as_bytes()).is_some();
    if crate::flight::is_dump(head) {
        return Some(Format::Flight);
    }
    match head.first()? {
        b'{' if has("\"whyidle.digest/") => Some(Format::Digest),
        b'{' if has("\"traceEvents\"") => Some(Format::Kineto),
        b'{' if has("\"steps_host_ms\"") || has("\"step_ms_mean\"") || has("\"whyidle.recording") => {
            Some(Format::Recording)
        }
        b'{' if has("\"schemaVersion\"") && has("\"deviceProperties\"") => Some(Format::Kineto),
        b'[' if has("\"ph\"") && has("\"ts\"") => Some(Format::Kineto),
        _ if crate::nccl::is_log(head) => Some(Format::Nccl),
        _ => None,
    }
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
        _ if is_text(head) => Found::Text,
        _ => Found::Binary,
    })
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
