//! Experiments in words: a run, a comparison, the history.
//!
//! [`words`] has the sentences, `run`, `comparison` and `history` a page each, `json` the schemas `whyidle.bench/1`,
//! `whyidle.compare/1` and `whyidle.history/1`, `benchmark` the table that is appended to a file.

mod benchmark;
mod comparison;
mod history;
mod json;
mod run;
mod words;

use whyidle_experiment::comparison::Comparison;
use whyidle_experiment::history::Row;
use whyidle_experiment::result::Run;

use crate::page::Block;
use crate::{Catalog, TextOptions, page};

pub use benchmark::{benchmark_header, benchmark_row};
pub use json::{render_bench_json, render_comparison_json, render_history_json};
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
