//! What CUDA's caching allocator says of itself, in words: the peak and what makes it up, growth, pieces, calls of the
//! driver, and what to change if anything.
//!
//! [`words`] has the sentences, [`described`] the page, `json` the schema `whyidle.memory/1`.

pub(crate) mod described;
pub(crate) mod json;
mod summary;
mod words;

pub(crate) use words::part as part_named;

use whyidle_analysis::memory::{Apart, DeviceMemory, InGaps, Site};
use whyidle_diagnosis::QualityNote;
use whyidle_model::MemorySummary;

/// What snapshots and summaries say.
#[derive(Clone, Debug, Default)]
pub struct MemoryReport {
    /// Snapshots, in order.
    pub snapshots: Vec<SnapshotReport>,
    /// Tables of `memory_summary()`, with their file; of several of a device the last of each file.
    pub summaries: Vec<(String, MemorySummary)>,
}

/// What a snapshot says.
#[derive(Clone, Debug, Default)]
pub struct SnapshotReport {
    /// Its file.
    pub path: String,
    /// Devices, ascending.
    pub devices: Vec<DeviceMemory>,
    /// Who asked for memory.
    pub sites: Vec<Site>,
    /// `PYTORCH_CUDA_ALLOC_CONF` of the program; empty where it says nothing.
    pub settings: String,
    /// What a trace beside it adds.
    pub trace: Option<Joined>,
    /// What is to be said of the evidence.
    pub quality: Vec<QualityNote>,
}

/// What a trace adds to a snapshot.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The trace's file.
    pub path: String,
    /// By device: its memory, bytes, where the trace says.
    pub capacity: Vec<(u32, u64)>,
    /// By device: what the allocator did in its gaps.
    pub gaps: Vec<(u32, Result<InGaps, Apart>)>,
}

impl SnapshotReport {
    /// The device whose peak is highest.
    #[must_use]
    pub fn fullest(&self) -> Option<&DeviceMemory> {
        self.devices
            .iter()
            .max_by_key(|device| (device.peak.totals.allocated, std::cmp::Reverse(device.device)))
    }

    /// Memory of a device, bytes, where it is known.
    #[must_use]
    pub fn capacity(&self, device: u32) -> Option<u64> {
        self.trace.as_ref()?.capacity.iter().find(|(of, _)| *of == device).map(|(_, bytes)| *bytes)
    }
}
