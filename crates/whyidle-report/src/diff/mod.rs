//! What changed from one trace or recording to another, in words: the step, the ledger, kernels and operators by name.
//!
//! [`words`] has the sentences, [`described`] the page, `json` the schema `whyidle.diff/1`.

mod described;
mod json;
mod words;

use whyidle_diagnosis::diff::Diff;

use crate::{Catalog, TextOptions, page};

pub use json::render_diff_json;

/// What changed, as text.
#[must_use]
pub fn render_diff_text(diff: &Diff, catalog: &Catalog, options: &TextOptions) -> String {
    page::set_text(&described::blocks(diff, catalog, options.verbose), options)
}

/// What changed, as Markdown.
#[must_use]
pub fn render_diff_markdown(diff: &Diff, catalog: &Catalog) -> String {
    page::set_markdown(&described::blocks(diff, catalog, true))
}
