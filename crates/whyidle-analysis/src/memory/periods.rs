//! The periods of a history: its steps, where they can be told.
//!
//! By marks of the program or its profiler; else by repetition – a stack that asks for memory at regular distances over most
//! of the history, the rarest such, begins each period –; else in slices of as many allocations each. Layers repeat within
//! one forward, backward or update: what asks there begins a period only where something else came in between.
//!
//! A part of a history may have periods of its own: see [`of_its_end`].

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use whyidle_model::{AllocatorAction, MemorySnapshot};

use super::sites::{Phase, Sites};
use super::state::Live;

/// How periods were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodsBy {
    /// The profiler's or the optimizer's marks.
    Marks,
    /// Allocations that repeat.
    Repetition,
    /// Slices of as many allocations each.
    Slices,
    /// Allocations that repeat in the history's last part, and stay.
    Part,
}

impl PeriodsBy {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Marks => "marks",
            Self::Repetition => "repetition",
            Self::Slices => "slices",
            Self::Part => "part",
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

/// How marks of an optimizer's updates begin.
pub(super) const UPDATES: &str = "Optimizer.step#";

/// Fewer repetitions are none.
const FEWEST: usize = 3;
/// Slices where nothing repeats.
const SLICES: usize = 8;
/// Distances may differ by this share of their mean (standard deviation).
const REGULAR: f64 = 0.1;
/// Share of the history that repetitions must span.
const SPANNED: f64 = 0.6;
/// Between this share of them and the one before, something else must have come.
const APART: f64 = 0.9;
/// So many periods show growth: the first and the last do not count.
const ENOUGH: usize = 5;

impl Periods {
    /// The periods of a device's history.
    pub(super) fn of(snapshot: &MemorySnapshot, device: u32, sites: &Sites) -> Self {
        by_marks(snapshot, device)
            .or_else(|| by_repetition(snapshot, device, sites))
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
    ["ProfilerStep#", UPDATES].into_iter().find_map(|prefix| {
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
    /// The stretch of allocations of one phase that the last was in, and how often it was another than the one before.
    stretch: usize,
    changes: usize,
}

impl Beat {
    fn distance(&self) -> f64 {
        (self.last - self.first) as f64 / (self.count - 1) as f64
    }

    /// The next one, as the number of its allocation.
    fn add(&mut self, at: usize) {
        if self.count == 0 {
            self.first = at;
        } else {
            let distance = (at - self.last) as f64;
            self.squares += distance * distance;
        }
        self.count += 1;
        self.last = at;
    }

    /// As [`add`](Self::add), in this stretch of allocations of one phase.
    fn add_in(&mut self, at: usize, stretch: usize) {
        self.changes += usize::from(self.count > 0 && self.stretch != stretch);
        self.stretch = stretch;
        self.add(at);
    }

    /// Something else came between most of them.
    fn is_apart(&self) -> bool {
        self.changes as f64 >= APART * (self.count.saturating_sub(1)) as f64
    }

    /// It spans most of the history.
    fn spans(&self, allocations: usize) -> bool {
        self.count >= FEWEST && (self.last - self.first) as f64 >= SPANNED * allocations as f64
    }

    fn is_regular(&self) -> bool {
        if self.count < FEWEST {
            return false;
        }
        let mean = self.distance();
        let variance = (self.squares / (self.count - 1) as f64 - mean * mean).max(0.0);
        mean >= 2.0 && variance.sqrt() <= REGULAR * mean
    }
}

fn by_repetition(snapshot: &MemorySnapshot, device: u32, sites: &Sites) -> Option<Periods> {
    let events = &snapshot.events;
    let rows = || snapshot.history(device).filter(|&row| events.action[row] == AllocatorAction::Alloc);
    // Without stacks, sizes.
    let has_stacks = rows().any(|row| events.stack[row] != 0);
    let symbol = |row: usize| if has_stacks { events.stack[row] } else { events.size[row] };
    // With whether it asks within a forward, a backward or an update.
    let mut beats: FxHashMap<u32, (Beat, bool)> = FxHashMap::default();
    let (mut allocations, mut stretch, mut before) = (0, 0, Phase::Other);
    for (at, row) in rows().enumerate() {
        allocations = at + 1;
        let phase = sites.sites[sites.of(events.stack[row]) as usize].phase;
        stretch += usize::from(phase != before);
        before = phase;
        let (beat, is_within) = beats.entry(symbol(row)).or_default();
        beat.add_in(at, stretch);
        *is_within |= phase != Phase::Other;
    }
    let begins = |beat: &Beat, is_within: bool| {
        beat.spans(allocations) && beat.is_regular() && (!is_within || beat.is_apart())
    };
    let mut regular: Vec<(u32, Beat)> = beats
        .into_iter()
        .filter(|(_, (beat, is_within))| begins(beat, *is_within))
        .map(|(symbol, (beat, _))| (symbol, beat))
        .collect();
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

/// What a stack keeps of a history.
#[derive(Default)]
struct Keeps {
    /// Its blocks that somebody holds now, and the most of them before the first that stays to the end.
    held: usize,
    most_before: usize,
    /// Allocations that stay to the end, and their rows.
    beat: Beat,
    rows: Vec<usize>,
}

/// More must stay of a stack than it ever held before, times this: a forward that is under way holds what the one before
/// did, and a list of the last so many results is as long as ever.
const MORE_THAN_EVER: usize = 2;
/// The last period may be under way, and so much longer than the others.
const UNDER_WAY: f64 = 2.0;

/// Periods of a history's last part: an evaluation after training, say. A stack of the user's own, outside of any module's
/// forward – layers repeat within one –, asks for memory at regular distances up to the end, and what it got stays. The
/// rarest such begins each period. `live`: blocks at the end.
pub(super) fn of_its_end(
    snapshot: &MemorySnapshot,
    device: u32,
    live: &BTreeMap<u64, Live>,
    sites: &Sites,
) -> Option<Periods> {
    let events = &snapshot.events;
    let stays = |row: usize| {
        let block = live.get(&events.address[row]).filter(|block| !block.pending);
        block.and_then(|block| block.row).is_some_and(|from| from as usize == row)
    };
    let begins = |stack: u32| {
        let site = &sites.sites[sites.of(stack) as usize];
        site.phase == Phase::Other && site.place.is_some()
    };
    let mut stacks: FxHashMap<u32, Keeps> = FxHashMap::default();
    let mut held: FxHashMap<u64, u32> = FxHashMap::default();
    let mut allocations = 0;
    for row in snapshot.history(device) {
        match events.action[row] {
            AllocatorAction::Alloc => {
                let stack = events.stack[row];
                if begins(stack) {
                    let keeps = stacks.entry(stack).or_default();
                    if stays(row) {
                        keeps.beat.add(allocations);
                        keeps.rows.push(row);
                    }
                    keeps.held += 1;
                    if keeps.rows.is_empty() {
                        keeps.most_before = keeps.most_before.max(keeps.held);
                    }
                    held.insert(events.address[row], stack);
                }
                allocations += 1;
            }
            AllocatorAction::FreeRequested | AllocatorAction::FreeCompleted => {
                if let Some(keeps) =
                    held.remove(&events.address[row]).and_then(|stack| stacks.get_mut(&stack))
                {
                    keeps.held = keeps.held.saturating_sub(1);
                }
            }
            _ => {}
        }
    }
    let is_growth = |keeps: &Keeps| {
        let beat = &keeps.beat;
        beat.count >= ENOUGH.max(MORE_THAN_EVER * keeps.most_before)
            && beat.is_regular()
            && (allocations - beat.last) as f64 <= UNDER_WAY * beat.distance()
    };
    let found = stacks.into_iter().filter(|(_, keeps)| is_growth(keeps));
    let (_, chosen) = found.min_by_key(|(stack, keeps)| (keeps.beat.count, keeps.beat.first, *stack))?;
    Some(Periods { by: PeriodsBy::Part, starts: chosen.rows })
}
