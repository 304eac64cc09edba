//! What is known of a run: where it stands while it goes, what it came to when it is whole.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use whyidle_model::{ImportNotes, NoteCode};

use crate::FeedError;
use crate::formats::{Format, Width};
use crate::places::{ABOUT, STATE, write_whole};

/// A file with tokens that is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardFacts {
    /// Its name in the folder.
    pub name: String,
    /// Tokens in it.
    pub tokens: u64,
    /// Documents in it.
    pub documents: u64,
    /// Of its bytes, as hexadecimal digits.
    pub sha256: String,
}

/// What came of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputCounts {
    /// Documents written.
    pub documents: u64,
    /// Tokens written, with those that frame documents.
    pub tokens: u64,
    /// Bytes of the documents' text.
    pub text_bytes: u64,
    /// What was left out or doubted, by the ids of [`NoteCode`].
    pub notes: BTreeMap<String, u64>,
}

impl InputCounts {
    pub(crate) fn note(&mut self, notes: &ImportNotes) {
        for note in notes.sorted() {
            *self.notes.entry(note.code.id().to_owned()).or_default() += note.count;
        }
    }
}

/// The file with tokens that is being written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Begun {
    pub(crate) number: usize,
    pub(crate) tokens: u64,
    pub(crate) documents: u64,
}

/// Where an unfinished run stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    schema: String,
    /// All that the tokens depend on.
    pub(crate) fingerprint: String,
    /// The input that is read, and where in it.
    pub(crate) input: usize,
    pub(crate) place: u64,
    pub(crate) shards: Vec<ShardFacts>,
    pub(crate) begun: Option<Begun>,
    pub(crate) inputs: Vec<InputCounts>,
}

const SCHEMA: &str = "whyidle.tokenize/1";

impl State {
    pub(crate) fn new(fingerprint: String, inputs: usize) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            fingerprint,
            input: 0,
            place: 0,
            shards: Vec::new(),
            begun: None,
            inputs: vec![InputCounts::default(); inputs],
        }
    }

    /// The state in a folder; `None` where there is none.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, FeedError> {
        let path = folder.join(STATE);
        let state: Option<Self> = read(&path)?;
        match state {
            Some(state) if state.schema != SCHEMA => Err(FeedError::Lost { path }),
            state => Ok(state),
        }
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), FeedError> {
        write_json(&folder.join(STATE), self)
    }
}

/// What a folder of token files holds: `tokens.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub(crate) schema: String,
    /// How its files are written.
    pub format: Format,
    /// The type of their ids.
    pub dtype: Width,
    /// One more than the largest id of the tokenizer.
    pub vocabulary: u64,
    /// The id that ends each document.
    pub eos: Option<u32>,
    /// The id that begins each document.
    pub bos: Option<u32>,
    /// Tokens in all files.
    pub tokens: u64,
    /// Documents in all files.
    pub documents: u64,
    /// Bytes of their text.
    pub text_bytes: u64,
    /// The files, in order.
    pub files: Vec<ShardFacts>,
    /// What was read, and what came of it.
    pub inputs: Vec<InputFacts>,
    /// The tokenizer's file.
    pub tokenizer: TokenizerFacts,
    /// All that the tokens depend on.
    pub(crate) fingerprint: String,
    /// It went on from an earlier run.
    #[serde(skip)]
    pub resumed: bool,
    /// It was whole already.
    #[serde(skip)]
    pub was_whole: bool,
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFacts {
    /// The file, as it was given.
    pub path: PathBuf,
    /// What it was read as: `jsonl`, `text`, `parquet`, `arrow`.
    pub kind: String,
    /// What came of it.
    #[serde(flatten)]
    pub counts: InputCounts,
}

/// What tokenised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenizerFacts {
    /// The file, as it was given.
    pub path: PathBuf,
    /// Of its bytes.
    pub sha256: String,
}

const WHOLE: &str = "whyidle.tokens/1";

impl Summary {
    /// The sums of `files` and `inputs`.
    pub(crate) fn new(
        (format, dtype, vocabulary): (Format, Width, u64),
        (bos, eos): (Option<u32>, Option<u32>),
        files: Vec<ShardFacts>,
        inputs: Vec<InputFacts>,
        tokenizer: TokenizerFacts,
        fingerprint: String,
    ) -> Self {
        Self {
            schema: WHOLE.to_owned(),
            format,
            dtype,
            vocabulary,
            eos,
            bos,
            tokens: files.iter().map(|file| file.tokens).sum(),
            documents: files.iter().map(|file| file.documents).sum(),
            text_bytes: inputs.iter().map(|input| input.counts.text_bytes).sum(),
            files,
            inputs,
            tokenizer,
            fingerprint,
            resumed: false,
            was_whole: false,
        }
    }

    /// The summary in a folder; `None` where there is none.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, FeedError> {
        read(&folder.join(ABOUT))
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), FeedError> {
        write_json(&folder.join(ABOUT), self)
    }

    /// What was left out or doubted in all inputs.
    #[must_use]
    pub fn notes(&self) -> ImportNotes {
        let mut notes = ImportNotes::default();
        for (id, count) in self.inputs.iter().flat_map(|input| &input.counts.notes) {
            if let Some(&code) = NoteCode::ALL.iter().find(|code| code.id() == id) {
                notes.add_many(code, *count, None);
            }
        }
        notes
    }
}

/// No state is longer, bytes: a million files with tokens take less.
const LARGEST: u64 = 256 << 20;

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Option<T>, FeedError> {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes)) {
        // What is cut off is no JSON any more.
        Ok(_) => {
            serde_json::from_slice(&bytes).map(Some).map_err(|_| FeedError::Lost { path: path.to_owned() })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FeedError::write(path)(error)),
    }
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), FeedError> {
    write_whole(path, |out| serde_json::to_writer_pretty(out, value).map_err(Into::into))
}
