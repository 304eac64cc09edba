//! What the program's threads did: operators, runtime calls, annotations, Python frames.

use crate::{HostId, Sym, ThreadId};

/// What sort of host event a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum HostKind {
    /// A framework operator (`aten::mm`, `autograd::engine::evaluate_function: …`).
    Op,
    /// A call into the CUDA or HIP runtime (`cudaLaunchKernel`, `hipMemcpyAsync`).
    Runtime,
    /// A call into the driver (`cuLaunchKernelEx`).
    Driver,
    /// A named range set by the program or the framework (`ProfilerStep#3`, `Optimizer.step#AdamW.step`).
    Annotation,
    /// A Python frame (`train.py(41): main`) or builtin (`<built-in function collect>`).
    Python,
    /// The profiler's own work as it reports it (`Buffer Flush`).
    Overhead,
}

/// One row of [`HostEvents`], by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostEvent {
    /// Start, ns.
    pub start: i64,
    /// Length, ns; never negative.
    pub dur: i64,
    /// Name.
    pub name: Sym,
    /// Sort of event.
    pub kind: HostKind,
    /// Thread it ran on.
    pub thread: ThreadId,
    /// Runtime and driver calls: the correlation id shared with the activity they
    /// launched. Operators and annotations: their external id. 0: none.
    pub link: u32,
    /// Operators: shapes of the inputs, the JSON text of `Input Dims` without spaces. [`Sym::EMPTY`]: not recorded.
    pub dims: Sym,
    /// Operators: types of the inputs, the JSON text of `Input type` without spaces. [`Sym::EMPTY`]: not recorded.
    pub types: Sym,
    /// Operators: autograd's `Sequence number`, which is recorded while gradients are being
    /// tracked; −1: not recorded. A forward operator with one *inside* backward is a recomputation.
    pub sequence: i32,
    /// Operators: `Fwd thread id`, not 0 on the backward node of an operator; 0: not recorded.
    pub forward_thread: u32,
}

impl HostEvent {
    /// End, ns.
    #[must_use]
    pub fn end(&self) -> i64 {
        self.start + self.dur
    }
}

/// Host events, one `Vec` per field of [`HostEvent`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each column is the field of HostEvent of the same name")]
pub struct HostEvents {
    pub start: Vec<i64>,
    pub dur: Vec<i64>,
    pub name: Vec<Sym>,
    pub kind: Vec<HostKind>,
    pub thread: Vec<ThreadId>,
    pub link: Vec<u32>,
    pub dims: Vec<Sym>,
    pub types: Vec<Sym>,
    pub sequence: Vec<i32>,
    pub forward_thread: Vec<u32>,
    /// Call stacks that some (older) traces keep with an operator: frames innermost first, joined by `;`. Sparse, ascending by row.
    pub stacks: Vec<(HostId, Sym)>,
    /// `Concrete Inputs` of the few operators whose meaning depends on them, JSON text. Sparse, ascending by row.
    pub inputs: Vec<(HostId, Sym)>,
}

impl HostEvents {
    /// Appends a row.
    pub fn push(&mut self, event: HostEvent) -> HostId {
        let id = HostId::from_index(self.start.len());
        self.start.push(event.start);
        self.dur.push(event.dur);
        self.name.push(event.name);
        self.kind.push(event.kind);
        self.thread.push(event.thread);
        self.link.push(event.link);
        self.dims.push(event.dims);
        self.types.push(event.types);
        self.sequence.push(event.sequence);
        self.forward_thread.push(event.forward_thread);
        id
    }

    /// The row `id`.
    #[must_use]
    pub fn get(&self, id: HostId) -> HostEvent {
        let i = id.index();
        HostEvent {
            start: self.start[i],
            dur: self.dur[i],
            name: self.name[i],
            kind: self.kind[i],
            thread: self.thread[i],
            link: self.link[i],
            dims: self.dims[i],
            types: self.types[i],
            sequence: self.sequence[i],
            forward_thread: self.forward_thread[i],
        }
    }

    /// End of row `id`, ns.
    #[must_use]
    pub fn end(&self, id: HostId) -> i64 {
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

    /// The stack kept with row `id`, if any.
    #[must_use]
    pub fn stack(&self, id: HostId) -> Option<Sym> {
        sparse(&self.stacks, id)
    }

    /// The concrete inputs kept with row `id`, if any.
    #[must_use]
    pub fn concrete_inputs(&self, id: HostId) -> Option<Sym> {
        sparse(&self.inputs, id)
    }
}

fn sparse(column: &[(HostId, Sym)], id: HostId) -> Option<Sym> {
    column.binary_search_by_key(&id, |&(row, _)| row).ok().map(|at| column[at].1)
}

/// `[memory]` instants: what the caching allocator handed out and took back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryEvents {
    /// When, ns.
    pub time: Vec<i64>,
    /// Bytes handed out (positive) or taken back (negative).
    pub bytes: Vec<i64>,
    /// Bytes allocated on the device after the event; −1 where not recorded.
    pub total_allocated: Vec<i64>,
    /// Bytes reserved on the device after the event; −1 where not recorded.
    pub total_reserved: Vec<i64>,
    /// GPU number; −1 for host memory.
    pub device: Vec<i32>,
}
