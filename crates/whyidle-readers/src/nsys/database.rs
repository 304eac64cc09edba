//! An export as a database: opened so that nothing is written beside it, its tables and columns looked up, its rows
//! read within a budget.
//!
//! The file may be damaged or hostile: only plain tables are read (no views, no virtual tables, no computed columns),
//! always from the first row to the last, and never more rows or text than the file has room for.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use rustc_hash::FxHashMap;

use crate::budget::{Budget, Guard};

/// No row takes fewer bytes: a pointer to the cell, its length, the row's number, the header.
const LEAST_ROW: u64 = 5;
/// A value longer than this is not read, bytes: no name is.
const LONGEST_VALUE: i32 = 64 << 20;

/// An open database.
pub(super) struct Database {
    connection: Connection,
    /// Columns by table.
    tables: FxHashMap<String, Vec<String>>,
    /// Length of the file, bytes.
    bytes: u64,
    guard: RefCell<Guard>,
}

/// How reading a table ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With its last row, or there is no such table.
    Whole,
    /// At a fault, or with more rows or text than the file has room for: what came before was read.
    Damaged,
    /// Where the budget for the whole file was spent: what came before was read.
    OverBudget,
}

impl Database {
    /// Opens the file at `path`; neither it nor its folder is written to.
    pub(super) fn open(path: &Path) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let connection = Connection::open_with_flags(address(path), flags)?;
        for (setting, on) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        ] {
            connection.set_db_config(setting, on)?;
        }
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        connection.execute_batch("PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY")?;
        let bytes = fs::metadata(path).map_or(0, |file| file.len());
        let guard = RefCell::default();
        let mut database = Self { connection, tables: FxHashMap::default(), bytes, guard };
        database.tables = database.find_tables()?;
        Ok(database)
    }

    /// The same, whose rows cost no more than `budget`.
    pub(super) fn within(mut self, budget: Budget) -> Self {
        self.guard = RefCell::new(Guard::new(budget));
        self
    }

    fn find_tables(&self) -> rusqlite::Result<FxHashMap<String, Vec<String>>> {
        let plain = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'";
        let mut statement = self.connection.prepare(plain)?;
        let names: Vec<String> =
            statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        let mut columns =
            self.connection.prepare("SELECT name FROM pragma_table_xinfo(?1) WHERE hidden = 0")?;
        names
            .into_iter()
            .map(|table| {
                let columns =
                    columns.query_map([&table], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
                Ok((table, columns))
            })
            .collect()
    }

    /// Whether there is a table of this name.
    pub(super) fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// Whether a table has a column.
    pub(super) fn has_column(&self, table: &str, column: &str) -> bool {
        self.tables.get(table).is_some_and(|columns| columns.iter().any(|one| one == column))
    }

    /// Calls `take` with each row of `table`: its values in the order of `columns`, nothing where a column is missing.
    pub(super) fn each<const N: usize>(
        &self,
        table: &str,
        columns: [&str; N],
        mut take: impl FnMut(&Values<'_>),
    ) -> End {
        if !self.has(table) {
            return End::Whole;
        }
        let list: Vec<&str> = columns
            .iter()
            .map(|column| if self.has_column(table, column) { column } else { "NULL" })
            .collect();
        // Names of columns are whyidle's own, as is the table's.
        let select = format!("SELECT {} FROM \"{table}\"", list.join(", "));
        let Ok(mut statement) = self.connection.prepare(&select) else { return End::Damaged };
        let Ok(mut rows) = statement.query([]) else { return End::Damaged };
        let mut text = 0;
        for _ in 0..=self.bytes / LEAST_ROW {
            match rows.next() {
                Ok(Some(row)) => {
                    let row = Values(row);
                    text += (0..N).map(|index| row.length(index)).sum::<u64>();
                    if text > self.bytes {
                        return End::Damaged;
                    }
                    if !self.guard.borrow_mut().pays(text) {
                        return End::OverBudget;
                    }
                    take(&row);
                }
                Ok(None) => return End::Whole,
                Err(_) => return End::Damaged,
            }
        }
        End::Damaged
    }
}

/// The values of one row.
pub(super) struct Values<'r>(&'r Row<'r>);

impl Values<'_> {
    /// The value at `index` as a whole number.
    pub(super) fn integer(&self, index: usize) -> Option<i64> {
        match self.0.get_ref(index) {
            Ok(ValueRef::Integer(number)) => Some(number),
            _ => None,
        }
    }

    /// The value at `index` as a number.
    pub(super) fn number(&self, index: usize) -> Option<f64> {
        match self.0.get_ref(index) {
            Ok(ValueRef::Integer(number)) => Some(number as f64),
            Ok(ValueRef::Real(number)) => Some(number),
            _ => None,
        }
    }

    /// The same as `u32`; 0 where there is none, or where it is none.
    pub(super) fn small(&self, index: usize) -> u32 {
        self.integer(index).and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
    }

    /// Length of the text or the bytes at `index`; 0 where there is something else.
    fn length(&self, index: usize) -> u64 {
        match self.0.get_ref(index) {
            Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => bytes.len() as u64,
            _ => 0,
        }
    }

    /// The bytes of the text at `index`.
    pub(super) fn text(&self, index: usize) -> Option<&[u8]> {
        match self.0.get_ref(index) {
            Ok(ValueRef::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// The address under which SQLite opens a file without locking it and without a journal beside it.
fn address(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut address = String::from("file://");
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            address.push(char::from(byte));
        } else {
            address.push_str(&format!("%{byte:02X}"));
        }
    }
    address + "?mode=ro&immutable=1"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_of_a_file_is_an_address() {
        assert_eq!(
            address(Path::new("/a b/c?#%.sqlite")),
            "file:///a%20b/c%3F%23%25.sqlite?mode=ro&immutable=1"
        );
    }
}
