//! One file per cause: what it is, when it holds, its evidence, remedy and gain.
//!
//! Adding a cause: a file here, a row in [`CAUSES`], its page in the report's `causes.ftl` and its
//! sentences in `findings.ftl` (both languages), and a test.

mod bound;
mod comm_accumulation;
mod comm_exposed;
mod comm_sharding;
mod comm_unbucketed;
mod comm_unsplit;
mod compile_recompile;
mod compute_alignment;
mod compute_attention;
mod compute_elementwise;
mod compute_padding;
mod compute_precision;
mod data_in_process;
mod data_transfer;
mod data_workers;
mod host_gc;
mod host_launch;
mod host_optimizer;
mod host_python;
mod host_sync;
mod io_checkpoint;
mod io_logging;
mod kernels;
mod memory_allocator;
mod memory_headroom;
mod memory_recompute;
mod pipeline_bubble;
pub(crate) mod support;

pub(crate) use comm_sharding::regathering;
pub(crate) use host_launch::Launches;
pub(crate) use memory_headroom::traced_peak;
pub(crate) use memory_recompute::{recomputation, without_recomputation};

use crate::case::Case;
use crate::verdict::Finding;

/// A cause: its stable id and the check that finds it.
pub struct Cause {
    /// Stable id.
    pub id: &'static str,
    /// Message: what the GPU waits for, or what is wrong with its work.
    pub because: &'static str,
    /// Message: what limits the step once everything before it is cured.
    pub limit: &'static str,
    /// The finding, if the cause holds.
    pub check: fn(&Case<'_>) -> Option<Finding>,
}

macro_rules! causes {
    ($($id:literal => $module:ident),* $(,)?) => {
        /// Every cause that one trace can show.
        pub const CAUSES: &[Cause] = &[$(Cause {
            id: $id,
            because: concat!("because-", $id),
            limit: concat!("limit-", $id),
            check: $module::check,
        }),*];
    };
}

causes! {
    "data.in_process" => data_in_process,
    "data.workers" => data_workers,
    "data.transfer" => data_transfer,
    "host.launch" => host_launch,
    "host.sync" => host_sync,
    "host.python" => host_python,
    "host.gc" => host_gc,
    "host.optimizer" => host_optimizer,
    "memory.allocator" => memory_allocator,
    "memory.recompute" => memory_recompute,
    "memory.headroom" => memory_headroom,
    "compile.recompile" => compile_recompile,
    "io.checkpoint" => io_checkpoint,
    "io.logging" => io_logging,
    "comm.exposed" => comm_exposed,
    "comm.unbucketed" => comm_unbucketed,
    "comm.accumulation" => comm_accumulation,
    "comm.sharding" => comm_sharding,
    "comm.unsplit" => comm_unsplit,
    "pipeline.bubble" => pipeline_bubble,
    "compute.precision" => compute_precision,
    "compute.attention" => compute_attention,
    "compute.elementwise" => compute_elementwise,
    "compute.alignment" => compute_alignment,
    "compute.padding" => compute_padding,
    "compute.bound" => bound,
}

/// The cause called `id`.
pub(crate) fn cause(id: &str) -> Option<&'static Cause> {
    CAUSES.iter().find(|cause| cause.id == id)
}

/// Figures about the launches of a case.
pub(crate) fn launches(case: &Case<'_>) -> Launches {
    Launches::of(case)
}
