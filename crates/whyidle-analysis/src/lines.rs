//! The lines of the ledger, and what goes on which.

use serde::{Deserialize, Serialize};

use crate::kernelclass::Work;
use crate::tree::Context;

macro_rules! lines {
    ($($(#[$doc:meta])* $variant:ident = $id:literal, $kind:ident;)*) => {
        /// A line of the ledger.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum Line { $($(#[$doc])* $variant,)* }

        impl Line {
            /// Every line, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Stable id.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// Work, waiting or neither.
            #[must_use]
            pub fn kind(self) -> Kind {
                match self { $(Self::$variant => Kind::$kind,)* }
            }
        }
    };
}

/// Whether a line is work, waiting, or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The GPU works.
    Working,
    /// The GPU waits, or runs a copy or collective that nothing hides.
    Waiting,
    /// Pauses between queued kernels, and what nothing explains.
    Rest,
}

impl Kind {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Waiting => "waiting",
            Self::Rest => "rest",
        }
    }
}

lines! {
    /// Matrix products.
    Matmul = "working.matmul", Working;
    /// Fused attention.
    Attention = "working.attention", Working;
    /// Convolutions.
    Convolution = "working.convolution", Working;
    /// Norms.
    Normalisation = "working.normalisation", Working;
    /// Softmax written out.
    Softmax = "working.softmax", Working;
    /// Element-wise operations.
    Elementwise = "working.elementwise", Working;
    /// Reductions.
    Reduction = "working.reduction", Working;
    /// Embeddings and indexing.
    Embedding = "working.embedding", Working;
    /// Losses.
    Loss = "working.loss", Working;
    /// Parameter updates.
    Optimizer = "working.optimizer", Working;
    /// A second forward inside backward.
    Recompute = "working.recompute", Working;
    /// Copies within the device, memsets.
    Copy = "working.copy", Working;
    /// Other kernels.
    Other = "working.other", Working;
    /// Items prepared in the training process.
    DataInProcess = "data.in_process", Waiting;
    /// Loader workers that cannot keep up.
    DataWorkers = "data.workers", Waiting;
    /// Copies to the device that nothing hides, and the host's part in them.
    DataTransfer = "data.transfer", Waiting;
    /// Operators and calls that launch too late.
    HostLaunch = "host.launch", Waiting;
    /// Run-ahead that a synchronisation took away, and the synchronisation's own time.
    HostSync = "host.sync", Waiting;
    /// Python without an operator.
    HostPython = "host.python", Waiting;
    /// Garbage collection.
    HostGc = "host.gc", Waiting;
    /// The host's part of the optimizer.
    HostOptimizer = "host.optimizer", Waiting;
    /// The driver's allocator.
    Allocator = "memory.allocator", Waiting;
    /// Compilation.
    Recompile = "compile.recompile", Waiting;
    /// Saving.
    Checkpoint = "io.checkpoint", Waiting;
    /// Logging.
    Logging = "io.logging", Waiting;
    /// Collectives that nothing hides: transfer or waiting for another rank.
    Communication = "comm.unsplit", Waiting;
    /// Launched in time and yet not started: the device waits for an event of another stream, for
    /// another rank, or for work that the trace does not show.
    DeviceWait = "gpu.wait", Waiting;
    /// Pauses between queued kernels, and the GPU's own start latency.
    Latency = "rest.latency", Rest;
    /// The profiler's own visible work.
    Profiler = "rest.profiler", Rest;
    /// Time of the true step that the traced steps do not show, and that no wait in them accounts for. Empty in
    /// the trace itself.
    Outside = "rest.outside", Rest;
    /// What nothing explains.
    Unexplained = "rest.unexplained", Rest;
}

impl Line {
    /// Number of lines.
    pub const COUNT: usize = Self::ALL.len();

    pub(crate) fn of_work(work: Work) -> Self {
        match work {
            Work::Matmul => Self::Matmul,
            Work::Attention => Self::Attention,
            Work::Convolution => Self::Convolution,
            Work::Normalisation => Self::Normalisation,
            Work::Softmax => Self::Softmax,
            Work::Elementwise => Self::Elementwise,
            Work::Reduction => Self::Reduction,
            Work::Embedding => Self::Embedding,
            Work::Loss => Self::Loss,
            Work::Optimizer => Self::Optimizer,
            Work::Recompute => Self::Recompute,
            Work::Copy => Self::Copy,
            Work::HostCopy => Self::DataTransfer,
            Work::Collective => Self::Communication,
            Work::Other => Self::Other,
        }
    }

    pub(crate) fn of_context(context: Context) -> Self {
        match context {
            Context::Unnamed | Context::Frame | Context::Idle => Self::HostPython,
            Context::Operator | Context::Collective => Self::HostLaunch,
            Context::Optimizer => Self::HostOptimizer,
            Context::Transfer => Self::DataTransfer,
            Context::Synchronise => Self::HostSync,
            Context::Allocate => Self::Allocator,
            Context::Compile => Self::Recompile,
            Context::Collect => Self::HostGc,
            Context::Checkpoint => Self::Checkpoint,
            Context::Log => Self::Logging,
            Context::LoadInProcess => Self::DataInProcess,
            Context::LoadFromWorkers => Self::DataWorkers,
            Context::Profiler => Self::Profiler,
        }
    }

    /// Host work that running ahead would have hidden.
    pub(crate) fn is_hidden_by_running_ahead(self) -> bool {
        matches!(self, Self::HostLaunch | Self::HostPython | Self::HostOptimizer)
    }
}
