//! A sweep in words: the answer, the curve of each setting, what became of a ladder; and as JSON, `whyidle.sweep/1`.
//!
//! `words` has the sentences, `chart` the bars.

mod chart;
mod words;

use serde_json::{Value, json};
use whyidle_diagnosis::Message;
use whyidle_experiment::comparison::Per;
use whyidle_experiment::result::shown;
use whyidle_experiment::sweep::{Rung, Sweep};

use super::json::{document, finished};
use super::words::basis;
use crate::json::{sentences, text};
use crate::page::Block;
use crate::{Catalog, TextOptions, page};

/// Columns of Markdown.
const MARKDOWN: usize = 80;

/// A sweep as text; `id` is its number in the history.
#[must_use]
pub fn render_sweep_text(sweep: &Sweep, id: Option<i64>, catalog: &Catalog, options: &TextOptions) -> String {
    let width = options.canvas().width;
    page::set_text(&blocks(sweep, id, catalog, width, options.verbose), options)
}

/// A sweep as Markdown.
#[must_use]
pub fn render_sweep_markdown(sweep: &Sweep, id: Option<i64>, catalog: &Catalog) -> String {
    page::set_markdown(&blocks(sweep, id, catalog, MARKDOWN, true))
}

/// A sweep, `whyidle.sweep/1`.
#[must_use]
pub fn render_sweep_json(sweep: &Sweep, id: Option<i64>, catalog: &Catalog) -> String {
    let mut document = document("whyidle.sweep/1", id, serde_json::to_value(sweep));
    document.insert("sentence".to_owned(), sentences(catalog, &words::answer(sweep)));
    let doubts: Vec<Value> = words::doubts(sweep).iter().map(|doubt| text(catalog, doubt)).collect();
    document.insert("doubts".to_owned(), json!(doubts));
    finished(document)
}

fn blocks(sweep: &Sweep, id: Option<i64>, catalog: &Catalog, width: usize, verbose: bool) -> Vec<Block> {
    let say = |message: &Message| catalog.message(message);
    let mut blocks = Vec::new();
    if let Some(known) = sweep.rungs.iter().find_map(|rung| rung.basis) {
        blocks.push(Block::Head(say(&basis(known, 1))));
    }
    blocks.push(Block::Sentence(catalog.sentences(&words::answer(sweep))));
    blocks.extend(words::notes(sweep).iter().map(|note| Block::Note(say(note))));
    blocks.extend(words::doubts(sweep).iter().map(|doubt| Block::Doubt(say(doubt))));
    for rung in sweep.rungs.iter().filter(|rung| rung.values.iter().any(|tried| tried.runs > 0)) {
        blocks.push(Block::Title(say(&title(rung).name("name", rung.name.clone()))));
        blocks.push(Block::Chart(chart::lines(rung, catalog, width.saturating_sub(2))));
        if sweep.is_ladder {
            blocks.extend(words::rung(rung).iter().map(|note| Block::Note(say(note))));
        }
        if verbose && sweep.is_ladder {
            blocks.push(Block::Note(say(&words::rounds(rung))));
        }
    }
    if verbose {
        blocks.push(Block::Title(catalog.word("bench-title-kept")));
        blocks.push(Block::Code(vec![shown(&sweep.command, &Default::default(), &[])]));
    }
    if let Some(id) = id {
        blocks.push(Block::Note(say(&Message::new("sweep-id").name("id", id.to_string()))));
    }
    blocks
}

fn title(rung: &Rung) -> Message {
    match rung.per {
        Per::Step => Message::new("sweep-title-step"),
        Per::Sample => Message::new("sweep-title-sample"),
        Per::Whole => Message::new("sweep-title-whole"),
    }
}
