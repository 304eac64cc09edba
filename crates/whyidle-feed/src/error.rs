//! Why documents were not tokenised. Ids and arguments, no wording: that is the report's.

use std::io;
use std::path::{Path, PathBuf};

use whyidle_model::NoteCode;
use whyidle_readers::ReadError;

/// Tokenising could not be begun or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FeedError {
    /// An input could not be read.
    #[error(transparent)]
    Unread(#[from] ReadError),
    /// There is no input.
    #[error("no files in {}", path.display())]
    NoInput {
        /// The directory.
        path: PathBuf,
    },
    /// The tokenizer cannot be used.
    #[error("{}: {reason}", path.display())]
    Tokenizer {
        /// Its file.
        path: PathBuf,
        /// What its library said.
        reason: String,
    },
    /// The tokenizer has no such token.
    #[error("{}: no token {token}", path.display())]
    NoToken {
        /// Its file.
        path: PathBuf,
        /// The token asked for.
        token: String,
        /// Its special tokens.
        special: Vec<String>,
    },
    /// The tokenizer failed on a document.
    #[error("{}: {reason}", path.display())]
    Encode {
        /// The input.
        path: PathBuf,
        /// What its library said.
        reason: String,
    },
    /// A fault of an input, where none was to be tolerated.
    #[error("{}: {}", path.display(), code.id())]
    Strict {
        /// The input.
        path: PathBuf,
        /// The fault.
        code: NoteCode,
        /// How many in the stretch that was read.
        count: u64,
    },
    /// No input held any token.
    #[error("no tokens")]
    Nothing,
    /// Token files are there already.
    #[error("{} is there", path.display())]
    There {
        /// One of them.
        path: PathBuf,
    },
    /// An unfinished run with other settings or inputs.
    #[error("{}: an unfinished run of another kind", path.display())]
    Another {
        /// Its folder.
        path: PathBuf,
    },
    /// What an unfinished run wrote is damaged.
    #[error("{}: damaged", path.display())]
    Lost {
        /// The file.
        path: PathBuf,
    },
    /// Another process writes there.
    #[error("{}: another process writes there", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The system refused to write.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl FeedError {
    /// `path` cannot be written, for this reason.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Write { path: path.to_owned(), source }
    }
}
