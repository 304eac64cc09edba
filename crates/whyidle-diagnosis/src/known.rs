//! What is known of a run beside its trace: the user's own settings and measured figures.

use whyidle_planner::Said;

/// Settings and measurements that a recording or the command line states. Everything is optional.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// The true step, ns, as given on the command line.
    pub step_given_ns: Option<i64>,
    /// The true step, ns, as measured without a profiler.
    pub step_measured_ns: Option<i64>,
    /// Loader workers.
    pub workers: Option<u32>,
    /// Cores that the process may use.
    pub cpus: Option<u32>,
    /// Highest memory in use by tensors, bytes.
    pub peak_memory: Option<u64>,
    /// Micro-batches accumulated per optimizer step.
    pub accumulation: Option<u32>,
    /// Version of PyTorch.
    pub torch: Option<String>,
    /// What the planner asks for: parameters, stages, micro-batches, peaks.
    pub said: Said,
}
