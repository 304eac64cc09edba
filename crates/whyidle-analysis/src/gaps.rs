//! Who a gap is charged to.
//!
//! A gap is what no activity covers. It ends with an activity *K*, launched by the call *L*.
//! If *L* began before the gap did, the host was in time and the gap is the GPU's own latency.
//! Otherwise the gap up to *L* is split by what the host chain did in it, and the rest is the launch.

use rustc_hash::FxHashMap;
use whyidle_model::{GpuId, HostId, Span, Trace};

use crate::chain::Chain;
use crate::hostclass::HostClass;
use crate::lines::Line;
use crate::tree::{Context, HostTree, NONE, Opened, Segment};

/// A start latency above this is no latency: the GPU waited for something the trace does not show.
///
/// Kernels start 9–13 µs after their launch on an idle stream, up to 60 µs after a long idle (H200, CUDA 13).
const LATENCY_LIMIT_NS: i64 = 60_000;

/// Freeing a host buffer after a blocking copy is bounded by the speed at which pages are
/// returned: at least 4 GB/s, hence at most 0.25 ns per byte.
const RELEASE_NS_PER_1000_BYTES: i64 = 250;

/// Part of a gap, with its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapPart {
    /// Index of the step.
    pub step: u32,
    /// The line it was charged to.
    pub line: Line,
    /// Start, ns.
    pub start: i64,
    /// End, ns.
    pub end: i64,
    /// The host event that was innermost; [`NONE`] for none. For latency, the launching call.
    pub leaf: u32,
    /// Host events that began at its start.
    pub opened: Opened,
}

impl GapPart {
    /// Length, ns.
    #[must_use]
    pub fn length(&self) -> i64 {
        self.end - self.start
    }
}

/// Everything that explaining a gap needs.
pub(crate) struct Explainer<'a> {
    trace: &'a Trace,
    tree: &'a HostTree,
    chain: &'a Chain,
    /// Segments of threads off the chain that launch, made when first needed.
    others: FxHashMap<usize, Vec<Segment>>,
    /// Calls on the chain that block until the device has caught up, by start.
    waits: Vec<(Span, Line)>,
    next_wait: usize,
    /// Run-ahead that the host would have without its waits for the device, ns.
    run_ahead: i64,
    /// What took it away last: a synchronisation, or a blocking copy to the device.
    lost_to: Line,
    blocked_in_step: i64,
    /// Segments of one gap, kept for their room.
    segments: Vec<Segment>,
}

impl<'a> Explainer<'a> {
    pub(crate) fn new(trace: &'a Trace, tree: &'a HostTree, chain: &'a Chain) -> Self {
        let mut waits: Vec<(Span, Line)> = (0..trace.host.len())
            .map(HostId::from_index)
            .filter(|&id| {
                let blocks = match tree.class(trace, id) {
                    HostClass::Synchronise => true,
                    HostClass::Copy => matches!(tree.context(id), Context::Synchronise | Context::Transfer),
                    _ => false,
                };
                blocks && chain.threads.contains(&trace.host.thread[id.index()].index())
            })
            .map(|id| {
                let copies = tree.context(id) == Context::Transfer;
                let span = Span::new(trace.host.start[id.index()], trace.host.end(id));
                (span, if copies { Line::DataTransfer } else { Line::HostSync })
            })
            .collect();
        waits.sort_unstable();
        Self {
            trace,
            tree,
            chain,
            others: FxHashMap::default(),
            waits,
            next_wait: 0,
            run_ahead: 0,
            lost_to: Line::HostSync,
            blocked_in_step: 0,
            segments: Vec::new(),
        }
    }

    /// Run-ahead never exceeds what was lost in the step before: older losses are history.
    pub(crate) fn begin_step(&mut self) {
        self.run_ahead = self.run_ahead.min(self.blocked_in_step);
        self.blocked_in_step = 0;
    }

    /// Adds the time that the host was blocked while the device still worked, up to `gap_start`.
    fn note_waits(&mut self, gap_start: i64) {
        while let Some(&(wait, line)) =
            self.waits.get(self.next_wait).filter(|(wait, _)| wait.start < gap_start)
        {
            let blocked = wait.end.min(gap_start) - wait.start;
            self.run_ahead += blocked;
            self.blocked_in_step += blocked;
            self.lost_to = line;
            self.next_wait += 1;
        }
    }

    pub(crate) fn explain(&mut self, step: u32, gap: Span, ended_by: GpuId, out: &mut Vec<GapPart>) {
        self.note_waits(gap.start);
        let mut part = |line, start: i64, end: i64, leaf, opened| {
            if start < end {
                out.push(GapPart { step, line, start, end, leaf, opened });
            }
        };
        let Some(call) = self.tree.launch_of(ended_by) else {
            let limit = gap.end.min(gap.start + LATENCY_LIMIT_NS);
            part(Line::Latency, gap.start, limit, NONE, Opened::default());
            part(Line::Unexplained, limit, gap.end, NONE, Opened::default());
            return;
        };
        let launched = self.trace.host.start[call.index()];
        let returned = self.trace.host.end(call);
        let context = Line::of_context(self.tree.context(call));
        if launched < gap.start {
            // In time. What the call itself still does (staging a pageable copy) is the host's.
            let busy_until =
                if context == Line::HostLaunch { gap.start } else { returned.clamp(gap.start, gap.end) };
            part(context, gap.start, busy_until, call.0, Opened::default());
            if gap.end - busy_until <= LATENCY_LIMIT_NS {
                part(Line::Latency, busy_until, gap.end, call.0, Opened::default());
            } else {
                part(Line::DeviceWait, busy_until, gap.end, call.0, Opened::default());
            }
            return;
        }
        let launched = launched.min(gap.end);
        self.split(step, Span::new(gap.start, launched), call, out);
        let limit = gap.end.min(returned.max(launched) + LATENCY_LIMIT_NS);
        self.charge(step, context, launched, limit, call.0, Opened::default(), out);
        if limit < gap.end {
            let opened = Opened::default();
            out.push(GapPart {
                step,
                line: Line::Unexplained,
                start: limit,
                end: gap.end,
                leaf: call.0,
                opened,
            });
        }
    }

    /// Splits the time before a late launch by what the launching side did.
    fn split(&mut self, step: u32, span: Span, call: HostId, out: &mut Vec<GapPart>) {
        let thread = self.trace.host.thread[call.index()].index();
        let mut segments = std::mem::take(&mut self.segments);
        segments.clear();
        if self.chain.threads.contains(&thread) {
            segments.extend(self.chain.within(span));
        } else {
            let (trace, tree) = (self.trace, self.tree);
            let own = self.others.entry(thread).or_insert_with(|| tree.segments(trace, thread).collect());
            let from = own.partition_point(|segment| segment.end <= span.start);
            segments.extend(own[from..].iter().take_while(|segment| segment.start < span.end));
        }
        let mut now = span.start;
        let mut releasing = self.released_before(span.start);
        for &segment in &segments {
            let start = segment.start.max(now);
            let end = segment.end.min(span.end);
            if start > now {
                self.charge(step, Line::HostPython, now, start, NONE, Opened::default(), out);
            }
            if start >= end {
                continue;
            }
            let context = self.context(segment.leaf);
            let mut begin = start;
            if matches!(context, Context::Unnamed | Context::Frame) {
                if let Some(until) = releasing.take() {
                    // Directly after a blocking copy the host gives the batch's memory back.
                    begin = end.min(until.max(start));
                    self.charge(step, Line::DataTransfer, start, begin, segment.leaf, segment.opened, out);
                }
            } else if context == Context::Transfer {
                releasing = self.release_end(segment.leaf, end);
            } else if context != Context::Operator {
                releasing = None;
            }
            let opened = if begin > start { Opened::default() } else { segment.opened };
            self.charge(step, Line::of_context(context), begin, end, segment.leaf, opened, out);
            now = end;
        }
        if now < span.end {
            self.charge(step, Line::HostPython, now, span.end, NONE, Opened::default(), out);
        }
        self.segments = segments;
    }

    fn context(&self, leaf: u32) -> Context {
        if leaf == NONE { Context::Unnamed } else { self.tree.context(HostId(leaf)) }
    }

    /// Until when a buffer's release may last, if `leaf` belongs to a blocking copy that ends at `end`.
    fn release_end(&self, leaf: u32, end: i64) -> Option<i64> {
        let copy = self
            .tree
            .ancestry(HostId(leaf))
            .find_map(|at| self.tree.activity_of(at))
            .or_else(|| self.last_copy_before(end))?;
        let bytes = i64::try_from(self.trace.gpu.bytes[copy.index()]).unwrap_or(i64::MAX);
        Some(end + bytes.saturating_mul(RELEASE_NS_PER_1000_BYTES) / 1000)
    }

    fn last_copy_before(&self, time: i64) -> Option<GpuId> {
        let at = self.chain.segments.partition_point(|segment| segment.start < time);
        self.chain.segments[..at].iter().rev().take(16).find_map(|segment| {
            (segment.leaf != NONE && self.tree.class(self.trace, HostId(segment.leaf)) == HostClass::Copy)
                .then(|| self.tree.activity_of(HostId(segment.leaf)))
                .flatten()
        })
    }

    /// The same for a copy that ended before the gap began.
    fn released_before(&self, time: i64) -> Option<i64> {
        let at = self.chain.segments.partition_point(|segment| segment.start < time);
        let before = self.chain.segments[..at].iter().rev();
        let mut recent = before.take(8).filter(|segment| {
            !matches!(self.context(segment.leaf), Context::Unnamed | Context::Frame | Context::Operator)
        });
        let last = recent.next()?;
        (self.context(last.leaf) == Context::Transfer)
            .then(|| self.release_end(last.leaf, last.end))
            .flatten()
    }

    /// Charges a stretch of late host work, first to the run-ahead that waits for the device took away.
    #[expect(clippy::too_many_arguments, reason = "one gap part, field by field")]
    fn charge(
        &mut self,
        step: u32,
        line: Line,
        start: i64,
        end: i64,
        leaf: u32,
        opened: Opened,
        out: &mut Vec<GapPart>,
    ) {
        let mut begin = start;
        let mut opened = opened;
        if line.is_hidden_by_running_ahead() && self.run_ahead > 0 && start < end {
            let taken = self.run_ahead.min(end - start);
            self.run_ahead -= taken;
            begin = start + taken;
            out.push(GapPart { step, line: self.lost_to, start, end: begin, leaf, opened });
            opened = Opened::default();
        }
        if begin < end {
            out.push(GapPart { step, line, start: begin, end, leaf, opened });
        }
    }
}
