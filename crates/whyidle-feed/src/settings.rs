//! What is to be tokenised, how, and where to.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;
use sha2::{Digest, Sha256};
use whyidle_readers::ReadError;
use whyidle_readers::documents::Reading;

use crate::FeedError;
use crate::formats::{Format, Width};
use crate::tokens::Tokens;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Files with documents, or folders of such; in this order.
    pub inputs: Vec<PathBuf>,
    /// How they are read.
    pub reading: Reading,
    /// `tokenizer.json`.
    pub tokenizer: PathBuf,
    /// The folder for the token files.
    pub out: PathBuf,
    /// How they are written.
    pub format: Format,
    /// The token that begins each document.
    pub bos: Option<String>,
    /// The token that ends each document.
    pub eos: Option<String>,
    /// Add what the tokenizer adds to a sequence for its model: `[CLS]`, `<s>`.
    pub special: bool,
    /// Tokens of a file at most, but for a document that has more.
    pub shard: Option<u64>,
    /// Every fault of an input is an error.
    pub strict: bool,
    /// Replace what is there.
    pub force: bool,
    /// How long at least between two saves of where it stands; what comes after the last is done again after a kill.
    pub save_every: Duration,
}

/// A file with documents, as it was when the run began.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    modified_ns: u128,
}

/// The files that `given` stands for: those of a folder by their names, without hidden ones.
pub(crate) fn inputs(given: &[PathBuf]) -> Result<Vec<Input>, FeedError> {
    let mut found = Vec::new();
    for path in given {
        let failed = |error| ReadError::io(path, error);
        if path.is_dir() {
            let mut files = Vec::new();
            for entry in std::fs::read_dir(path).map_err(failed)? {
                let file = entry.map_err(failed)?.path();
                let is_hidden = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
                if file.is_file() && !is_hidden {
                    files.push(file);
                }
            }
            if files.is_empty() {
                return Err(FeedError::NoInput { path: path.clone() });
            }
            files.sort();
            for file in files {
                found.push(input(&file)?);
            }
        } else {
            found.push(input(path)?);
        }
    }
    Ok(found)
}

fn input(path: &Path) -> Result<Input, ReadError> {
    let about = path.metadata().map_err(|error| ReadError::io(path, error))?;
    let modified = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(Input {
        path: path.to_owned(),
        bytes: about.len(),
        modified_ns: modified.map_or(0, |time| time.as_nanos()),
    })
}

/// Everything that the tokens depend on.
#[derive(Serialize)]
struct Depends<'a> {
    /// Raised when the files of the same settings come to differ.
    version: u32,
    tokenizer: &'a str,
    width: Width,
    format: Format,
    bos: Option<u32>,
    eos: Option<u32>,
    special: bool,
    shard: Option<u64>,
    field: String,
    kind: Option<&'static str>,
    whole: bool,
    inputs: Vec<(PathBuf, u64, u128)>,
}

/// One number for all that the tokens depend on: a run goes on only where it is the same.
pub(crate) fn fingerprint(settings: &Settings, tokens: &Tokens, inputs: &[Input]) -> String {
    let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let depends = Depends {
        version: 1,
        tokenizer: &tokens.sha256,
        width: tokens.width(settings.format),
        format: settings.format,
        bos: tokens.bos,
        eos: tokens.eos,
        special: settings.special,
        shard: settings.shard,
        field: settings.reading.field.to_string(),
        kind: settings.reading.kind.map(|kind| kind.id()),
        whole: settings.reading.whole,
        inputs: inputs.iter().map(|input| (place(&input.path), input.bytes, input.modified_ns)).collect(),
    };
    // Names and numbers always make JSON; were one not to, nothing would be gone on with.
    hex(&Sha256::digest(serde_json::to_vec(&depends).unwrap_or_default()))
}

/// Bytes as digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
