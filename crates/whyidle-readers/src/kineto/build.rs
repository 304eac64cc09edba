//! From the raw parts of events to the columns of the model. Both parsers end here.

use rustc_hash::FxHashMap;
use whyidle_model::{
    Collective, CollectiveOwner, GpuActivity, GpuKind, HostEvent, HostId, HostKind, NoteCode, Stream,
    StreamId, Sym, SyncRecord, Thread, ThreadId, Trace,
};

use super::category::{Category, category, keeps_inputs};
use super::event::{Arg, Args, Event, Member};
use super::number::{self, NotANumber};
use super::text::{Symbols, text};
use crate::ascend::{Lanes, assemble};
use crate::limits::{MAX_LENGTH, MAX_ROWS, MAX_TIME};
use crate::places::Places;

/// Fills a [`Trace`] event by event.
#[derive(Default)]
pub(crate) struct Builder {
    pub(crate) trace: Trace,
    symbols: Symbols,
    threads: Places<i64, ThreadId>,
    streams: Places<i32, StreamId>,
    /// Of all threads that were named, also those without events.
    thread_names: FxHashMap<(i64, i64), Sym>,
    /// What a bare list holds beside Kineto's events, until its end says whose it is.
    lanes: Option<Lanes>,
    /// By symbol: whether an operator of this name keeps its `Concrete Inputs`.
    keeps_inputs: Vec<Option<bool>>,
}

impl Builder {
    /// Takes an event that begins at byte `at` of the file.
    pub(crate) fn event(&mut self, event: &Event<'_>, args: &Args<'_>, at: u64) {
        self.trace.events += 1;
        match event[Member::Ph] {
            // A task of Ascend's, whatever its category.
            b"\"X\"" if self.lanes.is_some() && !args[Arg::TaskType].is_empty() => {
                self.slice(event, args, at)
            }
            b"\"X\"" => match category(event[Member::Cat]) {
                Category::Host(kind) => self.host(kind, event, args, at),
                Category::Gpu(kind) => self.gpu(kind, event, args, at),
                Category::Sync => self.sync(event, args, at),
                Category::Window => self.window(event),
                Category::Foreign(device) => self.foreign(device, at),
                Category::Unused if self.lanes.is_some() => self.slice(event, args, at),
                Category::Unused => self.note(NoteCode::Unused, at),
            },
            b"\"i\"" | b"\"I\"" if event[Member::Name] == b"\"[memory]\"" => self.memory(event, args, at),
            b"\"M\"" if event[Member::Name] == b"\"thread_name\"" => self.thread_name(event, args),
            b"\"M\"" => {
                if let Some(lanes) =
                    self.lanes.as_mut().filter(|_| event[Member::Name] == b"\"process_name\"")
                {
                    lanes.process(event, args);
                }
            }
            phase => match &mut self.lanes {
                Some(lanes) if matches!(phase, b"\"s\"" | b"\"f\"") => {
                    lanes.flow(event, usable_start(event).ok(), at);
                }
                Some(lanes) => lanes.unused(at),
                None => self.note(NoteCode::Unused, at),
            },
        }
    }

    /// The document is a bare list: it may be any profiler's.
    pub(crate) fn expects_lanes(&mut self) {
        self.lanes.get_or_insert_default();
    }

    fn slice(&mut self, event: &Event<'_>, args: &Args<'_>, at: u64) {
        let names = (self.text(event[Member::Name]), self.text(args[Arg::TaskType]));
        if let Some(lanes) = &mut self.lanes {
            lanes.slice(event, args, Times::of(event), names, at);
        }
    }

    fn text(&mut self, raw: &[u8]) -> Sym {
        self.symbols.text(&mut self.trace.names, raw)
    }

    fn compact(&mut self, raw: &[u8]) -> Sym {
        self.symbols.compact(&mut self.trace.names, raw)
    }

    fn note(&mut self, code: NoteCode, at: u64) {
        self.trace.notes.add(code, Some(at));
    }

    fn host(&mut self, kind: HostKind, event: &Event<'_>, args: &Args<'_>, at: u64) {
        let Some((start, dur)) = self.times(event, at) else { return };
        if self.trace.host.len() >= MAX_ROWS {
            return self.note(NoteCode::TableFull, at);
        }
        let name = self.text(event[Member::Name]);
        let (dims, types) = (self.compact(args[Arg::Dims]), self.compact(args[Arg::Types]));
        let link = match kind {
            HostKind::Runtime | HostKind::Driver => number::link(args[Arg::Correlation]),
            _ => number::link(args[Arg::External]),
        };
        let thread = self.thread(event);
        let sequence =
            number::integer(args[Arg::Sequence]).ok().and_then(|n| i32::try_from(n).ok()).unwrap_or(-1);
        let id = self.trace.host.push(HostEvent {
            start,
            dur,
            name,
            kind,
            thread,
            link,
            dims,
            types,
            sequence,
            forward_thread: number::link(args[Arg::ForwardThread]),
        });
        if kind == HostKind::Op {
            self.operator_extras(id, name, args);
        }
    }

    /// What only some operators have: a call stack, concrete inputs, a collective.
    /// `Module Hierarchy` is not kept: it names modules, not frames, and stacks name both.
    fn operator_extras(&mut self, id: HostId, name: Sym, args: &Args<'_>) {
        if args[Arg::Stack].len() > 2 {
            let stack = self.text(args[Arg::Stack]);
            if stack != Sym::EMPTY {
                self.trace.host.stacks.push((id, stack));
            }
        }
        if !args[Arg::Inputs].is_empty() && self.name_keeps_inputs(name) {
            let inputs = self.compact(args[Arg::Inputs]);
            self.trace.host.inputs.push((id, inputs));
        }
        if !args[Arg::Collective].is_empty() {
            self.collective(CollectiveOwner::Host(id), args);
        }
    }

    fn name_keeps_inputs(&mut self, name: Sym) -> bool {
        if self.keeps_inputs.len() <= name.index() {
            self.keeps_inputs.resize(name.index() + 1, None);
        }
        *self.keeps_inputs[name.index()].get_or_insert_with(|| keeps_inputs(self.trace.names.get(name)))
    }

    fn gpu(&mut self, kind: GpuKind, event: &Event<'_>, args: &Args<'_>, at: u64) {
        let Some((start, dur)) = self.times(event, at) else { return };
        if start == 0 && dur == 0 {
            return self.note(NoteCode::ZeroTime, at);
        }
        if self.trace.gpu.len() >= MAX_ROWS {
            return self.note(NoteCode::TableFull, at);
        }
        let name = self.text(event[Member::Name]);
        let stream = self.stream(event, args);
        let id = self.trace.gpu.push(GpuActivity {
            start,
            dur,
            name,
            kind,
            stream,
            correlation: number::link(args[Arg::Correlation]),
            external: number::link(args[Arg::External]),
            bytes: number::integer(args[Arg::Bytes]).map_or(0, |n| u64::try_from(n).unwrap_or(0)),
            blocks: number::product(args[Arg::Grid]),
            threads: number::product(args[Arg::Block]),
        });
        if !args[Arg::Collective].is_empty() {
            self.collective(CollectiveOwner::Gpu(id), args);
        }
    }

    fn collective(&mut self, owner: CollectiveOwner, args: &Args<'_>) {
        let collective = Collective {
            owner,
            name: self.text(args[Arg::Collective]),
            in_elements: number::integer(args[Arg::InElements]).unwrap_or(0),
            out_elements: number::integer(args[Arg::OutElements]).unwrap_or(0),
            dtype: self.text(args[Arg::Dtype]),
            group: self.text(args[Arg::Group]),
            group_description: self.text(args[Arg::GroupDescription]),
            group_size: number::integer(args[Arg::GroupSize]).map_or(0, |n| u32::try_from(n).unwrap_or(0)),
            ranks: self.text(args[Arg::GroupRanks]),
            sequence: number::integer(args[Arg::GroupSequence]).ok(),
            rank: number::integer(args[Arg::Rank]).ok().and_then(|n| i32::try_from(n).ok()),
        };
        self.trace.collectives.push(collective);
    }

    fn sync(&mut self, event: &Event<'_>, args: &Args<'_>, at: u64) {
        let Some((start, dur)) = self.times(event, at) else { return };
        let kind = if args[Arg::SyncKind].is_empty() { event[Member::Name] } else { args[Arg::SyncKind] };
        let stream = number::integer(args[Arg::Stream]).ok().or_else(|| number::identity(event[Member::Tid]));
        let record = SyncRecord {
            start,
            dur,
            kind: self.text(kind),
            device: device(event, args),
            stream: stream.unwrap_or(-1),
            correlation: number::link(args[Arg::Correlation]),
            wait_on_stream: number::integer(args[Arg::WaitOnStream]).ok(),
            wait_on_record: Some(number::link(args[Arg::WaitOnRecord])).filter(|&id| id != 0),
        };
        self.trace.syncs.push(record);
    }

    fn memory(&mut self, event: &Event<'_>, args: &Args<'_>, at: u64) {
        let Some(time) = self.start(event, at) else { return };
        let host = number::integer(args[Arg::DeviceType]) == Ok(0);
        let device =
            number::integer(args[Arg::DeviceId]).ok().and_then(|n| i32::try_from(n).ok()).unwrap_or(-1);
        let memory = &mut self.trace.memory;
        memory.time.push(time);
        memory.bytes.push(number::integer(args[Arg::AllocatorBytes]).unwrap_or(0));
        memory.total_allocated.push(number::integer(args[Arg::TotalAllocated]).unwrap_or(-1));
        memory.total_reserved.push(number::integer(args[Arg::TotalReserved]).unwrap_or(-1));
        memory.device.push(if host { -1 } else { device });
    }

    fn window(&mut self, event: &Event<'_>) {
        let profiler = text(event[Member::Name]).is_some_and(|name| name.starts_with("PyTorch Profiler"));
        let (Ok(start), Ok(dur)) =
            (number::nanoseconds(event[Member::Ts]), number::nanoseconds(event[Member::Dur]))
        else {
            return;
        };
        if !profiler || start.abs() > MAX_TIME || !(0..=MAX_LENGTH).contains(&dur) {
            return;
        }
        let (from, to) = self.trace.meta.window.unwrap_or((start, start + dur));
        self.trace.meta.window = Some((from.min(start), to.max(start + dur)));
    }

    fn foreign(&mut self, device: &str, at: u64) {
        if self.trace.meta.foreign_device.is_none() {
            self.trace.meta.foreign_device = Some(device.to_owned());
        }
        self.note(NoteCode::ForeignDevice, at);
    }

    fn thread_name(&mut self, event: &Event<'_>, args: &Args<'_>) {
        if let (Some(pid), Some(tid)) =
            (number::identity(event[Member::Pid]), number::identity(event[Member::Tid]))
        {
            let name = self.text(args[Arg::Label]);
            self.thread_names.insert((pid, tid), name);
        }
    }

    /// Start and length; `None` (and a note) where the event cannot be placed in time.
    fn times(&mut self, event: &Event<'_>, at: u64) -> Option<(i64, i64)> {
        let Times { found, note } = Times::of(event);
        if let Some(code) = note {
            self.note(code, at);
        }
        found
    }

    fn start(&mut self, event: &Event<'_>, at: u64) -> Option<i64> {
        usable_start(event).map_err(|code| self.note(code, at)).ok()
    }

    fn thread(&mut self, event: &Event<'_>) -> ThreadId {
        let pid = number::identity(event[Member::Pid]).unwrap_or(-1);
        let tid = number::identity(event[Member::Tid]).unwrap_or(-1);
        let threads = &mut self.trace.threads;
        self.threads.get(pid, tid, || {
            threads.push(Thread { pid, tid, name: Sym::EMPTY });
            ThreadId::from_index(threads.len() - 1)
        })
    }

    fn stream(&mut self, event: &Event<'_>, args: &Args<'_>) -> StreamId {
        let device = device(event, args);
        let number = number::integer(args[Arg::Stream]).ok().or_else(|| number::identity(event[Member::Tid]));
        let number = number.unwrap_or(-1);
        let streams = &mut self.trace.streams;
        self.streams.get(device, number, || {
            streams.push(Stream { device, number });
            StreamId::from_index(streams.len() - 1)
        })
    }

    /// The trace, with what only the whole of it can tell.
    pub(crate) fn finish(mut self) -> Trace {
        for thread in &mut self.trace.threads {
            if let Some(&name) = self.thread_names.get(&(thread.pid, thread.tid)) {
                thread.name = name;
            }
        }
        if let Some(mut lanes) = self.lanes.take() {
            if lanes.is_ascend() {
                assemble(&mut lanes, &mut self.trace);
            } else {
                lanes.discard();
            }
            let (code, count, first) = lanes.left_over();
            self.trace.notes.add_many(code, count, first);
        }
        crate::check::check(&mut self.trace);
        self.trace
    }
}

/// When an event was and how long it took, with what was wrong about that.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    /// Start and length, ns; `None` where it cannot be placed in time.
    pub(crate) found: Option<(i64, i64)>,
    /// What was mended, or why it cannot be placed.
    pub(crate) note: Option<NoteCode>,
}

impl Times {
    fn of(event: &Event<'_>) -> Self {
        let start = match usable_start(event) {
            Ok(start) => start,
            Err(code) => return Self { found: None, note: Some(code) },
        };
        let (dur, note) = match number::nanoseconds(event[Member::Dur]) {
            Ok(dur) if dur > MAX_LENGTH => (None, Some(NoteCode::AbsurdTime)),
            Ok(dur) if dur < 0 => (Some(0), Some(NoteCode::NegativeDuration)),
            Ok(dur) => (Some(dur), None),
            Err(NotANumber::Missing) => (Some(0), Some(NoteCode::NoDuration)),
            Err(NotANumber::TooLarge) => (None, Some(NoteCode::AbsurdTime)),
        };
        Self { found: dur.map(|dur| (start, dur)), note }
    }
}

/// The start of an event, ns, or why it has none.
fn usable_start(event: &Event<'_>) -> Result<i64, NoteCode> {
    match number::nanoseconds(event[Member::Ts]) {
        Ok(start) if start.abs() <= MAX_TIME => Ok(start),
        Ok(_) | Err(NotANumber::TooLarge) => Err(NoteCode::AbsurdTime),
        Err(NotANumber::Missing) => Err(NoteCode::NoStart),
    }
}

/// The GPU of an event: its argument, or else the process it is filed under.
fn device(event: &Event<'_>, args: &Args<'_>) -> i32 {
    let device = number::integer(args[Arg::Device]).ok().or_else(|| number::identity(event[Member::Pid]));
    device.and_then(|n| i32::try_from(n).ok()).unwrap_or(-1)
}
