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

    /// Adds the rows of another table and puts all in the order of time; a column that one of them lacks has no values
    /// there.
    pub fn append(&mut self, other: &Self) {
        let (mine, all) = (self.len(), self.len() + other.len());
        self.t.extend(&other.t);
        for name in
            other.numbers.keys().filter(|name| !self.numbers.contains_key(*name)).cloned().collect::<Vec<_>>()
        {
            self.numbers.insert(name, vec![f64::NAN; mine]);
        }
        for (name, column) in &mut self.numbers {
            column.extend(other.numbers.get(name).into_iter().flatten());
            column.resize(all, f64::NAN);
        }
        for name in
            other.words.keys().filter(|name| !self.words.contains_key(*name)).cloned().collect::<Vec<_>>()
        {
            self.words.insert(name, vec![String::new(); mine]);
        }
        for (name, column) in &mut self.words {
            column.extend(other.words.get(name).into_iter().flatten().cloned());
            column.resize(all, String::new());
        }
        if !self.t.is_sorted() {
            let mut order: Vec<usize> = (0..all).collect();
            order.sort_by_key(|&row| self.t[row]);
            self.t = order.iter().map(|&row| self.t[row]).collect();
            self.numbers
                .values_mut()
                .for_each(|column| *column = order.iter().map(|&row| column[row]).collect());
            self.words
                .values_mut()
                .for_each(|column| *column = order.iter().map(|&row| column[row].clone()).collect());
        }
    }

    /// Moves all rows in time.
    pub fn shift(&mut self, by: i64) {
        self.t.iter_mut().for_each(|t| *t = t.saturating_add(by));
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
        self.keeping(|row| (from..=until).contains(&self.t[row]))
    }

    /// The rows that are to be kept, by their number.
    #[must_use]
    pub fn keeping(&self, keep: impl Fn(usize) -> bool) -> Self {
        let rows: Vec<usize> = (0..self.len()).filter(|&row| keep(row)).collect();
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

impl Stacks {
    /// Adds what another tool saw.
    pub fn append(&mut self, other: &Self) {
        let first = self.stacks.len();
        let mut name = |sym| self.names.intern(other.names.get(sym));
        let mut stacks = Vec::with_capacity(other.stacks.len());
        for stack in &other.stacks {
            let frames = stack.frames.iter().map(|frame| Frame {
                function: name(frame.function),
                file: name(frame.file),
                line: frame.line,
            });
            let frames = frames.collect();
            stacks.push(Stack {
                pid: stack.pid,
                parents: stack.parents.clone(),
                thread: name(stack.thread),
                frames,
            });
        }
        self.source
            .extend(other.source.iter().map(|((file, line), text)| ((name(*file), *line), text.clone())));
        self.stacks.extend(stacks);
        self.seen.extend(other.seen.iter().map(|seen| Seen { stack: seen.stack + first, ..*seen }));
    }
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
    fn rows_of_two_tables_are_in_the_order_of_time() {
        let table = |t: &[i64], column: &str, values: &[f64]| Table {
            t: t.to_vec(),
            numbers: [(column.to_owned(), values.to_vec())].into(),
            words: BTreeMap::new(),
        };
        let mut both = table(&[1, 9], "a", &[1.0, 9.0]);
        both.append(&table(&[5], "b", &[5.0]));
        assert_eq!(
            (both.t.clone(), both.number("a", 2), both.number("b", 1)),
            (vec![1, 5, 9], Some(9.0), Some(5.0))
        );
        assert_eq!((both.number("a", 1), both.number("b", 0)), (None, None));
        both.shift(10);
        assert_eq!(both.t, [11, 15, 19]);
    }

    #[test]
    fn stacks_of_two_tools_share_their_names() {
        let one = |function: &str| {
            let mut stacks = Stacks::default();
            let (function, file) = (stacks.names.intern(function), stacks.names.intern("a.py"));
            let thread = stacks.names.intern("MainThread");
            stacks.stacks.push(Stack {
                pid: 7,
                parents: Vec::new(),
                thread,
                frames: vec![Frame { function, file, line: 3 }],
            });
            stacks.seen.push(Seen { t: None, stack: 0, count: 2, state: ' ', gil: false });
            stacks
        };
        let mut both = one("f");
        both.append(&one("g"));
        assert_eq!(both.seen[1].stack, 1);
        assert_eq!(both.names.get(both.stacks[1].frames[0].function), "g");
        assert_eq!(both.stacks[0].thread, both.stacks[1].thread);
    }

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
