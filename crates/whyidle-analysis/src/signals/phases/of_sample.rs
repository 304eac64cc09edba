//! What one sample of the main thread says of the run, by its frames alone.

use std::collections::{BTreeMap, BTreeSet};

use whyidle_model::{Frame, Stack, Sym};

use super::Phase;
use crate::signals::doing::{Doing, Reader};

/// What a sample says by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    /// Backward, the optimizer: training for certain.
    Trains,
    /// A forward pass, or a collective.
    Forward,
    /// The loader prepares a batch or waits for one.
    Loads,
    /// The loader makes its iterator, or ends it.
    StartsLoader,
    /// Imports.
    Imports,
    /// Compiles.
    Compiles,
    /// Saves.
    Saves,
    /// Evaluates.
    Evaluates,
    /// Nothing of its own: it belongs to what lies around it.
    Neutral,
}

/// A sample of the main thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading<'a> {
    /// When, ns of Unix time.
    pub(super) t: i64,
    /// Number of its stack: equal numbers are equal to the line.
    pub(super) number: usize,
    /// Its stack.
    pub(super) stack: &'a Stack,
    /// The outermost function of the user's own on it that evaluates.
    evaluates_in: Option<Frame>,
    /// What it says.
    pub(super) hint: Hint,
}

impl Reading<'_> {
    /// The function to name for a phase: the one that evaluates; where nothing moves, the one that the thread is in;
    /// else the innermost of the user's own.
    pub(super) fn place(&self, reader: &Reader<'_>, phase: Phase) -> Option<String> {
        let frames = &self.stack.frames;
        let own = || frames.iter().rev().find(|frame| reader.is_user(frame)).or(frames.last()).copied();
        let frame = match phase {
            Phase::Stuck => frames.last().copied(),
            Phase::Evaluation => self.evaluates_in.or_else(own),
            _ => own(),
        };
        frame.map(|frame| reader.in_words(frame))
    }
}

/// The samples of the main thread of `driver` that carry a time, in its order.
pub(super) fn readings<'a>(reader: &Reader<'a>, driver: u32) -> Vec<Reading<'a>> {
    let stacks = reader.stacks;
    let is_main = |stack: &Stack| stack.pid == driver && stacks.names.get(stack.thread) == "MainThread";
    let hints: Vec<Hint> = stacks.stacks.iter().map(|stack| hint(reader, stack)).collect();
    let evaluating = evaluating(reader, &hints, driver);
    let mut readings: Vec<Reading<'a>> = stacks
        .seen
        .iter()
        .filter_map(|seen| {
            let stack = &stacks.stacks[seen.stack];
            let t = seen.t.filter(|_| is_main(stack))?;
            let evaluates_in = stack.frames.iter().find(|frame| evaluating.contains(&key(frame))).copied();
            let hint = match hints[seen.stack] {
                Hint::Forward | Hint::Loads | Hint::StartsLoader | Hint::Neutral
                    if evaluates_in.is_some() =>
                {
                    Hint::Evaluates
                }
                hint => hint,
            };
            Some(Reading { t, number: seen.stack, stack, evaluates_in, hint })
        })
        .collect();
    readings.sort_by_key(|reading| reading.t);
    readings
}

fn hint(reader: &Reader<'_>, stack: &Stack) -> Hint {
    match reader.doing(stack) {
        Doing::Imports => Hint::Imports,
        Doing::Compiles => Hint::Compiles,
        Doing::Saves => Hint::Saves,
        Doing::Evaluates => Hint::Evaluates,
        Doing::StartsLoader => Hint::StartsLoader,
        Doing::WaitsForWorkers | Doing::PreparesData => Hint::Loads,
        Doing::Optimizes if is_step(reader, stack) => Hint::Trains,
        Doing::Backward => Hint::Trains,
        // What backward calls back into: hooks, functions with a backward of their own, recomputation.
        Doing::UserCode | Doing::Launches if is_backward(reader, stack) => Hint::Trains,
        Doing::Communicates => Hint::Forward,
        Doing::Launches if is_forward(reader, stack) => Hint::Forward,
        _ => Hint::Neutral,
    }
}

/// An optimizer's step, not its construction.
fn is_step(reader: &Reader<'_>, stack: &Stack) -> bool {
    stack.frames.iter().any(|frame| {
        matches!(reader.short(frame), "step" | "zero_grad") && reader.file(frame).contains("torch/optim/")
    })
}

fn is_backward(reader: &Reader<'_>, stack: &Stack) -> bool {
    stack.frames.iter().any(|frame| reader.short(frame) == "_engine_run_backward")
}

/// Inside the call of a module, not its construction.
fn is_forward(reader: &Reader<'_>, stack: &Stack) -> bool {
    stack.frames.iter().any(|frame| {
        matches!(reader.short(frame), "_call_impl" | "_wrapped_call_impl")
            && reader.file(frame).ends_with("torch/nn/modules/module.py")
    })
}

/// The frames that lie around the loader, or around the model: what those call is not around them, and may be a helper
/// that both call.
fn outside<'a>(reader: &Reader<'_>, stack: &'a Stack, hint: Hint) -> &'a [Frame] {
    let enters = |frame: &Frame| match hint {
        Hint::Loads | Hint::StartsLoader => reader.file(frame).contains("torch/utils/data/"),
        Hint::Forward => reader.file(frame).ends_with("torch/nn/modules/module.py"),
        _ => false,
    };
    let until = stack.frames.iter().position(enters).unwrap_or(stack.frames.len());
    &stack.frames[..until]
}

/// A function, whichever line of it runs.
type Key = (Sym, Sym);

fn key(frame: &Frame) -> Key {
    (frame.function, frame.file)
}

/// The user's functions that evaluate: seen around a loader and around a forward pass, never around backward or the
/// optimizer. (A generator that yields batches is never around a forward pass; a function that computes the loss is
/// never around a loader.)
fn evaluating(reader: &Reader<'_>, hints: &[Hint], driver: u32) -> BTreeSet<Key> {
    let mut around: BTreeMap<Key, (bool, bool, bool)> = BTreeMap::new();
    let own = reader.stacks.stacks.iter().zip(hints).filter(|(stack, _)| stack.pid == driver);
    for (stack, hint) in own {
        let around_it = outside(reader, stack, *hint);
        for frame in around_it.iter().filter(|frame| reader.is_user(frame)) {
            let (loads, runs, trains) = around.entry(key(frame)).or_default();
            *loads |= matches!(hint, Hint::Loads | Hint::StartsLoader);
            *runs |= *hint == Hint::Forward;
            *trains |= *hint == Hint::Trains;
        }
    }
    let evaluates =
        |(key, (loads, runs, trains)): (Key, (bool, bool, bool))| (loads && runs && !trains).then_some(key);
    let trains_anywhere = hints.contains(&Hint::Trains);
    // Where nothing trains, everything would be evaluation: a server, or a watch that saw too little.
    around.into_iter().filter_map(evaluates).filter(|_| trains_anywhere).collect()
}
