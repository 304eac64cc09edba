//! What the operating system says of a program's threads, where a tracer recorded it: calls, time off the core, and
//! where the processor was found.

use crate::{Sym, ThreadId};

/// Everything of one trace, as columns. Rows are in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OsRecords {
    /// Calls into the operating system's libraries.
    pub calls: OsCalls,
    /// Time off the core.
    pub off_core: OffCore,
    /// Samples of the processor.
    pub samples: CpuSamples,
}

/// Calls into the operating system's libraries (`read`, `pthread_cond_wait`). They nest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OsCalls {
    /// Start, ns.
    pub start: Vec<i64>,
    /// Length, ns; never negative.
    pub dur: Vec<i64>,
    /// Name.
    pub name: Vec<Sym>,
    /// Thread.
    pub thread: Vec<ThreadId>,
}

/// Stretches in which a thread ran on no core: from being switched out to being switched in again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffCore {
    /// Start, ns.
    pub start: Vec<i64>,
    /// Length, ns; never negative.
    pub dur: Vec<i64>,
    /// Thread.
    pub thread: Vec<ThreadId>,
}

/// Where the processor was found in a thread, at regular times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSamples {
    /// When, ns.
    pub t: Vec<i64>,
    /// Thread.
    pub thread: Vec<ThreadId>,
    /// The innermost function; [`Sym::EMPTY`] where it has no name.
    pub function: Vec<Sym>,
}

impl OsRecords {
    /// Nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.start.is_empty() && self.off_core.start.is_empty() && self.samples.t.is_empty()
    }
}
