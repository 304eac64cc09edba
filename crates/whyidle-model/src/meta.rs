//! What the trace says about the machine, the job, and itself.

use crate::Sym;

/// Properties of one GPU, as the profiler wrote them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceProperties {
    /// Number the program used for it.
    pub id: i32,
    /// Product name.
    pub name: String,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Compute capability, major and minor; 0.0 where not recorded.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors (NVIDIA) or compute units (AMD).
    pub multiprocessors: u32,
}

/// What `distributedInfo` says of the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distributed {
    /// `nccl`, `gloo`, …
    pub backend: String,
    /// This process's rank.
    pub rank: u32,
    /// Ranks in the job.
    pub world_size: u32,
    /// Version of the communication library, where recorded.
    pub library_version: String,
    /// Process groups: name, description, ranks.
    pub groups: Vec<(String, String, Vec<u32>)>,
}

/// Who made the device that a trace shows: what some rules and remedies rest on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Vendor {
    /// NVIDIA: CUDA.
    #[default]
    Nvidia,
    /// AMD: ROCm.
    Amd,
    /// Huawei: Ascend.
    Huawei,
}

impl Vendor {
    /// Its name, as it writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nvidia => "NVIDIA",
            Self::Amd => "AMD",
            Self::Huawei => "Huawei",
        }
    }
}

/// What recorded a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recorder {
    /// PyTorch's profiler (Kineto).
    #[default]
    Pytorch,
    /// Nsight Systems.
    NsightSystems,
    /// The profiler of `torch_npu`, for Ascend.
    TorchNpu,
}

impl Recorder {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Pytorch => "kineto",
            Self::NsightSystems => "nsys",
            Self::TorchNpu => "torch_npu",
        }
    }
}

/// The header of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// What recorded it.
    pub recorder: Recorder,
    /// Unix time of the trace's time 0, ns; 0 where times are absolute already.
    pub base_unix_ns: i64,
    /// GPUs of the machine.
    pub devices: Vec<DeviceProperties>,
    /// The job, if it is distributed.
    pub distributed: Option<Distributed>,
    /// Versions by the header's key: `cuda_driver_version`, `cupti_version`, `hip_runtime_version`, …
    pub versions: Vec<(String, String)>,
    /// Name of the host, where recorded.
    pub host_name: Option<String>,
    /// Shapes of operators were recorded.
    pub record_shapes: bool,
    /// Python stacks were recorded.
    pub with_stack: bool,
    /// Module hierarchy was recorded.
    pub with_modules: bool,
    /// Allocations were recorded.
    pub profile_memory: bool,
    /// The window that the profiler says it recorded: start and end, ns.
    pub window: Option<(i64, i64)>,
    /// The accelerator that recorded device events, where it is no GPU that whyidle knows (`MTIA`, `HPU`, `XPU`, `NPU`).
    pub foreign_device: Option<String>,
}

/// A thread of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Process number; −1 where it was no number.
    pub pid: i64,
    /// Thread number as written.
    pub tid: i64,
    /// Name, if one was recorded.
    pub name: Sym,
}

/// A stream of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// GPU number as the program counts them.
    pub device: i32,
    /// Stream number.
    pub number: i64,
}
