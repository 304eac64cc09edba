//! One process's profiler trace.

use crate::{
    Collective, GpuActivities, HostEvents, ImportNotes, Interner, MemoryEvents, Meta, OsRecords, Stream,
    StreamId, SyncRecord, Thread, ThreadId,
};

/// One process's profiler trace, as columns. Rows are in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// What the header says.
    pub meta: Meta,
    /// All strings.
    pub names: Interner,
    /// Threads with events.
    pub threads: Vec<Thread>,
    /// Streams with activities.
    pub streams: Vec<Stream>,
    /// What the host did.
    pub host: HostEvents,
    /// What the GPUs did.
    pub gpu: GpuActivities,
    /// Synchronisations on the GPU's clock; empty unless the profiler was asked for them.
    pub syncs: Vec<SyncRecord>,
    /// What the operating system says of the threads; empty unless the tracer was asked for it.
    pub os: OsRecords,
    /// Allocations; empty unless the profiler was asked for them.
    pub memory: MemoryEvents,
    /// Arguments of collectives.
    pub collectives: Vec<Collective>,
    /// What was wrong with the input.
    pub notes: ImportNotes,
    /// Events in the file, used or not.
    pub events: u64,
}

impl Trace {
    /// The handle of a thread, added if it is new.
    pub fn thread(&mut self, pid: i64, tid: i64) -> ThreadId {
        if let Some(at) = self.threads.iter().rposition(|t| t.pid == pid && t.tid == tid) {
            return ThreadId::from_index(at);
        }
        self.threads.push(Thread { pid, tid, name: crate::Sym::EMPTY });
        ThreadId::from_index(self.threads.len() - 1)
    }

    /// The handle of a stream, added if it is new.
    pub fn stream(&mut self, device: i32, number: i64) -> StreamId {
        if let Some(at) = self.streams.iter().rposition(|s| s.device == device && s.number == number) {
            return StreamId::from_index(at);
        }
        self.streams.push(Stream { device, number });
        StreamId::from_index(self.streams.len() - 1)
    }
}
