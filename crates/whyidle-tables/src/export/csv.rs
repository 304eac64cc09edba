//! CSV (RFC 4180): rows of any query, and a folder with a file per table. NULL is an empty field.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::column::{Cell, Rows, Stop, Table};
use crate::source::{Sampled, Traced};
use crate::tables::TABLES;

/// Writes a row.
///
/// # Errors
/// Where it cannot be written.
pub fn row(out: &mut dyn Write, cells: &[Cell<'_>]) -> io::Result<()> {
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        match cell {
            Cell::Null => {}
            Cell::Integer(number) => write!(out, "{number}")?,
            Cell::Real(number) => write!(out, "{number}")?,
            Cell::Text(text) => field(out, text)?,
            Cell::Blob(bytes) => bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))?,
        }
    }
    out.write_all(b"\r\n")
}

/// Text, in quotes where it has to be. What a spreadsheet would take for a formula gets an apostrophe in front, by which
/// spreadsheets know text.
fn field(out: &mut dyn Write, text: &str) -> io::Result<()> {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    let text = &if is_formula { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) };
    if !text.contains([',', '"', '\n', '\r']) {
        return out.write_all(text.as_bytes());
    }
    write!(out, "\"{}\"", text.replace('"', "\"\""))
}

/// A folder of tables that is being written.
pub struct Folder {
    files: Vec<(&'static Table, BufWriter<File>)>,
}

impl Folder {
    /// Files with their heads in the folder `path`, which must be there.
    ///
    /// # Errors
    /// Where one cannot be written.
    pub fn create(path: &Path) -> Result<Self, Stop> {
        let mut files = Vec::new();
        for table in TABLES {
            let mut out = BufWriter::new(File::create(path.join(format!("{}.csv", table.name)))?);
            let names: Vec<Cell<'_>> = table.columns.iter().map(|column| Cell::Text(column.name)).collect();
            row(&mut out, &names)?;
            files.push((table, out));
        }
        Ok(Self { files })
    }

    /// Adds a trace's rows.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn add_trace(&mut self, from: &Traced<'_>) -> Result<(), Stop> {
        for (table, out) in &mut self.files {
            if let Rows::Traced(rows) = table.rows {
                rows(from, &mut |cells| Ok(row(out, cells)?))?;
            }
        }
        Ok(())
    }

    /// Adds a recording's rows.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn add_samples(&mut self, from: &Sampled<'_>) -> Result<(), Stop> {
        for (table, out) in &mut self.files {
            if let Rows::Sampled(rows) = table.rows {
                rows(from, &mut |cells| Ok(row(out, cells)?))?;
            }
        }
        Ok(())
    }

    /// Writes what is still held back.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(self) -> Result<(), Stop> {
        for (_, mut out) in self.files {
            out.flush()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spreadsheet_finds_no_formula_in_a_text() -> io::Result<()> {
        let mut out = Vec::new();
        let texts =
            ["=HYPERLINK(\"http://x\",\"a\")", "+1+cmd", "-x", "@SUM(A1)", "\t=1", "-5", "+2.5e3", "a=b"];
        for text in texts {
            row(&mut out, &[Cell::Text(text), Cell::Integer(-3)])?;
        }
        let expected = "\"'=HYPERLINK(\"\"http://x\"\",\"\"a\"\")\",-3\r\n'+1+cmd,-3\r\n'-x,-3\r\n'@SUM(A1),-3\r\n\
            '\t=1,-3\r\n-5,-3\r\n+2.5e3,-3\r\na=b,-3\r\n";
        assert_eq!(String::from_utf8_lossy(&out), expected);
        Ok(())
    }

    #[test]
    fn what_has_to_be_is_quoted() {
        let mut out = Vec::new();
        let cells = [
            Cell::Text("plain"),
            Cell::Text("a,b"),
            Cell::Text("say \"hi\"\n"),
            Cell::Null,
            Cell::Integer(-3),
            Cell::Real(0.5),
            Cell::Blob(&[0, 255]),
        ];
        assert!(row(&mut out, &cells).is_ok());
        assert_eq!(String::from_utf8_lossy(&out), "plain,\"a,b\",\"say \"\"hi\"\"\n\",,-3,0.5,00ff\r\n");
    }
}
