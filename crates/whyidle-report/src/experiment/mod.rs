//! Experiments in words: a run, a comparison, the history.
//!
//! [`words`] has the sentences, [`tries`] those of changes; `run`, `comparison`, `differential`, `fix` and `history` have
//! a page each, `json` their schemas, `sweep` all of a sweep, `benchmark` the table that is appended to a file,
//! `gate` the verdict for pipelines, `job` all that is known of a job.

mod benchmark;
mod comparison;
mod differential;
mod fix;
mod gate;
mod history;
mod job;
mod json;
mod run;
mod sweep;
mod tries;
mod words;

use whyidle_experiment::comparison::Comparison;
use whyidle_experiment::differential::Differential;
use whyidle_experiment::fix::Fix;
use whyidle_experiment::history::Row;
use whyidle_experiment::result::Run;

use crate::page::Block;
use crate::{Catalog, TextOptions, page};

pub use benchmark::{benchmark_header, benchmark_row};
pub use differential::feed;
pub use fix::fix_decided;
pub use gate::{render_gate_github, render_gate_json, render_gate_markdown, render_gate_text};
pub(crate) use job::{gpu_time, span};
pub use job::{render_job_json, render_job_markdown, render_job_text};
pub use json::{
    render_bench_json, render_comparison_json, render_differential_json, render_fix_json, render_history_json,
};
pub use sweep::{render_sweep_json, render_sweep_markdown, render_sweep_text};
pub(crate) use words::compared;
pub use words::{moment, run_failed};

/// A run as text; `id` is its number in the history.
#[must_use]
pub fn render_bench_text(run: &Run, id: Option<i64>, catalog: &Catalog, options: &TextOptions) -> String {
    page::set_text(&run::blocks(run, id, catalog, options.verbose), options)
}

/// A run as Markdown.
#[must_use]
pub fn render_bench_markdown(run: &Run, id: Option<i64>, catalog: &Catalog) -> String {
    page::set_markdown(&run::blocks(run, id, catalog, true))
}

/// A comparison as text.
#[must_use]
pub fn render_comparison_text(
    comparison: &Comparison,
    id: Option<i64>,
    catalog: &Catalog,
    options: &TextOptions,
) -> String {
    page::set_text(&comparison::blocks(comparison, id, catalog, options.verbose), options)
}

/// A comparison as Markdown.
#[must_use]
pub fn render_comparison_markdown(comparison: &Comparison, id: Option<i64>, catalog: &Catalog) -> String {
    page::set_markdown(&comparison::blocks(comparison, id, catalog, true))
}

/// A program that was fed in four ways, as text.
#[must_use]
pub fn render_differential_text(
    found: &Differential,
    id: Option<i64>,
    catalog: &Catalog,
    options: &TextOptions,
) -> String {
    page::set_text(&differential::blocks(found, id, catalog), options)
}

/// The same as Markdown.
#[must_use]
pub fn render_differential_markdown(found: &Differential, id: Option<i64>, catalog: &Catalog) -> String {
    page::set_markdown(&differential::blocks(found, id, catalog))
}

/// A search of remedies as text.
#[must_use]
pub fn render_fix_text(found: &Fix, id: Option<i64>, catalog: &Catalog, options: &TextOptions) -> String {
    page::set_text(&fix::blocks(found, id, catalog), options)
}

/// A search of remedies as Markdown.
#[must_use]
pub fn render_fix_markdown(found: &Fix, id: Option<i64>, catalog: &Catalog) -> String {
    page::set_markdown(&fix::blocks(found, id, catalog))
}

/// Entries of the history as text.
#[must_use]
pub fn render_history_text(rows: &[Row], catalog: &Catalog, options: &TextOptions) -> String {
    page::set_text(&history::blocks(rows, catalog), options)
}

/// Entries of the history as Markdown.
#[must_use]
pub fn render_history_markdown(rows: &[Row], catalog: &Catalog) -> String {
    page::set_markdown(&history::blocks(rows, catalog))
}

/// A comparison as blocks, with every pair.
pub(crate) fn comparison_blocks(comparison: &Comparison, id: Option<i64>, catalog: &Catalog) -> Vec<Block> {
    comparison::blocks(comparison, id, catalog, true)
}

/// Entries of the history as blocks.
pub(crate) fn history_blocks(rows: &[Row], catalog: &Catalog) -> Vec<Block> {
    history::blocks(rows, catalog)
}

/// A run as blocks.
pub(crate) fn run_blocks(run: &Run, id: Option<i64>, catalog: &Catalog) -> Vec<Block> {
    run::blocks(run, id, catalog, true)
}
