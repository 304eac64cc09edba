//! The first screen: who the GPU waits for, what it costs, what to change – in ten
//! seconds, in a terminal. `-v` adds what it rests on.

mod asked;
mod canvas;
mod findings;
pub(crate) mod head;
mod items;
mod ledger;
pub(crate) mod ranks;
mod run;
pub(crate) mod tail;
mod verbose;
mod wrap;

use crate::Catalog;
pub(crate) use canvas::{Canvas, Role};
use fluent_bundle::FluentValue;
pub use items::{Item, Mark, items_json, items_markdown, render_items};
pub use ledger::bar;
pub(crate) use ledger::title as ledger_title;
use whyidle_diagnosis::{Refusal, Verdict};
pub(crate) use wrap::shortened;
pub use wrap::wrap;

/// Narrowest page; a narrower terminal wraps by itself.
const NARROWEST: usize = 60;
/// Widest page: longer lines are hard to read.
const WIDEST: usize = 120;

/// How a text report is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the terminal; 60 to 120 are used.
    pub width: usize,
    /// With colours, as ANSI sequences.
    pub colour: bool,
    /// With the evidence, the steps of each remedy, and the tables of kernels and operators.
    pub verbose: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { width: 80, colour: false, verbose: false }
    }
}

impl TextOptions {
    pub(crate) fn canvas(&self) -> Canvas {
        Canvas::new(self.width.clamp(NARROWEST, WIDEST), self.colour)
    }
}

/// A verdict as a screen of text.
#[must_use]
pub fn render_text(verdict: &Verdict, catalog: &Catalog, options: &TextOptions) -> String {
    let mut canvas = options.canvas();
    head::write(&mut canvas, catalog, verdict);
    canvas.blank();
    ledger::write(&mut canvas, catalog, verdict, options.verbose);
    ranks::write(&mut canvas, catalog, verdict, options.verbose);
    canvas.blank();
    run::write(&mut canvas, catalog, verdict, options.verbose);
    findings::write(&mut canvas, catalog, verdict, options.verbose);
    canvas.blank();
    asked::write_what_if(&mut canvas, catalog, verdict);
    asked::write_path(&mut canvas, catalog, verdict, options.verbose);
    if options.verbose {
        verbose::write(&mut canvas, catalog, verdict);
        canvas.blank();
    }
    tail::write(&mut canvas, catalog, verdict, options.verbose);
    canvas.finish()
}

/// Why there is no verdict, as text.
#[must_use]
pub fn refusal_text(refusal: &Refusal, catalog: &Catalog, options: &TextOptions) -> String {
    let mut canvas = options.canvas();
    for input in &refusal.inputs {
        let events = [
            ("path", FluentValue::from(input.path.as_str())),
            ("count", FluentValue::from(input.events as f64)),
        ];
        canvas.flow_to(Role::Faint, &catalog.format("report-input", &events), 2);
    }
    canvas.blank();
    canvas.to(2).flow(Role::Strong, &catalog.word("report-no-verdict"));
    canvas.to(2).flow(Role::Plain, &catalog.message(&refusal.reason));
    canvas.blank();
    tail::write_refused(&mut canvas, catalog, refusal);
    canvas.finish()
}
