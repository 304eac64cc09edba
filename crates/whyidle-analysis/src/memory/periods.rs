//! The periods of a history: its steps, where they can be told.
//!
//! By marks of the program or its profiler; else by repetition – a stack that asks for memory at regular distances over most
//! of the history, the rarest such, begins each period –; else in slices of as many allocations each.

use rustc_hash::FxHashMap;
use whyidle_model::{AllocatorAction, MemorySnapshot};

/// How periods were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodsBy {
    /// The profiler's or the optimizer's marks.
    Marks,
    /// Allocations that repeat.
    Repetition,
    /// Slices of as many allocations each.
    Slices,
}

impl PeriodsBy {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Marks => "marks",
            Self::Repetition => "repetition",
            Self::Slices => "slices",
        }
    }
}

/// Periods of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Periods {
    /// How they were found.
    pub by: PeriodsBy,
    /// The first row of each, ascending. Rows before the first belong to none.
    pub starts: Vec<usize>,
}

/// Fewer repetitions are none.
const FEWEST: usize = 3;
/// Slices where nothing repeats.
const SLICES: usize = 8;
/// Distances may differ by this share of their mean (standard deviation).
const REGULAR: f64 = 0.1;
/// Share of the history that repetitions must span.
const SPANNED: f64 = 0.6;
/// So many periods show growth: the first and the last do not count.
const ENOUGH: usize = 5;

impl Periods {
    /// The periods of a device's history.
    pub(super) fn of(snapshot: &MemorySnapshot, device: u32) -> Self {
        by_marks(snapshot, device)
            .or_else(|| by_repetition(snapshot, device))
            .unwrap_or_else(|| in_slices(snapshot, device))
    }

    /// Periods.
    #[must_use]
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// The period that a row is in.
    #[must_use]
    pub fn at(&self, row: usize) -> Option<usize> {
        self.starts.partition_point(|&start| start <= row).checked_sub(1)
    }
}

fn by_marks(snapshot: &MemorySnapshot, device: u32) -> Option<Periods> {
    let time = |row: usize| snapshot.events.time(row);
    let first = snapshot.history(device).next()?;
    let last = snapshot.history(device).last()?;
    ["ProfilerStep#", "Optimizer.step#"].into_iter().find_map(|prefix| {
        let marks =
            snapshot.marks.iter().filter(|mark| mark.device == device && mark.name.starts_with(prefix));
        let within: Vec<i64> =
            marks.map(|mark| mark.time).filter(|&at| at >= time(first) && at <= time(last)).collect();
        let mut starts = Vec::new();
        let mut rows = snapshot.history(device).peekable();
        for at in within {
            while rows.next_if(|&row| time(row) < at).is_some() {}
            let Some(&row) = rows.peek() else { break };
            if starts.last() != Some(&row) {
                starts.push(row);
            }
        }
        (starts.len() >= FEWEST).then_some(Periods { by: PeriodsBy::Marks, starts })
    })
}

/// How often, and at which distances, a stack asks for memory.
#[derive(Clone, Copy, Default)]
struct Beat {
    count: usize,
    first: usize,
    last: usize,
    squares: f64,
}

impl Beat {
    fn distance(&self) -> f64 {
        (self.last - self.first) as f64 / (self.count - 1) as f64
    }

    fn is_regular(&self, allocations: usize) -> bool {
        if self.count < FEWEST || ((self.last - self.first) as f64) < SPANNED * allocations as f64 {
            return false;
        }
        let mean = self.distance();
        let variance = (self.squares / (self.count - 1) as f64 - mean * mean).max(0.0);
        mean >= 2.0 && variance.sqrt() <= REGULAR * mean
    }
}

fn by_repetition(snapshot: &MemorySnapshot, device: u32) -> Option<Periods> {
    let events = &snapshot.events;
    let rows = || snapshot.history(device).filter(|&row| events.action[row] == AllocatorAction::Alloc);
    // Without stacks, sizes.
    let has_stacks = rows().any(|row| events.stack[row] != 0);
    let symbol = |row: usize| if has_stacks { events.stack[row] } else { events.size[row] };
    let mut beats: FxHashMap<u32, Beat> = FxHashMap::default();
    let mut allocations = 0;
    for (at, row) in rows().enumerate() {
        allocations = at + 1;
        let beat = beats.entry(symbol(row)).or_default();
        if beat.count == 0 {
            beat.first = at;
        } else {
            let distance = (at - beat.last) as f64;
            beat.squares += distance * distance;
        }
        beat.count += 1;
        beat.last = at;
    }
    let mut regular: Vec<(u32, Beat)> =
        beats.into_iter().filter(|(_, beat)| beat.is_regular(allocations)).collect();
    regular.sort_by_key(|(symbol, beat)| (beat.count, beat.first, *symbol));
    // The rarest that repeats often enough to show growth; layers repeat too, within a step.
    let chosen = regular.iter().find(|(_, beat)| beat.count >= ENOUGH).or_else(|| regular.first());
    let (chosen, _) = chosen?;
    let starts = rows().filter(|&row| symbol(row) == *chosen).collect();
    Some(Periods { by: PeriodsBy::Repetition, starts })
}

fn in_slices(snapshot: &MemorySnapshot, device: u32) -> Periods {
    let rows =
        || snapshot.history(device).filter(|&row| snapshot.events.action[row] == AllocatorAction::Alloc);
    let each = rows().count().div_ceil(SLICES).max(1);
    Periods { by: PeriodsBy::Slices, starts: rows().step_by(each).collect() }
}
