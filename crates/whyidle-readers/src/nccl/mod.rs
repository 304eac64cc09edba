//! What NCCL logs with `NCCL_DEBUG=INFO`: a file per process (`NCCL_DEBUG_FILE`), or the output of a whole program with
//! NCCL's lines in it.
//!
//! The wording is NCCL's own and changes between versions: a line that is not recognised says nothing, and nothing is
//! concluded from a line that is absent. Some lines mislead and are not read: `NET/IB : No device found` is normal on one
//! host, and `GDR 1` at the end of a ring says nothing where no network card is in use.

mod line;
mod links;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use memchr::memmem;
use rustc_hash::FxHashMap;
use whyidle_model::{NcclLog, NcclRank, NcclWarning, NoteCode};

use crate::error::{Found, ReadError};
use crate::source;
use line::{Line, split};

/// No log is read beyond this, bytes, inflated: those of thousands of ranks have less.
const LARGEST: u64 = 16 << 30;
/// No line is read beyond this.
const LONGEST_LINE: u64 = 1 << 16;
/// Rows of a table beyond this are dropped: 64 channels to and from each of thousands of peers.
const MOST: usize = 1 << 19;
/// Different warnings and fallbacks that are kept.
const MOST_TEXTS: usize = 64;

/// Adds what the log in a file says.
///
/// # Errors
/// Where the file cannot be read, or holds no line of NCCL.
pub fn read(path: &Path, log: &mut NcclLog) -> Result<(), ReadError> {
    let failed = |error| ReadError::io(path, error);
    let file = File::open(path).map_err(failed)?;
    let before = log.lines;
    let mut reader = BufReader::new(source::Inflate::new(BufReader::new(file)).take(LARGEST));
    let (mut parser, mut bytes) = (Parser::new(log), Vec::new());
    loop {
        bytes.clear();
        let read = (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut bytes).map_err(failed)?;
        if read == 0 {
            break;
        }
        parser.line(&bytes, log);
    }
    if log.lines == before {
        return Err(ReadError::NotADump { path: path.to_owned(), found: Found::Text });
    }
    Ok(())
}

/// Whether a file that begins with `head` (inflated) holds lines of NCCL.
pub(crate) fn is_log(head: &[u8]) -> bool {
    [" NCCL INFO ", " NCCL WARN "].iter().any(|mark| memmem::find(head, mark.as_bytes()).is_some())
}

/// What must be remembered from line to line.
struct Parser {
    /// The communicator that a process set up last: lines about channels do not name theirs.
    current: FxHashMap<(String, u32), String>,
    /// Where the row of a rank of a communicator is.
    rows: FxHashMap<(String, u32), usize>,
}

impl Parser {
    /// Adds to what other files said.
    fn new(log: &NcclLog) -> Self {
        let rows = log.ranks.iter().enumerate().map(|(at, known)| ((known.comm.clone(), known.rank), at));
        Self { current: FxHashMap::default(), rows: rows.collect() }
    }

    fn line(&mut self, bytes: &[u8], log: &mut NcclLog) {
        if !is_log(bytes) {
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            log.notes.add(NoteCode::NotUtf8, None);
        }
        let Some(line) = split(text.trim_end()) else {
            log.notes.add(NoteCode::MalformedEvent, None);
            return;
        };
        log.lines += 1;
        if line.is_warning {
            warn(&line, log);
        }
        self.facts(&line, log);
    }

    fn facts(&mut self, line: &Line<'_>, log: &mut NcclLog) {
        let text = line.text;
        if let Some(version) = text.strip_prefix("NCCL version ") {
            version.clone_into(&mut log.version);
        } else if let Some((name, value)) = line::setting(text) {
            add(&mut log.settings, (name.to_owned(), value.to_owned()));
        } else if text.contains(" nranks ") && text.contains(" commId ") {
            self.rank(line, log);
        } else if let Some(rest) = text.strip_prefix("Channel ") {
            let comm = self.comm(line);
            if let Some(link) = links::link(rest, comm) {
                push(&mut log.links, link, &mut log.notes);
            } else if let Some(ring) = links::ring(rest) {
                add(&mut log.rings, ring);
            }
        } else if let Some(trees) = text.strip_prefix("Trees ") {
            add(&mut log.trees, trees.to_owned());
        } else if let Some(channels) =
            text.split(" coll channels").next().filter(|_| text.contains(" coll channels"))
        {
            if let Ok(channels) = channels.trim().parse::<u32>() {
                log.channels = Some(log.channels.map_or(channels, |known| known.min(channels)));
            }
        } else if let Some(network) = text.strip_prefix("Using network ") {
            network.trim().clone_into(&mut log.network);
        } else if let Some(cards) = text.strip_prefix("NET/IB : Using ") {
            for card in links::cards(cards) {
                add(&mut log.cards, card);
            }
        } else if text.contains("nNodes ") && text.starts_with("comm ") {
            self.nodes(line, log);
        } else if let Some(kinds) = links::found(text) {
            log.found.get_or_insert(kinds);
        } else if links::is_fallback(text) {
            add(&mut log.fallbacks, text.to_owned());
        }
    }

    /// `… comm 0x… rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0x… - Init START`.
    fn rank(&mut self, line: &Line<'_>, log: &mut NcclLog) {
        let number = |key: &str| line::word_after(line.text, key).and_then(|word| word.parse::<u32>().ok());
        let (Some(rank), Some(size)) = (number("rank"), number("nranks")) else { return };
        let comm = line::word_after(line.text, "commId").unwrap_or_default().to_owned();
        let owner = (line.host.to_owned(), line.pid);
        if self.current.len() < MOST || self.current.contains_key(&owner) {
            self.current.insert(owner, comm.clone());
        }
        let complete = line.text.ends_with("COMPLETE");
        let key = (comm.clone(), rank);
        if let Some(known) = self.rows.get(&key).and_then(|&at| log.ranks.get_mut(at)) {
            known.complete |= complete;
            return;
        }
        let row = NcclRank {
            comm,
            rank,
            size,
            device: number("cudaDev"),
            bus: line::word_after(line.text, "busId").unwrap_or_default().to_owned(),
            host: line.host.to_owned(),
            pid: line.pid,
            nodes: None,
            complete,
        };
        if log.ranks.len() < MOST {
            self.rows.insert(key, log.ranks.len());
        }
        push(&mut log.ranks, row, &mut log.notes);
    }

    /// `comm 0x… rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0`.
    fn nodes(&self, line: &Line<'_>, log: &mut NcclLog) {
        let number = |key: &str| line::word_after(line.text, key).and_then(|word| word.parse::<u32>().ok());
        let Some(rank) = number("rank") else { return };
        let row = self.rows.get(&(self.comm(line).to_owned(), rank));
        if let Some(known) = row.and_then(|&at| log.ranks.get_mut(at)) {
            known.nodes = number("nNodes");
        }
    }

    fn comm(&self, line: &Line<'_>) -> &str {
        self.current.get(&(line.host.to_owned(), line.pid)).map_or("", String::as_str)
    }
}

fn warn(line: &Line<'_>, log: &mut NcclLog) {
    let has_room = log.warnings.len() < MOST_TEXTS;
    match log.warnings.iter_mut().find(|known| known.host == line.host && known.text == line.text) {
        Some(known) => known.count += 1,
        None if has_room => {
            log.warnings.push(NcclWarning {
                host: line.host.to_owned(),
                text: line.text.to_owned(),
                count: 1,
            });
        }
        None => log.notes.add(NoteCode::TableFull, None),
    }
}

fn push<T>(rows: &mut Vec<T>, row: T, notes: &mut whyidle_model::ImportNotes) {
    if rows.len() < MOST { rows.push(row) } else { notes.add(NoteCode::TableFull, None) }
}

/// Adds what is not there yet.
fn add<T: PartialEq>(rows: &mut Vec<T>, row: T) {
    if rows.len() < MOST_TEXTS && !rows.contains(&row) {
        rows.push(row);
    }
}

#[cfg(test)]
mod tests;
