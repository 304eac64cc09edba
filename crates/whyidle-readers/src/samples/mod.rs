//! What was sampled of a run: `nvml.csv`, `proc.csv`, `threads.csv`, `system.csv`, and the stacks of
//! `stacks.jsonl` or `stacks.txt`.
//!
//! Every file and every column is optional. A line that was cut off, as by a watcher that was killed, or
//! that makes no sense is left out and counted.

pub(crate) mod collapsed;
mod csv;
mod follow;
mod rows;

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use whyidle_model::{Samples, Stacks, Table};

use crate::error::ReadError;
pub use follow::Follower;

/// Files that hold samples.
pub const FILES: [&str; 6] =
    ["nvml.csv", "proc.csv", "threads.csv", "system.csv", "stacks.jsonl", "stacks.txt"];

/// No file of samples is read beyond this: at the default rates it is many days of watching.
const LARGEST: u64 = 1 << 30;

/// What a directory holds of samples.
#[derive(Debug, Default)]
pub struct Found {
    /// The samples.
    pub samples: Samples,
    /// Files that were read, with the rows or sightings in each.
    pub files: Vec<(&'static str, u64)>,
    /// Names of files that are there and are no files.
    pub unread: Vec<&'static str>,
    /// Lines left out.
    pub dropped: u64,
}

/// Reads the samples in `dir`; nothing where there are none.
///
/// # Errors
/// Where a file is there but cannot be read.
pub fn read(dir: &Path) -> Result<Found, ReadError> {
    let mut found = Found::default();
    for name in FILES {
        let path = dir.join(name);
        if path.exists() && !path.is_file() {
            found.unread.push(name);
        }
    }
    for name in ["nvml.csv", "proc.csv", "threads.csv", "system.csv"] {
        if let Some(bytes) = contents(&dir.join(name))? {
            let (table, dropped) = csv::read(&bytes);
            found.dropped += dropped;
            found.files.push((name, table.len() as u64));
            *table_of(&mut found.samples, name) = table;
        }
    }
    for (name, read) in
        [("stacks.jsonl", rows::read as fn(&[u8]) -> (Stacks, u64)), ("stacks.txt", collapsed::read)]
    {
        if let Some(bytes) = contents(&dir.join(name))? {
            let (stacks, dropped) = read(&bytes);
            found.dropped += dropped;
            found.files.push((name, stacks.seen.len() as u64));
            found.samples.stacks = stacks;
            break;
        }
    }
    Ok(found)
}

fn table_of<'a>(samples: &'a mut Samples, name: &str) -> &'a mut Table {
    match name {
        "nvml.csv" => &mut samples.gpu,
        "proc.csv" => &mut samples.process,
        "threads.csv" => &mut samples.thread,
        _ => &mut samples.system,
    }
}

fn contents(path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    // Opening a pipe would wait for somebody to write into it.
    if path.exists() && !path.is_file() {
        return Ok(None);
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ReadError::io(path, error)),
    };
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).map_err(|error| ReadError::io(path, error))?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_samples_has_none() {
        let dir = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let found = read(dir.path()).unwrap_or_default();
        assert!(found.samples.is_empty() && found.files.is_empty());
    }

    #[test]
    fn stacks_with_times_are_preferred() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        std::fs::write(
            dir.path().join("stacks.txt"),
            "process 1:\"p\";thread (1): MainThread;f (a.py:1) 3\n",
        )?;
        let found = read(dir.path())?;
        assert_eq!(found.files, [("stacks.txt", 1)]);
        std::fs::write(
            dir.path().join("stacks.jsonl"),
            "{\"stack\":0,\"pid\":1,\"thread\":\"MainThread\",\"frames\":[]}\n",
        )?;
        let found = read(dir.path())?;
        assert_eq!(found.files, [("stacks.jsonl", 0)]);
        Ok(())
    }
}
