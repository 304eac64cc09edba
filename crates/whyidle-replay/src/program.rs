//! The dependency graph of the traced steps, laid out so that one pass in launch order replays it.
//!
//! Nodes are host segments of the chain and GPU activities. Edges: host order; launch → activity;
//! stream order; an activity → one on another stream that waits for it; an activity → the host call
//! that blocks on it. An activity starts when the last of its edges is met, never by a recorded gap.

use std::ops::Range;

use rustc_hash::FxHashMap;
use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::hostclass::HostClass;
use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::tree::{Context, NONE, Opened};
use whyidle_model::{GpuId, GpuKind, HostId, HostKind, Span, Spans, Trace};

use crate::edits::activities_of;
use crate::simulate::Lengths;

/// Kernels queued on a stream follow each other within this, ns.
const QUEUED_WITHIN_NS: i64 = 5_000;
/// A kernel on an idle stream starts within this of its launch, ns.
const LAUNCHED_WITHIN_NS: i64 = 60_000;
/// An activity that waits for another stream starts within this of that one's end, ns: where the host said that
/// some stream waits (an event is passed on in up to 40 µs on a busy device), and where it did not.
const AWAITED_WITHIN_NS: i64 = 60_000;
const AWAITED_UNSAID_WITHIN_NS: i64 = 12_000;
/// A kernel follows a copy on its stream, or a copy a kernel, within this, ns: another engine takes over (60 µs beside
/// collectives on an H200).
const HANDED_OVER_WITHIN_NS: i64 = 80_000;
/// An activity whose blocks wait for those of another starts while that one's last blocks still run, ns.
const DRAINS_WITHIN_NS: i64 = 5_000;
/// What starts this much later than its launch and its stream allow waits for something else, ns.
const LATE_NS: i64 = 3_000;
/// A stream's queue holds about 1 024 launches; further ones block the host.
pub(crate) const QUEUE_LIMIT: usize = 1_022;
/// A launch that meets a queue this deep may have been blocked.
const DEEP_QUEUE: usize = 1_000;

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

/// What is known of each stream while the graph is built.
#[derive(Default, Clone)]
struct StreamState {
    last_end: Option<i64>,
    /// Recorded starts of what was launched on it, in launch order; `queue_from` is the first not yet started.
    starts: Vec<i64>,
    queue_from: usize,
    /// Calls that let a stream wait, up to the last launch on this one.
    waits_seen: usize,
    /// Nodes that the next activity waits for, by record.
    awaits: Vec<u32>,
    /// Its last node.
    last_node: u32,
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

struct Builder<'a> {
    trace: &'a Trace,
    facts: &'a Facts,
    device: &'a DeviceFacts,
    program: Program,
    streams: Vec<StreamState>,
    launched: Launched,
    /// Ends of the device's activities with their rows, by end.
    ends: Vec<(i64, u32)>,
    /// By activity: its node, once it has one.
    node_of: Vec<u32>,
    stream_wait_pending: bool,
    /// Calls so far that let a stream wait for another.
    waits: usize,
    recorded: RecordedWaits,
    last_collective: u32,
    last_compute: u32,
    typical_launch: i64,
    /// Recorded times that no edge explains.
    unexplained: Vec<Span>,
    /// Times inside a graph of which nothing is recorded.
    unrecorded: Vec<Span>,
}

/// Waits between streams as the profiler recorded them (`cuda_sync`), by correlation of the calls.
#[derive(Default)]
struct RecordedWaits {
    /// By `cudaStreamWaitEvent`: the stream that waits and the call that recorded the event.
    waits: FxHashMap<u32, (usize, u32)>,
    /// By `cudaEventRecord`: its stream.
    records: FxHashMap<u32, usize>,
    /// By `cudaEventRecord` passed: the last node of its stream.
    reached: FxHashMap<u32, u32>,
}

impl RecordedWaits {
    fn new(trace: &Trace, device: i32) -> Self {
        let stream = |number: i64| {
            trace.streams.iter().position(|stream| stream.device == device && stream.number == number)
        };
        let mut found = Self::default();
        for sync in trace.syncs.iter().filter(|sync| sync.device == device) {
            let awaited = sync.wait_on_stream.and_then(stream).zip(sync.wait_on_record);
            if let (Some(waits), Some((on, record))) = (stream(sync.stream), awaited) {
                found.waits.insert(sync.correlation, (waits, record));
                found.records.insert(record, on);
            }
        }
        found
    }
}

impl<'a> Builder<'a> {
    fn new(trace: &'a Trace, facts: &'a Facts, device: &'a DeviceFacts) -> Self {
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

    fn build(mut self) -> Option<Program> {
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

    /// Remembers what a recorded event stands for, and which node the next activity of a stream waits for.
    fn pass_event(&mut self, correlation: u32) {
        if let Some(&stream) = self.recorded.records.get(&correlation) {
            self.recorded.reached.insert(correlation, self.streams[stream].last_node);
        }
        if let Some((stream, record)) = self.recorded.waits.get(&correlation)
            && let Some(&node) = self.recorded.reached.get(record).filter(|&&node| node != NONE)
        {
            self.streams[*stream].awaits.push(node);
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

    fn add_activity(&mut self, id: GpuId, launched: i64, in_graph: bool) {
        let gpu = &self.trace.gpu;
        let (start, end) = (gpu.start[id.index()], gpu.end(id));
        let stream = gpu.stream[id.index()].index();
        let node = u32::try_from(self.program.gpu.len()).unwrap_or(u32::MAX);
        let gap = self.streams[stream].last_end.map(|before| start - before);
        let (typical_gap, typical_latency) = (self.program.typical_gap, self.program.typical_latency);
        let mut out = GpuNode {
            activity: id,
            stream: u32::try_from(stream).unwrap_or(u32::MAX),
            length: end - start,
            gap: gap.unwrap_or(0).min(typical_gap),
            latency: if in_graph { 0 } else { (start - launched).min(typical_latency) },
            after: NONE,
            lag: 0,
            after_by: AfterBy::Inferred,
            not_before: i64::MIN,
            slack: 0,
        };
        let collective = self.facts.works[id.index()] == Work::Collective;
        if let Some(awaited) = self.awaited_by_record(stream, start) {
            (out.after, out.after_by) = (awaited, AfterBy::Recorded);
        } else if self.stream_wait_pending {
            let other = if collective { self.last_compute } else { self.last_collective };
            if other != NONE && gpu.end(self.program.gpu[other as usize].activity) <= start {
                out.after = other;
            }
        }
        let before = self.streams[stream].last_node;
        let other_engine = before != NONE
            && gpu.kind[id.index()] != gpu.kind[self.program.gpu[before as usize].activity.index()];
        let within = if other_engine { HANDED_OVER_WITHIN_NS } else { QUEUED_WITHIN_NS };
        match gap {
            Some(gap) if gap <= QUEUED_WITHIN_NS => out.gap = gap,
            // An edge that explains it as well comes first: what hands over may hand over sooner.
            Some(gap) if gap <= within && start - launched > self.launch_within(id) => out.gap = gap,
            _ => self.explain_start(&mut out, launched, in_graph),
        }
        if collective {
            self.last_collective = node;
        } else {
            self.last_compute = node;
        }
        let waits = self.waits;
        let state = &mut self.streams[stream];
        state.last_end = state.last_end.max(Some(end));
        state.starts.push(start);
        state.waits_seen = waits;
        state.last_node = node;
        self.node_of[id.index()] = node;
        self.program.gpu.push(out);
    }

    /// Finds the edge that decided the start of an activity which does not follow the one before it on its stream;
    /// without one, the time is slack.
    fn explain_start(&mut self, out: &mut GpuNode, launched: i64, in_graph: bool) {
        let gpu = &self.trace.gpu;
        let start = gpu.start[out.activity.index()];
        let last_end = self.streams[out.stream as usize].last_end;
        let by_stream = last_end.map_or(i64::MIN, |end| end + out.gap);
        let mut bound = (launched + out.latency).max(by_stream);
        let mut after = None;
        if out.after != NONE {
            let ended = gpu.end(self.program.gpu[out.after as usize].activity);
            after = Some((out.after, ended)).filter(|_| start - ended <= AWAITED_WITHIN_NS);
            bound = bound.max(ended);
        }
        if after.is_none() && start <= bound + LATE_NS {
            return;
        }
        if self.is_in_graph(out.activity) && by_stream > launched + out.latency {
            // Nodes of a graph wait for nodes of that graph alone; where nothing of it is recorded, something runs
            // that the profiler does not show.
            let free = last_end.unwrap_or(start);
            out.gap = start - free;
            self.unrecorded.push(Span::new(free, start));
            return;
        }
        if out.after_by == AfterBy::Inferred || after.is_none() {
            let said = self.waits > self.streams[out.stream as usize].waits_seen;
            let within = if said { AWAITED_WITHIN_NS } else { AWAITED_UNSAID_WITHIN_NS };
            let nearest = self.awaited(out.activity, start, within);
            after = nearest.into_iter().chain(after).max_by_key(|&(_, ended)| ended);
        }
        match after {
            Some((NONE, awaited)) => out.not_before = awaited,
            Some((node, awaited)) => (out.after, out.lag) = (node, start - awaited),
            None if !in_graph && start - launched <= self.launch_within(out.activity) => {
                out.latency = start - launched;
            }
            None => {
                out.slack = start - bound;
                self.unexplained.push(Span::new(bound, start));
            }
        }
    }

    /// A launch takes effect within this, ns: at the latest when the call returns, which may load the kernel's code or
    /// fill a staging buffer first.
    fn launch_within(&self, id: GpuId) -> i64 {
        let call = self.facts.tree.launch_of(id).map_or(0, |call| self.trace.host.dur[call.index()]);
        call.max(LAUNCHED_WITHIN_NS)
    }

    /// The activity was launched by a call that launches a CUDA graph.
    fn is_in_graph(&self, id: GpuId) -> bool {
        let call = self.facts.tree.launch_of(id);
        call.is_some_and(|call| self.facts.tree.class(self.trace, call) == HostClass::GraphLaunch)
    }

    /// Of the nodes that the stream was recorded to wait for, the one that ended last.
    fn awaited_by_record(&mut self, stream: usize, start: i64) -> Option<u32> {
        let awaits = std::mem::take(&mut self.streams[stream].awaits);
        let ended = |node: u32| self.trace.gpu.end(self.program.gpu[node as usize].activity);
        awaits.into_iter().filter(|&node| ended(node) <= start).max_by_key(|&node| ended(node))
    }

    /// The activity of another stream, launched earlier, that ended last before `start`, and its end; [`NONE`] if
    /// it was launched before the trace.
    fn awaited(&self, id: GpuId, start: i64, within: i64) -> Option<(u32, i64)> {
        let stream = self.trace.gpu.stream[id.index()];
        let at = self.ends.partition_point(|&(end, _)| end <= start + DRAINS_WITHIN_NS);
        let launched = |row: u32| self.facts.tree.launch_of(GpuId(row)).is_some();
        self.ends[..at]
            .iter()
            .rev()
            .take_while(|&&(end, _)| end >= start - within)
            .filter(|&&(_, row)| self.trace.gpu.stream[row as usize] != stream)
            .map(|&(end, row)| (row, self.node_of[row as usize], end))
            .find(|&(row, node, _)| node != NONE || !launched(row))
            .map(|(_, node, end)| (node, end))
    }
}

/// Median distances: between queued kernels of a stream, and from launch to start on an idle one.
fn typical_distances(trace: &Trace, facts: &Facts, device: &DeviceFacts) -> (i64, i64) {
    let mut gaps = Vec::new();
    let mut latencies = Vec::new();
    let mut last_end: Vec<Option<i64>> = vec![None; trace.streams.len()];
    for &row in &device.rows {
        let id = GpuId(row);
        let stream = trace.gpu.stream[id.index()].index();
        let start = trace.gpu.start[id.index()];
        if let Some(before) = last_end[stream] {
            let gap = start - before;
            if (0..=QUEUED_WITHIN_NS).contains(&gap) {
                gaps.push(gap);
            } else if let Some(call) = facts.tree.launch_of(id) {
                let latency = start - trace.host.start[call.index()];
                if (0..=LAUNCHED_WITHIN_NS).contains(&latency) {
                    latencies.push(latency);
                }
            }
        }
        last_end[stream] = last_end[stream].max(Some(trace.gpu.end(id)));
    }
    (median(&mut gaps).unwrap_or(1_500), median(&mut latencies).unwrap_or(10_000))
}

/// Median recorded length of a kernel launch, ns.
fn typical_launch(trace: &Trace, facts: &Facts) -> i64 {
    let mut lengths: Vec<i64> = (0..trace.host.len())
        .map(HostId::from_index)
        .filter(|&id| facts.tree.class(trace, id) == HostClass::Launch)
        .map(|id| trace.host.dur[id.index()])
        .collect();
    median(&mut lengths).unwrap_or(8_000)
}

pub(crate) fn median(values: &mut [i64]) -> Option<i64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    Some(*values.select_nth_unstable(middle).1)
}
