//! The critical path of a step: the chain of nodes and edges that decides its length.
//!
//! Steps are replayed until the launch queues have settled, and the path is followed backwards from the last
//! thing to end: a GPU node leads to the edge that let it start last (its launch, its stream, what it awaited),
//! a host node to what it waited for, or to the node before it. Pieces of the path neither overlap nor leave
//! time out, so they sum to the steps followed, to the nanosecond. Shortening anything that is not on the path
//! gains nothing.

use std::ops::Range;

use whyidle_analysis::tree::NONE;

use crate::program::{Program, QUEUE_LIMIT};
use crate::simulate::{Blocker, Edge, GpuRun, HostRun, Lengths, MEASURE, Replay, SETTLE, Track};

/// Time on the critical path of the replayed steps, all passes together, ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriticalPath {
    /// Length of the path: the sum of everything below.
    pub total_ns: i64,
    /// Steps that the path runs through.
    pub steps: i64,
    /// By GPU node: while it ran.
    pub gpu: Vec<i64>,
    /// By host node: while it ran and did not wait.
    pub host: Vec<i64>,
    /// Between a launch and the start of what it launched.
    pub latency_ns: i64,
    /// Between activities of a stream, and between the end of an awaited one and the start of what awaits it.
    pub pause_ns: i64,
}

/// The critical path of `steps` in the settled replay of `lengths`.
#[must_use]
pub fn critical_path(program: &Program, lengths: &Lengths, steps: Range<usize>) -> CriticalPath {
    let nodes = program.steps[steps.start].start..program.steps[steps.end - 1].end;
    let mut replay = Replay::empty(program, Trail::new(program));
    for _ in 0..SETTLE {
        replay.run(lengths, nodes.clone());
    }
    let from = replay.device_end.max(replay.host_now);
    for _ in 0..MEASURE {
        replay.run(lengths, nodes.clone());
    }
    let to = replay.device_end.max(replay.host_now);
    replay.track.walk(program, from, to, i64::try_from(MEASURE * steps.len()).unwrap_or(1))
}

/// Every run of every node, with what decided it.
struct Trail {
    host: Vec<(u32, HostRun)>,
    /// Host runs with the GPU run that they waited for.
    blockers: Vec<(u32, u32)>,
    gpu: Vec<GpuStep>,
    /// By GPU node: its last run.
    last_of_node: Vec<u32>,
    /// By stream: its runs in order, and the one that ends last.
    runs: Vec<Vec<u32>>,
    last_of_stream: Vec<u32>,
    /// By GPU node: the node awaited.
    after: Vec<u32>,
    stream: Vec<u32>,
}

struct GpuStep {
    node: u32,
    run: GpuRun,
    /// The GPU run, or for a launch the host run, that decided the start.
    before: u32,
}

impl Trail {
    fn new(program: &Program) -> Self {
        Self {
            host: Vec::new(),
            blockers: Vec::new(),
            gpu: Vec::new(),
            last_of_node: vec![NONE; program.gpu.len()],
            runs: vec![Vec::new(); program.streams],
            last_of_stream: vec![NONE; program.streams],
            after: program.gpu.iter().map(|node| node.after).collect(),
            stream: program.gpu.iter().map(|node| node.stream).collect(),
        }
    }

    fn blocker(&self, host: u32) -> Option<u32> {
        let at = self.blockers.binary_search_by_key(&host, |&(host, _)| host).ok()?;
        Some(self.blockers[at].1).filter(|&run| run != NONE)
    }

    /// Follows the path backwards from what ended at `to` down to `from`.
    fn walk(&self, program: &Program, from: i64, to: i64, steps: i64) -> CriticalPath {
        let mut path = CriticalPath {
            total_ns: to - from,
            steps,
            gpu: vec![0; program.gpu.len()],
            host: vec![0; program.host.len()],
            latency_ns: 0,
            pause_ns: 0,
        };
        let last_gpu = (0..self.gpu.len()).rev().find(|&at| self.gpu[at].run.end == to);
        let mut at = match last_gpu {
            Some(run) => On::Gpu(run),
            None => On::Host(self.host.len().wrapping_sub(1)),
        };
        let mut now = to;
        // The piece between `since` and now, as far as it lies in the steps followed.
        let piece = |now: &mut i64, since: i64| {
            let length = (*now - since.max(from)).max(0);
            *now = (*now).min(since);
            length
        };
        while now > from {
            match at {
                On::Gpu(run) => {
                    let Some(step) = self.gpu.get(run) else { break };
                    path.gpu[step.node as usize] += piece(&mut now, step.run.start);
                    at = match step.run.decided_by {
                        Edge::Launch => {
                            path.latency_ns += piece(&mut now, step.run.launched);
                            On::Host(step.before as usize)
                        }
                        Edge::Stream | Edge::Awaited => {
                            let Some(before) = self.gpu.get(step.before as usize) else { break };
                            path.pause_ns += piece(&mut now, before.run.end);
                            On::Gpu(step.before as usize)
                        }
                    };
                }
                On::Host(run) => {
                    let Some((node, host)) = self.host.get(run) else { break };
                    // A launch may be made before its call has waited for what it launched.
                    let waited = host.resumed > host.begin && now >= host.resumed;
                    path.host[*node as usize] += piece(&mut now, host.resumed);
                    at = match self.blocker(run as u32).filter(|_| waited) {
                        Some(blocker) => On::Gpu(blocker as usize),
                        None => {
                            path.host[*node as usize] += piece(&mut now, host.begin);
                            On::Host(run.wrapping_sub(1))
                        }
                    };
                }
            }
        }
        // What the path lost where an edge leads out of the passes followed; nothing in a settled replay.
        path.pause_ns += (now - from).max(0);
        path
    }
}

enum On {
    Gpu(usize),
    Host(usize),
}

impl Track for Trail {
    fn host(&mut self, node: usize, run: HostRun) {
        let at = self.host.len() as u32;
        if let Some(blocker) = run.blocked_by {
            let blocker = match blocker {
                Blocker::Node(node) => self.last_of_node[node as usize],
                Blocker::Queue(stream) => {
                    let runs = &self.runs[stream as usize];
                    // The launch that met the full queue has been added since.
                    runs.len().checked_sub(QUEUE_LIMIT + 1).map_or(NONE, |at| runs[at])
                }
            };
            self.blockers.push((at, blocker));
        }
        self.host.push((node as u32, run));
    }

    fn gpu(&mut self, node: usize, run: GpuRun) {
        let at = self.gpu.len() as u32;
        let stream = self.stream[node] as usize;
        let before = match run.decided_by {
            // The launching call itself is added when it has returned.
            Edge::Launch => self.host.len() as u32,
            Edge::Stream => self.last_of_stream[stream],
            Edge::Awaited => self.last_of_node[self.after[node] as usize],
        };
        let last = self.last_of_stream[stream];
        if last == NONE || self.gpu[last as usize].run.end <= run.end {
            self.last_of_stream[stream] = at;
        }
        self.last_of_node[node] = at;
        self.runs[stream].push(at);
        self.gpu.push(GpuStep { node: node as u32, run, before });
    }
}
