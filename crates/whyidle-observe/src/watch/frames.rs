//! What the frames of a stack show of a process: it trains, it asks a loader, it is one of a loader's workers.

use crate::stacks::{Sighting, ThreadStack};

type Frame = (String, String, u32);

pub(super) fn main_thread(stacks: &[Sighting]) -> Option<&ThreadStack> {
    stacks.iter().map(|seen| &seen.stack).find(|stack| stack.thread == "MainThread")
}

/// A backward pass or an optimizer: importing and building an optimizer is no training yet.
pub(super) fn trains((function, file, _): &Frame) -> bool {
    let name = function.rsplit('.').next().unwrap_or(function);
    name == "_engine_run_backward" || name == "step" && file.contains("torch/optim/")
}

/// Asks a loader for a batch, whether workers prepare it or the process itself.
pub(super) fn asks_loader((function, file, _): &Frame) -> bool {
    function.rsplit('.').next() == Some("_next_data") && file.ends_with("torch/utils/data/dataloader.py")
}

/// The loop of a loader worker.
pub(super) fn loads((function, file, _): &Frame) -> bool {
    function == "_worker_loop" && file.ends_with("torch/utils/data/_utils/worker.py")
}
