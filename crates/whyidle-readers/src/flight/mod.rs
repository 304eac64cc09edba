//! Dumps of PyTorch's flight recorder: one file per rank, as a pickle (what a timeout writes, and `_dump_nccl_trace`) or
//! as JSON (`_dump_nccl_trace_json`), of every version that PyTorch has written since it began as a bare list.
//!
//! The layout is PyTorch's `FlightRecorder.hpp`; what came with which version is in [`build`]. A dump that breaks off is
//! read as far as it goes; an entry that makes no sense is left out and counted.

mod build;
mod data;
mod json;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use memchr::memmem;
use whyidle_model::{FlightDump, NoteCode};

use crate::budget::Budget;
use crate::error::{Found, ReadError};
use crate::pickle::{Node, Pickle, Why};
use crate::source;
use build::Builder;
use data::InPickle;

/// No dump is read beyond this: a ring of 2 000 entries takes 0.3 MB as a pickle and 1.5 MB as JSON.
const LARGEST: u64 = 1 << 28;

/// Reads one rank's dump, gzipped or not.
///
/// # Errors
/// Where the file cannot be read, or is no dump.
pub fn read(path: &Path) -> Result<FlightDump, ReadError> {
    let file = File::open(path).map_err(|error| ReadError::io(path, error))?;
    let mut bytes = Vec::new();
    source::Inflate::new(std::io::BufReader::new(file))
        .take(LARGEST)
        .read_to_end(&mut bytes)
        .map_err(|error| ReadError::io(path, error))?;
    parse(&bytes).map_err(|failure| match failure {
        Failure::Broken(byte) => ReadError::Unreadable { path: path.to_owned(), byte },
        Failure::Other(found) => ReadError::NotADump { path: path.to_owned(), found },
    })
}

/// Why there is no dump.
#[derive(Debug)]
enum Failure {
    /// It makes no sense from this byte on.
    Broken(u64),
    /// It is something else.
    Other(Found),
}

fn parse(bytes: &[u8]) -> Result<FlightDump, Failure> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    match text.first() {
        None => Err(Failure::Other(Found::Empty)),
        Some(b'{' | b'[') => json::read(text),
        Some(0x80) => from_pickle(bytes, Budget::default()),
        Some(_) => Err(Failure::Other(Found::Binary)),
    }
}

fn from_pickle(bytes: &[u8], budget: Budget) -> Result<FlightDump, Failure> {
    let (pickle, broken) = Pickle::read_part(bytes, budget);
    let view = |node| InPickle { pickle: &pickle, node };
    let mut builder = Builder::new(bytes.len());
    match broken {
        None => {
            if !builder.top(view(pickle.root())) {
                return Err(Failure::Other(Found::Pickle));
            }
        }
        Some(broken) if matches!(broken.why, Why::Cut | Why::Budget) => {
            // The list of entries is not closed, but each entry that was finished is.
            for node in pickle.values().iter().filter(|node| matches!(node, Node::Dict(_))) {
                builder.loose(view(node));
            }
            let is_over = broken.why == Why::Budget;
            if builder.is_empty() && !is_over {
                return Err(Failure::Broken(broken.byte));
            }
            builder.note(if is_over { NoteCode::OverBudget } else { NoteCode::Truncated });
        }
        Some(broken) => return Err(Failure::Broken(broken.byte)),
    }
    Ok(builder.finish())
}

/// Whether a file that begins with `head` (inflated) is a dump.
pub(crate) fn is_dump(head: &[u8]) -> bool {
    let has = |word: &str| memmem::find(head, word.as_bytes()).is_some();
    match head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start() {
        [b'{' | b'[', ..] => {
            !has("\"traceEvents\"")
                && (has("\"profiling_name\"") && has("\"record_id\"")
                    || has("\"pg_status\"") && has("\"version\""))
        }
        [0x80, 2..=5, ..] => {
            has("profiling_name") && has("time_created") || has("pg_config") && has("entries")
        }
        _ => false,
    }
}

/// The rank that a dump's file name tells: the number after its last `rank`, else the number that its stem ends in.
/// PyTorch writes `<prefix><rank>`, and the prefix is `nccl_trace_rank_` unless somebody chose another.
#[must_use]
pub fn rank_of_name(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    if let Some((_, rest)) = name.rsplit_once("rank") {
        let number = digits(rest.trim_start_matches(['_', '-', '.']));
        if !number.is_empty() {
            return number.parse().ok();
        }
    }
    let mut stem = name.as_str();
    for ending in [".gz", ".pickle", ".pkl", ".json", ".fr"] {
        stem = stem.strip_suffix(ending).unwrap_or(stem);
    }
    let number: String = stem.chars().rev().take_while(char::is_ascii_digit).collect();
    number.chars().rev().collect::<String>().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_told_by_names() {
        for (name, rank) in [
            ("nccl_trace_rank_12", Some(12)),
            ("/a/b7/flight_recorder_rank1.pickle", Some(1)),
            ("dump_rank3.fr.json.gz", Some(3)),
            ("trace-7.pkl", Some(7)),
            ("fr.pickle", None),
            ("rank.json", None),
        ] {
            assert_eq!(rank_of_name(Path::new(name)), rank, "{name}");
        }
    }
}
