//! Digests: what one rank says to the others, as gzipped JSON.
//!
//! What is in a digest is the business of who makes it; here is how it is kept. A file holds one or several, each a JSON
//! document of its own, and files may be joined end to end.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Take, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ReadError;
use crate::sniff::{Format, sniff};
use crate::source::Inflate;
use crate::written;

/// The largest digest, inflated: a digest of any trace is far smaller.
const LARGEST: u64 = 64 << 20;
/// The most that a file of many digests may inflate to.
const LARGEST_FILE: u64 = 4 << 30;

/// Writes digests as one file. It appears whole or not at all.
///
/// # Errors
/// Where the file cannot be written.
pub fn write<T: Serialize>(path: &Path, digests: &[T]) -> io::Result<()> {
    written::place(path, |beside| into(File::create(beside)?, digests))
}

/// Writes digests into a stream.
///
/// # Errors
/// Where it cannot be written.
pub fn into<T: Serialize>(writer: impl Write, digests: &[T]) -> io::Result<()> {
    let mut gzip = GzEncoder::new(writer, Compression::default());
    for digest in digests {
        serde_json::to_writer(&mut gzip, digest)?;
        gzip.write_all(b"\n")?;
    }
    gzip.finish()?.flush()
}

/// The documents of a file of digests, one after the other: a file of thousands is never held as a whole.
pub struct Documents {
    path: PathBuf,
    reader: BufReader<Take<Inflate<BufReader<File>>>>,
    any: bool,
}

/// Opens a file of digests.
///
/// # Errors
/// Where it cannot be opened.
pub fn documents(path: &Path) -> Result<Documents, ReadError> {
    let file = File::open(path).map_err(|error| ReadError::io(path, error))?;
    let reader = BufReader::new(Inflate::new(BufReader::new(file)).take(LARGEST_FILE));
    Ok(Documents { path: path.to_owned(), reader, any: false })
}

impl Iterator for Documents {
    /// A document's text; an error where the file cannot be read, is damaged, or holds none.
    type Item = Result<Vec<u8>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut line = Vec::new();
            match self.reader.by_ref().take(LARGEST + 1).read_until(b'\n', &mut line) {
                Ok(0) if self.any => return None,
                Ok(0) => return Some(Err(self.foreign())),
                Ok(_) if line.len() as u64 > LARGEST => return Some(Err(self.foreign())),
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) => {
                    self.any = true;
                    return Some(Ok(line));
                }
                Err(error) => {
                    let damaged = self.reader.get_ref().get_ref().is_damage(&error);
                    return Some(Err(if damaged {
                        self.foreign()
                    } else {
                        ReadError::io(&self.path, error)
                    }));
                }
            }
        }
    }
}

impl Documents {
    fn foreign(&mut self) -> ReadError {
        self.any = true;
        ReadError::NotADigest { path: self.path.clone() }
    }
}

/// The digest that a document is.
///
/// # Errors
/// Where it is something else, or one that `is_known` does not take.
pub fn parse<T: DeserializeOwned>(
    path: &Path,
    document: &[u8],
    is_known: impl Fn(&T) -> bool,
) -> Result<T, ReadError> {
    let digest = serde_json::from_slice(document).ok().filter(is_known);
    digest.ok_or_else(|| ReadError::NotADigest { path: path.to_owned() })
}

/// The files of digests that a path stands for: itself, or those that lie in a directory, by name.
///
/// # Errors
/// Where a directory cannot be listed, or holds none.
pub fn find(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| ReadError::io(path, error))?;
    let mut found: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|file| is_digest(file)).collect();
    found.sort();
    if found.is_empty() { Err(ReadError::NotADigest { path: path.to_owned() }) } else { Ok(found) }
}

/// The file begins as one of digests does.
#[must_use]
pub fn is_digest(path: &Path) -> bool {
    const HEAD: u64 = 4_096;
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    path.is_file() && read.is_ok() && sniff(&head) == Some(Format::Digest)
}
