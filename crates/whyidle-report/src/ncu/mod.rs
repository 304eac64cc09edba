//! What Nsight Compute's figures say of single kernels, in words: what holds them back, weighted by time, and the one
//! change, if any.
//!
//! [`words`] has the sentences, [`described`] the page, `json` the schema `whyidle.ncu/1`.

pub(crate) mod described;
pub(crate) mod json;
mod words;

use whyidle_analysis::ncu::{Coverage, KernelFacts, Together};
use whyidle_diagnosis::QualityNote;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct NcuReport {
    /// The files, in order.
    pub inputs: Vec<String>,
    /// Name of the card, where the file says.
    pub gpu: String,
    /// Launches that were measured.
    pub launches: usize,
    /// Kernels by shape, longest first.
    pub kernels: Vec<KernelFacts>,
    /// All of them together.
    pub together: Together,
    /// What they are of a trace's steps, and the trace; none without one.
    pub coverage: Option<(String, Coverage)>,
    /// What Nsight Compute warned of, in its own words.
    pub warnings: Vec<String>,
    /// What is to be said of the evidence.
    pub quality: Vec<QualityNote>,
}
