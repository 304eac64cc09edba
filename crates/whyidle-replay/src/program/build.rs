//! Builds the graph: one walk along the host chain, which makes a node of every stretch of work and of every call with
//! edges of its own, and nodes of what a call launches.

use std::ops::Range;

use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::hostclass::HostClass;
use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::tree::{Context, NONE, Opened};
use whyidle_model::{GpuId, GpuKind, HostId, HostKind, Span, Spans, Trace};

use super::edges::{RecordedWaits, typical_distances, typical_launch};
use super::{Backlog, HostNode, HostStep, Program};

/// A launch that meets a queue this deep may have been blocked.
const DEEP_QUEUE: usize = 1_000;

/// What is known of each stream while the graph is built.
#[derive(Default, Clone)]
pub(super) struct StreamState {
    pub(super) last_end: Option<i64>,
    /// Recorded starts of what was launched on it, in launch order; `queue_from` is the first not yet started.
    pub(super) starts: Vec<i64>,
    pub(super) queue_from: usize,
    /// Calls that let a stream wait, up to the last launch on this one.
    pub(super) waits_seen: usize,
    /// Nodes that the next activity waits for, by record.
    pub(super) awaits: Vec<u32>,
    /// Its last node.
    pub(super) last_node: u32,
}

/// The device's activities by the call that launched them.
struct Launched {
    /// Call and activity: by call, those of one call by start.
    rows: Vec<(u32, u32)>,
    /// By host row: the first of its rows; [`NONE`] without.
    first: Vec<u32>,
}

impl Launched {
    fn new(trace: &Trace, facts: &Facts, device: &DeviceFacts) -> Self {
        let launch = |&row: &u32| facts.tree.launch_of(GpuId(row)).map(|call| (call.0, row));
        let mut rows: Vec<(u32, u32)> = device.rows.iter().filter_map(launch).collect();
        rows.sort_by_key(|&(call, _)| call);
        let mut first = vec![NONE; trace.host.len()];
        for (at, &(call, _)) in rows.iter().enumerate().rev() {
            first[call as usize] = u32::try_from(at).unwrap_or(NONE);
        }
        Self { rows, first }
    }

    /// What a call launched, as places in `rows`.
    fn by(&self, call: HostId) -> Range<usize> {
        let first = self.first[call.index()];
        if first == NONE {
            return 0..0;
        }
        let first = first as usize;
        let count = self.rows[first..].iter().take_while(|&&(other, _)| other == call.0).count();
        first..first + count
    }

    /// Calls that launched something.
    fn calls(&self) -> impl Iterator<Item = u32> + '_ {
        self.rows.chunk_by(|a, b| a.0 == b.0).map(|rows| rows[0].0)
    }
}

pub(super) struct Builder<'a> {
    pub(super) trace: &'a Trace,
    pub(super) facts: &'a Facts,
    pub(super) device: &'a DeviceFacts,
    pub(super) program: Program,
    pub(super) streams: Vec<StreamState>,
    launched: Launched,
    /// Ends of the device's activities with their rows, by end.
    pub(super) ends: Vec<(i64, u32)>,
    /// By activity: its node, once it has one.
    pub(super) node_of: Vec<u32>,
    pub(super) stream_wait_pending: bool,
    /// Calls so far that let a stream wait for another.
    pub(super) waits: usize,
    pub(super) recorded: RecordedWaits,
    pub(super) last_collective: u32,
    pub(super) last_compute: u32,
    pub(super) typical_launch: i64,
    /// Recorded times that no edge explains.
    pub(super) unexplained: Vec<Span>,
    /// Times inside a graph of which nothing is recorded.
    pub(super) unrecorded: Vec<Span>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(trace: &'a Trace, facts: &'a Facts, device: &'a DeviceFacts) -> Self {
        let mut ends: Vec<(i64, u32)> =
            device.rows.iter().map(|&row| (trace.gpu.end(GpuId(row)), row)).collect();
        ends.sort_unstable();
        let (typical_gap, typical_latency) = typical_distances(trace, facts, device);
        Self {
            trace,
            facts,
            device,
            program: Program {
                host: Vec::new(),
                gpu: Vec::with_capacity(device.rows.len()),
                streams: trace.streams.len(),
                backlog: Vec::new(),
                start: 0,
                recorded_end: 0,
                steps: Vec::new(),
                numbers: Vec::new(),
                slack: 0,
                contended: 0,
                unrecorded: 0,
                typical_gap,
                typical_latency,
            },
            streams: vec![StreamState { last_node: NONE, ..StreamState::default() }; trace.streams.len()],
            launched: Launched::new(trace, facts, device),
            ends,
            node_of: vec![NONE; trace.gpu.len()],
            stream_wait_pending: false,
            waits: 0,
            recorded: RecordedWaits::new(trace, device.device),
            last_collective: NONE,
            last_compute: NONE,
            typical_launch: typical_launch(trace, facts),
            unexplained: Vec::new(),
            unrecorded: Vec::new(),
        }
    }

    pub(super) fn build(mut self) -> Option<Program> {
        let (first, last) = (self.facts.host_steps.first()?, self.facts.host_steps.last()?);
        let (start, end) = (first.host.start, last.host.end);
        self.program.start = start;
        self.take_backlog(start);
        let mut off_chain = self.off_chain_launches(start, end).into_iter().peekable();
        let mut consumed = start;
        let mut step = 0;
        let host_steps = &self.facts.host_steps;
        let next_step = |step: usize| host_steps.get(step + 1).map(|step| step.host.start);
        self.program.steps.push(0..0);
        for segment in self.facts.chain.within(whyidle_model::Span::new(start, end)) {
            while next_step(step).is_some_and(|begin| begin <= segment.start) {
                self.begin_step(&mut step);
            }
            while let Some((_, call)) = off_chain.next_if(|&(at, _)| at <= segment.start) {
                self.launch(HostId(call), false);
            }
            if segment.end <= consumed {
                continue;
            }
            let mut from = segment.start.max(consumed);
            if segment.leaf != NONE && self.trace.host.start[segment.leaf as usize] == segment.start {
                let id = HostId(segment.leaf);
                if self.call(id, segment.opened) {
                    consumed = self.trace.host.end(id).min(end);
                    continue;
                }
            }
            let mut opened = if from == segment.start { segment.opened } else { Opened::default() };
            // What goes on from one step into the next is part of both.
            while let Some(begin) = next_step(step).filter(|&begin| begin < segment.end) {
                if begin > from {
                    self.work(segment.leaf, begin - from, std::mem::take(&mut opened));
                    from = begin;
                }
                self.begin_step(&mut step);
            }
            self.work(segment.leaf, segment.end - from, opened);
        }
        let at = self.program.host.len();
        self.program.steps[step].end = at;
        let ends = self.program.gpu.iter().map(|node| self.trace.gpu.end(node.activity));
        self.program.recorded_end = ends.max().unwrap_or(start);
        let recorded = Span::new(start, self.program.recorded_end);
        let unexplained = Spans::union_of(std::mem::take(&mut self.unexplained)).clip(recorded);
        // A kernel may take all multiprocessors; collectives take a few, and copies none.
        let idle = unexplained.subtract(&self.running(|id| {
            let kernel = self.trace.gpu.kind[id.index()] == GpuKind::Kernel;
            kernel && self.facts.works[id.index()] != Work::Collective
        }));
        self.program.slack = idle.length();
        self.program.contended = unexplained.length() - idle.length();
        let unrecorded = Spans::union_of(std::mem::take(&mut self.unrecorded)).clip(recorded);
        self.program.unrecorded = unrecorded.subtract(&self.running(|_| true)).length();
        self.program.numbers = self.facts.host_steps.iter().take(step + 1).map(|step| step.number).collect();
        (!self.program.gpu.is_empty()).then_some(self.program)
    }

    fn begin_step(&mut self, step: &mut usize) {
        let at = self.program.host.len();
        self.program.steps[*step].end = at;
        self.program.steps.push(at..at);
        *step += 1;
    }

    /// When activities of a sort run.
    fn running(&self, of_sort: impl Fn(GpuId) -> bool) -> Spans {
        let gpu = &self.trace.gpu;
        let rows = self.device.rows.iter().map(|&row| GpuId(row)).filter(|&id| of_sort(id));
        Spans::union_of(rows.map(|id| Span::new(gpu.start[id.index()], gpu.end(id))))
    }

    /// What ran or was queued when the chain begins.
    fn take_backlog(&mut self, start: i64) {
        let mut linked = vec![false; self.trace.streams.len()];
        for &row in &self.device.rows {
            let id = GpuId(row);
            let stream = self.trace.gpu.stream[id.index()].index();
            let before = match self.facts.tree.launch_of(id) {
                Some(call) => {
                    linked[stream] = true;
                    self.trace.host.start[call.index()] < start
                }
                None => !linked[stream],
            };
            if before {
                let (begin, end) = (self.trace.gpu.start[id.index()], self.trace.gpu.end(id));
                let stream_index = u32::try_from(stream).unwrap_or(u32::MAX);
                self.program.backlog.push(Backlog { stream: stream_index, start: begin, end });
                let state = &mut self.streams[stream];
                state.last_end = state.last_end.max(Some(end));
                state.starts.push(begin);
            }
        }
    }

    /// Launching calls that the chain does not hold, by start: of other threads, or made while another thread held it.
    fn off_chain_launches(&self, start: i64, end: i64) -> Vec<(i64, u32)> {
        let mut calls: Vec<(i64, u32)> = self
            .launched
            .calls()
            .map(|call| (self.trace.host.start[call as usize], call))
            .filter(|&(at, call)| {
                let holds = || self.facts.chain.at(at).is_some_and(|segment| segment.leaf == call);
                start <= at && at < end && !holds()
            })
            .collect();
        calls.sort_unstable();
        calls
    }

    fn work(&mut self, leaf: u32, length: i64, opened: Opened) {
        let context = if leaf == NONE { Context::Unnamed } else { self.facts.tree.context(HostId(leaf)) };
        if let Some(last) = self.program.host.last_mut()
            && last.step == HostStep::Work
            && last.context == context
            && self.program.steps.last().is_some_and(|step| step.start < self.program.host.len())
        {
            let last = self.program.host.last_mut().expect("just seen");
            last.length += length;
            last.opened.ops = last.opened.ops.saturating_add(opened.ops);
            last.opened.calls = last.opened.calls.saturating_add(opened.calls);
            last.opened.frames = last.opened.frames.saturating_add(opened.frames);
            return;
        }
        self.program.host.push(HostNode { step: HostStep::Work, context, length, opened, leaf });
    }

    /// Adds a call with edges of its own; false if it is just work.
    fn call(&mut self, id: HostId, opened: Opened) -> bool {
        if !matches!(self.trace.host.kind[id.index()], HostKind::Runtime | HostKind::Driver) {
            return false;
        }
        self.pass_event(self.trace.host.link[id.index()]);
        match self.facts.tree.class(self.trace, id) {
            HostClass::StreamWait => {
                self.stream_wait_pending = true;
                self.waits += 1;
                false
            }
            HostClass::Synchronise | HostClass::Allocate => {
                self.wait(id, opened);
                true
            }
            _ if !self.launched.by(id).is_empty() => {
                self.launch(id, true);
                if let Some(node) = self.program.host.last_mut() {
                    node.opened = opened;
                }
                true
            }
            _ => false,
        }
    }

    /// A call that may block: it waits for what was launched before it, if the record shows that
    /// this had ended when it returned and had not when it began.
    fn wait(&mut self, id: HostId, opened: Opened) {
        let (begin, end) = (self.trace.host.start[id.index()], self.trace.host.end(id));
        let context = self.facts.tree.context(id);
        let at = self.ends.partition_point(|&(ended, _)| ended <= end + 2_000);
        let mut target = NONE;
        // The last activity to end before the call returned, among what was already launched.
        for &(_, row) in self.ends[..at].iter().rev().take(64) {
            target = self.node_of[row as usize];
            if target != NONE {
                break;
            }
        }
        let ended = if target == NONE {
            begin
        } else {
            self.trace.gpu.end(self.program.gpu[target as usize].activity)
        };
        let waited = ended > begin;
        let allocates = self.facts.tree.class(self.trace, id) == HostClass::Allocate;
        if allocates && !waited {
            target = NONE;
        }
        let own = end - ended.clamp(begin, end);
        self.program.host.push(HostNode {
            step: HostStep::Wait { target },
            context,
            length: own,
            opened,
            leaf: id.0,
        });
    }

    fn launch(&mut self, call: HostId, on_chain: bool) {
        let rows = self.launched.by(call);
        let first = u32::try_from(self.program.gpu.len()).unwrap_or(u32::MAX);
        let (begin, end) = (self.trace.host.start[call.index()], self.trace.host.end(call));
        let mut depth = 0;
        for at in rows.clone() {
            let id = GpuId(self.launched.rows[at].1);
            depth = depth.max(self.queue_depth(id, begin));
            self.add_activity(id, begin, at > rows.start);
        }
        self.stream_wait_pending = false;
        let copies = self.facts.tree.class(self.trace, call) == HostClass::Copy;
        let finished = self.launched.rows[rows].last().map(|&(_, row)| self.trace.gpu.end(GpuId(row)));
        let blocks = copies
            && finished
                .is_some_and(|finished| finished <= end + 2_000 && end - begin > self.typical_launch * 2);
        let mut own = end - begin;
        if blocks {
            own = end - finished.unwrap_or(end).clamp(begin, end);
        } else if depth >= DEEP_QUEUE && own > 3 * self.typical_launch {
            own = self.typical_launch;
        }
        let last = u32::try_from(self.program.gpu.len()).unwrap_or(u32::MAX);
        self.program.host.push(HostNode {
            step: HostStep::Launch { first, end: last, blocks },
            context: self.facts.tree.context(call),
            length: if on_chain { own } else { 0 },
            opened: Opened::default(),
            leaf: call.0,
        });
    }

    fn queue_depth(&mut self, id: GpuId, now: i64) -> usize {
        let state = &mut self.streams[self.trace.gpu.stream[id.index()].index()];
        while state.starts.get(state.queue_from).is_some_and(|&start| start <= now) {
            state.queue_from += 1;
        }
        state.starts.len() - state.queue_from
    }
}
