//! What is kept of a bare list until its end: slices without a category of Kineto's, flows, names of processes.

use rustc_hash::FxHashMap;
use whyidle_model::{Interner, NoteCode, Sym};

use crate::kineto::{Arg, Args, Event, Member, Times, identity, text};
use crate::limits::MAX_ROWS;

/// A place in time on a lane, by which flows name their ends: process and thread as they are written, and a start, ns.
pub(super) type Point = (Sym, Sym, i64);

/// A complete event.
pub(super) struct Slice {
    /// When and how long, or what is wrong with that.
    pub(super) times: Times,
    /// Of the trace's names.
    pub(super) name: Sym,
    /// `Task Type`, of the trace's names; empty on whatever is no task of the device.
    pub(super) task: Sym,
    /// Of the lanes' own texts.
    pub(super) pid: Sym,
    /// Of the lanes' own texts.
    pub(super) tid: Sym,
    /// `connection_id`, of the lanes' own texts; empty without one.
    pub(super) connection: Sym,
    /// `Stream Id` or `Physic Stream Id`.
    pub(super) stream: Option<i64>,
    /// `Device Id`.
    pub(super) device: Option<i64>,
    pub(super) category: Category,
    /// Where in the file it begins.
    pub(super) at: u64,
}

/// Categories of the framework's slices that Kineto does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Category {
    /// The queue's second thread takes an operator over.
    Dequeue,
    /// An operator is handed to it.
    Enqueue,
    /// The collector of garbage.
    Collect,
    Other,
}

/// What a process of the trace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Python,
    Collector,
    Cann,
    Hardware,
    Communication,
    /// Counters, and what is computed from the other lanes.
    Other,
}

/// Which flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Flow {
    /// From a call of CANN.
    HostToDevice,
    /// From an operator.
    AsyncNpu,
}

/// What is kept of a bare list.
#[derive(Default)]
pub(crate) struct Lanes {
    /// Numbers of processes, threads and flows, as they are written.
    pub(super) texts: Interner,
    pub(super) slices: Vec<Slice>,
    pub(super) lanes: FxHashMap<Sym, Lane>,
    /// Where flows begin, by kind and id.
    pub(super) begins: FxHashMap<(Flow, Sym), Point>,
    /// Which flow ends where.
    pub(super) ends: FxHashMap<(Flow, Point), Sym>,
    /// Begins and ends of flows that are kept, and the first.
    flows: u64,
    first_flow: Option<u64>,
    unused: u64,
    first_unused: Option<u64>,
}

impl Lanes {
    /// The processes are Ascend's.
    pub(crate) fn is_ascend(&self) -> bool {
        self.lanes.values().any(|lane| matches!(lane, Lane::Hardware | Lane::Cann))
    }

    /// Keeps a complete event that Kineto's reader has no use for, called `name`.
    pub(crate) fn slice(
        &mut self,
        event: &Event<'_>,
        args: &Args<'_>,
        times: Times,
        (name, task): (Sym, Sym),
        at: u64,
    ) {
        if self.slices.len() >= MAX_ROWS {
            return self.unused(at);
        }
        let number = |arg| identity(args[arg]);
        let slice = Slice {
            times,
            name,
            task,
            pid: self.number(event[Member::Pid]),
            tid: self.number(event[Member::Tid]),
            connection: match args[Arg::Connection] {
                // What is connected to nothing.
                b"-1" | b"4294967295" => Sym::EMPTY,
                connection => self.number(connection),
            },
            stream: number(Arg::NpuStream),
            device: number(Arg::DeviceId),
            category: match event[Member::Cat] {
                b"\"dequeue\"" => Category::Dequeue,
                b"\"enqueue\"" => Category::Enqueue,
                b"\"GC\"" => Category::Collect,
                _ => Category::Other,
            },
            at,
        };
        self.slices.push(slice);
    }

    /// Keeps the begin or the end of a flow, if it is one that joins host and device.
    pub(crate) fn flow(&mut self, event: &Event<'_>, start: Option<i64>, at: u64) {
        let flow = match event[Member::Cat] {
            b"\"HostToDevice\"" => Flow::HostToDevice,
            b"\"async_npu\"" => Flow::AsyncNpu,
            _ => return self.unused(at),
        };
        let id = self.number(event[Member::Id]);
        let (Some(start), false) = (start, id == Sym::EMPTY) else { return self.unused(at) };
        self.flows += 1;
        self.first_flow.get_or_insert(at);
        let point = (self.number(event[Member::Pid]), self.number(event[Member::Tid]), start);
        if event[Member::Ph] == b"\"s\"" {
            self.begins.insert((flow, id), point);
        } else {
            self.ends.insert((flow, point), id);
        }
    }

    /// Where the flow that ends at `point` begins.
    pub(super) fn begin(&self, flow: Flow, point: Point) -> Option<Point> {
        let id = self.ends.get(&(flow, point))?;
        self.begins.get(&(flow, *id)).copied()
    }

    /// Keeps the name of a process.
    pub(crate) fn process(&mut self, event: &Event<'_>, args: &Args<'_>) {
        let lane = match text(args[Arg::Label]).as_deref().map(str::trim) {
            Some("Python") => Lane::Python,
            Some("Python GC") => Lane::Collector,
            Some("CANN") => Lane::Cann,
            Some("Ascend Hardware") => Lane::Hardware,
            Some("Communication" | "HCCL") => Lane::Communication,
            _ => Lane::Other,
        };
        let pid = self.number(event[Member::Pid]);
        self.lanes.insert(pid, lane);
    }

    /// Counts an event that is not used; the earliest is remembered.
    pub(crate) fn unused(&mut self, at: u64) {
        self.unused += 1;
        self.first_unused = Some(self.first_unused.map_or(at, |first| first.min(at)));
    }

    /// Counts all that was kept as not used.
    pub(crate) fn discard(&mut self) {
        for slice in std::mem::take(&mut self.slices) {
            self.unused(slice.at);
        }
        if let Some(first) = self.first_flow {
            self.unused(first);
            self.unused += self.flows - 1;
        }
    }

    /// What was not used: how many, and the first.
    pub(crate) fn left_over(&self) -> (NoteCode, u64, Option<u64>) {
        (NoteCode::Unused, self.unused, self.first_unused)
    }

    /// A number as it is written, whatever its size, with or without quotes.
    fn number(&mut self, raw: &[u8]) -> Sym {
        /// Longer is no number.
        const LONGEST: usize = 64;
        let inner = raw.strip_prefix(b"\"").and_then(|raw| raw.strip_suffix(b"\"")).unwrap_or(raw);
        match std::str::from_utf8(inner.trim_ascii()) {
            Ok(number) if number.len() <= LONGEST => self.texts.intern(number),
            _ => Sym::EMPTY,
        }
    }
}
