//! Samples of a running program, taken from outside: rows of counters and gauges with a time, and
//! Python stacks with counts.
//!
//! Columns are found by name. A column that was not recorded is absent; a value that could not be had
//! is not a number. Counters (CPU seconds, bytes, switches) are cumulative, as the system gives them.

use std::collections::BTreeMap;

use crate::{Interner, Sym};

/// Rows of samples.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// When each row was taken, ns of Unix time.
    pub t: Vec<i64>,
    /// Columns of numbers; NaN where a row has none.
    pub numbers: BTreeMap<String, Vec<f64>>,
    /// Columns of text; empty where a row has none.
    pub words: BTreeMap<String, Vec<String>>,
}

impl Table {
    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.t.len()
    }

    /// There are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.t.is_empty()
    }

    /// A number; `None` where the column or the value is absent.
    #[must_use]
    pub fn number(&self, column: &str, row: usize) -> Option<f64> {
        self.numbers.get(column)?.get(row).copied().filter(|value| value.is_finite())
    }

    /// A text; empty where the column or the value is absent.
    #[must_use]
    pub fn word(&self, column: &str, row: usize) -> &str {
        self.words.get(column).and_then(|column| column.get(row)).map_or("", String::as_str)
    }

    /// The rows taken from `from` until `until`, ns of Unix time.
    #[must_use]
    pub fn between(&self, from: i64, until: i64) -> Self {
        let rows: Vec<usize> = (0..self.len()).filter(|&row| (from..=until).contains(&self.t[row])).collect();
        let take = |column: &Vec<f64>| rows.iter().filter_map(|&row| column.get(row).copied()).collect();
        let words = |column: &Vec<String>| rows.iter().filter_map(|&row| column.get(row).cloned()).collect();
        Self {
            t: rows.iter().map(|&row| self.t[row]).collect(),
            numbers: self.numbers.iter().map(|(name, column)| (name.clone(), take(column))).collect(),
            words: self.words.iter().map(|(name, column)| (name.clone(), words(column))).collect(),
        }
    }

    /// The rows, in order, whose `column` is `key` (a GPU's number, a process).
    pub fn rows_of(&self, column: &str, key: f64) -> impl Iterator<Item = usize> + '_ {
        let column = self.numbers.get(column);
        let is_key = move |row: &usize| {
            column.is_some_and(|column| column.get(*row).is_some_and(|value| (value - key).abs() < 0.5))
        };
        (0..self.len()).filter(is_key)
    }

    /// The different values of a column, ascending.
    #[must_use]
    pub fn keys(&self, column: &str) -> Vec<u32> {
        let values = self.numbers.get(column).into_iter().flatten();
        let mut keys: Vec<u32> = values
            .filter(|v| v.is_finite() && **v >= 0.0 && **v <= f64::from(u32::MAX))
            .map(|v| *v as u32)
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// A function on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Its name, qualified where the interpreter says so.
    pub function: Sym,
    /// The file it is in, as recorded: a whole path, or relative to its package's folder.
    pub file: Sym,
    /// The line, 0 where unknown.
    pub line: u32,
}

/// A distinct stack of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stack {
    /// The process.
    pub pid: u32,
    /// Processes that it descends from, the root first, as far as they were sampled too.
    pub parents: Vec<u32>,
    /// The thread's name.
    pub thread: Sym,
    /// Frames, the outermost first. Empty: the thread runs no Python.
    pub frames: Vec<Frame>,
}

/// How often a stack was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When, ns of Unix time; `None` where only counts were kept.
    pub t: Option<i64>,
    /// Which stack, as an index.
    pub stack: usize,
    /// Samples.
    pub count: u32,
    /// The operating system's state of the thread: `R`, `S`, `D`, …; a space where unknown.
    pub state: char,
    /// The thread held the interpreter's lock.
    pub gil: bool,
}

/// Python stacks.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// Names of functions, files and threads.
    pub names: Interner,
    /// Distinct stacks.
    pub stacks: Vec<Stack>,
    /// Sightings, in the order of time where that is known.
    pub seen: Vec<Seen>,
    /// The text of source lines, by file and line, where the recorder could read them.
    pub source: BTreeMap<(Sym, u32), String>,
}

/// Everything that was sampled of a run.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// GPUs: `gpu` is the physical number.
    pub gpu: Table,
    /// Processes: `pid`, `ppid`, `cmd`, …
    pub process: Table,
    /// Threads of the processes that drive GPUs: `pid`, `tid`, `name`, …
    pub thread: Table,
    /// The machine.
    pub system: Table,
    /// Python stacks.
    pub stacks: Stacks,
}

impl Samples {
    /// What was sampled from `from` until `until`, ns of Unix time; counts without times are kept.
    #[must_use]
    pub fn between(&self, from: i64, until: i64) -> Self {
        let mut stacks = self.stacks.clone();
        stacks.seen.retain(|seen| seen.t.is_none_or(|t| (from..=until).contains(&t)));
        Self {
            gpu: self.gpu.between(from, until),
            process: self.process.between(from, until),
            thread: self.thread.between(from, until),
            system: self.system.between(from, until),
            stacks,
        }
    }

    /// Nothing was sampled at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.gpu.is_empty() && self.process.is_empty() && self.stacks.seen.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_keeps_its_rows_and_counts_without_times() {
        let mut samples = Samples::default();
        samples.gpu.t = vec![1, 5, 9];
        samples.gpu.numbers.insert("gpu".to_owned(), vec![0.0, 1.0, 2.0]);
        samples.gpu.words.insert("name".to_owned(), vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]);
        let seen = |t| Seen { t, stack: 0, count: 1, state: ' ', gil: false };
        samples.stacks.seen = vec![seen(Some(1)), seen(Some(6)), seen(None)];
        let part = samples.between(4, 8);
        assert_eq!(
            (part.gpu.t.clone(), part.gpu.number("gpu", 0), part.gpu.word("name", 0)),
            (vec![5], Some(1.0), "b")
        );
        assert_eq!(part.stacks.seen, [seen(Some(6)), seen(None)]);
        assert!(Samples::default().is_empty() && !part.is_empty());
    }
}
