//! A database of the tables, and queries on it.
//!
//! The database is SQLite's own private one: what does not fit its cache goes to a temporary file that is gone with it, so
//! memory stays bounded however long a trace is. Only tables that a query names are filled.

mod error;
mod guard;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};

pub use error::{Fault, SqlError};

use crate::column::{Cell, Rows, Stop, Table};
use crate::source::{Sampled, Traced};
use crate::tables::{TABLES, create};
use guard::Guard;

/// Pages kept in memory, KiB.
const CACHE_KIB: u32 = 16 << 10;

/// Takes the answer to a query.
pub trait Answer {
    /// Names of its columns, once, before any row.
    ///
    /// # Errors
    /// Where they cannot be written.
    fn columns(&mut self, names: &[String]) -> std::io::Result<()>;

    /// A row.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn row(&mut self, cells: &[Cell<'_>]) -> std::io::Result<()>;
}

/// A database with every table, empty at first.
pub struct Database {
    connection: Connection,
}

impl Database {
    /// A private one, for queries.
    ///
    /// # Errors
    /// Where SQLite cannot make one.
    pub fn private() -> Result<Self, SqlError> {
        // An empty name: in memory until that is full, then in a temporary file.
        let database = Self::with(Connection::open("")?)?;
        guard::limit(&database.connection)?;
        Ok(database)
    }

    /// One in the new file at `path`.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn create(path: &Path) -> Result<Self, Stop> {
        Ok(Self::with(Connection::open(path)?)?)
    }

    fn with(connection: Connection) -> rusqlite::Result<Self> {
        // A half-written database is thrown away, so no journal is needed.
        connection.execute_batch(&format!(
            "PRAGMA cache_size = -{CACHE_KIB}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF"
        ))?;
        for table in TABLES {
            connection.execute_batch(&create(table))?;
        }
        Ok(Self { connection })
    }

    /// The tables that `sql` reads, which must be one statement that reads.
    ///
    /// # Errors
    /// Where it is no such statement.
    pub fn used(&mut self, sql: &str) -> Result<Vec<&'static Table>, SqlError> {
        let guard = Guard::default();
        guard.set(&mut self.connection)?;
        let prepared =
            self.connection.prepare(sql).map(|statement| (statement.readonly(), statement.column_count()));
        Guard::lift(&mut self.connection)?;
        match prepared.map_err(|error| SqlError::new(error, guard.denied()))? {
            // What SQLite asks leave for only while it runs, as VACUUM INTO.
            (false, _) => return Err(SqlError::of(Fault::NotRead)),
            (true, 0) => return Err(SqlError::of(Fault::Nothing)),
            _ => {}
        }
        let opened = self.opened(sql)?;
        let is_used = |table: &&Table| guard.has_read(table.name) || opened.contains(table.name);
        Ok(TABLES.iter().filter(is_used).collect())
    }

    /// The tables that the compiled statement opens. SQLite does not ask leave for what only `USING` reads.
    fn opened(&self, sql: &str) -> rusqlite::Result<BTreeSet<String>> {
        let Ok(mut explain) = self.connection.prepare(&format!("EXPLAIN {sql}")) else {
            // It explains already, and reads no row.
            return Ok(BTreeSet::new());
        };
        let step = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>("opcode")?, row.get::<_, i64>("p2")?));
        let steps: Vec<(String, i64)> = explain.query_map([], step)?.collect::<rusqlite::Result<_>>()?;
        let mut schema = self.connection.prepare("SELECT name, rootpage FROM sqlite_schema")?;
        let tables = schema.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
        let mut opened = BTreeSet::new();
        for table in tables {
            let (name, page) = table?;
            if steps.iter().any(|(opcode, at)| opcode == "OpenRead" && *at == page) {
                opened.insert(name);
            }
        }
        Ok(opened)
    }

    /// Adds a trace's rows of those `tables` that have any of a trace.
    ///
    /// # Errors
    /// Where the database does not take them.
    pub fn add_trace(&mut self, tables: &[&Table], from: &Traced<'_>) -> Result<(), Stop> {
        self.add(tables, |rows, sink| match rows {
            Rows::Traced(rows) => rows(from, sink),
            Rows::Sampled(_) => Ok(()),
        })
    }

    /// Adds a recording's rows of those `tables` that have any of samples.
    ///
    /// # Errors
    /// Where the database does not take them.
    pub fn add_samples(&mut self, tables: &[&Table], from: &Sampled<'_>) -> Result<(), Stop> {
        self.add(tables, |rows, sink| match rows {
            Rows::Sampled(rows) => rows(from, sink),
            Rows::Traced(_) => Ok(()),
        })
    }

    fn add(
        &mut self,
        tables: &[&Table],
        make: impl Fn(Rows, &mut crate::column::Sink<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let transaction = self.connection.transaction()?;
        for table in tables {
            let places = vec!["?"; table.columns.len()].join(", ");
            let mut insert = transaction.prepare(&format!("INSERT INTO {} VALUES ({places})", table.name))?;
            make(table.rows, &mut |cells| {
                for (at, cell) in cells.iter().enumerate() {
                    insert.raw_bind_parameter(at + 1, cell)?;
                }
                insert.raw_execute()?;
                Ok(())
            })?;
        }
        Ok(transaction.commit()?)
    }

    /// Answers `sql` within `limit` of time.
    ///
    /// # Errors
    /// Where the statement is faulty, does more than read, takes too long or too much memory; where the answer cannot be
    /// written.
    pub fn query(&mut self, sql: &str, limit: Duration, answer: &mut dyn Answer) -> Result<(), SqlError> {
        const STEPS: i32 = 10_000;
        let guard = Guard::default();
        guard.set(&mut self.connection)?;
        let until = Instant::now().checked_add(limit);
        let over = move || until.is_some_and(|until| Instant::now() >= until);
        self.connection.progress_handler(STEPS, Some(over))?;
        let answered = self.answer(sql, answer).map_err(|stop| match stop {
            Stop::Sql(error) => SqlError::new(error, guard.denied()),
            Stop::Io(error) => SqlError::unwritten(error),
        });
        self.connection.progress_handler(0, None::<fn() -> bool>)?;
        Guard::lift(&mut self.connection)?;
        answered
    }

    fn answer(&self, sql: &str, answer: &mut dyn Answer) -> Result<(), Stop> {
        let mut statement = self.connection.prepare(sql)?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let columns = names.len();
        answer.columns(&names)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let mut cells = Vec::with_capacity(columns);
            for at in 0..columns {
                cells.push(match row.get_ref(at)? {
                    ValueRef::Null => Cell::Null,
                    ValueRef::Integer(number) => Cell::Integer(number),
                    ValueRef::Real(number) => Cell::Real(number),
                    // A query can make text that is no UTF-8.
                    ValueRef::Text(bytes) => std::str::from_utf8(bytes).map_or(Cell::Blob(bytes), Cell::Text),
                    ValueRef::Blob(bytes) => Cell::Blob(bytes),
                });
            }
            answer.row(&cells)?;
        }
        Ok(())
    }
}

impl ToSql for Cell<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

#[cfg(test)]
mod tests;
