//! What an activity waited for: its launch, the one before it on its stream, one on another stream, an activity from
//! before the trace, or a node of its graph that the profiler does not record. What none of these explains is slack.

use rustc_hash::FxHashMap;
use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::hostclass::HostClass;
use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::tree::NONE;
use whyidle_model::{GpuId, HostId, Span, Trace};

use super::build::Builder;
use super::{AfterBy, GpuNode, median};

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
/// Waits between streams as the profiler recorded them (`cuda_sync`), by correlation of the calls.
#[derive(Default)]
pub(super) struct RecordedWaits {
    /// By `cudaStreamWaitEvent`: the stream that waits and the call that recorded the event.
    waits: FxHashMap<u32, (usize, u32)>,
    /// By `cudaEventRecord`: its stream.
    records: FxHashMap<u32, usize>,
    /// By `cudaEventRecord` passed: the last node of its stream.
    reached: FxHashMap<u32, u32>,
}

impl RecordedWaits {
    pub(super) fn new(trace: &Trace, device: i32) -> Self {
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

impl Builder<'_> {
    /// Remembers what a recorded event stands for, and which node the next activity of a stream waits for.
    pub(super) fn pass_event(&mut self, correlation: u32) {
        if let Some(&stream) = self.recorded.records.get(&correlation) {
            self.recorded.reached.insert(correlation, self.streams[stream].last_node);
        }
        if let Some((stream, record)) = self.recorded.waits.get(&correlation)
            && let Some(&node) = self.recorded.reached.get(record).filter(|&&node| node != NONE)
        {
            self.streams[*stream].awaits.push(node);
        }
    }

    pub(super) fn add_activity(&mut self, id: GpuId, launched: i64, in_graph: bool) {
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
    pub(super) fn launch_within(&self, id: GpuId) -> i64 {
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
pub(super) fn typical_distances(trace: &Trace, facts: &Facts, device: &DeviceFacts) -> (i64, i64) {
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
pub(super) fn typical_launch(trace: &Trace, facts: &Facts) -> i64 {
    let mut lengths: Vec<i64> = (0..trace.host.len())
        .map(HostId::from_index)
        .filter(|&id| facts.tree.class(trace, id) == HostClass::Launch)
        .map(|id| trace.host.dur[id.index()])
        .collect();
    median(&mut lengths).unwrap_or(8_000)
}
