//! Python stacks that other tools wrote: `py-spy record -f raw|speedscope|chrometrace`, `py-spy dump`, and what
//! `torch.profiler.export_stacks` writes.
//!
//! None of them says when: py-spy counts from its own start. Stacks are therefore counted, and no phases follow from them.
//! A stack without a process is one of process 0.
//!
//! Sources: py-spy 0.4 (`src/flamegraph.rs`, `speedscope.rs`, `chrometrace.rs`, `dump.rs`), of which tests read real
//! files; the file format schema of speedscope.app; `torch/autograd/profiler.py`, `export_stacks`, of PyTorch 2.11.

pub(crate) mod collapsed;
pub(crate) mod dump;
pub(crate) mod events;
pub(crate) mod speedscope;

use rustc_hash::FxHashMap;
use whyidle_model::{NoteCode, Seen, Stack, Stacks};

use crate::logs::{Clock, Log};

/// Different stacks beyond this are dropped.
const MOST_STACKS: usize = 1 << 20;
/// Deeper stacks are cut: Python's own limit is 1,000 frames.
pub(crate) const DEEPEST: usize = 4_096;

/// Counts stacks.
#[derive(Default)]
pub(crate) struct Counted {
    pub(crate) stacks: Stacks,
    known: FxHashMap<(Stack, char), usize>,
    pub(crate) log: Log,
}

impl Counted {
    pub(crate) fn see(&mut self, stack: Stack, count: u32, state: char, gil: bool) {
        if count == 0 {
            return;
        }
        if let Some(&at) = self.known.get(&(stack.clone(), state)) {
            let seen = &mut self.stacks.seen[at];
            seen.count = seen.count.saturating_add(count);
            return;
        }
        if self.stacks.stacks.len() >= MOST_STACKS {
            self.log.notes.add(NoteCode::TableFull, None);
            return;
        }
        self.known.insert((stack.clone(), state), self.stacks.seen.len());
        self.stacks.seen.push(Seen { t: None, stack: self.stacks.stacks.len(), count, state, gil });
        self.stacks.stacks.push(stack);
    }

    pub(crate) fn finish(mut self) -> Log {
        self.log.rows = self.stacks.seen.iter().map(|seen| u64::from(seen.count)).sum();
        self.log.samples.stacks = self.stacks;
        self.log.clock = Clock::None;
        self.log
    }
}

#[cfg(test)]
mod tests;
