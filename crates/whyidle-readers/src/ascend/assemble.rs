//! From lanes to the columns of the model, once the whole list is known.

use rustc_hash::{FxHashMap, FxHashSet};
use whyidle_model::{
    GpuActivity, GpuKind, HostEvent, HostId, HostKind, NoteCode, Recorder, Stream, StreamId, Sym, Thread,
    ThreadId, Trace,
};

use super::lanes::{Category, Flow, Lane, Lanes, Point, Slice};
use super::tasks;
use crate::kineto::Times;
use crate::limits::MAX_ROWS;

/// Streams of the lane of collectives begin here: it numbers groups, not streams.
const COMMUNICATION_STREAMS: i64 = 1 << 20;
/// The name of a launch that only a flow shows: what `torch_npu` calls that flow.
const FLOW_LAUNCH: &str = "torch_to_npu";
/// What the analysis knows collections of garbage by.
const COLLECTION: &str = "Python GC";
/// The lower bits of a made-up process number are the device.
const DEVICE_BITS: u32 = 5;
/// Made-up numbers are at least this large: a process above ten bits of place and device.
const LEAST_MADE_UP: i64 = 1 << 10;

/// Puts what `lanes` kept into `trace`, which holds the framework's operators already.
pub(crate) fn assemble(lanes: &mut Lanes, trace: &mut Trace) {
    trace.meta.recorder = Recorder::TorchNpu;
    trace.meta.foreign_device = None;
    trace.notes.add(NoteCode::UntestedDevice, None);
    let slices = std::mem::take(&mut lanes.slices);
    let mut work = Assembly::new(lanes, trace);
    for slice in &slices {
        work.host(slice);
    }
    let parts = work.collectives(&slices);
    for slice in &slices {
        work.device(slice, &parts);
    }
}

struct Assembly<'a> {
    lanes: &'a mut Lanes,
    trace: &'a mut Trace,
    /// Threads by the system's number.
    threads: FxHashMap<i64, ThreadId>,
    /// The process whose threads are the framework's.
    python: i64,
    streams: FxHashMap<(i32, i64), StreamId>,
    /// Calls of CANN by their place, and by the connection that they share with tasks.
    calls: FxHashMap<Point, HostId>,
    connected: FxHashMap<Sym, HostId>,
    /// Operators by thread and start, made when first needed.
    operators: Option<FxHashMap<(ThreadId, i64), HostId>>,
    /// Launches that only a flow shows, by operator.
    flow_launches: FxHashMap<HostId, HostId>,
    next_link: u32,
}

/// What belongs to collectives that have a lane of their own.
struct Parts {
    any: bool,
    connections: FxHashSet<Sym>,
}

impl<'a> Assembly<'a> {
    fn new(lanes: &'a mut Lanes, trace: &'a mut Trace) -> Self {
        let mut rows = vec![0_usize; trace.threads.len()];
        trace.host.thread.iter().for_each(|thread| rows[thread.index()] += 1);
        let busiest = (0..rows.len()).max_by_key(|&thread| rows[thread]);
        let python = busiest.map_or(-1, |thread| trace.threads[thread].pid);
        let mut threads = FxHashMap::default();
        for (at, thread) in trace.threads.iter().enumerate() {
            let known = threads.entry(thread.tid).or_insert(ThreadId::from_index(at));
            if thread.pid == python {
                *known = ThreadId::from_index(at);
            }
        }
        let streams = trace.streams.iter().enumerate();
        let streams = streams.map(|(at, s)| ((s.device, s.number), StreamId::from_index(at))).collect();
        // Operators may have ids of their own already.
        let next_link = trace.host.link.iter().copied().max().unwrap_or(0);
        Self {
            lanes,
            trace,
            threads,
            python,
            streams,
            calls: FxHashMap::default(),
            connected: FxHashMap::default(),
            operators: None,
            flow_launches: FxHashMap::default(),
            next_link,
        }
    }

    fn lane(&self, slice: &Slice) -> Lane {
        // Tasks say by their type that they are some, also where the name of their process is lost.
        let unnamed = if slice.task == Sym::EMPTY { Lane::Other } else { Lane::Hardware };
        self.lanes.lanes.get(&slice.pid).copied().unwrap_or(unnamed)
    }

    /// Takes a slice of the host's lanes.
    fn host(&mut self, slice: &Slice) {
        let (kind, name) = match (self.lane(slice), slice.category) {
            (Lane::Cann, _) => (HostKind::Runtime, slice.name),
            (Lane::Collector, _) | (Lane::Python, Category::Collect) => {
                (HostKind::Annotation, self.trace.names.intern(COLLECTION))
            }
            (Lane::Python, Category::Dequeue) => (HostKind::Op, slice.name),
            (Lane::Python, Category::Enqueue) => (HostKind::Annotation, slice.name),
            (Lane::Hardware | Lane::Communication, _) => return,
            _ => return self.lanes.unused(slice.at),
        };
        let Some((start, dur)) = self.times(slice) else { return };
        let Some(thread) = self.thread(slice.tid) else { return self.lanes.unused(slice.at) };
        let Some(id) = self.push_host(kind, name, thread, start, dur) else { return };
        if kind != HostKind::Runtime {
            return;
        }
        // Of calls that begin together the innermost launches.
        let shorter = |known: &HostId, trace: &Trace| dur < trace.host.dur[known.index()];
        let point = (slice.pid, slice.tid, start);
        if self.calls.get(&point).is_none_or(|known| shorter(known, self.trace)) {
            self.calls.insert(point, id);
        }
        if slice.connection != Sym::EMPTY {
            // Several layers share a connection: the node is the one that launches.
            let node = self.trace.names.get(slice.name).starts_with("Node@");
            if node || !self.connected.contains_key(&slice.connection) {
                self.connected.insert(slice.connection, id);
            }
        }
    }

    /// Which tasks are parts of collectives.
    fn collectives(&mut self, slices: &[Slice]) -> Parts {
        let mut parts = Parts { any: false, connections: FxHashSet::default() };
        for slice in slices {
            let named = || tasks::is_collective(self.trace.names.get(slice.name));
            if self.lane(slice) == Lane::Communication && named() {
                parts.any = true;
                if slice.connection != Sym::EMPTY {
                    parts.connections.insert(slice.connection);
                }
            }
        }
        parts
    }

    /// Takes a slice of the device's lanes.
    fn device(&mut self, slice: &Slice, parts: &Parts) {
        let names = &self.trace.names;
        let (name, task) = (names.get(slice.name), names.get(slice.task));
        let collective = tasks::is_collective(name);
        let kind = match self.lane(slice) {
            // Below a collective the lane lists what it is made of.
            Lane::Communication if collective => Some(GpuKind::Kernel),
            // What a collective is made of is counted with it.
            Lane::Hardware if parts.any && (collective || parts.connections.contains(&slice.connection)) => {
                None
            }
            Lane::Hardware => tasks::kind(task, name),
            Lane::Communication => None,
            _ => return,
        };
        let Some(kind) = kind else { return self.lanes.unused(slice.at) };
        let Some((start, dur)) = self.times(slice) else { return };
        if self.trace.gpu.len() >= MAX_ROWS {
            return self.trace.notes.add(NoteCode::TableFull, Some(slice.at));
        }
        let point = (slice.pid, slice.tid, start);
        let owner = self.lanes.begin(Flow::AsyncNpu, point).and_then(|begin| self.operator(begin));
        let call = self.call(slice, point, owner);
        let name = self.copy_name(slice, kind, owner);
        let stream = self.stream(slice);
        let correlation = call.map_or(0, |call| self.link(call));
        let external = owner.map_or(0, |owner| self.link(owner));
        self.trace.gpu.push(GpuActivity {
            start,
            dur,
            name,
            kind,
            stream,
            correlation,
            external,
            bytes: 0,
            blocks: 0,
            threads: 0,
        });
    }

    /// The call that launched a task: of CANN by flow, or by connection; else its operator, where a flow names it.
    fn call(&mut self, slice: &Slice, point: Point, owner: Option<HostId>) -> Option<HostId> {
        let by_flow = self.lanes.begin(Flow::HostToDevice, point).and_then(|begin| self.calls.get(&begin));
        // Connections may be used again: what a task follows from began before it did.
        let connected = || self.connected.get(&slice.connection);
        let before = |call: &&HostId| self.trace.host.start[call.index()] <= point.2;
        if let Some(&call) = by_flow.or_else(|| connected().filter(before)) {
            return Some(call);
        }
        let owner = owner?;
        if let Some(&launch) = self.flow_launches.get(&owner) {
            return Some(launch);
        }
        let event = self.trace.host.get(owner);
        let name = self.trace.names.intern(FLOW_LAUNCH);
        let launch = self.push_host(HostKind::Runtime, name, event.thread, event.start, 0)?;
        self.flow_launches.insert(owner, launch);
        Some(launch)
    }

    /// The operator that begins at `point`.
    fn operator(&mut self, (_, tid, start): Point) -> Option<HostId> {
        let tid = self.lanes.texts.get(tid).parse().ok()?;
        let thread = *self.threads.get(&tid)?;
        let host = &self.trace.host;
        let operators = self.operators.get_or_insert_with(|| {
            let rows = (0..host.len()).filter(|&row| host.kind[row] == HostKind::Op);
            rows.map(|row| ((host.thread[row], host.start[row]), HostId::from_index(row))).collect()
        });
        operators.get(&(thread, start)).copied()
    }

    /// A copy's name with its direction, where its own or its operator's name tells it.
    fn copy_name(&mut self, slice: &Slice, kind: GpuKind, owner: Option<HostId>) -> Sym {
        if kind != GpuKind::Memcpy {
            return slice.name;
        }
        let names = &self.trace.names;
        let own = names.get(slice.name);
        let by_owner = || tasks::direction(names.get(self.trace.host.name[owner?.index()]));
        match tasks::direction(own).or_else(by_owner) {
            Some(direction) => {
                let named = format!("{own} ({direction})");
                self.trace.names.intern(&named)
            }
            None => slice.name,
        }
    }

    fn stream(&mut self, slice: &Slice) -> StreamId {
        let text = |sym| self.lanes.texts.get(sym).parse::<i64>().ok();
        let made_up = text(slice.pid).filter(|&pid| pid >= LEAST_MADE_UP);
        let by_process = made_up.map(|pid| pid & ((1 << DEVICE_BITS) - 1));
        let device = slice.device.or(by_process).and_then(|device| i32::try_from(device).ok()).unwrap_or(0);
        let number = text(slice.tid).or(slice.stream).unwrap_or(-1);
        let communicates = self.lane(slice) == Lane::Communication;
        let number = if communicates { number.saturating_add(COMMUNICATION_STREAMS) } else { number };
        let streams = &mut self.trace.streams;
        *self.streams.entry((device, number)).or_insert_with(|| {
            streams.push(Stream { device, number });
            StreamId::from_index(streams.len() - 1)
        })
    }

    /// The thread with the system's number `tid`, whichever lane it was met on.
    fn thread(&mut self, tid: Sym) -> Option<ThreadId> {
        let tid: i64 = self.lanes.texts.get(tid).parse().ok()?;
        let (threads, pid) = (&mut self.trace.threads, self.python);
        Some(*self.threads.entry(tid).or_insert_with(|| {
            threads.push(Thread { pid, tid, name: Sym::EMPTY });
            ThreadId::from_index(threads.len() - 1)
        }))
    }

    fn push_host(
        &mut self,
        kind: HostKind,
        name: Sym,
        thread: ThreadId,
        start: i64,
        dur: i64,
    ) -> Option<HostId> {
        if self.trace.host.len() >= MAX_ROWS {
            self.trace.notes.add(NoteCode::TableFull, None);
            return None;
        }
        let (dims, types) = (Sym::EMPTY, Sym::EMPTY);
        let (link, sequence, forward_thread) = (0, -1, 0);
        Some(self.trace.host.push(HostEvent {
            start,
            dur,
            name,
            kind,
            thread,
            link,
            dims,
            types,
            sequence,
            forward_thread,
        }))
    }

    /// The id by which a host event and what it launched or owns are joined.
    fn link(&mut self, id: HostId) -> u32 {
        let link = &mut self.trace.host.link[id.index()];
        if *link == 0 {
            self.next_link = self.next_link.checked_add(1).unwrap_or(1);
            *link = self.next_link;
        }
        *link
    }

    fn times(&mut self, slice: &Slice) -> Option<(i64, i64)> {
        let Times { found, note } = slice.times;
        if let Some(code) = note {
            self.trace.notes.add(code, Some(slice.at));
        }
        found
    }
}
