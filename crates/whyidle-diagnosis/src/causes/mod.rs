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

use whyidle_model::Vendor;

use crate::case::Case;
use crate::edit::Edit;
use crate::verdict::Finding;
use crate::what_if::{Setting, Takes};

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
    /// Its remedy as an edit of the replay, if it has one that can be replayed.
    pub lever: Option<Lever>,
    /// Whose devices its rule, remedy and gain are known to hold for: on others nothing is claimed.
    pub holds_on: &'static [Vendor],
}

/// Causes whose rule rests on nothing that differs between devices.
const ANY: &[Vendor] = &[Vendor::Nvidia, Vendor::Amd, Vendor::Huawei];
/// Rates, kernel libraries and compilers that are known of CUDA and ROCm alone.
const GPUS: &[Vendor] = &[Vendor::Nvidia, Vendor::Amd];
/// What is known of NVIDIA's tensor cores and kernel libraries alone.
const NVIDIA: &[Vendor] = &[Vendor::Nvidia];

impl Cause {
    /// Whether what it rests on is known of the case's device.
    pub(crate) fn holds(&self, case: &Case<'_>) -> bool {
        self.holds_on.contains(&case.facts.vendor)
    }

    /// The finding, if the cause holds.
    pub(crate) fn find(&self, case: &Case<'_>) -> Option<Finding> {
        if self.holds(case) { (self.check)(case) } else { None }
    }

    /// The edit of its remedy; `None` where the trace holds nothing of it, or the device is another one's.
    pub(crate) fn edit<'a>(&self, case: &'a Case<'_>, setting: Option<&Setting>) -> Option<Edit<'a>> {
        let lever = self.lever.filter(|_| self.holds(case))?;
        (lever.edit)(case, setting)
    }
}

/// A remedy that can be replayed.
#[derive(Clone, Copy)]
pub struct Lever {
    /// What may be given with it.
    pub takes: Takes,
    /// The edit, without a setting the one that the finding proposes; `None` where the trace holds nothing of it.
    pub(crate) edit: for<'a> fn(&'a Case<'_>, Option<&Setting>) -> Option<Edit<'a>>,
}

macro_rules! causes {
    ($($id:literal => $module:ident on $vendors:ident $(takes $takes:expr)?),* $(,)?) => {
        /// Every cause that one trace can show, with what may be given to its remedy.
        pub const CAUSES: &[Cause] = &[$(Cause {
            id: $id,
            because: concat!("because-", $id),
            limit: concat!("limit-", $id),
            check: $module::check,
            lever: causes!(@lever $module $($takes)?),
            holds_on: $vendors,
        }),*];
    };
    (@lever $module:ident $takes:expr) => { Some(Lever { takes: $takes, edit: $module::edit }) };
    (@lever $module:ident) => { None };
}

causes! {
    "data.in_process" => data_in_process on ANY takes Takes::Count(MOST_WORKERS),
    "data.workers" => data_workers on ANY takes Takes::Count(MOST_WORKERS),
    "data.transfer" => data_transfer on ANY takes Takes::Nothing,
    "host.launch" => host_launch on ANY takes Takes::OneOf(&["graphs", "fused"]),
    "host.sync" => host_sync on ANY takes Takes::Nothing,
    "host.python" => host_python on ANY takes Takes::Name,
    "host.gc" => host_gc on ANY takes Takes::Nothing,
    "host.optimizer" => host_optimizer on GPUS takes Takes::Nothing,
    "memory.allocator" => memory_allocator on ANY takes Takes::Nothing,
    "memory.recompute" => memory_recompute on ANY takes Takes::Nothing,
    "memory.headroom" => memory_headroom on ANY takes Takes::Count(MOST_TIMES),
    "compile.recompile" => compile_recompile on ANY takes Takes::Nothing,
    "io.checkpoint" => io_checkpoint on ANY takes Takes::Nothing,
    "io.logging" => io_logging on ANY takes Takes::Nothing,
    "comm.exposed" => comm_exposed on ANY takes Takes::Count(MOST_TIMES),
    "comm.unbucketed" => comm_unbucketed on ANY takes Takes::Nothing,
    "comm.accumulation" => comm_accumulation on ANY takes Takes::Nothing,
    "comm.sharding" => comm_sharding on ANY takes Takes::Nothing,
    "comm.unsplit" => comm_unsplit on ANY,
    "pipeline.bubble" => pipeline_bubble on ANY takes Takes::Count(MOST_MICRO_BATCHES),
    "compute.precision" => compute_precision on GPUS takes Takes::OneOf(&["tf32", "bf16", "fp16"]),
    "compute.attention" => compute_attention on GPUS takes Takes::Nothing,
    "compute.elementwise" => compute_elementwise on GPUS takes Takes::Nothing,
    "compute.alignment" => compute_alignment on NVIDIA takes Takes::Nothing,
    "compute.padding" => compute_padding on ANY,
    "compute.bound" => bound on ANY,
}

/// More workers than any machine has cores are a slip.
const MOST_WORKERS: u32 = 4_096;
/// Batches, or micro-batches per reduction, this many times today's are a slip.
const MOST_TIMES: u32 = 1_024;
const MOST_MICRO_BATCHES: u32 = 65_536;

/// The cause called `id`.
pub(crate) fn cause(id: &str) -> Option<&'static Cause> {
    CAUSES.iter().find(|cause| cause.id == id)
}

/// Figures about the launches of a case.
pub(crate) fn launches(case: &Case<'_>) -> Launches {
    Launches::of(case)
}
