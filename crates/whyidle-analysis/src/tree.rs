//! Nesting of host events: who called whom, and what a thread was doing at each instant.
//!
//! An event's parent is the innermost event of the same thread that contains its start.
//! From the nesting follows each event's [`Context`] (what the time spent in it is for)
//! and, per thread, the flat list of [`Segment`]s.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use whyidle_model::{GpuId, GpuKind, HostEvents, HostId, HostKind, Trace};

use crate::hostclass::{HostClass, classify};
use crate::kernelclass::{CopyKind, classify_copy};

/// No event: of a parent or of a segment's leaf.
pub const NONE: u32 = u32::MAX;

/// What the time spent inside a host event is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Context {
    /// Only an annotation, or nothing: Python that no operator and no frame names.
    Unnamed,
    /// A Python frame.
    Frame,
    /// An operator or a call that launches.
    Operator,
    /// Inside `Optimizer.step`.
    Optimizer,
    /// The host side of a collective.
    Collective,
    /// Preparing or waiting for a copy to the device.
    Transfer,
    /// Waiting for the device, or reading a value back.
    Synchronise,
    /// The driver's allocator.
    Allocate,
    /// Compiling.
    Compile,
    /// Collecting garbage.
    Collect,
    /// Saving.
    Checkpoint,
    /// Logging.
    Log,
    /// Preparing items in the training process.
    LoadInProcess,
    /// Waiting for loader workers.
    LoadFromWorkers,
    /// Starting, stopping or flushing the profiler.
    Profiler,
    /// Waiting for another thread.
    Idle,
}

impl Context {
    /// Everything below keeps this context.
    fn is_sticky(self) -> bool {
        use Context as X;
        matches!(
            self,
            X::Compile
                | X::Collect
                | X::Checkpoint
                | X::Log
                | X::LoadInProcess
                | X::LoadFromWorkers
                | X::Profiler
        )
    }
}

const IN_BACKWARD: u8 = 1;
const RECOMPUTED: u8 = 2;

/// A stretch of one thread's time with the innermost event active in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Start, ns.
    pub start: i64,
    /// End, ns.
    pub end: i64,
    /// Row of the innermost host event; [`NONE`] if no event was active.
    pub leaf: u32,
    /// Events that begin at `start`: what the profiler's cost is charged for.
    pub opened: Opened,
}

/// Events that begin at a point, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// Operators.
    pub ops: u16,
    /// Runtime and driver calls.
    pub calls: u16,
    /// Python frames.
    pub frames: u16,
}

impl Opened {
    fn add(&mut self, kind: HostKind) {
        let field = match kind {
            HostKind::Op => &mut self.ops,
            HostKind::Runtime | HostKind::Driver => &mut self.calls,
            HostKind::Python => &mut self.frames,
            HostKind::Annotation | HostKind::Overhead => return,
        };
        *field = field.saturating_add(1);
    }
}

/// Nesting of all host events of a trace.
pub struct HostTree {
    parent: Vec<u32>,
    context: Vec<Context>,
    flags: Vec<u8>,
    classes: Vec<HostClass>,
    /// Rows per thread, by start, outermost first.
    by_thread: Vec<Vec<u32>>,
    /// Call of each GPU activity.
    launch_of: Vec<u32>,
    /// First activity of each call; [`NONE`] for events without.
    activity_of: Vec<u32>,
}

impl HostTree {
    /// Nests the events of `trace`. Linear apart from a sort per thread.
    #[must_use]
    pub fn new(trace: &Trace) -> Self {
        let classes = trace.names.map(classify);
        let (launch_of, activity_of) = link(trace);
        let mut tree = Self {
            parent: vec![NONE; trace.host.len()],
            context: vec![Context::Unnamed; trace.host.len()],
            flags: vec![0; trace.host.len()],
            classes,
            by_thread: rows_by_thread(trace),
            launch_of,
            activity_of,
        };
        tree.nest(trace);
        tree.mark_copies(trace);
        tree
    }

    fn nest(&mut self, trace: &Trace) {
        let host = &trace.host;
        let mut stack: Vec<u32> = Vec::new();
        for thread in 0..self.by_thread.len() {
            stack.clear();
            for at in 0..self.by_thread[thread].len() {
                let row = self.by_thread[thread][at];
                let id = HostId(row);
                while stack.last().is_some_and(|&top| host.end(HostId(top)) <= host.start[id.index()]) {
                    stack.pop();
                }
                let parent = stack.last().copied().unwrap_or(NONE);
                self.parent[id.index()] = parent;
                let (above, inherited) = if parent == NONE {
                    (Context::Unnamed, 0)
                } else {
                    (self.context[parent as usize], self.flags[parent as usize])
                };
                self.context[id.index()] = self.combine(trace, id, above);
                self.flags[id.index()] = self.inherit(trace, id, inherited);
                stack.push(row);
            }
        }
    }

    fn combine(&self, trace: &Trace, id: HostId, above: Context) -> Context {
        use {Context as X, HostClass as C};
        if above.is_sticky() {
            return above;
        }
        let own = match self.class(trace, id) {
            C::LoadInProcess => Some(X::LoadInProcess),
            C::LoadFromWorkers => Some(X::LoadFromWorkers),
            C::Collect => Some(X::Collect),
            C::Checkpoint => Some(X::Checkpoint),
            C::Log => Some(X::Log),
            C::Compile => Some(X::Compile),
            C::Profiler => Some(X::Profiler),
            C::Allocate => Some(X::Allocate),
            C::Synchronise | C::ReadBack => Some(X::Synchronise),
            C::OptimizerStep => Some(X::Optimizer),
            C::IdleFrame => Some(X::Idle),
            C::Copy => match self.copy_kind(trace, id) {
                Some(CopyKind::HostToDevicePageable) => Some(X::Transfer),
                Some(CopyKind::DeviceToHostPageable) => Some(X::Synchronise),
                // Of memory that the record does not name: a call that outlasts its copy waited for it.
                Some(CopyKind::HostToDevice) if self.outlasts_its_copy(trace, id) => Some(X::Transfer),
                Some(CopyKind::DeviceToHost) if self.outlasts_its_copy(trace, id) => Some(X::Synchronise),
                _ => None,
            },
            C::Collective => Some(X::Collective),
            _ => None,
        };
        if let Some(own) = own {
            return own;
        }
        match (above, trace.host.kind[id.index()]) {
            (X::Optimizer | X::Synchronise | X::Allocate | X::Collective | X::Transfer, _) => above,
            (_, HostKind::Op | HostKind::Runtime | HostKind::Driver) => X::Operator,
            (_, HostKind::Python) => X::Frame,
            (X::Operator | X::Frame, _) => above,
            _ => X::Unnamed,
        }
    }

    /// The call returned only after the copy that it launched had ended.
    #[must_use]
    pub fn outlasts_its_copy(&self, trace: &Trace, call: HostId) -> bool {
        self.activity_of(call).is_some_and(|copy| trace.host.end(call) >= trace.gpu.end(copy))
    }

    fn inherit(&self, trace: &Trace, id: HostId, inherited: u8) -> u8 {
        let mut flags = inherited;
        if self.class(trace, id) == HostClass::BackwardNode {
            flags |= IN_BACKWARD;
        } else if flags & IN_BACKWARD != 0
            && trace.host.kind[id.index()] == HostKind::Op
            && trace.host.sequence[id.index()] >= 0
            && trace.host.forward_thread[id.index()] == 0
        {
            // Gradients are being tracked inside backward: this is a forward run again.
            flags |= RECOMPUTED;
        }
        flags
    }

    /// Gives the operators around a pageable copy the copy's context, so that what the host does
    /// for `tensor.to(device)` counts as the transfer it is.
    fn mark_copies(&mut self, trace: &Trace) {
        for activity in 0..self.launch_of.len() {
            let Some(id) = self.launch_of(GpuId::from_index(activity)) else { continue };
            let context = self.context[id.index()];
            if self.class(trace, id) != HostClass::Copy
                || !matches!(context, Context::Transfer | Context::Synchronise)
            {
                continue;
            }
            let mut above = self.parent[id.index()];
            while above != NONE {
                let up = HostId(above);
                let copies = matches!(self.class(trace, up), HostClass::CopyOp | HostClass::ReadBack);
                if !copies || self.context[up.index()] != Context::Operator {
                    break;
                }
                self.context[up.index()] = context;
                above = self.parent[up.index()];
            }
        }
    }

    /// Class of an event's name.
    #[must_use]
    pub fn class(&self, trace: &Trace, id: HostId) -> HostClass {
        self.classes[trace.host.name[id.index()].index()]
    }

    /// What the time inside an event is for.
    #[must_use]
    pub fn context(&self, id: HostId) -> Context {
        self.context[id.index()]
    }

    /// The event around an event.
    #[must_use]
    pub fn parent(&self, id: HostId) -> Option<HostId> {
        let parent = self.parent[id.index()];
        (parent != NONE).then_some(HostId(parent))
    }

    /// An event and everything around it, innermost first.
    pub fn ancestry(&self, id: HostId) -> impl Iterator<Item = HostId> + '_ {
        std::iter::successors(Some(id), |&at| self.parent(at))
    }

    /// Whether an event is, or lies in, a forward that is run again inside backward.
    #[must_use]
    pub fn is_recomputed(&self, id: HostId) -> bool {
        self.flags[id.index()] & RECOMPUTED != 0
    }

    /// Whether an event lies in a node of backward.
    #[must_use]
    pub fn is_backward(&self, id: HostId) -> bool {
        self.flags[id.index()] & IN_BACKWARD != 0
    }

    /// The call that launched an activity, if it is in the trace.
    #[must_use]
    pub fn launch_of(&self, activity: GpuId) -> Option<HostId> {
        let row = self.launch_of[activity.index()];
        (row != NONE).then_some(HostId(row))
    }

    /// The first activity that a call launched.
    #[must_use]
    pub fn activity_of(&self, call: HostId) -> Option<GpuId> {
        let row = self.activity_of[call.index()];
        (row != NONE).then_some(GpuId(row))
    }

    /// Direction of the copy that a call launched; by the call's own name where the activity is missing.
    #[must_use]
    pub fn copy_kind(&self, trace: &Trace, call: HostId) -> Option<CopyKind> {
        let activity = self.activity_of(call)?;
        (trace.gpu.kind[activity.index()] == GpuKind::Memcpy)
            .then(|| classify_copy(trace.names.get(trace.gpu.name[activity.index()])))
    }

    /// The innermost operator around (or at) an event.
    #[must_use]
    pub fn operator(&self, trace: &Trace, id: HostId) -> Option<HostId> {
        self.ancestry(id).find(|at| trace.host.kind[at.index()] == HostKind::Op)
    }

    /// The outermost operator around (or at) an event.
    #[must_use]
    pub fn outermost_operator(&self, trace: &Trace, id: HostId) -> Option<HostId> {
        self.ancestry(id).filter(|at| trace.host.kind[at.index()] == HostKind::Op).last()
    }

    /// Rows of each thread, by start, outermost first.
    #[must_use]
    pub fn threads(&self) -> &[Vec<u32>] {
        &self.by_thread
    }

    /// What a thread did at each instant: disjoint segments in order, none where no event was active.
    #[must_use]
    pub fn segments<'a>(&'a self, trace: &'a Trace, thread: usize) -> Segments<'a> {
        Segments::new(trace, &self.by_thread[thread])
    }
}

/// Launching call per activity, and first activity per call, by correlation.
fn link(trace: &Trace) -> (Vec<u32>, Vec<u32>) {
    let host = &trace.host;
    let mut call_of: FxHashMap<u32, u32> = FxHashMap::default();
    call_of.reserve(trace.gpu.len());
    for row in 0..host.len() {
        let is_call = matches!(host.kind[row], HostKind::Runtime | HostKind::Driver);
        if is_call && host.link[row] != 0 {
            call_of.entry(host.link[row]).or_insert(HostId::from_index(row).0);
        }
    }
    let mut activity_of = vec![NONE; host.len()];
    let launch_of = (0..trace.gpu.len())
        .map(|row| match call_of.get(&trace.gpu.correlation[row]) {
            Some(&call) if trace.gpu.correlation[row] != 0 => {
                let first = &mut activity_of[call as usize];
                *first = (*first).min(GpuId::from_index(row).0);
                call
            }
            _ => NONE,
        })
        .collect();
    (launch_of, activity_of)
}

fn rows_by_thread(trace: &Trace) -> Vec<Vec<u32>> {
    let host = &trace.host;
    let mut threads: Vec<Vec<u32>> = vec![Vec::new(); trace.threads.len()];
    for row in 0..host.len() {
        if host.kind[row] != HostKind::Overhead {
            threads[host.thread[row].index()].push(HostId::from_index(row).0);
        }
    }
    let depth = |kind: HostKind| match kind {
        HostKind::Annotation => 0_u8,
        HostKind::Python => 1,
        HostKind::Op => 2,
        _ => 3,
    };
    for rows in &mut threads {
        let ties = |row: u32| (Reverse(host.dur[row as usize]), depth(host.kind[row as usize]), row);
        // Stable, because a file holds a few sequences that are sorted: this sort merges such.
        rows.sort_by(|&a, &b| {
            host.start[a as usize].cmp(&host.start[b as usize]).then_with(|| ties(a).cmp(&ties(b)))
        });
    }
    threads
}

/// The segments of one thread, made one by one: a list of them all is long.
pub struct Segments<'a> {
    host: &'a HostEvents,
    /// Events not yet opened.
    rows: std::slice::Iter<'a, u32>,
    /// Open events with their ends, each clipped to its parent's.
    open: Vec<(u32, i64)>,
    now: i64,
    pending: Opened,
}

impl<'a> Segments<'a> {
    fn new(trace: &'a Trace, rows: &'a [u32]) -> Self {
        Self {
            host: &trace.host,
            rows: rows.iter(),
            open: Vec::new(),
            now: i64::MIN,
            pending: Opened::default(),
        }
    }

    /// At most so many are still to come, or hardly more.
    pub(crate) fn estimate(&self) -> usize {
        self.rows.len() * 3 / 2
    }

    fn open(&mut self, row: u32) {
        let end = self.host.end(HostId(row));
        let limit = self.open.last().map_or(end, |&(_, limit)| limit);
        self.pending.add(self.host.kind[row as usize]);
        self.open.push((row, end.min(limit)));
    }

    /// The stretch from now to a later time.
    fn until(&mut self, end: i64, leaf: u32) -> Option<Segment> {
        let start = self.now;
        (start < end).then(|| {
            self.now = end;
            Segment { start, end, leaf, opened: std::mem::take(&mut self.pending) }
        })
    }
}

impl Iterator for Segments<'_> {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        loop {
            let next = self.rows.as_slice().first().map(|&row| (row, self.host.start[row as usize]));
            let innermost = self.open.last().copied();
            let closes = innermost.filter(|&(_, end)| next.is_none_or(|(_, start)| end <= start));
            let stretch = if let Some((leaf, end)) = closes {
                self.open.pop();
                self.until(end, leaf)
            } else {
                let (row, start) = next?;
                let before = innermost.and_then(|(leaf, _)| self.until(start, leaf));
                self.now = self.now.max(start);
                self.rows.next();
                self.open(row);
                before
            };
            if stretch.is_some() {
                return stretch;
            }
        }
    }
}
