//! What CUDA's caching allocator says of itself, in words: the peak and what makes it up, growth, pieces, calls of the
//! driver, and what to change if anything.
//!
//! [`words`] has the sentences, [`described`] the page, `json` the schema `whyidle.memory/1`.

mod described;
mod json;
mod summary;
mod words;

use serde_json::Value;
use whyidle_analysis::memory::{Apart, DeviceMemory, InGaps, Site};
use whyidle_diagnosis::QualityNote;
use whyidle_model::MemorySummary;

use crate::page::Block;
use crate::{Catalog, TextOptions, page};

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

/// The report as blocks of a page.
pub(crate) fn blocks(report: &MemoryReport, catalog: &Catalog, verbose: bool) -> Vec<Block> {
    described::blocks(report, catalog, verbose)
}

/// The report as JSON of schema `whyidle.memory/1`. Bytes are integers, times whole nanoseconds.
#[must_use]
pub fn memory_value(report: &MemoryReport, catalog: &Catalog) -> Value {
    json::value(report, catalog)
}

/// The report as JSON, indented.
#[must_use]
pub fn render_memory_json(report: &MemoryReport, catalog: &Catalog) -> String {
    format!("{:#}\n", memory_value(report, catalog))
}

/// The report as text.
#[must_use]
pub fn render_memory_text(report: &MemoryReport, catalog: &Catalog, options: &TextOptions) -> String {
    page::set_text(&blocks(report, catalog, options.verbose), options)
}

/// The report as Markdown.
#[must_use]
pub fn render_memory_markdown(report: &MemoryReport, catalog: &Catalog) -> String {
    page::set_markdown(&blocks(report, catalog, true))
}
