//! What PyTorch's caching allocator says of itself: snapshots (`torch.cuda.memory._dump_snapshot`, a pickle) and the table
//! that `torch.cuda.memory_summary()` prints.
//!
//! A snapshot of gigabytes is read through a window in a fraction of its size: [`machine`] keeps rows, not values. A
//! snapshot that breaks off is refused: what the allocator held at the end is what its history is counted from.

mod machine;
mod rows;
mod summary;
mod values;
mod words;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use memchr::memmem;
use whyidle_model::MemorySnapshot;

use crate::budget::Budget;
use crate::error::{Found, ReadError, Snapshot};
use crate::pickle::{Broken, Why, Window};
use crate::source;
use machine::Machine;

pub(crate) use summary::is_summary;
pub use summary::read as read_summary;

/// Reads the snapshot in a file, gzipped or not.
///
/// # Errors
/// Where the file cannot be read, is no pickle of plain data, breaks off, or is no snapshot.
pub fn read(path: &Path) -> Result<MemorySnapshot, ReadError> {
    read_within(path, Budget::default())
}

/// The same within a budget: what goes over it is left out, and noted.
fn read_within(path: &Path, budget: Budget) -> Result<MemorySnapshot, ReadError> {
    let failed = |error| ReadError::io(path, error);
    let file = File::open(path).map_err(failed)?;
    let mut input = Window::new(source::Inflate::new(BufReader::with_capacity(1 << 16, file)));
    let mut machine = Machine::new(budget);
    let whole = machine.run(&mut input);
    if let Some(error) = input.take_failure() {
        // Damage of the compressed data ends the snapshot as a file that is cut does.
        let damaged = matches!(
            error.kind(),
            std::io::ErrorKind::InvalidData
                | std::io::ErrorKind::InvalidInput
                | std::io::ErrorKind::UnexpectedEof
        );
        if !damaged {
            return Err(failed(error));
        }
    }
    if matches!(whole, Err(Broken { why: Why::Budget, .. })) {
        return Ok(machine.part());
    }
    let is_empty = input.is_at_start();
    let whole = whole.map_err(|broken| refused(path, broken, is_empty))?;
    machine.finish(&whole).ok_or_else(|| ReadError::NotATrace { path: path.to_owned(), found: Found::Pickle })
}

fn refused(path: &Path, broken: Broken, is_empty: bool) -> ReadError {
    let why = match broken.why {
        Why::Cut if is_empty => {
            return ReadError::NotATrace { path: path.to_owned(), found: Found::Empty };
        }
        Why::Cut => Snapshot::Cut,
        Why::Code => Snapshot::Code,
        Why::Nonsense | Why::Budget => Snapshot::Nonsense,
    };
    ReadError::Snapshot { path: path.to_owned(), byte: broken.byte, why }
}

/// Whether a file that begins with `head` (inflated) is a snapshot: a pickle whose first words are a snapshot's.
pub(crate) fn is_snapshot(head: &[u8]) -> bool {
    let has = |word: &[u8]| memmem::find(head, word).is_some();
    matches!(head, [0x80, 2..=5, ..])
        && (has(b"segments") && (has(b"total_size") || has(b"device_traces"))
            || has(b"device_traces") && (has(b"time_us") || has(b"action")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use whyidle_model::NoteCode;

    #[test]
    fn a_snapshot_is_read_as_far_as_its_budget_goes() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/memory_snapshot.pickle");
        let read = |budget| read_within(&path, budget).unwrap_or_else(|error| panic!("{error}"));
        let whole = read(Budget::default());
        let no_time = std::time::Duration::ZERO;
        for small in [
            Budget { nodes: 2_000, ..Budget::default() },
            Budget { bytes: 9_000, ..Budget::default() },
            Budget { nesting: 2, ..Budget::default() },
            Budget { time: no_time, ..Budget::default() },
        ] {
            let part = read(small);
            assert_eq!(part.notes.count(NoteCode::OverBudget), 1, "{small:?}");
            assert!(part.segments.len() < whole.segments.len() && part.histories.is_empty(), "{small:?}");
        }
        assert_eq!(whole.notes.count(NoteCode::OverBudget), 0);
    }
}
