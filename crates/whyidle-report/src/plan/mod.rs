//! A plan in words: what one GPU holds, what a step takes, which strategies there are.
//!
//! The page is made once as blocks – sentences, tables, lines to paste – and set as text or Markdown;
//! JSON holds the figures (schema `whyidle.plan/1`).

mod calibrated;
mod json;
mod page;
mod words;

use crate::text::{Canvas, Role};
use crate::{Catalog, TextOptions};
use page::{Block, blocks};
use unicode_width::UnicodeWidthStr;
use whyidle_diagnosis::{Basis, Returned};
use whyidle_planner::{Calibration, Estimate, Gpu, Larger, Link, Memory, Range, Schedule, Search, Setup};

pub use json::{plan_refusal_json, render_plan_json};

/// A plan to be shown.
#[derive(Clone, Debug)]
pub struct PlanReport {
    /// How the model is trained.
    pub setup: Setup,
    /// On what.
    pub gpu: Gpu,
    /// On how many.
    pub gpus: u64,
    /// Link between nodes.
    pub network: Link,
    /// Memory of the fullest GPU.
    pub memory: Memory,
    /// A step.
    pub estimate: Estimate,
    /// The pipeline's schedule.
    pub schedule: Schedule,
    /// Share of the peak that products were taken to reach.
    pub efficiency: f64,
    /// Share of memory that stays free.
    pub free: f64,
    /// Strategies, if they were searched.
    pub search: Option<Search>,
    /// Tokens to train on.
    pub tokens: Option<f64>,
    /// Price of a GPU hour.
    pub price: Option<f64>,
    /// The measured step that it starts from.
    pub calibrated: Option<CalibratedPlan>,
}

/// What a measured step says of the plan.
#[derive(Clone, Debug)]
pub struct CalibratedPlan {
    /// Where it was recorded.
    pub path: String,
    /// Where its step time comes from.
    pub basis: Basis,
    /// There is a trace; otherwise only what the recording states.
    pub traced: bool,
    /// The calibration.
    pub calibration: Calibration,
    /// The plan is the measured run itself.
    pub same: bool,
    /// Range of what the plan allocates at its peak, bytes.
    pub allocated: Range,
    /// Where its step comes from.
    pub step: Paced,
    /// Savers of memory in use, with what undoing them returns.
    pub returned: Vec<Returned>,
    /// The largest batch that fits.
    pub larger: Option<Larger>,
}

/// Where the step of a plan comes from that starts from a measured one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Paced {
    /// From the measured pace, with its range, s.
    Measured(Range),
    /// From a stated share of the peak rate.
    Stated,
    /// From an assumed share: the measured step is too unlike.
    Unlike,
}

impl PlanReport {
    /// Bytes that may be used on one GPU.
    #[must_use]
    pub fn usable(&self) -> f64 {
        self.gpu.memory * (1.0 - self.free)
    }

    /// Bytes that are missing, by the upper end of a range; 0 if the plan fits.
    #[must_use]
    pub fn missing(&self) -> f64 {
        let from_another = self.calibrated.as_ref().filter(|measured| !measured.same);
        let doubt = from_another.map_or(0.0, |measured| measured.allocated.high - measured.allocated.best);
        (self.memory.needed() + doubt - self.usable()).max(0.0)
    }
}

/// A plan as text.
#[must_use]
pub fn render_plan_text(plan: &PlanReport, catalog: &Catalog, options: &TextOptions) -> String {
    let mut canvas = options.canvas();
    for block in blocks(plan, catalog, options.verbose) {
        match block {
            Block::Head(text) => canvas.flow(Role::Plain, &text),
            Block::Sentence(text) => {
                canvas.blank();
                canvas.to(2).flow(Role::Strong, &text);
            }
            Block::Note(text) => {
                canvas.to(2).flow_to(Role::Faint, &text, 2);
            }
            Block::Rule(holds, text) => {
                let (mark, role) = if holds { ("+", Role::Gain) } else { ("·", Role::Plain) };
                canvas.to(2).put(role, mark).to(4).flow(Role::Plain, &text);
            }
            Block::Title(text) => {
                canvas.blank();
                canvas.flow(Role::Strong, &text);
            }
            Block::Table(rows) => set_table(&mut canvas, &rows),
            Block::Code(lines) => {
                for line in lines {
                    canvas.to(2).put(Role::Code, &line).end();
                }
            }
        }
    }
    canvas.finish()
}

/// A table: names to the left, figures to the right, what is said of a row below it. A name that leaves its figures no
/// room stands on a line of its own.
fn set_table(canvas: &mut Canvas, rows: &[Vec<String>]) {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let figures: usize = [1, 2].map(&width).into_iter().filter(|&w| w > 0).map(|w| w + 2).sum();
    let names = width(0).min(canvas.width.saturating_sub(2 + figures));
    let ends = [2 + names, 4 + names + width(1), 6 + names + width(1) + width(2)];
    for row in rows {
        let Some(name) = row.first() else { continue };
        canvas.to(2);
        if name.width() > names {
            canvas.flow_to(Role::Plain, name, 2);
        } else {
            canvas.put(Role::Plain, name);
        }
        for (cell, end) in row.iter().zip(ends).skip(1) {
            canvas.right(Role::Plain, cell, end);
        }
        canvas.end();
        if let Some(remark) = row.get(3) {
            canvas.to(4).flow(Role::Faint, remark);
        }
    }
}

/// A plan as Markdown.
#[must_use]
pub fn render_plan_markdown(plan: &PlanReport, catalog: &Catalog) -> String {
    let mut page = Vec::new();
    for block in blocks(plan, catalog, true) {
        page.push(match block {
            Block::Head(text) => format!("_{text}_"),
            Block::Sentence(text) => format!("### {text}"),
            Block::Note(text) => text,
            Block::Rule(_, text) => format!("- {text}"),
            Block::Title(text) => format!("**{text}**"),
            Block::Table(rows) => table(&rows),
            Block::Code(lines) => format!("```\n{}\n```", lines.join("\n")),
        });
    }
    page.join("\n\n") + "\n"
}

fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let line = |row: &[String]| {
        let cells: Vec<_> = (0..columns).map(|column| row.get(column).map_or("", String::as_str)).collect();
        format!("| {} |", cells.join(" | "))
    };
    let mut lines = vec![format!("|{}", " |".repeat(columns)), format!("|{}", "---|".repeat(columns))];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.join("\n")
}
