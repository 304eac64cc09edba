//! Named columns of the model: one list of tables, read by SQL and written for other tools.
//!
//! * [`TABLES`] – the tables with their columns, units and meaning; each makes its rows one by one.
//! * [`Traced`], [`Sampled`] – what rows are made of: a trace with its facts, the samples of a recording.
//! * [`sql`] – a database of the tables that a query names, and the query, with its limits.
//! * [`export`] – the same tables as a SQLite file or as CSV; a trace as Chrome's trace format with tracks of whyidle's
//!   own; stacks for flame graphs.

mod column;
pub mod export;
mod source;
pub mod sql;
mod tables;

pub use column::{Cell, Column, Kind, Rows, Sink, Stop, Table};
pub use source::{Sampled, Traced};
pub use tables::{TABLES, create, table};
