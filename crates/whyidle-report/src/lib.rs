//! All wording, and nothing but wording: the verdict as text, JSON, Markdown and HTML,
//! in English and Chinese.
//!
//! * [`Catalog`] – the messages of one language; every sentence comes out of it.
//! * [`render_text`], [`render_json`], [`render_markdown`] – a verdict; `refusal_*` – why
//!   there is none.
//! * [`render_plan_text`], [`render_plan_json`], [`render_plan_markdown`] – a plan;
//!   [`plan_refusal_json`] – why there is none.
//! * [`render_ranks_text`], [`render_ranks_json`], [`render_ranks_markdown`] – what flight recorders and NCCL's logs say.
//! * [`EvidenceReport`] and `render_evidence_*` – what was recorded beside traces and samples, below the verdict.
//! * [`render_diff_text`], [`render_diff_json`], [`render_diff_markdown`] – what changed from one to another.
//! * [`render_html`], [`render_comparison_html`], [`render_run_html`] – a page of its own; [`Drawn`] – what it shows
//!   beyond the verdict.
//! * [`Sheet`] – the answer to a query.
//! * [`render_bench_text`], [`render_comparison_text`], [`render_history_text`] and their likes – experiments;
//!   [`benchmark_row`] – a row of a table that people keep.
//! * [`render_fleet_text`], [`render_fleet_json`], [`render_fleet_markdown`] – the jobs of a cluster.
//! * [`explain`], [`list_causes`] – the page of a cause, and all of them.

mod catalog;
mod diff;
mod evidence;
mod experiment;
mod explain;
mod fleet;
mod html;
mod instruments;
mod json;
mod label;
mod lang;
mod ledger;
mod machine;
mod markdown;
mod memory;
mod ncu;
mod page;
mod plan;
mod quantity;
mod ranks;
mod run;
mod sheet;
mod strategy;
#[cfg(test)]
mod tests;
mod text;

pub use catalog::Catalog;
pub use diff::{render_diff_json, render_diff_markdown, render_diff_text};
pub use evidence::{
    Contribution, EvidenceReport, Reached, render_evidence_json, render_evidence_markdown,
    render_evidence_text,
};
pub use experiment::{
    benchmark_header, benchmark_row, feed, fix_decided, moment, render_bench_json, render_bench_markdown,
    render_bench_text, render_comparison_json, render_comparison_markdown, render_comparison_text,
    render_differential_json, render_differential_markdown, render_differential_text, render_fix_json,
    render_fix_markdown, render_fix_text, render_gate_github, render_gate_json, render_gate_markdown,
    render_gate_text, render_history_json, render_history_markdown, render_history_text, render_job_json,
    render_job_markdown, render_job_text, render_sweep_json, render_sweep_markdown, render_sweep_text,
    run_failed,
};
pub use explain::{CAUSES, CausePage, PageSection, cause_page, explain, list_causes};
pub use fleet::{FleetReport, render_fleet_json, render_fleet_markdown, render_fleet_text};
pub use html::{Drawn, render_comparison_html, render_html, render_run_html};
pub use json::{refusal_json, render_json};
pub use lang::Lang;
pub use machine::machine_notes;
pub use markdown::{refusal_markdown, render_markdown};
pub use memory::{Joined, MemoryReport, SnapshotReport};
pub use ncu::NcuReport;
pub use plan::{
    CalibratedPlan, Paced, PlanReport, plan_refusal_json, render_plan_json, render_plan_markdown,
    render_plan_text,
};
pub use ranks::{RanksReport, render_ranks_json, render_ranks_markdown, render_ranks_text};
pub use sheet::{Sheet, SheetForm};
pub use text::{Item, Mark, TextOptions, bar, refusal_text, render_items, render_text, wrap};
