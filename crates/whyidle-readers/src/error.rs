//! Why a file could not be read at all. What could be read in part is no error:
//! it is counted in [`Trace::notes`](whyidle_model::Trace::notes).
//!
//! Nothing here is worded for users: errors, findings and hints carry stable ids
//! and arguments, and the report's catalogues hold the sentences.

use std::io;
use std::path::{Path, PathBuf};

/// A file, directory or stream that could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file; `-` for a stream.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{}: not a trace but {}", path.display(), found.id())]
    NotATrace {
        /// The file; `-` for a stream.
        path: PathBuf,
        /// What it looks like.
        found: Found,
    },
    /// The file holds no digests of ranks.
    #[error("{}: no digest of a rank", path.display())]
    NotADigest {
        /// The file or directory.
        path: PathBuf,
    },
    /// The file is no dump of a flight recorder and no log of NCCL.
    #[error("{}: not a dump but {}", path.display(), found.id())]
    NotADump {
        /// The file.
        path: PathBuf,
        /// What it looks like.
        found: Found,
    },
    /// The file is of no kind that whyidle reads.
    #[error("{}: no evidence but {}", path.display(), found.id())]
    NotEvidence {
        /// The file.
        path: PathBuf,
        /// What it looks like.
        found: Found,
    },
    /// A memory snapshot that cannot be read to its end.
    #[error("{}: {} at byte {byte}", path.display(), why.id())]
    Snapshot {
        /// The file.
        path: PathBuf,
        /// The opcode's first byte, counted in the inflated file.
        byte: u64,
        /// What is wrong there.
        why: Snapshot,
    },
    /// A directory without dumps or logs.
    #[error("{}: no dump in this directory", path.display())]
    NoDump {
        /// The directory.
        path: PathBuf,
    },
    /// The JSON is broken before any event could be read.
    #[error("{}: unreadable at byte {byte}", path.display())]
    Unreadable {
        /// The file; `-` for a stream.
        path: PathBuf,
        /// First byte that makes no sense, counted in the inflated file.
        byte: u64,
    },
    /// The compressed stream is damaged before any event could be read.
    #[error("{}: compressed data damaged after {byte} bytes", path.display())]
    Damaged {
        /// The file; `-` for a stream.
        path: PathBuf,
        /// Bytes that could be inflated.
        byte: u64,
    },
    /// A database that cannot be opened, or whose tables cannot be listed.
    #[error("{}: {reason}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        reason: String,
    },
    /// The file holds no documents of text.
    #[error("{}: no documents but {}", path.display(), found.id())]
    NotDocuments {
        /// The file.
        path: PathBuf,
        /// What it looks like.
        found: Found,
    },
    /// A file of documents, as Parquet or Arrow, that cannot be read.
    #[error("{}: {reason}", path.display())]
    Columns {
        /// The file.
        path: PathBuf,
        /// What its library said.
        reason: String,
    },
    /// A Parquet or Arrow file without a column of texts of that name.
    #[error("{}: no texts in a column {column}", path.display())]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The column asked for.
        column: String,
        /// Those it has.
        columns: Vec<String>,
    },
    /// A recording of a later version of whyidle.
    #[error("{}: schema {schema} is of a later version", path.display())]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        schema: String,
    },
    /// A directory without a trace.
    #[error("{}: no trace in this directory", path.display())]
    NoTrace {
        /// The directory.
        path: PathBuf,
    },
}

impl ReadError {
    /// `path` cannot be read, for this reason.
    #[must_use]
    pub fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    /// The stable id, for the catalogues.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Self::Io { .. } => "read-io",
            Self::NotATrace { found: Found::Empty, .. }
            | Self::NotADump { found: Found::Empty, .. }
            | Self::NotDocuments { found: Found::Empty, .. }
            | Self::NotEvidence { found: Found::Empty, .. } => "read-empty",
            Self::NotDocuments { .. } => "read-not-documents",
            Self::Columns { .. } => "read-columns",
            Self::NoColumn { .. } => "read-no-column",
            Self::NotEvidence { .. } => "read-not-evidence",
            Self::NotADump { .. } => "read-not-a-dump",
            Self::Snapshot { why: Snapshot::Cut, .. } => "read-snapshot-cut",
            Self::Snapshot { why: Snapshot::Code, .. } => "read-snapshot-code",
            Self::Snapshot { why: Snapshot::Nonsense, .. } => "read-snapshot-nonsense",
            Self::NoDump { .. } => "read-no-dump",
            Self::NotATrace { .. } => "read-not-a-trace",
            Self::Unreadable { .. } => "read-unreadable",
            Self::Damaged { .. } => "read-damaged",
            Self::Database { .. } => "read-database",
            Self::NewerSchema { .. } => "read-newer-schema",
            Self::NoTrace { .. } => "read-no-trace",
            Self::NotADigest { .. } => "read-not-a-digest",
        }
    }

    /// The file, directory or `-`.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::NotATrace { path, .. }
            | Self::NotADump { path, .. }
            | Self::NotEvidence { path, .. }
            | Self::NotDocuments { path, .. }
            | Self::Columns { path, .. }
            | Self::NoColumn { path, .. }
            | Self::NoDump { path }
            | Self::Snapshot { path, .. }
            | Self::Unreadable { path, .. }
            | Self::Damaged { path, .. }
            | Self::Database { path, .. }
            | Self::NewerSchema { path, .. }
            | Self::NoTrace { path }
            | Self::NotADigest { path } => path,
        }
    }

    /// Names and values that the sentence behind [`id`](Self::id) needs: always `path`;
    /// `reason` (the system's own words), `found` (a [`Found::id`]) or `byte` where they apply.
    #[must_use]
    pub fn args(&self) -> Vec<(&'static str, String)> {
        let mut args = vec![("path", self.path().display().to_string())];
        match self {
            Self::Io { source, .. } => args.push(("reason", source.to_string())),
            Self::NewerSchema { schema, .. } => args.push(("schema", schema.clone())),
            Self::Columns { reason, .. } | Self::Database { reason, .. } => {
                args.push(("reason", reason.clone()))
            }
            Self::NoColumn { column, columns, .. } => {
                args.extend([("column", column.clone()), ("columns", columns.join(", "))]);
            }
            Self::NotATrace { .. }
            | Self::NotADump { .. }
            | Self::NotDocuments { .. }
            | Self::NotEvidence { .. } => {
                args.extend(self.found().map(|found| ("found", found.id().to_owned())));
            }
            Self::Unreadable { byte, .. } | Self::Damaged { byte, .. } | Self::Snapshot { byte, .. } => {
                args.push(("byte", byte.to_string()))
            }
            Self::NoTrace { .. } | Self::NotADigest { .. } | Self::NoDump { .. } => {}
        }
        args
    }

    /// What the file looks like, where it is something else than was asked for.
    #[must_use]
    pub fn found(&self) -> Option<Found> {
        match self {
            Self::NotATrace { found, .. }
            | Self::NotADump { found, .. }
            | Self::NotDocuments { found, .. }
            | Self::NotEvidence { found, .. } => Some(*found),
            _ => None,
        }
    }

    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Some(Hint::CheckPath),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::IsADirectory => {
                Some(Hint::RecordTrace)
            }
            Self::Io { .. } => None,
            Self::NotATrace { found, .. } => found.hint(),
            Self::NotEvidence {
                found: Found::Json | Found::Text | Found::Binary | Found::Pickle, ..
            } => Some(Hint::GiveEvidence),
            Self::NotEvidence { found, .. } => found.hint(),
            Self::NotDocuments { found: Found::Json, .. } => Some(Hint::JsonLines),
            Self::NotDocuments { found: Found::Zip | Found::OtherCompression, .. } => Some(Hint::Unpack),
            Self::NotDocuments { .. } => Some(Hint::GiveDocuments),
            Self::Columns { .. } => Some(Hint::CopyAgain),
            Self::NoColumn { .. } => Some(Hint::NameColumn),
            Self::Unreadable { .. } | Self::Damaged { .. } => Some(Hint::ExportAgain),
            Self::NewerSchema { .. } => Some(Hint::Update),
            Self::Database { .. } => Some(Hint::ExportNsys),
            Self::NotADump { .. } | Self::NoDump { .. } => Some(Hint::DumpFlight),
            Self::Snapshot { why: Snapshot::Code, .. } => Some(Hint::PlainSnapshot),
            Self::Snapshot { .. } => Some(Hint::SnapshotAgain),
            Self::NoTrace { .. } => Some(Hint::RecordTrace),
            Self::NotADigest { .. } => Some(Hint::MakeDigest),
        }
    }
}

/// What is wrong with a memory snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshot {
    /// It ends in the middle.
    Cut,
    /// It names a class or asks for a call.
    Code,
    /// It makes no sense.
    Nonsense,
}

impl Snapshot {
    fn id(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Code => "asks for code to be run",
            Self::Nonsense => "makes no sense",
        }
    }
}

macro_rules! ids {
    ($(#[$outer:meta])* $name:ident $prefix:literal { $($(#[$doc:meta])* $variant:ident = $id:literal;)* }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// Every one, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The stable id, for the catalogues.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// The id of its wording.
            #[must_use]
            pub fn message(self) -> &'static str {
                match self { $(Self::$variant => concat!($prefix, $id),)* }
            }
        }
    };
}

ids! {
    /// What a file that is no trace looks like.
    Found "found-" {
        /// A file of no bytes (or of white space alone).
        Empty = "empty";
        /// A Python pickle: a memory snapshot or a flight recorder.
        Pickle = "pickle";
        /// A SQLite database of something else than Nsight Systems.
        Sqlite = "sqlite";
        /// A SQLite database in a pipe, or compressed.
        SqliteStream = "sqlite-stream";
        /// A report of Nsight Systems in its own format.
        NsysReport = "nsys-report";
        /// A zip archive (a checkpoint, perhaps).
        Zip = "zip";
        /// Data compressed by something other than gzip.
        OtherCompression = "other-compression";
        /// A web page: a download that needed a log-in, perhaps.
        Html = "html";
        /// JSON without a list of events.
        Json = "json";
        /// What a recording says of itself (`recording.json`, `case.json`).
        Recording = "recording";
        /// A digest of a rank.
        Digest = "digest";
        /// What `nvidia-smi` says of a query that it does not understand.
        SmiError = "smi-error";
        /// A query of `nvidia-smi` without its header.
        NoHeader = "no-header";
        /// Some other text.
        Text = "text";
        /// Some other data.
        Binary = "binary";
    }
}

ids! {
    /// What a user can do about a [`ReadError`].
    Hint "hint-" {
        /// The path is wrong.
        CheckPath = "check-path";
        /// Export the trace again and let the program finish writing it.
        ExportAgain = "export-again";
        /// Record a trace first.
        RecordTrace = "record-trace";
        /// Give something that is read.
        GiveEvidence = "give-evidence";
        /// Ask `nvidia-smi` again: with fields that it has, and with a header.
        QueryAgain = "query-again";
        /// Let the program write dumps first.
        DumpFlight = "dump-flight";
        /// Dump the snapshot again, and let it be written whole.
        SnapshotAgain = "snapshot-again";
        /// Dump the snapshot with PyTorch itself: it is plain data.
        PlainSnapshot = "plain-snapshot";
        /// Give the directory that holds the snapshot, not the pickle.
        GiveDirectory = "give-directory";
        /// Let Nsight Systems export its report as a database.
        ExportNsys = "export-nsys";
        /// A database is read from a file only.
        GiveFile = "give-file";
        /// Unpack the archive first.
        Unpack = "unpack";
        /// The download went wrong.
        DownloadAgain = "download-again";
        /// A later version of whyidle reads it.
        Update = "update";
        /// Make a digest of a trace first.
        MakeDigest = "make-digest";
        /// Write one object per line.
        JsonLines = "json-lines";
        /// Give a file of documents.
        GiveDocuments = "give-documents";
        /// Copy or make the file again.
        CopyAgain = "copy-again";
        /// Name the column that holds the text.
        NameColumn = "name-column";
        /// Digests are for `whyidle merge`.
        MergeDigests = "merge-digests";
    }
}

impl Found {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(self) -> Option<Hint> {
        Some(match self {
            Self::Empty => Hint::ExportAgain,
            Self::Pickle | Self::Recording => Hint::GiveDirectory,
            Self::Sqlite | Self::NsysReport => Hint::ExportNsys,
            Self::SqliteStream => Hint::GiveFile,
            Self::Zip | Self::OtherCompression => Hint::Unpack,
            Self::Html => Hint::DownloadAgain,
            Self::Digest => Hint::MergeDigests,
            Self::SmiError | Self::NoHeader => Hint::QueryAgain,
            Self::Json | Self::Text | Self::Binary => Hint::RecordTrace,
        })
    }
}
