//! A sweep in words: the answer, the curve of each setting, what became of a ladder; and as JSON, `whyidle.sweep/1`.
//!
//! `words` has the sentences, `chart` the bars.

pub(crate) mod chart;
pub(crate) mod words;

use serde_json::{Value, json};
use whyidle_diagnosis::Message;
use whyidle_experiment::comparison::Per;
use whyidle_experiment::result::shown;
use whyidle_experiment::sweep::{Rung, Sweep};

use super::json::{document, finished};
use super::words::basis;
use crate::Catalog;
use crate::json::{sentences, text};
use crate::page::Block;

/// A sweep, `whyidle.sweep/1`.
pub(crate) fn json(sweep: &Sweep, id: Option<i64>, catalog: &Catalog) -> String {
    let mut document = document("whyidle.sweep/1", id, serde_json::to_value(sweep));
    document.insert("sentence".to_owned(), sentences(catalog, &words::answer(sweep)));
    let doubts: Vec<Value> = words::doubts(sweep).iter().map(|doubt| text(catalog, doubt)).collect();
    document.insert("doubts".to_owned(), json!(doubts));
    finished(document)
}

pub(crate) fn blocks(
    sweep: &Sweep,
    id: Option<i64>,
    catalog: &Catalog,
    width: usize,
    verbose: bool,
) -> Vec<Block> {
    let mut blocks = head(sweep, catalog);
    for rung in shown_rungs(sweep) {
        blocks.push(Block::Title(catalog.message(&title(rung))));
        blocks.push(Block::Chart(chart::lines(rung, catalog, width.saturating_sub(2))));
        blocks.extend(of_rung(sweep, rung, catalog, verbose));
    }
    blocks.extend(tail(sweep, id, catalog, verbose));
    blocks
}

/// The answer, and what to know and to doubt of it.
pub(crate) fn head(sweep: &Sweep, catalog: &Catalog) -> Vec<Block> {
    let say = |message: &Message| catalog.message(message);
    let mut blocks = Vec::new();
    if let Some(known) = sweep.rungs.iter().find_map(|rung| rung.basis) {
        blocks.push(Block::Head(say(&basis(known, 1))));
    }
    blocks.push(Block::Sentence(catalog.sentences(&words::answer(sweep))));
    blocks.extend(words::notes(sweep).iter().map(|note| Block::Note(say(note))));
    blocks.extend(words::doubts(sweep).iter().map(|doubt| Block::Doubt(say(doubt))));
    blocks
}

/// Settings that were tried at all.
pub(crate) fn shown_rungs(sweep: &Sweep) -> impl Iterator<Item = &Rung> {
    sweep.rungs.iter().filter(|rung| rung.values.iter().any(|tried| tried.runs > 0))
}

/// What is said of a rung of a ladder below its curve.
pub(crate) fn of_rung(sweep: &Sweep, rung: &Rung, catalog: &Catalog, verbose: bool) -> Vec<Block> {
    if !sweep.is_ladder {
        return Vec::new();
    }
    let mut said = words::rung(rung, sweep.counts);
    said.extend(verbose.then(|| words::rounds(rung)));
    said.iter().map(|note| Block::Note(catalog.message(note))).collect()
}

/// The command, and where it is kept.
pub(crate) fn tail(sweep: &Sweep, id: Option<i64>, catalog: &Catalog, verbose: bool) -> Vec<Block> {
    let mut blocks = Vec::new();
    if verbose {
        blocks.push(Block::Title(catalog.word("bench-title-kept")));
        blocks.push(Block::Code(vec![shown(&sweep.command, &Default::default(), &[])]));
    }
    if let Some(id) = id {
        blocks.push(Block::Note(catalog.message(&Message::new("sweep-id").name("id", id.to_string()))));
    }
    blocks
}

/// What is shown of a setting.
pub(crate) fn title(rung: &Rung) -> Message {
    let id = match rung.per {
        Per::Step => Message::new("sweep-title-step"),
        Per::Sample => Message::new("sweep-title-sample"),
        Per::Whole => Message::new("sweep-title-whole"),
    };
    id.name("name", rung.name.clone())
}
