//! What columns of text have in common: rows are gathered until they make a chunk.

use std::io;

use whyidle_model::{ImportNotes, NoteCode};

use super::{Chunk, Cut, LONGEST};

/// A column of texts.
pub(super) trait Column: Send {
    /// The next rows, of some `size` bytes together; `None` at the end.
    fn next(&mut self, size: usize) -> io::Result<Option<Chunk>>;
    /// Goes on at this row.
    fn skip_to(&mut self, row: u64) -> io::Result<()>;
    /// The file's share of the rows that were read, bytes.
    fn bytes_read(&self) -> u64;
}

/// Does what a library does with a file that may be damaged; `None` where the file breaks what the library takes for
/// granted, and it panics: the panic is the file's fault too. It needs a build that unwinds.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    // Whatever the library was at is not used again.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).ok()
}

/// Texts of rows.
#[derive(Default)]
pub(super) struct Gathered {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    pub(super) notes: ImportNotes,
    rows: u64,
}

impl Gathered {
    /// Bytes so far.
    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// One more row; `None` is no text.
    pub(super) fn add(&mut self, text: Option<&[u8]>) {
        self.rows += 1;
        match text {
            Some(text) if text.len() > LONGEST => self.notes.add(NoteCode::LongDocument, None),
            Some(text) => {
                self.bytes.extend_from_slice(text);
                self.ends.push(self.bytes.len());
            }
            None => self.notes.add(NoteCode::NoText, None),
        }
    }

    /// The chunk, whose rows end before row `after`; `None` where there is nothing in it.
    pub(super) fn chunk(self, after: u64) -> Option<Chunk> {
        let is_empty = self.rows == 0 && self.notes == ImportNotes::default();
        let Self { bytes, ends, notes, .. } = self;
        (!is_empty).then_some(Chunk { bytes, cut: Cut::Ends(ends), notes, after })
    }
}
