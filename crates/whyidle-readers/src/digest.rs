//! Digests: what one rank says to the others, as gzipped JSON.
//!
//! What is in a digest is the business of who makes it; here is how it is kept. A file holds one or several, each a JSON
//! document of its own, and files may be joined end to end.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Found, ReadError};
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
    let foreign = |found| ReadError::NotATrace { path: path.to_owned(), found };
    if bytes.is_empty() {
        return Err(foreign(Found::Empty));
    }
    if !source::is_gzip(&bytes) {
        return parse(&bytes, schema).ok_or_else(|| foreign(Found::NoDigest));
    }
    let mut inflated = Vec::new();
    let mut gzip = MultiGzDecoder::new(&bytes[..]).take(LARGEST_FILE);
    if gzip.read_to_end(&mut inflated).is_err() {
        return Err(ReadError::Damaged { path: path.to_owned(), byte: inflated.len() as u64 });
    }
    parse(&inflated, schema).ok_or_else(|| foreign(Found::NoDigest))
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
