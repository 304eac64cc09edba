//! What a recording is, once it has been read: columns of events, interned
//! names, intervals and units.
//!
//! The model knows no file format and no cause. Times are `i64` nanoseconds on
//! the trace's own clock (`Meta::base_unix_ns` turns them into Unix time);
//! handles are `u32` newtypes; every table is a struct of `Vec`s.
//!
//! * [`Trace`] – one process's profiler trace: host events, GPU activities, and what
//!   was said about the machine.
//! * [`Spans`] – sorted, disjoint intervals: the algebra that every share is computed with.
//! * [`Samples`] – what was sampled of a running program from outside.
//! * [`FlightDump`] – the last collectives of one rank, as its flight recorder held them.
//! * [`MemorySnapshot`] – what a CUDA allocator held, and what it did before.
//! * [`NcclLog`] – which ranks there are, and over what each pair talks, as NCCL logs it.
//! * [`NcuKernels`] – what Nsight Compute measured of single kernels.
//! * [`MachineFacts`] – cards, links and settings of a machine, as its tools print them.
//! * [`MetricSample`] – a figure with labels, from a store of metrics.
//! * [`ImportNotes`] – what was wrong with the input, counted by [`NoteCode`].

mod flight;
mod gpu;
mod host;
mod ids;
mod intern;
mod machine;
mod memory;
mod meta;
mod metric;
mod nccl;
mod ncu;
mod notes;
mod os;
mod samples;
mod spans;
mod trace;

pub use flight::{FlightDump, FlightEntries, FlightGroup, FlightState};
pub use gpu::{Collective, CollectiveOwner, GpuActivities, GpuActivity, GpuKind, SyncRecord};
pub use host::{HostEvent, HostEvents, HostKind, MemoryEvents};
pub use ids::{GpuId, HostId, StreamId, Sym, ThreadId};
pub use intern::Interner;
pub use machine::{CardFacts, CardProcess, HeldDown, Joined, MachineFacts, Pair};
pub use memory::{
    AllocatorAction, AllocatorEvents, AllocatorSettings, BlockState, Blocks, MemoryMark, MemorySnapshot,
    MemoryStacks, MemorySummary, Segments, SummaryRow, Times,
};
pub use meta::{DeviceProperties, Distributed, Meta, Recorder, Stream, Thread, Vendor};
pub use metric::MetricSample;
pub use nccl::{LinkPath, NcclLink, NcclLog, NcclRank, NcclWarning};
pub use ncu::{NcuKernels, NcuMetric, NcuStall};
pub use notes::{ImportNotes, Note, NoteCode, Severity};
pub use os::{CpuSamples, OffCore, OsCalls, OsRecords};
pub use samples::{Frame, Samples, Seen, Stack, Stacks, Table};
pub use spans::{Span, Spans};
pub use trace::Trace;
