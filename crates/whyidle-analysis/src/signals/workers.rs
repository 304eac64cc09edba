//! What the loader workers were doing: at work, asleep, or waiting for a disk.

use std::collections::BTreeMap;

use whyidle_model::{Samples, Stack};

use super::doing::Reader;
use super::mainthread::Place;

/// What was seen of the loader workers.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerSignals {
    /// The processes.
    pub pids: Vec<u32>,
    /// Mean CPU use of one of them, in cores; `None` without counters.
    pub busy: Option<f64>,
    /// Share of their samples in which they waited for a disk; `None` without counters.
    pub disk: Option<f64>,
    /// Highest resident memory of all of them together, shared pages counted in each, bytes; `None` without counters.
    pub memory: Option<f64>,
    /// Bytes that all of them read from storage per second; `None` without counters.
    pub read_rate: Option<f64>,
    /// Share of their stack samples in which they prepared items; `None` without stacks.
    pub preparing: Option<f64>,
    /// Where they prepare items, largest first; shares are of their stack samples.
    pub places: Vec<Place>,
    /// Samples of their stacks.
    pub samples: u32,
}

/// The loader workers of `driver`; `None` where none were seen.
#[must_use]
pub fn workers(samples: &Samples, driver: u32) -> Option<WorkerSignals> {
    let stacks = &samples.stacks;
    let reader = Reader { stacks };
    let mut pids: Vec<u32> = Vec::new();
    let table = &samples.process;
    for row in 0..table.len() {
        let by_name =
            table.word("cmd", row).starts_with("pt_data_worker") || table.word("role", row) == "worker";
        let parent = table.number("ppid", row);
        if by_name
            && parent.is_some_and(|parent| (parent - f64::from(driver)).abs() < 0.5)
            && let Some(pid) = table.number("pid", row)
        {
            pids.push(pid as u32);
        }
    }
    let is_loop = |stack: &Stack| {
        stack.frames.iter().any(|frame| {
            let name = stacks.names.get(frame.function);
            name == "_worker_loop" || name.ends_with("._worker_loop")
        })
    };
    let loops = stacks.stacks.iter().filter(|stack| stack.parents.contains(&driver) && is_loop(stack));
    pids.extend(loops.map(|stack| stack.pid));
    pids.sort_unstable();
    pids.dedup();
    if pids.is_empty() {
        return None;
    }
    let (mut all, mut preparing) = (0, 0);
    let mut places: BTreeMap<String, u32> = BTreeMap::new();
    for seen in &stacks.seen {
        let stack = &stacks.stacks[seen.stack];
        if !pids.contains(&stack.pid) || stacks.names.get(stack.thread) != "MainThread" {
            continue;
        }
        all += seen.count;
        let file = |part: &str| stack.frames.iter().any(|f| stacks.names.get(f.file).ends_with(part));
        if !file("torch/utils/data/_utils/fetch.py") {
            continue;
        }
        preparing += seen.count;
        let from = stack
            .frames
            .iter()
            .position(|f| stacks.names.get(f.file).ends_with("torch/utils/data/_utils/fetch.py"));
        let inside = &stack.frames[from.unwrap_or(0)..];
        if let Some(frame) = inside.iter().rev().find(|frame| reader.is_user(frame)).or(inside.last()) {
            *places.entry(reader.in_words(*frame)).or_default() += seen.count;
        }
    }
    let whole = f64::from(all.max(1));
    let mut places: Vec<Place> = places
        .into_iter()
        .map(|(name, count)| Place { name, share: f64::from(count) / whole, source: None })
        .collect();
    places.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.name.cmp(&b.name)));
    places.truncate(5);
    let counters: Vec<super::ProcessSignals> =
        pids.iter().filter_map(|&pid| super::process::process(table, pid)).collect();
    let mean = |value: fn(&super::ProcessSignals) -> f64| {
        (!counters.is_empty()).then(|| counters.iter().map(value).sum::<f64>() / counters.len() as f64)
    };
    Some(WorkerSignals {
        busy: mean(|process| process.user + process.system),
        disk: mean(|process| process.disk),
        memory: (!counters.is_empty()).then(|| counters.iter().filter_map(|process| process.memory).sum()),
        read_rate: (!counters.is_empty())
            .then(|| counters.iter().filter_map(|process| process.read_rate).sum()),
        preparing: (all > 0).then(|| f64::from(preparing) / whole),
        places,
        samples: all,
        pids,
    })
}
