//! Replays a [`Program`]: start times follow from edges alone.

use std::collections::VecDeque;
use std::ops::Range;

use whyidle_analysis::tree::NONE;

use crate::program::{HostStep, Program, QUEUE_LIMIT};

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
pub struct Replay<'a> {
    program: &'a Program,
    /// Time of the host, ns.
    pub host_now: i64,
    /// End of the latest activity so far, ns.
    pub device_end: i64,
    stream_end: Vec<Option<i64>>,
    /// Starts of what is queued per stream.
    queued: Vec<VecDeque<i64>>,
    node_end: Vec<i64>,
    /// Time that the host spent blocked on a full queue or waiting for the device, ns.
    pub host_blocked: i64,
}

impl<'a> Replay<'a> {
    /// At the beginning of the trace, with its backlog.
    #[must_use]
    pub fn at_start(program: &'a Program) -> Self {
        let mut replay = Self::empty(program);
        for activity in &program.backlog {
            let stream = activity.stream as usize;
            replay.stream_end[stream] = replay.stream_end[stream].max(Some(activity.end));
            replay.device_end = replay.device_end.max(activity.end);
            replay.queued[stream].push_back(activity.start);
        }
        replay
    }

    /// With nothing queued.
    #[must_use]
    pub fn empty(program: &'a Program) -> Self {
        Self {
            program,
            host_now: program.start,
            device_end: program.start,
            stream_end: vec![None; program.streams],
            queued: vec![VecDeque::new(); program.streams],
            node_end: vec![i64::MIN; program.gpu.len()],
            host_blocked: 0,
        }
    }

    /// End of a GPU node as replayed last.
    #[must_use]
    pub fn end_of(&self, node: usize) -> i64 {
        self.node_end[node]
    }

    /// Replays the host nodes `range` and returns the end of the last activity launched in them.
    pub fn run(&mut self, lengths: &Lengths, range: Range<usize>) -> i64 {
        let mut last = i64::MIN;
        for at in range {
            let node = &self.program.host[at];
            match node.step {
                HostStep::Work => self.host_now += lengths.host[at],
                HostStep::Launch { first, end, blocks } => {
                    let called = self.host_now;
                    let mut finished = called;
                    for node in first..end {
                        if lengths.gpu[node as usize] >= 0 {
                            finished = self.start(node as usize, called, lengths);
                            last = last.max(finished);
                        }
                    }
                    if blocks && lengths.waits[at] && finished > self.host_now {
                        self.host_blocked += finished - self.host_now;
                        self.host_now = finished;
                    }
                    self.host_now += lengths.host[at];
                }
                HostStep::Wait { target } => {
                    if target != NONE && lengths.waits[at] {
                        let until = self.node_end[target as usize];
                        if until > self.host_now {
                            self.host_blocked += until - self.host_now;
                            self.host_now = until;
                        }
                    }
                    self.host_now += lengths.host[at];
                }
            }
        }
        self.device_end = self.device_end.max(last);
        last
    }

    fn start(&mut self, index: usize, called: i64, lengths: &Lengths) -> i64 {
        let node = &self.program.gpu[index];
        let stream = node.stream as usize;
        let queue = &mut self.queued[stream];
        while queue.front().is_some_and(|&start| start <= self.host_now) {
            queue.pop_front();
        }
        if queue.len() >= QUEUE_LIMIT
            && let Some(&free) = queue.get(queue.len() - QUEUE_LIMIT)
        {
            self.host_blocked += (free - self.host_now).max(0);
            self.host_now = self.host_now.max(free);
        }
        let mut start = called.max(self.host_now) + node.latency;
        if let Some(before) = self.stream_end[stream] {
            start = start.max(before + node.gap);
        }
        if node.after != NONE && lengths.gpu[node.after as usize] >= 0 {
            let awaited = self.node_end[node.after as usize];
            if awaited > i64::MIN {
                start = start.max(awaited + node.lag);
            }
        }
        let end = start + lengths.gpu[index];
        self.stream_end[stream] = self.stream_end[stream].max(Some(end));
        self.queued[stream].push_back(start);
        self.node_end[index] = end;
        end
    }
}

/// How well a replay of recorded lengths reproduces the trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fidelity {
    /// Deviation of the device's end over the steps, as a share of their length.
    pub error: f64,
    /// Time that no edge explains, as a share of their length.
    pub slack: f64,
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
    let slack: i64 = program.gpu.iter().map(|node| node.slack).sum();
    Fidelity { error: (end - recorded_end).abs() as f64 / length, slack: slack as f64 / length }
}

/// What a replay settles to when its steps repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady {
    /// Period of a step, ns.
    pub period: i64,
    /// Time per step that the host is blocked on the device or its queue, ns.
    pub host_blocked: i64,
}

/// Repeats `steps` until the launch queues have settled and returns the period of one step.
#[must_use]
pub fn steady(program: &Program, lengths: &Lengths, steps: Range<usize>) -> Steady {
    const SETTLE: usize = 3;
    const MEASURE: usize = 2;
    let count = i64::try_from(steps.len().max(1)).unwrap_or(1);
    let range = program.steps[steps.start].start..program.steps[steps.end - 1].end;
    let mut replay = Replay::empty(program);
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
