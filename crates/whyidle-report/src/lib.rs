//! All wording, and nothing but wording: the verdict as text, JSON, Markdown and HTML,
//! in English and Chinese.
//!
//! * [`Catalog`] – the messages of one language; every sentence comes out of it.
//! * [`render_text`], [`render_json`], [`render_markdown`] – a verdict; `refusal_*` – why
//!   there is none.
//! * [`Document`] – every other result: experiments, the history, a plan, what changed; [`plan_refusal_json`] – why there
//!   is no plan, [`benchmark_row`] – a row of a table that people keep.
//! * [`render_ranks_text`], [`render_ranks_json`], [`render_ranks_markdown`] – what flight recorders and NCCL's logs say.
//! * [`EvidenceReport`] and `render_evidence_*` – what was recorded beside traces and samples, below the verdict.
//! * [`render_html`] – the page of a verdict for the browser; [`Drawn`] – what it shows beyond the verdict.
//! * [`render_start`], [`render_live`], [`render_notice`] – what `serve` shows beside them.
//! * [`Sheet`] – the answer to a query.
//! * [`explain`], [`list_causes`] – the page of a cause, and all of them.

mod catalog;
mod diff;
mod document;
mod draft;
mod evidence;
mod experiment;
mod explain;
mod fleet;
mod help;
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
pub use document::{Beside, Document};
pub use evidence::{
    Contribution, EvidenceReport, Reached, render_evidence_json, render_evidence_markdown,
    render_evidence_text,
};
pub use experiment::{
    benchmark_header, benchmark_row, feed, fix_decided, moment, render_gate_github, run_failed,
};
pub use explain::{CAUSES, CausePage, PageSection, cause_page, explain, list_causes};
pub use fleet::FleetReport;
pub use help::{HelpPage, HelpRow, help_in, help_texts, render_help};
pub use html::site::{Shelved, Start, live_end, live_event, render_live, render_notice, render_start};
pub use html::{Drawn, render_html};
pub use json::{refusal_json, render_json};
pub use lang::Lang;
pub use machine::machine_notes;
pub use markdown::{refusal_markdown, render_markdown};
pub use memory::{Joined, MemoryReport, SnapshotReport};
pub use ncu::NcuReport;
pub use plan::{CalibratedPlan, Paced, PlanReport, plan_refusal_json};
pub use ranks::{RanksReport, render_ranks_json, render_ranks_markdown, render_ranks_text};
pub use sheet::{Sheet, SheetForm};
pub use text::{
    Item, Mark, TextOptions, bar, items_json, items_markdown, refusal_text, render_items, render_text, wrap,
};
