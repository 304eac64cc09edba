//! What a query may do: read, and call functions that only compute.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;

/// The longest value that a query may make, bytes.
const LONGEST_VALUE: i32 = 16 << 20;
/// What SQLite may use altogether, bytes: far more than any honest query needs.
const MOST_MEMORY: u32 = 256 << 20;
/// Functions that reach beyond the database.
const OUTSIDE: [&str; 3] = ["load_extension", "fts3_tokenizer", "sqlite_dbpage"];

/// Bounds what statements on `connection` can take.
pub(super) fn limit(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
    connection.execute_batch(&format!("PRAGMA hard_heap_limit = {MOST_MEMORY}"))
}

#[derive(Default)]
struct Seen {
    read: BTreeSet<String>,
    denied: bool,
}

/// Lets statements read, and remembers what they would read.
#[derive(Clone, Default)]
pub(super) struct Guard(Arc<Mutex<Seen>>);

impl Guard {
    /// From now on, statements on `connection` are held to it.
    pub(super) fn set(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let guard = self.clone();
        connection.authorizer(Some(move |context: AuthContext<'_>| guard.rule(context.action)))
    }

    /// Statements on `connection` may do anything again.
    pub(super) fn lift(connection: &mut Connection) -> rusqlite::Result<()> {
        connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)
    }

    fn rule(&self, action: AuthAction<'_>) -> Authorization {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let allowed = match action {
            AuthAction::Select | AuthAction::Recursive => true,
            AuthAction::Read { table_name, .. } => {
                seen.read.insert(table_name.to_ascii_lowercase());
                true
            }
            AuthAction::Function { function_name } => {
                !OUTSIDE.iter().any(|name| name.eq_ignore_ascii_case(function_name))
            }
            _ => false,
        };
        seen.denied |= !allowed;
        if allowed { Authorization::Allow } else { Authorization::Deny }
    }

    /// A statement wanted to do more than read.
    pub(super) fn denied(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).denied
    }

    /// A statement reads the table `name`.
    pub(super) fn has_read(&self, name: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read.contains(name)
    }
}
