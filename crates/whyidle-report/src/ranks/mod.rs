//! What flight recorders and NCCL's logs say of several ranks, in words: who hangs where, what does not match, steps and
//! lateness, and over what ranks talk.
//!
//! [`words`] has the sentences, [`described`] the page, `json` the schema `whyidle.ranks/1`.

pub(crate) mod described;
pub(crate) mod json;
pub(crate) mod words;

use whyidle_analysis::flight::{FlightFacts, RankDump};
use whyidle_analysis::links::Pair;
use whyidle_diagnosis::QualityNote;
use whyidle_model::NcclLog;

use crate::{Catalog, TextOptions, page};

pub use json::render_ranks_json;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct RanksReport {
    /// The files, in order.
    pub inputs: Vec<String>,
    /// Dumps, by rank.
    pub dumps: Vec<RankDump>,
    /// What they say together; none without dumps.
    pub flight: Option<FlightFacts>,
    /// NCCL's logs as one; none without any.
    pub nccl: Option<NcclLog>,
    /// Pairs of ranks in them.
    pub pairs: Vec<Pair>,
    /// What is to be said of the evidence.
    pub quality: Vec<QualityNote>,
}

/// The report as text.
#[must_use]
pub fn render_ranks_text(report: &RanksReport, catalog: &Catalog, options: &TextOptions) -> String {
    page::set_text(&described::blocks(report, catalog, options.verbose), options)
}

/// The report as Markdown.
#[must_use]
pub fn render_ranks_markdown(report: &RanksReport, catalog: &Catalog) -> String {
    page::set_markdown(&described::blocks(report, catalog, true))
}
