//! What Nsight Compute's figures say of single kernels, in words: what holds them back, weighted by time, and the one
//! change, if any.
//!
//! [`words`] has the sentences, [`described`] the page, `json` the schema `whyidle.ncu/1`.

mod described;
mod json;
mod words;

use whyidle_analysis::ncu::{Coverage, KernelFacts, Together};
use whyidle_diagnosis::QualityNote;

use crate::page::Block;
use crate::{Catalog, TextOptions, page};

pub use json::ncu_value;

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

/// The report as blocks of a page.
pub(crate) fn blocks(report: &NcuReport, catalog: &Catalog, verbose: bool) -> Vec<Block> {
    described::blocks(report, catalog, verbose)
}

/// The report as text.
#[must_use]
pub fn render_ncu_text(report: &NcuReport, catalog: &Catalog, options: &TextOptions) -> String {
    page::set_text(&blocks(report, catalog, options.verbose), options)
}

/// The report as Markdown.
#[must_use]
pub fn render_ncu_markdown(report: &NcuReport, catalog: &Catalog) -> String {
    page::set_markdown(&blocks(report, catalog, true))
}

/// The report as JSON, `whyidle.ncu/1`, indented.
#[must_use]
pub fn render_ncu_json(report: &NcuReport, catalog: &Catalog) -> String {
    format!("{:#}\n", ncu_value(report, catalog))
}
