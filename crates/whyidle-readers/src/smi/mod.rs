//! What `nvidia-smi` prints, in any order and number within one file: `dmon`, `--query-gpu` and `--query-compute-apps` as
//! CSV, `-q`, `topo -m`, `-L`, and the table of a plain call. Each part is known by its own header.
//!
//! Rows of several samples become samples; what is said once of a card becomes facts of the machine, and a sample as well
//! where its time is printed.
//!
//! Sources: `nvidia-smi --help-query-gpu`, `--help-query-compute-apps`, `nvidia-smi dmon -h`, manual page nvidia-smi(1);
//! prints of driver 580 for `-q`, `topo -m`, `dmon`, `--query-gpu` and the table, whose lines tests read.

mod dmon;
mod query;
mod report;
mod table;
mod topo;

use whyidle_model::{CardFacts, MachineFacts};

use crate::logs::{Clock, Log, Rows};

/// Whether text that begins with `head` is of `nvidia-smi`.
pub(crate) fn is_print(head: &str) -> bool {
    // A word in a document of another form may look like the name of a column.
    if head.trim_start().starts_with(['{', '[', '<']) {
        return false;
    }
    let mut lines = head.lines().filter(|line| !line.trim().is_empty()).peekable();
    while let Some(line) = lines.next() {
        match kind(line) {
            None => {}
            Some(Kind::Query) => {
                if lines.peek().is_none_or(|row| query::is_row(line, row)) {
                    return true;
                }
            }
            Some(_) => return true,
        }
    }
    false
}

/// A part of a print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Dmon,
    Query,
    Report,
    Topo,
    Table,
    List,
}

/// The part that a line begins.
fn kind(line: &str) -> Option<Kind> {
    if line.starts_with('#') {
        return dmon::is_header(line).then_some(Kind::Dmon);
    }
    if line.contains("NVSMI LOG") {
        return Some(Kind::Report);
    }
    if line.starts_with("| NVIDIA-SMI ") {
        return Some(Kind::Table);
    }
    if topo::is_header(line) {
        return Some(Kind::Topo);
    }
    if table::listed(line).is_some() {
        return Some(Kind::List);
    }
    query::is_header(line).then_some(Kind::Query)
}

/// Reads text that was cleaned.
pub(crate) fn parse(text: &str) -> Log {
    let mut out = Smi::default();
    let lines: Vec<&str> = text.lines().collect();
    let (mut at, mut before) = (0, "");
    while at < lines.len() {
        let Some(found) = kind(lines[at]) else {
            // The table's date stands two lines above its head.
            if !lines[at].trim().is_empty() && !lines[at].starts_with('+') {
                before = lines[at];
            }
            at += 1;
            continue;
        };
        let end = (at + 1..lines.len()).find(|&next| ends(found, &lines, at, next)).unwrap_or(lines.len());
        let part = &lines[at..end];
        match found {
            Kind::Dmon => dmon::read(part, &mut out),
            Kind::Query => query::read(part, &mut out),
            Kind::Report => report::read(part, &mut out),
            Kind::Topo => topo::read(part, &mut out),
            Kind::Table => table::read(before, part, &mut out),
            Kind::List => table::read_list(part, &mut out),
        }
        at = end;
    }
    out.finish()
}

/// Whether a part that begins at `from` ends before the line `next`. Headers of `dmon` come again every so many rows.
fn ends(kind_of: Kind, lines: &[&str], from: usize, next: usize) -> bool {
    match kind(lines[next]) {
        Some(Kind::Dmon) if kind_of == Kind::Dmon => lines[next] != lines[from],
        Some(Kind::List) if kind_of == Kind::List => false,
        // A table holds no other's header; a new one begins with the same line.
        Some(_) => true,
        None => false,
    }
}

/// What is gathered over the parts.
#[derive(Debug, Default)]
struct Smi {
    gpu: Rows,
    machine: MachineFacts,
    clock: Clock,
    facts: u64,
    /// Rows without a time so far, by the number of their card.
    untimed: Vec<(u32, i64)>,
    log: Log,
}

impl Smi {
    /// A sample of a card; without a time it is the next second.
    fn sample(&mut self, t: Option<i64>, gpu: u32, numbers: &[(&str, f64)]) {
        let t = match t {
            Some(t) => {
                // Times are what they are; rows without any lie before them and say nothing of when.
                self.clock = Clock::Local;
                t
            }
            None => {
                let at = self.untimed.iter().position(|(known, _)| *known == gpu).unwrap_or_else(|| {
                    self.untimed.push((gpu, 0));
                    self.untimed.len() - 1
                });
                self.untimed[at].1 += crate::logs::SECOND;
                self.untimed[at].1
            }
        };
        let all: Vec<(&str, f64)> =
            [("gpu", f64::from(gpu))].into_iter().chain(numbers.iter().copied()).collect();
        self.gpu.push(t, &all, &[]);
    }

    fn card(&mut self, index: u32) -> &mut CardFacts {
        let at = self.machine.cards.iter().position(|card| card.index == index).unwrap_or_else(|| {
            self.machine.cards.push(CardFacts { index, ..CardFacts::default() });
            self.machine.cards.len() - 1
        });
        &mut self.machine.cards[at]
    }

    fn finish(mut self) -> Log {
        let mut log = std::mem::take(&mut self.log);
        let mut table = self.gpu.finish(&mut log.notes);
        if self.clock == Clock::Local && !self.untimed.is_empty() {
            // Rows with times and rows without do not mix.
            let all = table.len();
            table = table.between(1 << 50, i64::MAX);
            log.notes.add_many(whyidle_model::NoteCode::NoStart, (all - table.len()) as u64, None);
        }
        log.rows = table.len() as u64 + self.facts;
        log.samples.gpu = table;
        log.clock = self.clock;
        log.machine = self.machine;
        log
    }
}

/// Memory in MiB (or what the unit says) as bytes.
fn bytes(value: f64, unit: &str) -> f64 {
    value
        * match unit.trim() {
            "KiB" | "KB" => 1024.0,
            "GiB" | "GB" => 1_073_741_824.0,
            "B" => 1.0,
            _ => 1_048_576.0,
        }
}

#[cfg(test)]
mod tests;
