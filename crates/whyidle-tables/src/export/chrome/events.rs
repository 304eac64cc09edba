//! The events of a trace, as they were.

use std::io::{self, Write};

use rustc_hash::FxHashMap;
use serde::de::IgnoredAny;
use whyidle_model::{Collective, CollectiveOwner, GpuId, GpuKind, HostId, HostKind, Sym, Trace};

use super::json::{Members, Micros};
use super::{Place, Writer};
use crate::column::Stop;
use crate::source::Traced;

pub(super) fn write<W: Write>(to: &mut Writer<W>, from: &Traced<'_>, place: &Place) -> Result<(), Stop> {
    let mut events = Events::new(to, from, place);
    events.names()?;
    events.window()?;
    for row in 0..from.trace.host.len() {
        events.host(HostId::from_index(row))?;
    }
    for row in 0..from.trace.gpu.len() {
        events.gpu(GpuId::from_index(row))?;
    }
    events.syncs()?;
    events.memory()?;
    Ok(())
}

struct Events<'t, 'a, W> {
    to: &'t mut Writer<W>,
    from: &'t Traced<'a>,
    trace: &'a Trace,
    place: &'t Place,
    /// Rows of `trace.collectives` by owner: of the host, of a GPU.
    collectives: [FxHashMap<u32, usize>; 2],
    /// By symbol: it is JSON.
    is_json: FxHashMap<Sym, bool>,
    categories: [String; 10],
}

/// Categories, in the order of `Events::categories`.
const CATEGORIES: [&str; 10] = [
    "cpu_op",
    "cuda_runtime",
    "cuda_driver",
    "user_annotation",
    "python_function",
    "overhead",
    "kernel",
    "gpu_memcpy",
    "gpu_memset",
    "ac2g",
];
const FLOW: usize = 9;

impl<'t, 'a, W: Write> Events<'t, 'a, W> {
    fn new(to: &'t mut Writer<W>, from: &'t Traced<'a>, place: &'t Place) -> Self {
        let mut collectives = [FxHashMap::default(), FxHashMap::default()];
        for (row, collective) in from.trace.collectives.iter().enumerate() {
            match collective.owner {
                CollectiveOwner::Host(id) => collectives[0].insert(id.0, row),
                CollectiveOwner::Gpu(id) => collectives[1].insert(id.0, row),
            };
        }
        let categories = CATEGORIES.map(|name| place.category(name));
        Self { to, from, trace: from.trace, place, collectives, is_json: FxHashMap::default(), categories }
    }

    /// Names of processes and threads.
    fn names(&mut self) -> io::Result<()> {
        let label = self.place.label(self.trace);
        let mut pids: Vec<i64> = self.trace.threads.iter().map(|thread| thread.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        for pid in pids {
            let number = self.place.pid(pid);
            self.to.meta("process_name", number, 0, &format!("{label}process {pid}"))?;
        }
        for thread in self.trace.threads.iter().filter(|thread| thread.name != Sym::EMPTY) {
            let name = self.trace.names.get(thread.name);
            self.to.meta("thread_name", self.place.pid(thread.pid), thread.tid, name)?;
        }
        let mut devices: Vec<i32> = self.trace.streams.iter().map(|stream| stream.device).collect();
        devices.sort_unstable();
        devices.dedup();
        for device in devices {
            let number = self.place.pid(i64::from(device));
            self.to.meta("process_name", number, 0, &format!("{label}GPU {device}"))?;
        }
        for stream in &self.trace.streams {
            let pid = i64::from(stream.device);
            // A thread of that number keeps its own name.
            let taken =
                self.trace.threads.iter().any(|thread| thread.pid == pid && thread.tid == stream.number);
            if !taken {
                let name = format!("stream {}", stream.number);
                self.to.meta("thread_name", self.place.pid(pid), stream.number, &name)?;
            }
        }
        Ok(())
    }

    /// The window that the profiler says it recorded.
    fn window(&mut self) -> io::Result<()> {
        let Some((start, end)) = self.trace.meta.window else { return Ok(()) };
        let category = self.place.category("Trace");
        let mut event = Members::open(self.to.next()?)?;
        event.text("ph", "X")?;
        event.text("cat", &category)?;
        event.text("name", "PyTorch Profiler (0)")?;
        event.raw("pid", self.place.own)?;
        event.raw("tid", 0)?;
        event.raw("ts", Micros(start))?;
        event.raw("dur", Micros(end - start))?;
        event.close()
    }

    fn host(&mut self, id: HostId) -> io::Result<()> {
        let one = self.trace.host.get(id);
        let (category, link) = match one.kind {
            HostKind::Op => (0, "External id"),
            HostKind::Runtime => (1, "correlation"),
            HostKind::Driver => (2, "correlation"),
            HostKind::Annotation => (3, "External id"),
            HostKind::Python => (4, "External id"),
            HostKind::Overhead => (5, "External id"),
        };
        let names = &self.trace.names;
        let inputs = self.trace.host.concrete_inputs(id).unwrap_or(Sym::EMPTY);
        let json = [one.dims, one.types, inputs].map(|sym| self.as_json(sym));
        let thread = self.trace.threads[one.thread.index()];
        let pid = self.place.pid(thread.pid);
        let mut event = Members::open(self.to.next()?)?;
        event.text("ph", "X")?;
        event.text("cat", &self.categories[category])?;
        event.text("name", names.get(one.name))?;
        event.raw("pid", pid)?;
        event.raw("tid", thread.tid)?;
        event.raw("ts", Micros(one.start))?;
        event.raw("dur", Micros(one.dur))?;
        let mut args = event.object("args")?;
        if one.link != 0 {
            args.raw(link, one.link)?;
        }
        for (key, value) in ["Input Dims", "Input type", "Concrete Inputs"].into_iter().zip(json) {
            if let Some(value) = value {
                args.raw(key, value)?;
            }
        }
        if one.sequence >= 0 {
            args.raw("Sequence number", one.sequence)?;
        }
        if one.forward_thread != 0 {
            args.raw("Fwd thread id", one.forward_thread)?;
        }
        if let Some(stack) = self.trace.host.stack(id) {
            args.text("Call stack", names.get(stack))?;
        }
        if let Some(&row) = self.collectives[0].get(&id.0) {
            collective(&mut args, self.trace, &self.trace.collectives[row])?;
        }
        args.close()?;
        event.close()
    }

    fn gpu(&mut self, id: GpuId) -> io::Result<()> {
        let one = self.trace.gpu.get(id);
        let category = match one.kind {
            GpuKind::Kernel => 6,
            GpuKind::Memcpy => 7,
            GpuKind::Memset => 8,
        };
        let stream = self.trace.streams[one.stream.index()];
        let pid = self.place.pid(i64::from(stream.device));
        let mut event = Members::open(self.to.next()?)?;
        event.text("ph", "X")?;
        event.text("cat", &self.categories[category])?;
        event.text("name", self.trace.names.get(one.name))?;
        event.raw("pid", pid)?;
        event.raw("tid", stream.number)?;
        event.raw("ts", Micros(one.start))?;
        event.raw("dur", Micros(one.dur))?;
        let mut args = event.object("args")?;
        args.raw("device", stream.device)?;
        args.raw("stream", stream.number)?;
        for (key, number) in [("correlation", one.correlation), ("External id", one.external)] {
            if number != 0 {
                args.raw(key, number)?;
            }
        }
        if one.bytes > 0 {
            args.raw("bytes", one.bytes)?;
        }
        // Their product is what is kept of the sides.
        for (key, product) in [("grid", one.blocks), ("block", one.threads)] {
            if product > 0 {
                args.raw(key, format_args!("[{product},1,1]"))?;
            }
        }
        if let Some(&row) = self.collectives[1].get(&id.0) {
            collective(&mut args, self.trace, &self.trace.collectives[row])?;
        }
        args.close()?;
        event.close()?;
        self.flow(id)
    }

    /// An arrow from the launching call to the activity.
    fn flow(&mut self, id: GpuId) -> io::Result<()> {
        let Some(call) = self.from.facts.tree.launch_of(id) else { return Ok(()) };
        let thread = self.trace.threads[self.trace.host.thread[call.index()].index()];
        let stream = self.trace.streams[self.trace.gpu.stream[id.index()].index()];
        let number = (self.place.number as u64) << 32 | u64::from(id.0);
        for (phase, pid, tid, ts) in [
            ("s", thread.pid, thread.tid, self.trace.host.start[call.index()]),
            ("f", i64::from(stream.device), stream.number, self.trace.gpu.start[id.index()]),
        ] {
            let pid = self.place.pid(pid);
            let mut event = Members::open(self.to.next()?)?;
            event.text("ph", phase)?;
            event.text("cat", &self.categories[FLOW])?;
            event.text("name", "ac2g")?;
            event.raw("id", number)?;
            event.raw("pid", pid)?;
            event.raw("tid", tid)?;
            event.raw("ts", Micros(ts))?;
            if phase == "f" {
                event.text("bp", "e")?;
            }
            event.close()?;
        }
        Ok(())
    }

    fn syncs(&mut self) -> io::Result<()> {
        let category = self.place.category("cuda_sync");
        for sync in &self.trace.syncs {
            let pid = self.place.pid(i64::from(sync.device));
            let kind = self.trace.names.get(sync.kind);
            let mut event = Members::open(self.to.next()?)?;
            event.text("ph", "X")?;
            event.text("cat", &category)?;
            event.text("name", kind)?;
            event.raw("pid", pid)?;
            event.raw("tid", sync.stream)?;
            event.raw("ts", Micros(sync.start))?;
            event.raw("dur", Micros(sync.dur))?;
            let mut args = event.object("args")?;
            args.text("cuda_sync_kind", kind)?;
            args.raw("device", sync.device)?;
            args.raw("stream", sync.stream)?;
            if sync.correlation != 0 {
                args.raw("correlation", sync.correlation)?;
            }
            if let Some(stream) = sync.wait_on_stream {
                args.raw("wait_on_stream", stream)?;
            }
            if let Some(record) = sync.wait_on_record {
                args.raw("wait_on_cuda_event_record_corr_id", record)?;
            }
            args.close()?;
            event.close()?;
        }
        Ok(())
    }

    fn memory(&mut self) -> io::Result<()> {
        let memory = &self.trace.memory;
        // Whose thread it was is not kept; the first one's track shows it.
        let thread = self.trace.threads.first();
        let (pid, tid) = thread.map_or((0, 0), |thread| (thread.pid, thread.tid));
        // Only the first trace's are read back: the name is what the reader knows them by.
        let name = if self.place.number == 0 { "[memory]" } else { "memory" };
        for row in 0..memory.time.len() {
            let pid = self.place.pid(pid);
            let mut event = Members::open(self.to.next()?)?;
            event.text("ph", "i")?;
            event.text("s", "t")?;
            event.text("cat", "cpu_instant_event")?;
            event.text("name", name)?;
            event.raw("pid", pid)?;
            event.raw("tid", tid)?;
            event.raw("ts", Micros(memory.time[row]))?;
            let mut args = event.object("args")?;
            args.raw("Device Type", u8::from(memory.device[row] >= 0))?;
            args.raw("Device Id", memory.device[row])?;
            args.raw("Bytes", memory.bytes[row])?;
            for (key, total) in [
                ("Total Allocated", memory.total_allocated[row]),
                ("Total Reserved", memory.total_reserved[row]),
            ] {
                if total >= 0 {
                    args.raw(key, total)?;
                }
            }
            args.close()?;
            event.close()?;
        }
        Ok(())
    }

    /// The JSON behind a symbol; as text where the file that was read held none.
    fn as_json(&mut self, sym: Sym) -> Option<String> {
        if sym == Sym::EMPTY {
            return None;
        }
        let text = self.trace.names.get(sym);
        let is_json =
            *self.is_json.entry(sym).or_insert_with(|| serde_json::from_str::<IgnoredAny>(text).is_ok());
        Some(if is_json { text.to_owned() } else { serde_json::Value::from(text).to_string() })
    }
}

fn collective<W: Write>(args: &mut Members<'_, W>, trace: &Trace, of: &Collective) -> io::Result<()> {
    args.text("Collective name", trace.names.get(of.name))?;
    args.raw("In msg nelems", of.in_elements)?;
    args.raw("Out msg nelems", of.out_elements)?;
    for (key, sym) in [
        ("dtype", of.dtype),
        ("Process Group Name", of.group),
        ("Process Group Description", of.group_description),
        ("Process Group Ranks", of.ranks),
    ] {
        if sym != Sym::EMPTY {
            args.text(key, trace.names.get(sym))?;
        }
    }
    if of.group_size > 0 {
        args.raw("Group size", of.group_size)?;
    }
    if let Some(sequence) = of.sequence {
        args.raw("Seq", sequence)?;
    }
    if let Some(rank) = of.rank {
        args.raw("Rank", rank)?;
    }
    Ok(())
}

impl<W: Write> Writer<W> {
    /// The name of a process or a thread.
    pub(super) fn meta(&mut self, kind: &str, pid: i64, tid: i64, name: &str) -> io::Result<()> {
        let mut event = Members::open(self.next()?)?;
        event.text("ph", "M")?;
        event.text("name", kind)?;
        event.raw("pid", pid)?;
        event.raw("tid", tid)?;
        event.raw("ts", 0)?;
        let mut args = event.object("args")?;
        args.text("name", name)?;
        args.close()?;
        event.close()
    }
}
