//! Results that are no verdict – a run, a comparison, a sweep, a plan, … – in every form they are shown in.
//!
//! Each is made once as blocks and set as text, as Markdown or as a page ([`crate::html`]); JSON holds the figures.

use whyidle_diagnosis::diff::Diff;
use whyidle_experiment::comparison::Comparison;
use whyidle_experiment::differential::Differential;
use whyidle_experiment::fix::Fix;
use whyidle_experiment::gate::Gate;
use whyidle_experiment::history::Row;
use whyidle_experiment::job::Job;
use whyidle_experiment::result::Run;
use whyidle_experiment::sweep::Sweep;

use crate::experiment::{comparison, differential, fix, gate, history, job, json, run, sweep};
use crate::page::{self, Block};
use crate::{Catalog, FleetReport, Lang, PlanReport, TextOptions, diff, fleet, html, plan};

/// A result. What was kept in the history comes with its number there.
#[derive(Clone, Copy, Debug)]
pub enum Document<'a> {
    /// A run, `whyidle.bench/1`.
    Run(&'a Run, Option<i64>),
    /// Two programs, `whyidle.compare/1`.
    Comparison(&'a Comparison, Option<i64>),
    /// A program that was fed in four ways, `whyidle.differential/1`.
    Differential(&'a Differential, Option<i64>),
    /// A search of remedies, `whyidle.fix/1`.
    Fix(&'a Fix, Option<i64>),
    /// Values of a setting, `whyidle.sweep/1`.
    Sweep(&'a Sweep, Option<i64>),
    /// The verdict of a gate and the exit status that goes with it, `whyidle.gate/1`.
    Gate(&'a Gate, u8),
    /// All that is known of a job, `whyidle.job/1`.
    Job(&'a Job),
    /// Entries of the history, `whyidle.history/1`.
    History(&'a [Row]),
    /// What changed from one recording to another, `whyidle.diff/1`.
    Diff(&'a Diff),
    /// A plan, `whyidle.plan/1`.
    Plan(&'a PlanReport),
    /// The jobs of a cluster, `whyidle.fleet/1`.
    Fleet(&'a FleetReport),
}

/// What a page shows beside its document.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// The command that makes the page.
    pub command: &'a str,
    /// The runs of which it was made, as the history lists them.
    pub runs: &'a [Row],
    /// Step times of A and of B, ns, where they are known.
    pub series: [&'a [i64]; 2],
}

/// Columns of Markdown.
const MARKDOWN: usize = 80;

impl Document<'_> {
    /// As text.
    #[must_use]
    pub fn text(&self, catalog: &Catalog, options: &TextOptions) -> String {
        page::set_text(&self.blocks(catalog, options.canvas().width, options.verbose), options)
    }

    /// As Markdown, with all details.
    #[must_use]
    pub fn markdown(&self, catalog: &Catalog) -> String {
        page::set_markdown(&self.blocks(catalog, MARKDOWN, true))
    }

    /// As JSON, indented.
    #[must_use]
    pub fn json(&self, catalog: &Catalog) -> String {
        match *self {
            Self::Run(run, id) => json::run(run, id, catalog),
            Self::Comparison(found, id) => json::comparison(found, id, catalog),
            Self::Differential(found, id) => json::differential(found, id, catalog),
            Self::Fix(found, id) => json::fix(found, id, catalog),
            Self::Sweep(found, id) => sweep::json(found, id, catalog),
            Self::Gate(gate, exit) => gate::json(gate, exit, catalog),
            Self::Job(job) => job::json(job, catalog),
            Self::History(rows) => json::history(rows),
            Self::Diff(diff) => diff::json::set(diff, catalog),
            Self::Plan(plan) => plan::json::set(plan),
            Self::Fleet(report) => fleet::json(report, catalog),
        }
    }

    /// As a page of its own that needs nothing else. `catalogs` are the English and the Chinese one; `lang` is what it
    /// opens in.
    #[must_use]
    pub fn html(&self, beside: &Beside<'_>, catalogs: [&Catalog; 2], lang: Lang) -> String {
        html::document::set(self, beside, catalogs, lang)
    }

    /// Its page, of at most `width` columns where lines are set already.
    pub(crate) fn blocks(&self, catalog: &Catalog, width: usize, verbose: bool) -> Vec<Block> {
        match *self {
            Self::Run(run, id) => run::blocks(run, id, catalog, verbose),
            Self::Comparison(found, id) => comparison::blocks(found, id, catalog, verbose),
            Self::Differential(found, id) => differential::blocks(found, id, catalog),
            Self::Fix(found, id) => fix::blocks(found, id, catalog),
            Self::Sweep(found, id) => sweep::blocks(found, id, catalog, width, verbose),
            Self::Gate(gate, _) => gate::blocks(gate, catalog, verbose),
            Self::Job(job) => job::blocks(job, catalog, verbose),
            Self::History(rows) => history::blocks(rows, catalog),
            Self::Diff(diff) => diff::described::blocks(diff, catalog, verbose),
            Self::Plan(plan) => plan::described::blocks(plan, catalog, verbose),
            Self::Fleet(report) => fleet::blocks(report, catalog, verbose),
        }
    }
}
