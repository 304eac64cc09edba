//! What the GPUs did: kernels, copies, memsets, and what is known of collectives.

use crate::{GpuId, HostId, StreamId, Sym};

/// What sort of GPU activity a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum GpuKind {
    /// A kernel, collectives included.
    Kernel,
    /// A copy; its direction is in its name.
    Memcpy,
    /// A memset.
    Memset,
}

/// One row of [`GpuActivities`], by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuActivity {
    /// Start, ns.
    pub start: i64,
    /// Length, ns; never negative.
    pub dur: i64,
    /// Name.
    pub name: Sym,
    /// Sort of activity.
    pub kind: GpuKind,
    /// Device and stream it ran on.
    pub stream: StreamId,
    /// Correlation id shared with the runtime or driver call that launched it; 0: none.
    pub correlation: u32,
    /// External id of the operator that owns it; 0: none.
    pub external: u32,
    /// Copies and memsets: bytes moved; 0 where not recorded.
    pub bytes: u64,
    /// Kernels: thread blocks in the grid (product of its sides, saturating); 0 where not recorded.
    pub blocks: u32,
    /// Kernels: threads per block; 0 where not recorded.
    pub threads: u32,
}

/// GPU activities, one `Vec` per field of [`GpuActivity`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each column is the field of GpuActivity of the same name")]
pub struct GpuActivities {
    pub start: Vec<i64>,
    pub dur: Vec<i64>,
    pub name: Vec<Sym>,
    pub kind: Vec<GpuKind>,
    pub stream: Vec<StreamId>,
    pub correlation: Vec<u32>,
    pub external: Vec<u32>,
    pub bytes: Vec<u64>,
    pub blocks: Vec<u32>,
    pub threads: Vec<u32>,
}

impl GpuActivities {
    /// Appends a row.
    pub fn push(&mut self, activity: GpuActivity) -> GpuId {
        let id = GpuId::from_index(self.start.len());
        self.start.push(activity.start);
        self.dur.push(activity.dur);
        self.name.push(activity.name);
        self.kind.push(activity.kind);
        self.stream.push(activity.stream);
        self.correlation.push(activity.correlation);
        self.external.push(activity.external);
        self.bytes.push(activity.bytes);
        self.blocks.push(activity.blocks);
        self.threads.push(activity.threads);
        id
    }

    /// The row `id`.
    #[must_use]
    pub fn get(&self, id: GpuId) -> GpuActivity {
        let i = id.index();
        GpuActivity {
            start: self.start[i],
            dur: self.dur[i],
            name: self.name[i],
            kind: self.kind[i],
            stream: self.stream[i],
            correlation: self.correlation[i],
            external: self.external[i],
            bytes: self.bytes[i],
            blocks: self.blocks[i],
            threads: self.threads[i],
        }
    }

    /// End of row `id`, ns.
    #[must_use]
    pub fn end(&self, id: GpuId) -> i64 {
        self.start[id.index()] + self.dur[id.index()]
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// True without rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }
}

/// Whose arguments a [`Collective`] row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveOwner {
    /// A kernel.
    Gpu(GpuId),
    /// The operator `record_param_comms` that described it on the host.
    Host(HostId),
}

/// The arguments that the framework records with a collective.
///
/// Sizes are numbers of elements of `dtype`, as the framework writes them
/// (`torch/csrc/distributed/c10d/ParamCommsUtils.hpp`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collective {
    /// The event that carries the arguments.
    pub owner: CollectiveOwner,
    /// `allreduce`, `_allgather_base`, …
    pub name: Sym,
    /// Elements sent by this rank.
    pub in_elements: i64,
    /// Elements received by this rank.
    pub out_elements: i64,
    /// `Float`, `BFloat16`, …
    pub dtype: Sym,
    /// Name of the process group.
    pub group: Sym,
    /// Description of the process group (`default_pg`, …).
    pub group_description: Sym,
    /// Members of the group; 0 where not recorded.
    pub group_size: u32,
    /// Members as text, shortened by the framework after 30 entries.
    pub ranks: Sym,
    /// Sequence number within the group, where recorded.
    pub sequence: Option<i64>,
    /// `Rank`, as recorded: the own rank for collectives, the peer for send/recv on the host.
    pub rank: Option<i32>,
}

/// A row of category `cuda_sync`: a synchronisation seen by the GPU's clock. Recorded
/// only where the profiler was asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncRecord {
    /// Start, ns.
    pub start: i64,
    /// Length, ns.
    pub dur: i64,
    /// `Stream Sync`, `Event Sync`, `Context Sync`, `Stream Wait Event`.
    pub kind: Sym,
    /// Device it was recorded for.
    pub device: i32,
    /// Stream that waits or is waited for; −1: all.
    pub stream: i64,
    /// Correlation id of the runtime call.
    pub correlation: u32,
    /// `Stream Wait Event`: the stream whose event is awaited.
    pub wait_on_stream: Option<i64>,
    /// `Stream Wait Event`, `Event Sync`: correlation id of the call that recorded the event.
    pub wait_on_record: Option<u32>,
}
