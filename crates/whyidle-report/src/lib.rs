//! All wording, and nothing but wording: the verdict as text, JSON and Markdown, in
//! English and Chinese.
//!
//! * [`Catalog`] – the messages of one language; every sentence comes out of it.
//! * [`render_text`], [`render_json`], [`render_markdown`] – a verdict; `refusal_*` – why
//!   there is none.
//! * [`render_plan_text`], [`render_plan_json`], [`render_plan_markdown`] – a plan;
//!   [`plan_refusal_json`] – why there is none.
//! * [`render_ranks_text`], [`render_ranks_json`], [`render_ranks_markdown`] – what flight recorders and NCCL's logs say.
//! * [`render_ncu_text`], [`render_ncu_json`], [`render_ncu_markdown`] – what Nsight Compute measured of single kernels.
//! * [`explain`], [`list_causes`] – the page of a cause, and all of them.

mod catalog;
mod explain;
mod instruments;
mod json;
mod label;
mod lang;
mod ledger;
mod machine;
mod markdown;
mod ncu;
mod page;
mod plan;
mod quantity;
mod ranks;
mod run;
mod strategy;
#[cfg(test)]
mod tests;
mod text;

pub use catalog::Catalog;
pub use explain::{CAUSES, explain, list_causes};
pub use json::{refusal_json, render_json};
pub use lang::Lang;
pub use machine::{
    Contribution, machine_message, machine_notes, machine_value, render_machine_markdown, render_machine_text,
};
pub use markdown::{refusal_markdown, render_markdown};
pub use ncu::{NcuReport, ncu_value, render_ncu_json, render_ncu_markdown, render_ncu_text};
pub use plan::{
    CalibratedPlan, Paced, PlanReport, plan_refusal_json, render_plan_json, render_plan_markdown,
    render_plan_text,
};
pub use ranks::{RanksReport, render_ranks_json, render_ranks_markdown, render_ranks_text};
pub use text::{Item, Mark, TextOptions, bar, refusal_text, render_items, render_text, wrap};
