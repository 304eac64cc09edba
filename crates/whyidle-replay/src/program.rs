//! The dependency graph of the traced steps, laid out so that one pass in launch order replays it.
//!
//! Nodes are host segments of the chain and GPU activities. Edges: host order; launch → activity;
//! stream order; an activity → one on another stream that waits for it; an activity → the host call
//! that blocks on it. An activity starts when the last of its edges is met, never by a recorded gap.
//!
//! `build` walks the chain and makes the nodes; `edges` finds what each activity waited for.

mod build;
mod edges;

use std::ops::Range;

use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::tree::{Context, NONE, Opened};
use whyidle_model::{GpuId, Trace};

use crate::edits::activities_of;
use crate::simulate::Lengths;
use build::Builder;

/// A stream's queue holds about 1 024 launches; further ones block the host.
pub(crate) const QUEUE_LIMIT: usize = 1_022;

/// What a host node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostStep {
    /// Computes.
    Work,
    /// Launches the GPU nodes from `first` to before `end`; waits for the last of them if it blocks.
    Launch {
        /// First GPU node.
        first: u32,
        /// Behind the last GPU node.
        end: u32,
        /// The call returns only after its activity.
        blocks: bool,
    },
    /// Waits for a GPU node; [`NONE`] where the record shows no wait.
    Wait {
        /// The GPU node.
        target: u32,
    },
}

/// A host node.
#[derive(Clone, Copy, Debug)]
pub struct HostNode {
    /// What it does.
    pub step: HostStep,
    /// What its time is for.
    pub context: Context,
    /// Own time, without waiting, ns.
    pub length: i64,
    /// Events that begin in it: what the profiler's cost is charged for.
    pub opened: Opened,
    /// Innermost event; [`NONE`] for none.
    pub leaf: u32,
}

/// A GPU node.
#[derive(Clone, Copy, Debug)]
pub struct GpuNode {
    /// The activity.
    pub activity: GpuId,
    /// Its stream, as index.
    pub stream: u32,
    /// Length, ns.
    pub length: i64,
    /// Least distance from the end of the one before it on its stream, ns; negative where they overlap.
    pub gap: i64,
    /// Least distance from the start of its launch, ns.
    pub latency: i64,
    /// A node of another stream that it waits for; [`NONE`] for none.
    pub after: u32,
    /// Least distance from that node's end, ns.
    pub lag: i64,
    /// How `after` is known.
    pub after_by: AfterBy,
    /// It waits for an activity launched before the trace, until then, ns; `i64::MIN` for none.
    pub not_before: i64,
    /// Time that no edge explains, ns.
    pub slack: i64,
}

/// How a wait for another stream is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterBy {
    /// Recorded (`cuda_sync`: which stream waits for which event).
    Recorded,
    /// Inferred: a `cudaStreamWaitEvent` before the launch, and the order in which activities ended and started.
    Inferred,
}

/// Activities launched before the trace: they keep their place.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    /// Stream, as index.
    pub stream: u32,
    /// Start, ns.
    pub start: i64,
    /// End, ns.
    pub end: i64,
}

/// The dependency graph of a trace's steps.
pub struct Program {
    /// Host nodes in chain order.
    pub host: Vec<HostNode>,
    /// GPU nodes in launch order.
    pub gpu: Vec<GpuNode>,
    /// Number of streams.
    pub streams: usize,
    /// Activities that were under way or queued at the start, by start.
    pub backlog: Vec<Backlog>,
    /// Where the chain begins, ns.
    pub start: i64,
    /// Recorded end of the last activity launched in the steps, ns.
    pub recorded_end: i64,
    /// Per host step: its host nodes.
    pub steps: Vec<Range<usize>>,
    /// Numbers of those steps.
    pub numbers: Vec<i64>,
    /// Time that no edge explains, ns: a union over streams.
    pub slack: i64,
    /// Time in which an activity could have started, but another stream's kernel was running, ns: blocks wait for
    /// free multiprocessors, which no edge of a graph expresses.
    pub contended: i64,
    /// Time between the activities of one CUDA graph in which none of its streams shows anything, ns: nodes that the
    /// profiler does not record.
    pub unrecorded: i64,
    /// Median distance between queued kernels, ns.
    pub typical_gap: i64,
    /// Median distance from launch to start on an idle stream, ns.
    pub typical_latency: i64,
}

impl Program {
    /// The graph of the host steps of `trace`, for one device.
    #[must_use]
    pub fn new(trace: &Trace, facts: &Facts, device: &DeviceFacts) -> Option<Self> {
        Builder::new(trace, facts, device).build()
    }

    /// Gives the last of `steps` the tail that the step before them had.
    ///
    /// A step's period ends with its last activity, so what the host does after a step's last launch lies in the next
    /// period: the window holds the tail of the step before it, and not its own last one, where a profiler may be
    /// stopping. Without a step before, the first of `steps` stands for it.
    pub fn level_tail(&mut self, lengths: &mut Lengths, steps: Range<usize>) {
        let (model, last) = (steps.start.saturating_sub(1), steps.end - 1);
        if model == last {
            return;
        }
        let (from, to) = (self.tail(model), self.tail(last));
        let sum = |of: &dyn Fn(usize) -> i64, nodes: Range<usize>| nodes.map(of).sum::<i64>();
        let scale = |ns: i64, wanted: i64, now: i64| {
            (i128::from(ns) * i128::from(wanted) / i128::from(now.max(1))) as i64
        };
        let (wanted, now) =
            (sum(&|at| lengths.host[at], from.clone()), sum(&|at| lengths.host[at], to.clone()));
        to.clone().for_each(|at| lengths.host[at] = scale(lengths.host[at], wanted, now));
        let (wanted, now) =
            (sum(&|at| self.host[at].length, from), sum(&|at| self.host[at].length, to.clone()));
        to.for_each(|at| self.host[at].length = scale(self.host[at].length, wanted, now));
    }

    /// Host nodes after a step's last launch.
    fn tail(&self, step: usize) -> Range<usize> {
        let nodes = self.steps[step].clone();
        let launches =
            |at: &usize| matches!(self.host[*at].step, HostStep::Launch { first, end, .. } if first < end);
        let last = nodes.clone().rev().find(launches);
        last.map_or(nodes.start, |at| at + 1)..nodes.end
    }

    /// Cuts the graph and lengths for it to some of its steps: what is edited and replayed again and
    /// again need be no longer. Edges to what goes are gone, as they are when only these steps are replayed.
    pub fn cut(&mut self, steps: Range<usize>, lengths: &mut Lengths) {
        let host = self.steps[steps.start].start..self.steps[steps.end - 1].end;
        let gpu = activities_of(self, steps.clone());
        keep(&mut self.host, &host);
        keep(&mut self.gpu, &gpu);
        keep(&mut self.steps, &steps);
        keep(&mut self.numbers, &steps);
        keep(&mut lengths.host, &host);
        keep(&mut lengths.waits, &host);
        keep(&mut lengths.gpu, &gpu);
        let gone = u32::try_from(gpu.start).unwrap_or(NONE);
        let moved = |node: u32| if gpu.contains(&(node as usize)) { node - gone } else { NONE };
        for node in &mut self.host {
            match &mut node.step {
                HostStep::Launch { first, end, .. } => (*first, *end) = (*first - gone, *end - gone),
                HostStep::Wait { target } => *target = moved(*target),
                HostStep::Work => {}
            }
        }
        for node in &mut self.gpu {
            node.after = moved(node.after);
        }
        for nodes in &mut self.steps {
            *nodes = nodes.start - host.start..nodes.end - host.start;
        }
    }
}

fn keep<T>(list: &mut Vec<T>, range: &Range<usize>) {
    list.truncate(range.end);
    list.drain(..range.start);
    list.shrink_to_fit();
}

/// The value in the middle.
pub(crate) fn median(values: &mut [i64]) -> Option<i64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    Some(*values.select_nth_unstable(middle).1)
}
