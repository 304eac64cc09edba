//! Why a query has no answer.

use std::io;

use rusqlite::ErrorCode;

/// What is wrong with a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is no such table.
    NoTable(String),
    /// There is no such column.
    NoColumn(String),
    /// There is no such function.
    NoFunction(String),
    /// It would do more than read.
    NotRead,
    /// It is no statement, or one that answers nothing.
    Nothing,
    /// It is several statements.
    Several,
    /// Its time is up.
    TimeUp,
    /// It takes more memory, or makes a longer value, than it may.
    TooLarge,
    /// The answer could not be written.
    Unwritten(io::ErrorKind),
    /// Anything else, as SQLite says it.
    Other,
}

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SqlError {
    /// What is wrong.
    pub fault: Fault,
    /// In SQLite's words, or the system's.
    pub message: String,
}

impl SqlError {
    /// From SQLite's error. `denied`: the statement wanted to do more than read.
    pub(super) fn new(error: rusqlite::Error, denied: bool) -> Self {
        use rusqlite::Error as E;
        let message = match &error {
            E::SqliteFailure(_, Some(message)) | E::SqlInputError { msg: message, .. } => message.clone(),
            other => other.to_string(),
        };
        let after = |prefix: &str| message.strip_prefix(prefix).map(|name| name.trim().to_owned());
        let fault = match &error {
            E::MultipleStatement => Fault::Several,
            E::Empty => Fault::Nothing,
            _ if denied => Fault::NotRead,
            _ => match error.sqlite_error_code() {
                Some(ErrorCode::OperationInterrupted) => Fault::TimeUp,
                Some(ErrorCode::OutOfMemory | ErrorCode::TooBig) => Fault::TooLarge,
                Some(ErrorCode::AuthorizationForStatementDenied | ErrorCode::ReadOnly) => Fault::NotRead,
                _ => after("no such table: ")
                    .map(Fault::NoTable)
                    .or_else(|| after("no such column: ").map(Fault::NoColumn))
                    .or_else(|| after("no such function: ").map(Fault::NoFunction))
                    .unwrap_or(Fault::Other),
            },
        };
        Self { fault, message }
    }

    /// One that SQLite does not find itself.
    pub(super) fn of(fault: Fault) -> Self {
        Self { fault, message: String::new() }
    }

    pub(super) fn unwritten(error: io::Error) -> Self {
        Self { fault: Fault::Unwritten(error.kind()), message: error.to_string() }
    }
}

impl From<rusqlite::Error> for SqlError {
    fn from(error: rusqlite::Error) -> Self {
        Self::new(error, false)
    }
}

impl From<crate::Stop> for SqlError {
    fn from(stop: crate::Stop) -> Self {
        match stop {
            crate::Stop::Sql(error) => error.into(),
            crate::Stop::Io(error) => Self::unwritten(error),
        }
    }
}
