//! The list of tables. Adding one: a file here and a row in [`TABLES`]; SQL, exports and the reference in
//! `docs/sql.md` follow from it.

mod busy;
mod collectives;
mod gaps;
mod kernels;
mod launches;
mod ledger;
mod memory;
mod notes;
mod ops;
mod samples;
mod stacks;
mod steps;
mod traces;

use crate::column::Table;

/// All tables, in the order of their documentation.
pub const TABLES: &[Table] = &[
    traces::TABLE,
    steps::TABLE,
    ledger::TABLE,
    gaps::TABLE,
    busy::TABLE,
    kernels::TABLE,
    launches::TABLE,
    ops::TABLE,
    collectives::TABLE,
    memory::TABLE,
    samples::TABLE,
    stacks::TABLE,
    notes::TABLE,
];

/// The table called `name`, in whatever case.
#[must_use]
pub fn table(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name.eq_ignore_ascii_case(name))
}

/// The statement that creates a table, with its documentation as comments: SQLite keeps them with the schema.
#[must_use]
pub fn create(table: &Table) -> String {
    let width = table.columns.iter().map(|column| column.name.len()).max().unwrap_or(0);
    let mut sql = format!("CREATE TABLE {} ( -- {}\n", table.name, table.doc);
    for (at, column) in table.columns.iter().enumerate() {
        let comma = if at + 1 < table.columns.len() { "," } else { "" };
        let unit = if column.unit.is_empty() { String::new() } else { format!("[{}] ", column.unit) };
        let head = format!("{:width$} {}{comma}", column.name, column.kind.sql());
        sql.push_str(&format!("  {head:ends$} -- {unit}{}\n", column.doc, ends = width + 9));
    }
    sql.push_str(") STRICT");
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_units_follow_from_them() {
        for (at, table) in TABLES.iter().enumerate() {
            assert!(TABLES[..at].iter().all(|other| other.name != table.name), "{}", table.name);
            for (at, column) in table.columns.iter().enumerate() {
                let place = format!("{}.{}", table.name, column.name);
                assert!(table.columns[..at].iter().all(|other| other.name != column.name), "{place} twice");
                assert_eq!(column.name.ends_with("_ns"), column.unit == "ns", "{place}");
                assert_eq!(column.name.split("_").last() == Some("bytes"), column.unit == "bytes", "{place}");
                assert!(!column.doc.contains('\n') && column.doc.len() >= 3, "{place}");
            }
        }
        assert_eq!(table("KERNELS").map(|table| table.name), Some("kernels"));
        assert!(table("kernel").is_none());
    }
}
