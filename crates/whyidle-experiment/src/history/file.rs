//! The file of the history: its tables and their versions; how it is opened, made, brought up to date, and looked at where
//! it may not be written.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::{History, HistoryError};

/// Stands for the version of a database of another program.
const FOREIGN: i64 = -1;
/// Version of the tables.
const VERSION: i64 = 2;
/// So long another writer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

const TABLES: &str = "
    CREATE TABLE entries (
        id INTEGER PRIMARY KEY,
        parent INTEGER REFERENCES entries (id),
        kind TEXT NOT NULL,
        label TEXT,
        began INTEGER NOT NULL,
        command TEXT NOT NULL,
        revision TEXT,
        step_ns INTEGER,
        effect REAL,
        answer TEXT,
        ended TEXT,
        job TEXT,
        busy REAL,
        seen_ns INTEGER
    ) STRICT;
    CREATE INDEX entries_by_job ON entries (job, id) WHERE job IS NOT NULL;
    CREATE INDEX entries_by_parent ON entries (parent, id);
    -- Apart, so that a list reads no more than it shows.
    CREATE TABLE bodies (id INTEGER PRIMARY KEY REFERENCES entries (id), body TEXT NOT NULL) STRICT;
";

/// What version 2 has beyond version 1. Whatever is added later goes into a step of its own.
const FROM_1: &str = "
    ALTER TABLE entries ADD COLUMN job TEXT;
    ALTER TABLE entries ADD COLUMN busy REAL;
    ALTER TABLE entries ADD COLUMN seen_ns INTEGER;
    CREATE INDEX entries_by_job ON entries (job, id) WHERE job IS NOT NULL;
";

impl History {
    /// Opens the history at `path`; makes it, and its folder, where it is not there.
    ///
    /// # Errors
    /// Where it cannot be made, is no such database, or is of a later version.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|source| HistoryError::Folder { path: folder.to_owned(), source })?;
        }
        let failed = |source| HistoryError::Database { path: path.to_owned(), source };
        let connection = Connection::open(path).map_err(failed)?;
        let mut history = Self { connection, path: path.to_owned(), version: 0, job: None };
        history.version = history.prepare().map_err(failed)?;
        history.known()
    }

    /// Opens the history at `path`, which is there, to look at it: also where it may not be written, as it then is.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_to_read(path: &Path) -> Result<Self, HistoryError> {
        match Self::open(path) {
            Err(HistoryError::Database { source, .. }) if is_unwritable(&source) => Self::as_it_is(path),
            other => other,
        }
    }

    /// Without lock, log or change.
    pub(super) fn as_it_is(path: &Path) -> Result<Self, HistoryError> {
        let failed = |source| HistoryError::Database { path: path.to_owned(), source };
        let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut uri = "file://".to_owned();
        for byte in full.as_os_str().as_encoded_bytes() {
            if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
                uri.push(char::from(*byte));
            } else {
                uri += &format!("%{byte:02X}");
            }
        }
        uri += "?immutable=1";
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(uri, flags).map_err(failed)?;
        let version =
            connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?;
        Self { connection, path: path.to_owned(), version, job: None }.known()
    }

    fn known(self) -> Result<Self, HistoryError> {
        match self.version {
            FOREIGN => Err(HistoryError::Foreign { path: self.path }),
            later if later > VERSION => Err(HistoryError::Newer { path: self.path }),
            _ => Ok(self),
        }
    }

    /// Settings and tables; the version of the file.
    fn prepare(&mut self) -> rusqlite::Result<i64> {
        self.connection.busy_timeout(PATIENCE)?;
        if is_foreign(&self.connection)? {
            return Ok(FOREIGN);
        }
        self.connection.pragma_update(None, "foreign_keys", true)?;
        // Answers with a row.
        self.connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        self.connection.pragma_update(None, "synchronous", "full")?;
        let version =
            |connection: &Connection| connection.pragma_query_value(None, "user_version", |row| row.get(0));
        if (0..VERSION).contains(&version(&self.connection)?) {
            // Two programs may come here at once: the second finds the tables made. Whoever is killed before the commit
            // leaves the file as it was.
            let making =
                self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            match version(&making)? {
                0 => making.execute_batch(TABLES)?,
                1 => making.execute_batch(FROM_1)?,
                _ => {}
            }
            if version(&making)? < VERSION {
                making.pragma_update(None, "user_version", VERSION)?;
            }
            making.commit()?;
        }
        version(&self.connection)
    }
}

/// The file or its folder may not be written.
fn is_unwritable(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode as Code;
    matches!(error.sqlite_error_code(), Some(Code::ReadOnly | Code::CannotOpen | Code::PermissionDenied))
}

/// It holds tables, and none of ours: nothing is to be made in it.
fn is_foreign(connection: &Connection) -> rusqlite::Result<bool> {
    let count = |query| connection.query_row(query, [], |row| row.get::<_, i64>(0));
    Ok(count("SELECT count(*) FROM sqlite_master")? > 0
        && count("SELECT count(*) FROM sqlite_master WHERE name = 'entries'")? == 0)
}
