//! Digests: what one rank says to the others, as gzipped JSON.
//!
//! What is in a digest is the business of who makes it; here is how it is kept. A file holds one or several, each a JSON
//! document of its own, and files may be joined end to end.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ReadError;
use crate::sniff::{Format, sniff};
use crate::source;

/// The largest digest, inflated: a digest of any trace is far smaller.
const LARGEST: u64 = 64 << 20;
/// The most that a file of many digests may inflate to.
const LARGEST_FILE: u64 = 4 << 30;

/// Writes digests as one file. It appears whole or not at all.
///
/// # Errors
/// Where the file cannot be written.
pub fn write<T: Serialize>(path: &Path, digests: &[T]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let beside = folder.join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let written = File::create(&beside).and_then(|file| into(file, digests));
    let placed = written.and_then(|()| std::fs::rename(&beside, path));
    if placed.is_err() {
        // The half-written file must not stay behind; that it may not exist is no further fault.
        let _ = std::fs::remove_file(&beside);
    }
    placed
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

/// Reads the digests of a file. `schema` is what each of them must say of itself.
///
/// # Errors
/// Where the file cannot be read, or holds something else.
pub fn read<T: DeserializeOwned>(path: &Path, schema: &str) -> Result<Vec<T>, ReadError> {
    let file = File::open(path).map_err(|error| ReadError::io(path, error))?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE).read_to_end(&mut bytes).map_err(|error| ReadError::io(path, error))?;
    let foreign = || ReadError::NotADigest { path: path.to_owned() };
    if !source::is_gzip(&bytes) {
        return parse(&bytes, schema).ok_or_else(foreign);
    }
    let mut inflated = Vec::new();
    let mut gzip = MultiGzDecoder::new(&bytes[..]).take(LARGEST_FILE);
    if gzip.read_to_end(&mut inflated).is_err() {
        return Err(foreign());
    }
    parse(&inflated, schema).ok_or_else(foreign)
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

/// The digests of a text; `None` where any of it is something else.
fn parse<T: DeserializeOwned>(text: &[u8], schema: &str) -> Option<Vec<T>> {
    #[derive(serde::Deserialize)]
    struct Head {
        schema: String,
    }
    let mut digests = Vec::new();
    for line in text.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        if line.len() as u64 > LARGEST {
            return None;
        }
        let head: Head = serde_json::from_slice(line).ok()?;
        if head.schema != schema {
            return None;
        }
        digests.push(serde_json::from_slice(line).ok()?);
    }
    (!digests.is_empty()).then_some(digests)
}
