//! What a table is: a name, columns with type, unit and meaning, and a maker of rows.

use std::io;

use crate::source::{Sampled, Traced};

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Not known, or not there.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number with decimals.
    Real(f64),
    /// Text.
    Text(&'a str),
    /// Bytes; no table has any, a query may make some.
    Blob(&'a [u8]),
}

impl From<i64> for Cell<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<i32> for Cell<'_> {
    fn from(number: i32) -> Self {
        Self::Integer(i64::from(number))
    }
}

impl From<u32> for Cell<'_> {
    fn from(number: u32) -> Self {
        Self::Integer(i64::from(number))
    }
}

impl From<u64> for Cell<'_> {
    fn from(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Cell<'_> {
    fn from(holds: bool) -> Self {
        Self::Integer(i64::from(holds))
    }
}

impl From<f64> for Cell<'_> {
    fn from(number: f64) -> Self {
        if number.is_finite() { Self::Real(number) } else { Self::Null }
    }
}

/// Text; none where it is empty.
impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        if text.is_empty() { Self::Null } else { Self::Text(text) }
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Integer,
    /// A number with decimals.
    Real,
    /// Text.
    Text,
}

impl Kind {
    /// As SQL calls it.
    #[must_use]
    pub fn sql(self) -> &'static str {
        match self {
            Self::Integer => "INTEGER",
            Self::Real => "REAL",
            Self::Text => "TEXT",
        }
    }
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name; times end in `_ns`, sizes in `_bytes` or are called `bytes`.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Unit of its numbers; empty for text, ids and counts.
    pub unit: &'static str,
    /// What it holds, and when it is NULL.
    pub doc: &'static str,
}

/// Why making rows ended early.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// They could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The database did not take them.
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
}

/// Takes rows, one by one.
pub type Sink<'s> = dyn FnMut(&[Cell<'_>]) -> Result<(), Stop> + 's;

/// How a table makes its rows.
#[derive(Clone, Copy)]
pub enum Rows {
    /// From a trace.
    Traced(fn(&Traced<'_>, &mut Sink<'_>) -> Result<(), Stop>),
    /// From the samples of a recording.
    Sampled(fn(&Sampled<'_>, &mut Sink<'_>) -> Result<(), Stop>),
}

/// A table.
#[derive(Clone, Copy)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// What a row is.
    pub doc: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
    /// Its rows.
    pub rows: Rows,
}

/// Columns as a list: `name kind "unit" "doc";`.
macro_rules! columns {
    ($($name:ident $kind:ident $unit:literal $doc:literal;)*) => {
        &[$($crate::column::Column {
            name: stringify!($name),
            kind: $crate::column::Kind::$kind,
            unit: $unit,
            doc: $doc,
        }),*]
    };
}
pub(crate) use columns;
