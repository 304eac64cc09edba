//! The run-level ledger: what the watched time went into, beyond steps – start-up, compiling, the border of an
//! epoch, evaluation, checkpoints, standing still. A trace of a few steps never sees these.
//!
//! Phases are exclusive and sum to the watched time in whole nanoseconds. They come from the stacks of the driving
//! process's main thread, which carry their times. A sample speaks for the time half-way to its neighbours, but for
//! [`REACH`] at most on either side; time for which none speaks is [`Phase::Unknown`]. Stacks without times (a
//! collapsed total) give no phases.
//!
//! How a phase is recognised is said at [`Phase`]; where frames alone decide is in [`of_sample`], what neighbours,
//! loader workers and counters add is in [`context`].

mod context;
mod of_sample;

use std::collections::BTreeMap;

use whyidle_model::Samples;

use super::doing::Reader;
use of_sample::{Hint, Reading};

/// What a stretch of a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Training steps: forward, backward, optimizer, and everything between them that is no other phase – waits for
    /// a loader too.
    Training,
    /// From the start of the program, or from the first import seen, until the first forward, backward or optimizer
    /// frame.
    Startup,
    /// `torch._dynamo` or `torch._inductor` compiles.
    Compile,
    /// The border of an epoch: the loader makes its iterator or ends it, workers are born, and the main thread waits
    /// for the first batch of the new ones.
    Epoch,
    /// A function that iterates a loader and runs forward passes and under which backward and optimizer are never
    /// seen; one that is called `evaluate…` or `validate…`; the evaluation loops of transformers and Lightning.
    Evaluation,
    /// `torch.save`, a distributed checkpoint, safetensors.
    Checkpoint,
    /// The main thread's stack does not move, and the whole program uses neither CPU nor disk nor pipe.
    Stuck,
    /// Nothing speaks for it.
    Unknown,
}

impl Phase {
    /// Every phase, in the order of a run.
    pub const ALL: [Self; 8] = [
        Self::Startup,
        Self::Compile,
        Self::Training,
        Self::Epoch,
        Self::Evaluation,
        Self::Checkpoint,
        Self::Stuck,
        Self::Unknown,
    ];

    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Compile => "compile",
            Self::Training => "training",
            Self::Epoch => "epoch",
            Self::Evaluation => "eval",
            Self::Checkpoint => "checkpoint",
            Self::Stuck => "stuck",
            Self::Unknown => "unknown",
        }
    }
}

/// An unbroken stretch of one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// What it is.
    pub phase: Phase,
    /// Its start, ns of Unix time.
    pub from: i64,
    /// Its end, ns of Unix time.
    pub until: i64,
}

impl Stretch {
    /// Length, ns.
    #[must_use]
    pub fn length(&self) -> i64 {
        self.until - self.from
    }
}

/// The phases of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Phases {
    /// Stretches in order, without gaps, from the first sample of anything to the last. Neighbours differ.
    pub stretches: Vec<Stretch>,
    /// The largest place of each phase but training, as `validate (train.py:60)`.
    pub places: BTreeMap<Phase, String>,
    /// Samples of the main thread behind them.
    pub samples: u32,
    /// A loader, forward, backward, optimizer or collective was seen: the program was in its loop.
    pub in_loop: bool,
    /// Stacks that did not move while the program stood still: thread and innermost place. Empty unless stuck at
    /// the end of the watch.
    pub standing: Vec<(String, String)>,
}

impl Phases {
    /// Length of a phase, ns.
    #[must_use]
    pub fn total(&self, phase: Phase) -> i64 {
        self.of(phase).map(Stretch::length).sum()
    }

    /// The watched time, ns.
    #[must_use]
    pub fn watched(&self) -> i64 {
        self.stretches.iter().map(Stretch::length).sum()
    }

    /// How often a phase was entered.
    #[must_use]
    pub fn visits(&self, phase: Phase) -> u32 {
        u32::try_from(self.of(phase).count()).unwrap_or(u32::MAX)
    }

    /// Mean time from one visit to the next, ns; `None` with fewer than two. Visits shorter than the distance of
    /// two samples can be missed: the true one may be shorter.
    #[must_use]
    pub fn period(&self, phase: Phase) -> Option<i64> {
        let starts: Vec<i64> = self.of(phase).map(|stretch| stretch.from).collect();
        let (first, last) = (starts.first()?, starts.last()?);
        let rounds = i64::try_from(starts.len()).ok()? - 1;
        (rounds > 0).then(|| (last - first) / rounds)
    }

    /// When training was first seen, ns of Unix time.
    #[must_use]
    pub(crate) fn training_from(&self) -> Option<i64> {
        self.of(Phase::Training).next().map(|stretch| stretch.from)
    }

    fn of(&self, phase: Phase) -> impl Iterator<Item = &Stretch> {
        self.stretches.iter().filter(move |stretch| stretch.phase == phase)
    }
}

/// A sample speaks for this long on either side at most, ns: the recorder takes one every five seconds at its
/// slowest.
pub(crate) const REACH: i64 = 2_500_000_000;
/// Fewer samples make no phases.
const FEWEST: usize = 5;

/// The phases of process `driver`; `None` without stacks that carry their times. `began`: the watch began with the
/// program.
#[must_use]
pub fn phases(samples: &Samples, driver: u32, began: bool) -> Option<Phases> {
    let reader = Reader { stacks: &samples.stacks };
    let readings = of_sample::readings(&reader, driver);
    if readings.len() < FEWEST {
        return None;
    }
    let (first, last) = super::span(samples)?;
    let (mut phases, standing) = context::assign(samples, driver, &readings, began);
    let stretches = stretches(&readings, &mut phases, first, last);
    Some(Phases {
        places: places(&reader, &readings, &phases),
        samples: u32::try_from(readings.len()).unwrap_or(u32::MAX),
        in_loop: readings.iter().any(|reading| {
            matches!(reading.hint, Hint::Trains | Hint::Forward | Hint::Loads | Hint::Evaluates)
        }),
        standing,
        stretches,
    })
}

/// Stretches from `first` to `last` in which every reading speaks for the time around it.
fn stretches(readings: &[Reading<'_>], phases: &mut [Phase], first: i64, last: i64) -> Vec<Stretch> {
    let mut out: Vec<Stretch> = Vec::new();
    let mut add = |phase: Phase, from: i64, until: i64| {
        if until <= from {
            return;
        }
        match out.last_mut() {
            Some(before) if before.phase == phase => before.until = until,
            _ => out.push(Stretch { phase, from, until }),
        }
    };
    let mut at = first;
    for (index, (reading, phase)) in readings.iter().zip(phases.iter()).enumerate() {
        let before = index.checked_sub(1).map_or(first, |before| readings[before].t);
        let after = readings.get(index + 1).map_or(last, |after| after.t);
        let half =
            |from: i64, until: i64, is_edge: bool| if is_edge { until - from } else { (until - from) / 2 };
        let from = (reading.t - half(before, reading.t, index == 0).min(REACH)).max(at);
        let until = reading.t + half(reading.t, after, index + 1 == readings.len()).min(REACH);
        add(Phase::Unknown, at, from);
        add(*phase, from, until);
        at = until.max(at);
    }
    add(Phase::Unknown, at, last);
    out
}

fn places(reader: &Reader<'_>, readings: &[Reading<'_>], phases: &[Phase]) -> BTreeMap<Phase, String> {
    let mut counts: BTreeMap<Phase, BTreeMap<String, u32>> = BTreeMap::new();
    for (reading, &phase) in readings.iter().zip(phases) {
        let named = !matches!(phase, Phase::Training | Phase::Unknown);
        if let Some(place) = reading.place(reader, phase).filter(|_| named) {
            *counts.entry(phase).or_default().entry(place).or_default() += 1;
        }
    }
    let largest = |places: BTreeMap<String, u32>| {
        places.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0))).map(|(place, _)| place)
    };
    counts.into_iter().filter_map(|(phase, places)| Some((phase, largest(places)?))).collect()
}

#[cfg(test)]
mod tests;
