//! What the main thread of the driving process was doing, by its Python stacks: how many samples show what, and where.

use std::collections::{BTreeMap, HashMap};

use whyidle_model::Stacks;

use super::doing::{Doing, Reader};
use super::share_error;

/// A function with its share of the samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// `TokenizeOnTheFly.__getitem__ (model.py:132)`.
    pub name: String,
    /// Share of all samples of the thread.
    pub share: f64,
    /// The text of its source line, where recorded.
    pub source: Option<String>,
}

/// What was seen of the main thread.
#[derive(Clone, Debug, PartialEq)]
pub struct MainThread {
    /// Samples.
    pub samples: u32,
    /// Samples by what it did.
    pub counts: BTreeMap<Doing, u32>,
    /// The largest places of each, largest first.
    pub places: BTreeMap<Doing, Vec<Place>>,
    /// Share of samples inside activation checkpointing.
    pub recomputes: f64,
    /// Share of samples inside pipeline scheduling.
    pub pipelines: f64,
    /// The loader was met at all, in whatever state.
    pub has_loader: bool,
    /// DDP, FSDP, pipelining, DeepSpeed or a collective was met: the process is one of several ranks.
    pub is_rank: bool,
}

impl MainThread {
    /// Share of the samples.
    #[must_use]
    pub fn share(&self, doing: Doing) -> f64 {
        f64::from(self.counts.get(&doing).copied().unwrap_or(0)) / f64::from(self.samples.max(1))
    }

    /// Half the width of the 95 % interval of a share.
    #[must_use]
    pub fn error(&self, doing: Doing) -> f64 {
        share_error(self.share(doing), self.samples)
    }

    /// The largest place of what it does.
    #[must_use]
    pub fn place(&self, doing: Doing) -> Option<&Place> {
        self.places.get(&doing)?.first()
    }
}

/// Files that only run in a job of several ranks.
const RANKS: [&str; 5] = [
    "torch/nn/parallel/distributed.py",
    "torch/distributed/distributed_c10d.py",
    "torch/distributed/fsdp/",
    "torch/distributed/pipelining/",
    "deepspeed/runtime/",
];

/// What the main thread of `driver` did; `None` without samples of it.
#[must_use]
pub fn main_thread(stacks: &Stacks, driver: u32) -> Option<MainThread> {
    const KEPT: usize = 5;
    let reader = Reader { stacks };
    let mut out = MainThread {
        samples: 0,
        counts: BTreeMap::new(),
        places: BTreeMap::new(),
        recomputes: 0.0,
        pipelines: 0.0,
        has_loader: false,
        is_rank: false,
    };
    let mut places: BTreeMap<Doing, BTreeMap<(String, Option<String>), u32>> = BTreeMap::new();
    let (mut recomputes, mut pipelines) = (0, 0);
    let holders = holders(stacks, driver);
    for seen in &stacks.seen {
        let stack = &stacks.stacks[seen.stack];
        if stack.pid != driver || stacks.names.get(stack.thread) != "MainThread" {
            continue;
        }
        let holder = seen.t.and_then(|t| holders.get(&t)).filter(|_| seen.state == 'S' && !seen.gil);
        let holder = holder.filter(|_| reader.wants_python(stack));
        let doing = if holder.is_some() { Doing::WaitsForGil } else { reader.doing(stack) };
        out.samples += seen.count;
        *out.counts.entry(doing).or_default() += seen.count;
        // Who holds the lock is to be named, not who waits for it.
        if let Some(frame) = reader.culprit(holder.map_or(stack, |&holder| &stacks.stacks[holder]), doing) {
            let source = stacks.source.get(&(frame.file, frame.line)).cloned();
            *places.entry(doing).or_default().entry((reader.in_words(frame), source)).or_default() +=
                seen.count;
        }
        let inside = |part: &str| stack.frames.iter().any(|frame| reader.file(frame).contains(part));
        recomputes += if inside("torch/utils/checkpoint.py") { seen.count } else { 0 };
        pipelines += if inside("torch/distributed/pipelining/") { seen.count } else { 0 };
        out.is_rank |= RANKS.iter().any(|part| inside(part)) && doing != Doing::Imports;
        out.has_loader |= inside("torch/utils/data/dataloader.py");
    }
    if out.samples == 0 {
        return None;
    }
    let whole = f64::from(out.samples);
    for (doing, found) in places {
        let mut found: Vec<Place> = found
            .into_iter()
            .map(|((name, source), count)| Place { name, share: f64::from(count) / whole, source })
            .collect();
        found.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.name.cmp(&b.name)));
        found.truncate(KEPT);
        out.places.insert(doing, found);
    }
    out.recomputes = f64::from(recomputes) / whole;
    out.pipelines = f64::from(pipelines) / whole;
    Some(out)
}

/// By time: the stack of the thread of `driver`, other than the main thread, that held the interpreter's lock.
fn holders(stacks: &Stacks, driver: u32) -> HashMap<i64, usize> {
    let holds = |seen: &&whyidle_model::Seen| {
        let stack = &stacks.stacks[seen.stack];
        seen.gil && stack.pid == driver && stacks.names.get(stack.thread) != "MainThread"
    };
    stacks.seen.iter().filter(holds).filter_map(|seen| Some((seen.t?, seen.stack))).collect()
}

#[cfg(test)]
mod tests;
