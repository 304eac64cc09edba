//! The answer to a query: aligned columns, CSV, or JSON. Rows are written as they come; only the first ones are held back,
//! to learn how wide the columns are.

use std::io::{self, Write};

use serde_json::{Map, Value};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use whyidle_tables::Cell;
use whyidle_tables::export::csv;
use whyidle_tables::sql::Answer;

/// How an answer is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SheetForm {
    /// Aligned columns; longer texts are cut.
    Text,
    /// A list of objects, a line each.
    Json,
    /// CSV with a head.
    Csv,
}

/// Rows that decide how wide columns are.
const HELD: usize = 500;
/// Longer texts are cut in aligned columns: kernels have names of hundreds of characters.
const LONGEST: usize = 60;

/// An answer on its way out.
pub struct Sheet<'o> {
    out: &'o mut dyn Write,
    form: SheetForm,
    names: Vec<String>,
    /// Rows not yet written, each cell with whether it is a number.
    held: Vec<Vec<(String, bool)>>,
    /// Once they are known.
    widths: Option<Vec<usize>>,
    rows: u64,
}

impl<'o> Sheet<'o> {
    /// Onto `out`.
    pub fn new(out: &'o mut dyn Write, form: SheetForm) -> Self {
        Self { out, form, names: Vec::new(), held: Vec::new(), widths: None, rows: 0 }
    }

    /// Writes what is still held back.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        match self.form {
            SheetForm::Text => self.align()?,
            SheetForm::Json => self.out.write_all(if self.rows == 0 { b"[]\n" } else { b"\n]\n" })?,
            SheetForm::Csv => {}
        }
        self.out.flush()
    }

    /// Chooses the widths and writes the head and the rows held.
    fn align(&mut self) -> io::Result<()> {
        if self.widths.is_some() {
            return Ok(());
        }
        let mut widths: Vec<usize> = self.names.iter().map(|name| name.width()).collect();
        for row in &self.held {
            for (width, (text, _)) in widths.iter_mut().zip(row) {
                *width = (*width).max(text.width());
            }
        }
        let held = std::mem::take(&mut self.held);
        // A head stands over its figures as they do.
        let is_number = |column: usize| held.iter().any(|row| row[column].1);
        let head: Vec<_> =
            self.names.iter().cloned().enumerate().map(|(at, name)| (name, is_number(at))).collect();
        write_row(self.out, &head, &widths)?;
        let rule: Vec<_> = widths.iter().map(|&width| ("-".repeat(width), false)).collect();
        write_row(self.out, &rule, &widths)?;
        for row in &held {
            write_row(self.out, row, &widths)?;
        }
        self.widths = Some(widths);
        Ok(())
    }
}

impl Answer for Sheet<'_> {
    fn columns(&mut self, names: &[String]) -> io::Result<()> {
        self.names = match self.form {
            SheetForm::Json => distinct(names),
            SheetForm::Text => names.iter().map(|name| printable(name)).collect(),
            SheetForm::Csv => names.to_vec(),
        };
        if self.form == SheetForm::Csv {
            let head: Vec<Cell<'_>> = self.names.iter().map(|name| Cell::Text(name)).collect();
            csv::row(self.out, &head)?;
        }
        Ok(())
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        self.rows += 1;
        match self.form {
            SheetForm::Csv => csv::row(self.out, cells),
            SheetForm::Json => {
                let object: Map<String, Value> =
                    self.names.iter().cloned().zip(cells.iter().map(value)).collect();
                self.out.write_all(if self.rows == 1 { b"[\n" } else { b",\n" })?;
                Ok(serde_json::to_writer(&mut *self.out, &object)?)
            }
            SheetForm::Text => {
                let row: Vec<(String, bool)> = cells.iter().map(shown).collect();
                if let Some(widths) = &self.widths {
                    return write_row(self.out, &row, widths);
                }
                self.held.push(row);
                if self.held.len() >= HELD { self.align() } else { Ok(()) }
            }
        }
    }
}

/// Figures to the right, text to the left, nothing behind the last column.
fn write_row(out: &mut dyn Write, row: &[(String, bool)], widths: &[usize]) -> io::Result<()> {
    let mut line = String::new();
    for (at, ((text, is_number), &width)) in row.iter().zip(widths).enumerate() {
        let space = " ".repeat(width.saturating_sub(text.width()));
        if at > 0 {
            line.push_str("  ");
        }
        if *is_number {
            line.push_str(&space);
            line.push_str(text);
        } else {
            line.push_str(text);
            line.push_str(&space);
        }
    }
    writeln!(out, "{}", line.trim_end())
}

/// A cell as text, and whether it is a number.
fn shown(cell: &Cell<'_>) -> (String, bool) {
    match cell {
        Cell::Null => (String::new(), false),
        Cell::Integer(number) => (number.to_string(), true),
        Cell::Real(number) => (real(*number), true),
        Cell::Text(text) => (cut(&printable(text)), false),
        Cell::Blob(bytes) => (cut(&hex(bytes)), false),
    }
}

/// Six digits that mean something.
fn real(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return format!("{number}");
    }
    let before = number.abs().log10().floor() as i32;
    let places = usize::try_from((5 - before).clamp(0, 17)).unwrap_or(0);
    let text = format!("{number:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Text on one line that cannot command a terminal.
fn printable(text: &str) -> String {
    whyidle_model::harmless(text)
}

fn cut(text: &str) -> String {
    if text.width() <= LONGEST {
        return text.to_owned();
    }
    let (mut out, mut width) = (String::new(), 1);
    for c in text.chars() {
        width += c.width().unwrap_or(0);
        if width > LONGEST {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn value(cell: &Cell<'_>) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Integer(number) => Value::from(*number),
        Cell::Real(number) => Value::from(*number),
        Cell::Text(text) => Value::from(*text),
        Cell::Blob(bytes) => Value::from(hex(bytes)),
    }
}

/// Names of members: a name that comes again gets a number.
fn distinct(names: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let mut new = name.clone();
        let mut number = 2;
        while out.contains(&new) {
            new = format!("{name}_{number}");
            number += 1;
        }
        out.push(new);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(form: SheetForm, names: &[&str], rows: &[&[Cell<'_>]]) -> String {
        let mut out = Vec::new();
        let mut sheet = Sheet::new(&mut out, form);
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let written = sheet.columns(&names).and_then(|()| rows.iter().try_for_each(|row| sheet.row(row)));
        assert!(written.and_then(|()| sheet.finish()).is_ok());
        String::from_utf8(out).expect("text")
    }

    const ROWS: [&[Cell<'static>]; 2] = [
        &[Cell::Text("mm\u{1b}[31m"), Cell::Integer(12_000), Cell::Real(0.25)],
        &[Cell::Null, Cell::Integer(-1), Cell::Real(1e9)],
    ];

    #[test]
    fn figures_stand_under_each_other_and_no_name_commands_the_terminal() {
        assert_eq!(
            set(SheetForm::Text, &["name", "ns", "share"], &ROWS),
            "name        ns       share\n-------  -----  ----------\nmm\u{fffd}[31m  12000        0.25\n            -1  1000000000\n"
        );
    }

    #[test]
    fn json_is_a_list_of_objects_whose_names_differ() {
        let text = set(SheetForm::Json, &["a", "a", "b"], &ROWS);
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value[0]["a_2"], 12_000);
        assert_eq!(value[1]["a"], Value::Null);
        assert_eq!(set(SheetForm::Json, &["a"], &[]), "[]\n");
    }

    #[test]
    fn long_texts_are_cut_in_columns_alone() {
        let long = "x".repeat(100);
        let row: &[Cell<'_>] = &[Cell::Text(&long)];
        assert!(set(SheetForm::Text, &["a"], &[row]).ends_with("x…\n"));
        assert_eq!(set(SheetForm::Csv, &["a"], &[row]), format!("a\r\n{long}\r\n"));
    }
}
