//! What is kept from every step: allocations of the history that nobody had given back at its end, where each period left
//! some.
//!
//! The first period may set things up (an optimizer's states), and the last is under way: neither counts. What is kept and
//! given back a few steps later is no growth, for early periods have left nothing of it.
//!
//! Where the whole history shows none, its last part may: an evaluation after training, say.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use whyidle_model::{AllocatorAction, MemorySnapshot};

use super::periods::{self, Periods, PeriodsBy, UPDATES};
use super::sites::{Phase, Sites};
use super::state::Live;

/// A site that keeps memory from every period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grown {
    /// The site.
    pub site: u32,
    /// Bytes kept from a period: the median.
    pub per_period: u64,
    /// Bytes kept from all periods that count.
    pub bytes: u64,
    /// Blocks kept from them.
    pub count: u64,
}

/// What the evidence says of a growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthKind {
    /// Memory of several operators of the forward is kept from every period, and backward runs, or an optimizer's update
    /// that follows one: what forward saved outlives the backward it was saved for. Results are kept with their graph.
    Graph,
    /// The same, and the periods show neither: an evaluation with its graph.
    Evaluation,
    /// Memory is kept; the stacks say where it is asked for, not why.
    Kept,
}

impl GrowthKind {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Evaluation => "evaluation",
            Self::Kept => "kept",
        }
    }
}

/// Growth across periods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// What it is.
    pub kind: GrowthKind,
    /// How periods were found.
    pub by: PeriodsBy,
    /// Periods that count.
    pub periods: usize,
    /// Bytes kept from a period, over all sites.
    pub per_period: u64,
    /// Sites, largest first.
    pub sites: Vec<Grown>,
}

/// Fewer periods show no growth.
const FEWEST: usize = 3;
/// Share of the periods that must have left something.
const MOST_OF: f64 = 0.9;
/// Less is no matter, bytes per period and in all.
const LEAST_BYTES: u64 = 1 << 20;
/// Operators of a forward that make a graph rather than a tensor.
const OPERATORS: usize = 3;

/// Growth, if there is any. `live`: blocks at the end.
pub(super) fn growth(
    live: &BTreeMap<u64, Live>,
    periods: &Periods,
    sites: &Sites,
    seen: Seen,
) -> Option<Growth> {
    let count = periods.count().checked_sub(2)?;
    // Slices of a start-up, where nothing is given back yet, show no growth, nor do those of a single forward.
    let returns = seen.outside as f64 >= MOST_OF * count as f64;
    if count < FEWEST || periods.by == PeriodsBy::Slices && !(seen.steady && returns) {
        return None;
    }
    // Per site, bytes and blocks by period.
    let mut kept: FxHashMap<u32, BTreeMap<usize, (u64, u64)>> = FxHashMap::default();
    for block in live.values().filter(|block| !block.pending) {
        let period = block.row.and_then(|row| periods.at(row as usize));
        let Some(period) = period.filter(|&period| period > 0 && period <= count) else { continue };
        let cell = kept.entry(sites.of(block.stack)).or_default().entry(period).or_default();
        cell.0 = cell.0.saturating_add(block.size);
        cell.1 += 1;
    }
    let mut found: Vec<Grown> = Vec::new();
    for (site, by_period) in kept {
        if (by_period.len() as f64) < MOST_OF * count as f64 {
            continue;
        }
        let mut bytes: Vec<u64> = by_period.values().map(|cell| cell.0).collect();
        bytes.resize(count, 0);
        bytes.sort_unstable();
        found.push(Grown {
            site,
            per_period: bytes[count / 2],
            bytes: bytes.iter().fold(0, |sum, &bytes| sum.saturating_add(bytes)),
            count: by_period.values().map(|cell| cell.1).sum(),
        });
    }
    found.sort_by_key(|grown| (std::cmp::Reverse(grown.bytes), grown.site));
    let total: u64 = found.iter().fold(0, |sum, grown| sum.saturating_add(grown.bytes));
    if total < LEAST_BYTES {
        return None;
    }
    let operators =
        found.iter().filter(|grown| sites.sites[grown.site as usize].phase == Phase::Forward).count();
    let kind = match () {
        () if operators < OPERATORS => GrowthKind::Kept,
        () if seen.backward => GrowthKind::Graph,
        () if seen.every_stack => GrowthKind::Evaluation,
        () => GrowthKind::Kept,
    };
    // Neither does one after the other of what a program sets up, which only forward is none of.
    if kind == GrowthKind::Kept && periods.by == PeriodsBy::Part && !seen.steady {
        return None;
    }
    let per_period = found.iter().fold(0, |sum: u64, grown| sum.saturating_add(grown.per_period));
    Some(Growth { kind, by: periods.by, periods: count, per_period, sites: found })
}

/// Growth in the last part of a history, if there is any.
pub(super) fn of_its_end(
    snapshot: &MemorySnapshot,
    device: u32,
    live: &BTreeMap<u64, Live>,
    sites: &Sites,
) -> Option<Growth> {
    let periods = periods::of_its_end(snapshot, device, live, sites)?;
    let from = *periods.starts.first()?;
    let before = || snapshot.history(device).take_while(|&row| row < from);
    let count = |wanted| before().filter(|&row| snapshot.events.action[row] == wanted).count();
    let back = count(AllocatorAction::FreeRequested).max(count(AllocatorAction::FreeCompleted));
    let out = count(AllocatorAction::Alloc);
    let steady = out > 0 && back * 2 >= out;
    growth(live, &periods, sites, Seen::of(snapshot, device, sites, &periods, steady))
}

/// What a history shows, or the part of it that is in question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Some allocation is autograd's or an optimizer's, or the program marked an update.
    pub backward: bool,
    /// Every allocation says who asked for it.
    pub every_stack: bool,
    /// At least half as many blocks are given back as are handed out: in each half of a history, or before the part in
    /// question.
    pub steady: bool,
    /// Periods, without the first and the last, in which something outside of a module's forward and of autograd asks for
    /// memory: one forward after the other, and not one of many layers.
    pub outside: usize,
}

impl Seen {
    /// What a device's history shows, or its last part where periods are of that.
    pub(super) fn of(
        snapshot: &MemorySnapshot,
        device: u32,
        sites: &Sites,
        periods: &Periods,
        steady: bool,
    ) -> Self {
        let events = &snapshot.events;
        let from = match periods.by {
            PeriodsBy::Part => periods.starts.first().copied().unwrap_or(0),
            _ => 0,
        };
        let rows = || snapshot.history(device).filter(|&row| row >= from);
        let since = rows().next().map_or(i64::MAX, |row| events.time(row));
        let is_update = |mark: &whyidle_model::MemoryMark| {
            mark.device == device && mark.name.starts_with(UPDATES) && mark.time >= since
        };
        let mut seen =
            Self { backward: snapshot.marks.iter().any(is_update), every_stack: true, steady, outside: 0 };
        let mut last = 0;
        for row in rows().filter(|&row| events.action[row] == AllocatorAction::Alloc) {
            let site = sites.of(events.stack[row]);
            seen.every_stack &= site != 0;
            let phase = sites.sites[site as usize].phase;
            seen.backward |= matches!(phase, Phase::Backward | Phase::Optimizer);
            if let Some(period) =
                periods.at(row).filter(|&period| period > last && period + 1 < periods.count())
                && matches!(phase, Phase::Other | Phase::Optimizer)
            {
                last = period;
                seen.outside += 1;
            }
        }
        seen
    }
}
