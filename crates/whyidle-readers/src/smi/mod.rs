//! What `nvidia-smi` prints, in any order and number within one file: `dmon`, `pmon`, `--query-gpu` and `--query-compute-apps` as
//! CSV, `-q`, `topo -m`, `-L`, and the table of a plain call. Each part is known by its own header.
//!
//! Rows of several samples become samples; what is said once of a card becomes facts of the machine, and a sample as well
//! where its time is printed.
//!
//! Sources: `nvidia-smi --help-query-gpu`, `--help-query-compute-apps`, `nvidia-smi dmon -h`, manual page nvidia-smi(1);
//! prints of driver 580 for `-q`, `topo -m`, `dmon`, `--query-gpu` and the table, whose lines tests read.

mod dmon;
mod pmon;
mod query;
mod report;
mod table;
mod topo;

use whyidle_model::{CardFacts, MachineFacts};

pub(crate) use query::has_no_header;

use crate::budget::Guard;
use crate::logs::{Clock, Log, Rows, SECOND};

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
            Some(Kind::Query) if lines.peek().is_some_and(|row| !query::is_row(line, row)) => {}
            Some(_) => return true,
        }
    }
    false
}

/// A part of a print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Dmon,
    Pmon,
    Query,
    Report,
    Topo,
    Table,
    List,
}

/// The part that a line begins.
fn kind(line: &str) -> Option<Kind> {
    if line.starts_with('#') {
        let processes = || pmon::is_header(line).then_some(Kind::Pmon);
        return dmon::is_header(line).then_some(Kind::Dmon).or_else(processes);
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
pub(crate) fn parse(text: &str, guard: &mut Guard) -> Log {
    let mut out = Smi::default();
    let lines: Vec<&str> = guard.lines(text).collect();
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
            Kind::Pmon => pmon::read(part, &mut out),
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
        Some(again @ (Kind::Dmon | Kind::Pmon)) if again == kind_of => lines[next] != lines[from],
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
    /// The last time of a day, and how many days have passed since the first, both ns.
    before: i64,
    days: i64,
    log: Log,
}

/// When a row was.
#[derive(Clone, Copy)]
enum When {
    /// By the machine's own clock.
    At(i64),
    /// At this time of a day.
    Of(i64),
    /// It does not say: a second after the row before.
    Next,
}

const DAY: i64 = 86_400 * SECOND;

impl Smi {
    /// A sample of a card.
    fn sample(&mut self, when: When, gpu: u32, numbers: &[(&str, f64)]) {
        let t = match when {
            // Times are what they are; rows without any lie before them and say nothing of when.
            When::At(t) => {
                self.clock = Clock::Local;
                t
            }
            When::Of(time) => {
                if self.clock == Clock::None {
                    self.clock = Clock::Day;
                }
                // Midnight.
                if time + self.days < self.before - DAY / 2 {
                    self.days += DAY;
                }
                self.before = time + self.days;
                self.before
            }
            When::Next => {
                let at = self.untimed.iter().position(|(known, _)| *known == gpu).unwrap_or_else(|| {
                    self.untimed.push((gpu, 0));
                    self.untimed.len() - 1
                });
                self.untimed[at].1 += SECOND;
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
        if self.clock == Clock::Local && (!self.untimed.is_empty() || self.before > 0) {
            // Rows with times and rows without, or without a date, do not mix.
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
