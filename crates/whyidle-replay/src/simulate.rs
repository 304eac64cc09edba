//! Replays a [`Program`]: start times follow from edges alone.

use std::collections::VecDeque;
use std::ops::Range;

use whyidle_analysis::tree::NONE;

use crate::program::{HostStep, Program, QUEUE_LIMIT};

/// What a replay tells of itself while it runs; [`Untracked`] listens to nothing.
pub(crate) trait Track {
    /// A host node has run.
    fn host(&mut self, _node: usize, _run: HostRun) {}
    /// A GPU node has run.
    fn gpu(&mut self, _node: usize, _run: GpuRun) {}
}

/// A run of a host node, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostRun {
    /// When the node before it ended.
    pub begin: i64,
    /// When it no longer waited.
    pub resumed: i64,
    /// What it waited for until `resumed`.
    pub blocked_by: Option<Blocker>,
}

/// What a host node waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Blocker {
    /// The end of a GPU node.
    Node(u32),
    /// A place in a stream's launch queue.
    Queue(u32),
}

/// A run of a GPU node, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuRun {
    /// When its launch was made.
    pub launched: i64,
    /// When it started.
    pub start: i64,
    /// When it ended.
    pub end: i64,
    /// What decided the start.
    pub decided_by: Edge,
}

/// The edge that was met last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    Launch,
    Stream,
    Awaited,
}

/// Listens to nothing.
pub(crate) struct Untracked;
impl Track for Untracked {}

/// Lengths of all nodes: what an edit changes.
#[derive(Clone, Debug)]
pub struct Lengths {
    /// Own time of each host node, ns.
    pub host: Vec<i64>,
    /// Whether a host node waits for its target.
    pub waits: Vec<bool>,
    /// Length of each GPU node, ns; negative: the node and its launch edge are gone.
    pub gpu: Vec<i64>,
}

/// A GPU node that an edit removed.
pub const GONE: i64 = -1;

impl Lengths {
    /// As recorded.
    #[must_use]
    pub fn recorded(program: &Program) -> Self {
        Self {
            host: program.host.iter().map(|node| node.length).collect(),
            waits: vec![true; program.host.len()],
            gpu: program.gpu.iter().map(|node| node.length).collect(),
        }
    }
}

/// The state of a replay.
pub(crate) struct Replay<'a, T = Untracked> {
    program: &'a Program,
    /// Who listens.
    pub track: T,
    /// Time of the host, ns.
    pub host_now: i64,
    /// End of the latest activity so far, ns.
    pub device_end: i64,
    /// What was queued at the start of the trace is replayed too.
    with_backlog: bool,
    stream_end: Vec<Option<i64>>,
    /// Starts of what is queued per stream.
    queued: Vec<VecDeque<i64>>,
    node_end: Vec<i64>,
    /// Time that the host spent blocked on a full queue or waiting for the device, ns.
    pub host_blocked: i64,
}

impl<'a> Replay<'a> {
    /// At the beginning of the trace, with its backlog.
    pub(crate) fn at_start(program: &'a Program) -> Self {
        let mut replay = Self::empty(program, Untracked);
        replay.with_backlog = true;
        for activity in &program.backlog {
            let stream = activity.stream as usize;
            replay.stream_end[stream] = replay.stream_end[stream].max(Some(activity.end));
            replay.device_end = replay.device_end.max(activity.end);
            replay.queued[stream].push_back(activity.start);
        }
        replay
    }
}

impl<'a, T: Track> Replay<'a, T> {
    /// With nothing queued.
    pub(crate) fn empty(program: &'a Program, track: T) -> Self {
        Self {
            program,
            track,
            host_now: program.start,
            device_end: program.start,
            with_backlog: false,
            stream_end: vec![None; program.streams],
            queued: vec![VecDeque::new(); program.streams],
            node_end: vec![i64::MIN; program.gpu.len()],
            host_blocked: 0,
        }
    }

    /// Replays the host nodes `range` and returns the end of the last activity launched in them.
    pub(crate) fn run(&mut self, lengths: &Lengths, range: Range<usize>) -> i64 {
        let mut last = i64::MIN;
        for at in range {
            let begin = self.host_now;
            let mut blocked_by = None;
            match self.program.host[at].step {
                HostStep::Work => {}
                HostStep::Launch { first, end, blocks } => {
                    let mut finished = begin;
                    for node in first..end {
                        if lengths.gpu[node as usize] >= 0 {
                            self.await_queue(node as usize, &mut blocked_by);
                            finished = self.start(node as usize, lengths);
                            last = last.max(finished);
                        }
                    }
                    if blocks && lengths.waits[at] && finished > self.host_now {
                        blocked_by = Some(Blocker::Node(end - 1));
                        self.block_until(finished);
                    }
                }
                HostStep::Wait { target } if target != NONE && lengths.waits[at] => {
                    let until = self.node_end[target as usize];
                    if until > self.host_now {
                        blocked_by = Some(Blocker::Node(target));
                        self.block_until(until);
                    }
                }
                HostStep::Wait { .. } => {}
            }
            let resumed = self.host_now;
            self.host_now += lengths.host[at];
            self.track.host(at, HostRun { begin, resumed, blocked_by });
        }
        self.device_end = self.device_end.max(last);
        last
    }

    fn block_until(&mut self, time: i64) {
        self.host_blocked += (time - self.host_now).max(0);
        self.host_now = self.host_now.max(time);
    }

    /// A launch into a full queue returns when the oldest of it has started.
    fn await_queue(&mut self, index: usize, blocked_by: &mut Option<Blocker>) {
        let stream = self.program.gpu[index].stream;
        let queue = &mut self.queued[stream as usize];
        while queue.front().is_some_and(|&start| start <= self.host_now) {
            queue.pop_front();
        }
        if queue.len() >= QUEUE_LIMIT
            && let Some(&free) = queue.get(queue.len() - QUEUE_LIMIT)
        {
            *blocked_by = Some(Blocker::Queue(stream));
            self.block_until(free);
        }
    }

    fn start(&mut self, index: usize, lengths: &Lengths) -> i64 {
        let node = &self.program.gpu[index];
        let stream = node.stream as usize;
        let (mut start, mut decided_by) = (self.host_now + node.latency, Edge::Launch);
        if let Some(free) = self.stream_end[stream].map(|before| before + node.gap)
            && free > start
        {
            (start, decided_by) = (free, Edge::Stream);
        }
        if node.after != NONE && lengths.gpu[node.after as usize] >= 0 {
            let awaited = self.node_end[node.after as usize];
            if awaited > i64::MIN && awaited + node.lag > start {
                (start, decided_by) = (awaited + node.lag, Edge::Awaited);
            }
        }
        if self.with_backlog && node.not_before > start {
            (start, decided_by) = (node.not_before, Edge::Awaited);
        }
        let end = start + lengths.gpu[index];
        self.stream_end[stream] = self.stream_end[stream].max(Some(end));
        self.queued[stream].push_back(start);
        self.node_end[index] = end;
        self.track.gpu(index, GpuRun { launched: self.host_now, start, end, decided_by });
        end
    }
}

/// How well a replay of recorded lengths reproduces the trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fidelity {
    /// Deviation of the device's end over the steps, as a share of their length.
    pub error: f64,
    /// Time that no edge explains, as a share of their length: a union over streams.
    pub slack: f64,
    /// Time inside CUDA graphs in which nothing is recorded, as a share of their length.
    pub unrecorded: f64,
}

/// Replays the whole trace with recorded lengths and compares.
///
/// `recorded_end` is the end of the last activity launched in the steps.
#[must_use]
pub fn fidelity(program: &Program, recorded_start: i64, recorded_end: i64) -> Fidelity {
    let lengths = Lengths::recorded(program);
    let mut replay = Replay::at_start(program);
    let end =
        program.steps.iter().map(|step| replay.run(&lengths, step.clone())).max().unwrap_or(recorded_end);
    let length = (recorded_end - recorded_start).max(1) as f64;
    Fidelity {
        error: (end - recorded_end).abs() as f64 / length,
        slack: program.slack as f64 / length,
        unrecorded: program.unrecorded as f64 / length,
    }
}

/// What a replay settles to when its steps repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady {
    /// Period of a step, ns.
    pub period: i64,
    /// Time per step that the host is blocked on the device or its queue, ns.
    pub host_blocked: i64,
}

/// Passes until the launch queues have settled, and passes that are measured.
pub(crate) const SETTLE: usize = 3;
pub(crate) const MEASURE: usize = 2;

/// Repeats `steps` until the launch queues have settled and returns the period of one step.
#[must_use]
pub fn steady(program: &Program, lengths: &Lengths, steps: Range<usize>) -> Steady {
    let count = i64::try_from(steps.len().max(1)).unwrap_or(1);
    let range = program.steps[steps.start].start..program.steps[steps.end - 1].end;
    let mut replay = Replay::empty(program, Untracked);
    for _ in 0..SETTLE {
        replay.run(lengths, range.clone());
    }
    let (device, host) = (replay.device_end, replay.host_now);
    let blocked = replay.host_blocked;
    for _ in 0..MEASURE {
        replay.run(lengths, range.clone());
    }
    // A host that lags sets the pace as well as a device that does.
    let passes = i64::try_from(MEASURE).unwrap_or(1) * count;
    let period = (replay.device_end - device).max(replay.host_now - host) / passes;
    Steady { period, host_blocked: (replay.host_blocked - blocked) / passes }
}
