//! Writes documents of ids into files, closes each when it is full, and can go on with one that was begun.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::FeedError;
use crate::encode::Encoded;
use crate::formats::{Format, Width, write_index};
use crate::places::{is_ours, name, partial, sync, write_whole};
use crate::settings::hex;
use crate::state::{Begun, ShardFacts};

/// The files of a folder.
pub(crate) struct Shards {
    folder: PathBuf,
    format: Format,
    width: Width,
    /// Tokens of a file at most.
    limit: Option<u64>,
    /// Those that are whole.
    pub(crate) whole: Vec<ShardFacts>,
    open: Option<Open>,
    /// What closed files leave behind until the state says that they are whole.
    rows: Vec<PathBuf>,
}

/// A file that is being written.
struct Open {
    begun: Begun,
    name: String,
    tokens: BufWriter<File>,
    /// Tokens of each document, for the index.
    lengths: Option<BufWriter<File>>,
    sha256: Sha256,
}

impl Shards {
    pub(crate) fn new(folder: &Path, format: Format, width: Width, limit: Option<u64>) -> Self {
        Self {
            folder: folder.to_owned(),
            format,
            width,
            limit,
            whole: Vec::new(),
            open: None,
            rows: Vec::new(),
        }
    }

    /// Goes on where an earlier run stood.
    pub(crate) fn resume(&mut self, whole: Vec<ShardFacts>, begun: Option<Begun>) -> Result<(), FeedError> {
        for facts in &whole {
            let path = self.folder.join(&facts.name);
            let bytes = path.metadata().map(|file| file.len()).unwrap_or(0);
            // Others may have written the state: no name of theirs leads out of the folder.
            if !is_ours(&facts.name) || Some(bytes) != facts.tokens.checked_mul(self.width.bytes() as u64) {
                return Err(FeedError::Lost { path });
            }
        }
        if self.format == Format::Megatron {
            // Those of files that were closed just before a kill.
            self.rows = whole.iter().map(|facts| self.folder.join(lengths_of(&facts.name))).collect();
        }
        self.whole = whole;
        let Some(begun) = begun else { return Ok(()) };
        let name = name(begun.number, self.limit.is_some());
        let path = self.folder.join(partial(&name));
        let lost = || FeedError::Lost { path: path.clone() };
        let full = self.folder.join(&name);
        if !path.exists() && full.exists() {
            // It got its name, and the state was not written any more.
            fs::rename(&full, &path).map_err(FeedError::write(&path))?;
        }
        let bytes = begun.tokens.checked_mul(self.width.bytes() as u64).ok_or_else(lost)?;
        let (file, sha256) = cut(&path, bytes).map_err(|_| lost())?;
        let lengths = match self.format {
            Format::Raw => None,
            Format::Megatron => {
                let path = self.folder.join(lengths_of(&name));
                let bytes = begun.documents.checked_mul(4).ok_or_else(lost)?;
                let (file, _) = cut(&path, bytes).map_err(|_| FeedError::Lost { path })?;
                Some(BufWriter::new(file))
            }
        };
        self.open = Some(Open { begun, name, tokens: BufWriter::new(file), lengths, sha256 });
        Ok(())
    }

    /// Appends the documents of a chunk. True: a file became full, and is whole.
    pub(crate) fn add(&mut self, encoded: &Encoded) -> Result<bool, FeedError> {
        let (mut filled, mut from) = (false, 0);
        // Documents that go into one file together.
        let (mut run, mut run_tokens) = (0, 0);
        for (at, &length) in encoded.lengths.iter().enumerate() {
            let tokens = self.open.as_ref().map_or(0, |open| open.begun.tokens) + run_tokens;
            if self.limit.is_some_and(|limit| tokens > 0 && tokens + u64::from(length) > limit) {
                from = self.write(encoded, from, &encoded.lengths[run..at], run_tokens)?;
                self.close()?;
                filled = true;
                (run, run_tokens) = (at, 0);
            }
            run_tokens += u64::from(length);
        }
        self.write(encoded, from, &encoded.lengths[run..], run_tokens)?;
        Ok(filled)
    }

    /// Writes documents that begin at byte `from`; the byte at which the next begins.
    fn write(
        &mut self,
        encoded: &Encoded,
        from: usize,
        lengths: &[u32],
        tokens: u64,
    ) -> Result<usize, FeedError> {
        if lengths.is_empty() {
            return Ok(from);
        }
        let to = from + tokens as usize * self.width.bytes();
        let bytes = &encoded.bytes[from..to];
        let path = self.folder.clone();
        let open = match &mut self.open {
            Some(open) => open,
            none => none.insert(begin(&self.folder, self.whole.len(), self.limit.is_some(), self.format)?),
        };
        let written = open.tokens.write_all(bytes).and_then(|()| match &mut open.lengths {
            Some(file) => lengths.iter().try_for_each(|length| file.write_all(&length.to_le_bytes())),
            None => Ok(()),
        });
        written.map_err(FeedError::write(&path.join(&open.name)))?;
        open.sha256.update(bytes);
        open.begun.tokens += tokens;
        open.begun.documents += lengths.len() as u64;
        Ok(to)
    }

    /// Brings all that was written to the disk; what is begun then.
    pub(crate) fn save(&mut self) -> Result<Option<Begun>, FeedError> {
        let Some(open) = &mut self.open else { return Ok(None) };
        let files = std::iter::once(&mut open.tokens).chain(&mut open.lengths);
        for file in files {
            let saved = file.flush().and_then(|()| file.get_ref().sync_data());
            saved.map_err(FeedError::write(&self.folder.join(&open.name)))?;
        }
        Ok(Some(open.begun))
    }

    /// Closes the file that is open: its index first, so that tokens with a name always have one.
    pub(crate) fn close(&mut self) -> Result<(), FeedError> {
        self.save()?;
        let Some(open) = self.open.take() else { return Ok(()) };
        let Open { begun, name, lengths, sha256, .. } = open;
        let path = self.folder.join(&name);
        let failed = |error| FeedError::write(&path)(error);
        if let Some(lengths) = lengths {
            self.rows.push(self.folder.join(lengths_of(&name)));
            let mut lengths = lengths.into_inner().map_err(|error| failed(error.into_error()))?;
            write_whole(&path.with_extension("idx"), |out| {
                write_index(out, &mut lengths, begun.documents, self.width)
            })?;
        }
        fs::rename(self.folder.join(partial(&name)), &path).map_err(failed)?;
        sync(&self.folder).map_err(failed)?;
        self.whole.push(ShardFacts {
            name,
            tokens: begun.tokens,
            documents: begun.documents,
            sha256: hex(&sha256.finalize()),
        });
        Ok(())
    }

    /// Removes what was only needed to close files that the state now says are whole.
    pub(crate) fn forget(&mut self) {
        for path in self.rows.drain(..) {
            // One that stays is in nobody's way.
            let _ = fs::remove_file(path);
        }
    }
}

fn lengths_of(name: &str) -> String {
    format!(".{name}.lengths")
}

fn begin(folder: &Path, number: usize, is_sharded: bool, format: Format) -> Result<Open, FeedError> {
    let name = name(number, is_sharded);
    let create = |path: PathBuf| {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        options.open(&path).map(BufWriter::new).map_err(FeedError::write(&path))
    };
    let tokens = create(folder.join(partial(&name)))?;
    let lengths = match format {
        Format::Raw => None,
        Format::Megatron => Some(create(folder.join(lengths_of(&name)))?),
    };
    let begun = Begun { number, ..Begun::default() };
    Ok(Open { begun, name, tokens, lengths, sha256: Sha256::new() })
}

/// Opens a file that was begun, cut to its first `bytes`, at its end; with the sum of what it holds.
fn cut(path: &Path, bytes: u64) -> io::Result<(File, Sha256)> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut sha256 = Sha256::new();
    if io::copy(&mut (&mut file).take(bytes), &mut sha256)? != bytes {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    file.set_len(bytes)?;
    file.seek(SeekFrom::End(0))?;
    Ok((file, sha256))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_of_others_leads_out_of_no_folder() -> Result<(), Box<dyn std::error::Error>> {
        let outer = tempfile::tempdir()?;
        let folder = outer.path().join("tokens");
        fs::create_dir(&folder)?;
        fs::write(outer.path().join("mine"), [0; 4])?;
        let lengths = outer.path().join("mine.lengths");
        fs::write(&lengths, [0; 4])?;
        for (name, tokens) in [("../mine", 2), ("x/../../mine", 2), ("tokens-00000.bin", u64::MAX)] {
            let whole = ShardFacts { name: name.to_owned(), tokens, documents: 1, sha256: String::new() };
            let mut shards = Shards::new(&folder, Format::Megatron, Width::Uint16, Some(2));
            assert!(matches!(shards.resume(vec![whole], None), Err(FeedError::Lost { .. })), "{name}");
            shards.forget();
        }
        assert!(lengths.exists());
        let begun = Begun { number: 0, tokens: u64::MAX, documents: u64::MAX };
        let mut shards = Shards::new(&folder, Format::Megatron, Width::Uint16, Some(2));
        assert!(matches!(shards.resume(Vec::new(), Some(begun)), Err(FeedError::Lost { .. })));
        Ok(())
    }

    #[test]
    fn what_a_kill_left_of_closed_files_is_removed() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let name = name(0, true);
        // The moment after the state says that the file is whole.
        let left = folder.path().join(lengths_of(&name));
        fs::write(folder.path().join(&name), [0; 4])?;
        fs::write(&left, [0; 4])?;
        let whole = ShardFacts { name, tokens: 2, documents: 1, sha256: String::new() };
        let mut shards = Shards::new(folder.path(), Format::Megatron, Width::Uint16, Some(2));
        shards.resume(vec![whole], None)?;
        shards.forget();
        assert!(!left.exists());
        Ok(())
    }
}
