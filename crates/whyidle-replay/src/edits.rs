//! What-if edits: each changes the lengths of a replay and nothing else.

use std::ops::Range;

use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::tree::Context;

use crate::program::{HostStep, Program};
use crate::simulate::{GONE, Lengths};

/// Takes out everything that the host does in some contexts, waits included.
pub fn remove_contexts(program: &Program, lengths: &mut Lengths, contexts: &[Context]) {
    for (at, node) in program.host.iter().enumerate() {
        if contexts.contains(&node.context) {
            lengths.host[at] = 0;
            lengths.waits[at] = false;
        }
    }
}

/// Makes copies to the device asynchronous: the host neither stages nor waits.
///
/// The copies themselves stay on the device; from pinned memory they run at the link's speed,
/// which `pinned_speed_up` states (new length = length / speed-up).
pub fn asynchronous_transfers(
    program: &Program,
    works: &[Work],
    lengths: &mut Lengths,
    pinned_speed_up: f64,
) {
    remove_contexts(program, lengths, &[Context::Transfer]);
    for (at, node) in program.host.iter().enumerate() {
        if let HostStep::Launch { first, end, blocks: true } = node.step {
            let to_device =
                (first..end).any(|gpu| works[program.gpu[gpu as usize].activity.index()] == Work::HostCopy);
            if to_device && node.context != Context::Synchronise {
                lengths.waits[at] = false;
            }
        }
    }
    for (at, node) in program.gpu.iter().enumerate() {
        if works[node.activity.index()] == Work::HostCopy && lengths.gpu[at] >= 0 {
            lengths.gpu[at] = (lengths.gpu[at] as f64 / pinned_speed_up) as i64;
        }
    }
}

/// Launching as CUDA graphs: what the host does between launches of forward and backward goes; a graph's
/// launch costs about this per kernel.
///
/// `cudaGraphLaunch` takes 0.6–1.2 ms for about 1 000 nodes with the profiler on (H200, CUDA 13).
const GRAPH_NODE_NS: i64 = 900;

/// Operators follow each other within tens of µs; a stretch of host work longer than this is something else:
/// a function of the user's, or a library that prepares for a new shape.
pub const LONG_STRETCH_NS: i64 = 500_000;

/// Replays forward and backward as graphs.
///
/// Stays: the optimizer's host work, loading, waiting, copies, and `keep` (host nodes that a graph
/// cannot hold, such as gradient accumulation per parameter).
pub fn cuda_graphs(
    program: &Program,
    lengths: &mut Lengths,
    keep: impl Fn(&crate::program::HostNode) -> bool,
) {
    for (at, node) in program.host.iter().enumerate() {
        if keep(node) {
            continue;
        }
        match (node.context, node.step) {
            // What lasts this long between two launches is no dispatch, and no graph takes it away.
            (Context::Unnamed | Context::Frame, HostStep::Work) if node.length >= LONG_STRETCH_NS => {}
            (Context::Operator | Context::Unnamed | Context::Frame, HostStep::Work) => lengths.host[at] = 0,
            (Context::Operator, HostStep::Launch { first, end, .. }) => {
                lengths.host[at] = lengths.host[at].min(GRAPH_NODE_NS * i64::from(end - first));
            }
            _ => {}
        }
    }
}

/// Scales the GPU nodes of the work that `factor` names; `None` leaves a node alone, 0 removes it. What an
/// earlier edit removed stays removed.
pub fn scale_activities(
    program: &Program,
    lengths: &mut Lengths,
    factor: impl Fn(whyidle_model::GpuId) -> Option<f64>,
) {
    for (at, node) in program.gpu.iter().enumerate() {
        match factor(node.activity).filter(|_| lengths.gpu[at] >= 0) {
            Some(0.0) => lengths.gpu[at] = GONE,
            Some(factor) => lengths.gpu[at] = (lengths.gpu[at] as f64 * factor) as i64,
            None => {}
        }
    }
}

/// Takes out the launching calls whose activities are all gone, and the host's own time for them.
pub fn drop_empty_launches(program: &Program, lengths: &mut Lengths) {
    for (at, node) in program.host.iter().enumerate() {
        if let HostStep::Launch { first, end, .. } = node.step
            && first < end
            && (first..end).all(|gpu| lengths.gpu[gpu as usize] < 0)
        {
            lengths.host[at] = 0;
        }
    }
}

/// Scales the host's own work in a context, per step range.
pub fn scale_host(program: &Program, lengths: &mut Lengths, context: Context, factor: f64) {
    for (at, node) in program.host.iter().enumerate() {
        let own = matches!(node.step, HostStep::Work | HostStep::Launch { blocks: false, .. });
        if node.context == context && own {
            lengths.host[at] = (lengths.host[at] as f64 * factor) as i64;
        }
    }
}

/// GPU nodes launched in a range of steps.
#[must_use]
pub(crate) fn activities_of(program: &Program, steps: Range<usize>) -> Range<usize> {
    let nodes = program.steps[steps.start].start..program.steps[steps.end - 1].end;
    let mut launched = nodes.filter_map(|at| match program.host[at].step {
        HostStep::Launch { first, end, .. } => Some((first as usize, end as usize)),
        _ => None,
    });
    let first = launched.next();
    let last = launched.next_back().or(first);
    match (first, last) {
        (Some((from, _)), Some((_, to))) => from..to,
        _ => 0..0,
    }
}
