//! Documents of text, for tokenising: JSON lines, Parquet, Arrow (Feather, and what `datasets` caches), plain text; all
//! but the columns also gzipped or in Zstandard. What a file is follows from its content.
//!
//! A corpus may be larger than any budget, so it is read in chunks, and what is bounded is what is in memory: a chunk,
//! and one document of at most [`LONGEST`] bytes. Reading can go on at any chunk's end ([`Documents::skip_to`]).

mod arrow;
mod columns;
mod field;
mod lines;
mod parquet;
mod unpacked;

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use whyidle_model::{ImportNotes, NoteCode};

use self::columns::Column;
use self::lines::Lines;
use self::unpacked::Unpacked;
use crate::error::{Found, ReadError};

pub use self::field::Field;

/// Bytes of the longest document; a longer one is left out and counted. It is what memory is bounded by: a tokenizer
/// needs some thirty times a document's size while it works on it.
pub const LONGEST: usize = 32 << 20;
/// Bytes by which the kind of a file is told.
const HEAD: usize = 4096;

/// How a file is read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Where a record's text lies.
    pub field: Field,
    /// What the file is, if not what it looks like.
    pub kind: Option<Kind>,
    /// A plain text is one document, not one per line.
    pub whole: bool,
}

/// What a file of documents is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One JSON object per line.
    Json,
    /// Text: a line is a document, or the whole is one.
    Text,
    /// Apache Parquet.
    Parquet,
    /// Arrow's file or stream format: Feather 2, and the files of `datasets`.
    Arrow,
}

impl Kind {
    /// The stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Json => "jsonl",
            Self::Text => "text",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }
}

/// A file of documents that is open.
pub struct Documents {
    path: PathBuf,
    kind: Kind,
    field: Field,
    source: Source,
}

enum Source {
    Lines(Box<Lines<Unpacked>>),
    /// One document; `None` once it was handed out.
    Whole(Option<Box<Unpacked>>),
    Columns(Box<dyn Column>),
}

/// Some documents that follow each other in a file. Taking them apart is left to whoever works on them, so that many
/// can at once.
pub struct Chunk {
    bytes: Vec<u8>,
    cut: Cut,
    /// What was noted while the chunk was made; its documents' own faults are noted by [`Chunk::each`].
    pub notes: ImportNotes,
    /// Where the file goes on: bytes of the unpacked text, or rows.
    pub after: u64,
}

/// How a chunk's bytes are documents.
enum Cut {
    Json(Field),
    Lines,
    /// Where each ends.
    Ends(Vec<usize>),
}

impl Documents {
    /// Opens `path`.
    ///
    /// # Errors
    /// Where it cannot be read, holds no documents, or none with the field that is asked for.
    pub fn open(path: &Path, reading: &Reading) -> Result<Self, ReadError> {
        let failed = |error| ReadError::io(path, error);
        let mut file = File::open(path).map_err(failed)?;
        let mut magic = Vec::new();
        (&mut file).take(8).read_to_end(&mut magic).map_err(failed)?;
        file.rewind().map_err(failed)?;
        let columns = match &magic[..] {
            [b'P', b'A', b'R', b'1', ..] => Some(Kind::Parquet),
            [b'A', b'R', b'R', b'O', b'W', b'1', 0, 0] | [0xff, 0xff, 0xff, 0xff, ..] => Some(Kind::Arrow),
            _ => None,
        };
        let wanted = reading.kind.or(columns);
        let field = reading.field.clone();
        let source = |source, kind| Self { path: path.to_owned(), kind, field: field.clone(), source };
        match wanted {
            Some(Kind::Parquet) => {
                return Ok(source(Source::Columns(parquet::open(path, file, &field)?), Kind::Parquet));
            }
            Some(Kind::Arrow) => {
                return Ok(source(Source::Columns(arrow::open(path, file, &field)?), Kind::Arrow));
            }
            _ => {}
        }
        let mut unpacked = Unpacked::new(file, &magic).map_err(failed)?;
        let Some(head) = unpacked.peek(HEAD).map_err(failed)? else {
            return Err(ReadError::Columns {
                path: path.to_owned(),
                reason: "damaged from its beginning".to_owned(),
            });
        };
        let kind = match wanted {
            Some(kind) => kind,
            None => told(head).map_err(|found| ReadError::NotDocuments { path: path.to_owned(), found })?,
        };
        unpacked.skip_mark().map_err(failed)?;
        Ok(match kind {
            Kind::Text if reading.whole => source(Source::Whole(Some(Box::new(unpacked))), kind),
            _ => source(Source::Lines(Box::new(Lines::new(unpacked))), kind),
        })
    }

    /// What the file is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The next documents, of some `size` bytes together; `None` at the end.
    ///
    /// # Errors
    /// Where the system fails. A file that is damaged ends where the damage begins, with a note.
    pub fn next(&mut self, size: usize) -> Result<Option<Chunk>, ReadError> {
        let failed = |error| ReadError::io(&self.path, error);
        match &mut self.source {
            Source::Lines(lines) => {
                let mut notes = ImportNotes::default();
                let bytes = lines.next(size, &mut notes).map_err(failed)?;
                if bytes.is_none() && notes == ImportNotes::default() {
                    return Ok(None);
                }
                let cut = if self.kind == Kind::Json { Cut::Json(self.field.clone()) } else { Cut::Lines };
                Ok(Some(Chunk { bytes: bytes.unwrap_or_default(), cut, notes, after: lines.place() }))
            }
            Source::Whole(source) => match source.take() {
                Some(source) => whole(*source).map(Some).map_err(failed),
                None => Ok(None),
            },
            Source::Columns(column) => column.next(size).map_err(failed),
        }
    }

    /// Goes on where a chunk ended.
    ///
    /// # Errors
    /// Where the system fails.
    pub fn skip_to(&mut self, place: u64) -> Result<(), ReadError> {
        let failed = |error| ReadError::io(&self.path, error);
        match &mut self.source {
            Source::Lines(lines) => lines.skip_to(place).map_err(failed),
            Source::Whole(source) => {
                if place > 0 {
                    *source = None;
                }
                Ok(())
            }
            Source::Columns(column) => column.skip_to(place).map_err(failed),
        }
    }

    /// Bytes of the file that were read so far; of columns, the file's share of the rows that were.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        match &self.source {
            Source::Lines(lines) => lines.source().bytes_read(),
            Source::Whole(_) => 0,
            Source::Columns(column) => column.bytes_read(),
        }
    }
}

/// The kind of a text that begins so.
fn told(head: &[u8]) -> Result<Kind, Found> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        None => Err(Found::Empty),
        Some(b'{') => Ok(Kind::Json),
        // A list of objects is no lines of them.
        Some(b'[') if text.trim_ascii_start()[1..].trim_ascii_start().starts_with(b"{") => Err(Found::Json),
        _ if head.starts_with(b"PK\x03\x04") => Err(Found::Zip),
        _ if head.starts_with(b"BZh") || head.starts_with(b"\xfd7zXZ") => Err(Found::OtherCompression),
        _ if head.starts_with(b"SQLite format 3\0") => Err(Found::Sqlite),
        _ if text.contains(&0) => Err(Found::Binary),
        _ => Ok(Kind::Text),
    }
}

/// All of a text as one document.
fn whole(mut source: Unpacked) -> std::io::Result<Chunk> {
    let mut notes = ImportNotes::default();
    let mut bytes = Vec::new();
    let read = (&mut source).take(LONGEST as u64 + 1).read_to_end(&mut bytes);
    if let Err(error) = read {
        if source.has_failed() {
            return Err(error);
        }
        notes.add(NoteCode::DamagedCompression, Some(bytes.len() as u64));
        bytes.clear();
    }
    if bytes.len() > LONGEST {
        notes.add(NoteCode::LongDocument, Some(0));
        bytes.clear();
    }
    let after = bytes.len().max(1) as u64;
    let ends = if bytes.is_empty() { Vec::new() } else { vec![bytes.len()] };
    Ok(Chunk { bytes, cut: Cut::Ends(ends), notes, after })
}

impl Chunk {
    /// Bytes of the documents, with what stands around them.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Hands over the text of each document in order. What holds none is counted in `notes`: a line that is no JSON or
    /// not UTF-8, a record without the field, an empty text.
    pub fn each<E>(
        &self,
        notes: &mut ImportNotes,
        mut then: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.cut {
            Cut::Json(field) => {
                for line in lines(&self.bytes) {
                    match field.of(line) {
                        Ok(Some(text)) if text.is_empty() => notes.add(NoteCode::EmptyDocument, None),
                        Ok(Some(text)) => then(&text)?,
                        Ok(None) => notes.add(NoteCode::NoText, None),
                        Err(_) => notes.add(NoteCode::MalformedLine, None),
                    }
                }
            }
            Cut::Lines => {
                for line in lines(&self.bytes) {
                    one(line.strip_suffix(b"\r").unwrap_or(line), notes, &mut then)?;
                }
            }
            Cut::Ends(ends) => {
                let mut start = 0;
                for &end in ends {
                    one(&self.bytes[start..end], notes, &mut then)?;
                    start = end;
                }
            }
        }
        Ok(())
    }
}

fn one<E>(
    bytes: &[u8],
    notes: &mut ImportNotes,
    then: &mut impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    match std::str::from_utf8(bytes) {
        Ok("") => notes.add(NoteCode::EmptyDocument, None),
        Ok(text) => then(text)?,
        Err(_) => notes.add(NoteCode::MalformedLine, None),
    }
    Ok(())
}

/// The lines of a chunk, without their ends. Lines of white space alone are between records.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or_default();
            if !line.trim_ascii().is_empty() {
                return Some(line);
            }
        }
        None
    })
}
