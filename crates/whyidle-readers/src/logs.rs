//! Logs that other tools print of a machine and its programs: what each reader returns, and which one reads what.
//!
//! Rows become columns of [`Samples`] as the recording names them (`nvml.csv`, `proc.csv`, `system.csv`), so that there
//! is one path to a verdict. A print without times keeps its order; its rows are a second apart, which is the default of
//! `dmon`, `iostat 1` and the like, and [`Clock::None`] says that this is assumed.

use std::path::Path;

use whyidle_model::{ImportNotes, MachineFacts, NoteCode, Samples, Table};

use crate::budget::{Budget, Guard};
use crate::error::{Found, ReadError};
use crate::sniff::Format;
use crate::{dcgm, host, plain, smi, stacks};

/// Rows of a print beyond this are dropped: a sample a second for half a year.
const MOST_ROWS: usize = 1 << 24;
/// Nanoseconds of a second.
pub(crate) const SECOND: i64 = 1_000_000_000;

/// What the times of a print are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// There are none: rows are a second apart from 0 on.
    #[default]
    None,
    /// Times of the day without a date, on the first of January 1970.
    Day,
    /// The machine's own clock without its zone, as if it were UTC.
    Local,
    /// Unix time.
    Unix,
}

/// What a print holds.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Rows and stacks.
    pub samples: Samples,
    /// Facts of the machine.
    pub machine: MachineFacts,
    /// What the rows' times are.
    pub clock: Clock,
    /// Rows, sightings of stacks, or facts that were read.
    pub rows: u64,
    /// Numbers beside stacks are time that operators took, not samples.
    pub is_weighted_by_time: bool,
    /// What was left out.
    pub notes: ImportNotes,
}

/// Reads the print in a file, which `sniff` found to be of this format.
///
/// # Errors
/// Where the file cannot be read, or holds nothing of the format.
pub fn read_log(path: &Path, format: Format) -> Result<Log, ReadError> {
    let log = parse_log(&plain::read(path)?, format, Budget::default());
    if log.rows == 0 {
        return Err(ReadError::NotATrace { path: path.to_owned(), found: Found::Text });
    }
    Ok(log)
}

/// Reads a print from bytes, which `sniff` found to be of this format; nothing where they hold none.
#[must_use]
pub fn log_of(bytes: &[u8], format: Format) -> Log {
    parse_log(&plain::clean(bytes), format, Budget::default())
}

/// Reads text that was cleaned, as far as the budget goes.
pub(crate) fn parse_log(text: &str, format: Format, budget: Budget) -> Log {
    let mut guard = Guard::new(budget);
    let mut log = match format {
        Format::Smi => smi::parse(text, &mut guard),
        Format::Iostat => host::iostat::parse(text, &mut guard),
        Format::Top => host::top::parse(text, &mut guard),
        Format::Vmstat => host::vmstat::parse(text, &mut guard),
        Format::Dcgm => dcgm::parse(text, &mut guard),
        Format::Collapsed => stacks::collapsed::parse(text, &mut guard),
        Format::Speedscope => stacks::speedscope::parse(text, &mut guard),
        Format::StackEvents => stacks::events::parse(text, &mut guard),
        Format::StackDump => stacks::dump::parse(text, &mut guard),
        _ => Log::default(),
    };
    if guard.is_over() {
        log.notes.add(NoteCode::OverBudget, None);
    }
    log
}

/// Fills a table row by row.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) table: Table,
    pub(crate) notes: ImportNotes,
}

impl Rows {
    /// A row; values that are no numbers are left out.
    pub(crate) fn push(&mut self, t: i64, numbers: &[(&str, f64)], words: &[(&str, &str)]) {
        let row = self.table.len();
        if row >= MOST_ROWS {
            self.notes.add(NoteCode::TableFull, None);
            return;
        }
        self.table.t.push(t);
        for (name, value) in numbers {
            if !self.table.numbers.contains_key(*name) {
                self.table.numbers.insert((*name).to_owned(), Vec::new());
            }
            if let Some(column) = self.table.numbers.get_mut(*name) {
                column.resize(row, f64::NAN);
                column.push(*value);
            }
        }
        for (name, word) in words {
            if !self.table.words.contains_key(*name) {
                self.table.words.insert((*name).to_owned(), Vec::new());
            }
            if let Some(column) = self.table.words.get_mut(*name) {
                column.resize(row, String::new());
                column.push((*word).to_owned());
            }
        }
    }

    /// The table, all columns of one length.
    pub(crate) fn finish(mut self, notes: &mut ImportNotes) -> Table {
        let rows = self.table.len();
        self.table.numbers.values_mut().for_each(|column| column.resize(rows, f64::NAN));
        self.table.words.values_mut().for_each(|column| column.resize(rows, String::new()));
        for note in self.notes.sorted() {
            notes.add_many(note.code, note.count, note.first_byte);
        }
        self.table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One print of each reader, of several rows.
    const PRINTS: [(Format, &str); 9] = [
        (Format::Smi, include_str!("../testdata/logs/h200/dmon_dt.txt")),
        (Format::Iostat, include_str!("../testdata/logs/iostat.txt")),
        (Format::Top, include_str!("../testdata/logs/top.txt")),
        (Format::Vmstat, include_str!("../testdata/logs/h200/vmstat.txt")),
        (Format::Dcgm, "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 97\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 96\n"),
        (Format::Collapsed, include_str!("../testdata/logs/py-spy.raw")),
        (Format::Speedscope, include_str!("../testdata/logs/py-spy.speedscope")),
        (Format::StackEvents, include_str!("../testdata/logs/py-spy.chrometrace")),
        (Format::StackDump, include_str!("../testdata/logs/py-spy.dump.txt")),
    ];

    #[test]
    fn each_print_is_read_as_far_as_its_budget_goes() {
        for (format, text) in PRINTS {
            let read = |budget| parse_log(text, format, budget);
            let whole = read(Budget::default());
            assert!(whole.rows > 1 && whole.notes.count(NoteCode::OverBudget) == 0, "{format:?}");
            let no_time = std::time::Duration::ZERO;
            for small in [
                Budget { nodes: 1, ..Budget::default() },
                Budget { bytes: 20, ..Budget::default() },
                Budget { time: no_time, ..Budget::default() },
            ] {
                let part = read(small);
                assert!(part.rows < whole.rows, "{format:?} {small:?}: {} rows", part.rows);
                assert_eq!(part.notes.count(NoteCode::OverBudget), 1, "{format:?} {small:?}");
            }
        }
    }
}
