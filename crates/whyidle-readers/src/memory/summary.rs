//! The table that `torch.cuda.memory_summary()` prints, anywhere in a file: in a log, say, once per step.
//!
//! Its form is that of `torch/cuda/memory.py`, unchanged since PyTorch 1.4 but for rows that were added: a title with the
//! device, a line `CUDA OOMs: 0 | cudaMalloc retries: 0`, then rows `Allocated memory | 1024 MiB | … `, each followed by
//! `from large pool` and `from small pool` unless it is abbreviated. A row's unit follows from its first figure, and
//! figures are rounded down to it.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use memchr::memmem;
use whyidle_model::{MemorySummary, NoteCode, SummaryRow};

use crate::budget::{Budget, Guard};
use crate::error::{Found, ReadError};
use crate::source;

/// No log is read beyond this.
const LARGEST: u64 = 1 << 28;

const TITLE: &str = "CUDA memory summary, device ID";

/// Whether a file that begins with `head` (inflated) holds such a table.
pub(crate) fn is_summary(head: &[u8]) -> bool {
    memmem::find(head, TITLE.as_bytes()).is_some()
}

/// Reads the tables in a file, gzipped or not, in order.
///
/// # Errors
/// Where the file cannot be read, or holds none.
pub fn read(path: &Path) -> Result<Vec<MemorySummary>, ReadError> {
    let failed = |error| ReadError::io(path, error);
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    source::Inflate::new(BufReader::new(file)).take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
    let found = within(&String::from_utf8_lossy(&bytes), Budget::default());
    if found.is_empty() {
        return Err(ReadError::NotATrace { path: path.to_owned(), found: Found::Text });
    }
    Ok(found)
}

/// The tables in a text, in order, as far as the budget goes: a line is a node.
fn within(text: &str, budget: Budget) -> Vec<MemorySummary> {
    let mut found: Vec<MemorySummary> = Vec::new();
    let mut guard = Guard::new(budget);
    for line in guard.lines(text) {
        if let Some((_, rest)) = line.split_once(TITLE) {
            let device = first_number(rest).and_then(|number| u32::try_from(number).ok());
            let mut table = MemorySummary { device: device.unwrap_or(0), ..MemorySummary::default() };
            if device.is_none() {
                table.notes.add(NoteCode::MalformedEvent, None);
            }
            found.push(table);
        } else if let Some(table) = found.last_mut() {
            add_line(table, line);
        }
    }
    if let Some(last) = found.last_mut().filter(|_| guard.is_over()) {
        last.notes.add(NoteCode::OverBudget, None);
    }
    found
}

fn add_line(table: &mut MemorySummary, line: &str) {
    if let Some((_, rest)) = line.split_once("CUDA OOMs:") {
        table.out_of_memory = first_number(rest).unwrap_or(0);
        table.retries = rest.split_once("retries:").and_then(|(_, rest)| first_number(rest)).unwrap_or(0);
        return;
    }
    // A logger may have written something before the table's own edge.
    let Some((_, row)) = line.split_once('|') else { return };
    let mut cells = row.split('|').map(str::trim);
    let to = match cells.next().unwrap_or_default() {
        "Allocated memory" => &mut table.allocated,
        "Active memory" => &mut table.active,
        "Requested memory" => &mut table.requested,
        "GPU reserved memory" | "Reserved memory" | "Cached memory" => &mut table.reserved,
        "Non-releasable memory" => &mut table.non_releasable,
        "GPU reserved segments" => &mut table.segments,
        _ => return,
    };
    let figures: Vec<Option<(u64, u64)>> = cells.take(4).map(figure).collect();
    let [Some(current), Some(peak), Some(allocated), Some(freed)] = figures[..] else {
        table.notes.add(NoteCode::MalformedEvent, None);
        return;
    };
    let unit = [current.1, peak.1, allocated.1, freed.1].into_iter().max().unwrap_or(1);
    let row = |(value, unit): (u64, u64)| value.saturating_mul(unit);
    // The first counts: a line may be repeated by a logger.
    to.get_or_insert(SummaryRow {
        current: row(current),
        peak: row(peak),
        allocated: row(allocated),
        freed: row(freed),
        unit,
    });
}

fn first_number(text: &str) -> Option<u64> {
    text.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty())?.parse().ok()
}

/// `1024 MiB`: the number and its unit, bytes (or 1, a thousand, a million of a count).
fn figure(cell: &str) -> Option<(u64, u64)> {
    let (number, unit) = cell.split_once(char::is_whitespace).unwrap_or((cell, ""));
    let unit = match unit.trim() {
        "" | "B" => 1,
        "K" => 1000,
        "M" => 1_000_000,
        "KiB" | "KB" => 1 << 10,
        "MiB" | "MB" => 1 << 20,
        "GiB" | "GB" => 1 << 30,
        "TiB" | "TB" => 1 << 40,
        "PiB" | "PB" => 1 << 50,
        _ => return None,
    };
    Some((number.parse().ok()?, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Vec<MemorySummary> {
        within(text, Budget::default())
    }

    /// As PyTorch 2.11 prints it; the first four rows.
    const WHOLE: &str = "\
|===========================================================================|
|                  PyTorch CUDA memory summary, device ID 1                 |
|---------------------------------------------------------------------------|
|            CUDA OOMs: 2            |        cudaMalloc retries: 3         |
|===========================================================================|
|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
|---------------------------------------------------------------------------|
| Allocated memory      |   2558 MiB |  15936 MiB |   1024 GiB |   1021 GiB |
|       from large pool |   2556 MiB |  15931 MiB |   1021 GiB |   1019 GiB |
|       from small pool |      2 MiB |      5 MiB |      2 GiB |      2 GiB |
|---------------------------------------------------------------------------|
| GPU reserved memory   |  18324 MiB |  18324 MiB |  18324 MiB |      0 B   |
|---------------------------------------------------------------------------|
| Non-releasable memory | 250880 B   | 301056 B   |    990 GiB |    990 GiB |
|---------------------------------------------------------------------------|
| GPU reserved segments |     149    |     149    |     149    |       0    |
|===========================================================================|
";

    #[test]
    fn a_table_is_read_with_its_units() {
        let text = format!("step 3\n{WHOLE}{}", WHOLE.replace("ID 1", "ID 0").replace("|       from", "x"));
        let found = read_text(&text);
        assert_eq!((found.len(), found[0].device, found[1].device), (2, 1, 0));
        assert_eq!((found[0].out_of_memory, found[0].retries), (2, 3));
        let allocated = found[0].allocated.unwrap_or_default();
        assert_eq!((allocated.current, allocated.peak), (2558 << 20, 15936 << 20));
        assert_eq!((allocated.freed, allocated.unit), (1021 << 30, 1 << 30));
        assert_eq!(found[1].allocated, Some(allocated), "abbreviated, the same");
        assert_eq!(found[0].non_releasable.map(|row| row.peak), Some(301_056));
        assert_eq!(found[0].segments.map(|row| row.current), Some(149));
        assert_eq!(found[0].active, None);
    }

    #[test]
    fn tables_are_read_as_far_as_the_budget_goes() {
        let text = format!("{WHOLE}{WHOLE}");
        let found = within(&text, Budget { nodes: 9, ..Budget::default() });
        assert_eq!((found.len(), found[0].notes.count(NoteCode::OverBudget)), (1, 1));
        assert!(found[0].allocated.is_some() && found[0].reserved.is_none());
        assert_eq!(read_text(&text)[1].notes.sorted(), []);
    }

    #[test]
    fn what_makes_no_sense_is_counted() {
        let found = read_text(&WHOLE.replace("2558 MiB", "2558 XiB"));
        assert_eq!((found[0].allocated, found[0].notes.count(NoteCode::MalformedEvent)), (None, 1));
        assert!(read_text("Allocated memory | 3 MiB").is_empty());
    }
}
