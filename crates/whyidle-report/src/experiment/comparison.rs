//! The page of a comparison: the answer, how it was found, both sides, and with `-v` every pair.

use whyidle_diagnosis::{Arg, Message};
use whyidle_experiment::comparison::{Comparison, Per, Side};
use whyidle_experiment::result::shown;

use super::words;
use crate::Catalog;
use crate::page::Block;

pub(crate) fn blocks(
    comparison: &Comparison,
    id: Option<i64>,
    catalog: &Catalog,
    verbose: bool,
) -> Vec<Block> {
    let say = |message: &Message| catalog.message(message);
    let mut blocks = Vec::new();
    if let Some(known) = comparison.basis {
        blocks.push(Block::Head(say(&words::basis(known, 1))));
    }
    blocks.push(Block::Sentence(catalog.sentences(&words::compared(comparison))));
    blocks.extend(words::comparison_notes(comparison).iter().map(|note| Block::Note(say(note))));
    blocks.extend(words::comparison_doubts(comparison).iter().map(|doubt| Block::Doubt(say(doubt))));
    let title = if comparison.per == Per::Whole { "compare-title-whole" } else { "compare-title-steps" };
    blocks.push(Block::Title(catalog.word(title)));
    let sides = [("A", &comparison.a), ("B", &comparison.b)];
    blocks.push(Block::Table(sides.iter().map(|(name, of)| side(name, of, catalog)).collect()));
    if verbose && !comparison.pairs.is_empty() {
        blocks.push(Block::Title(catalog.word("compare-title-pairs")));
        let time = |ns: f64| catalog.time(ns.round() as i64);
        let row = |(nth, pair): (usize, &whyidle_experiment::comparison::Pair)| {
            vec![
                format!("{}  A {}", nth + 1, time(pair.a_ns)),
                format!("B {}", time(pair.b_ns)),
                catalog.difference(pair.b_ns / pair.a_ns - 1.0),
            ]
        };
        blocks.push(Block::Table(comparison.pairs.iter().enumerate().map(row).collect()));
    }
    if let Some(id) = id {
        blocks.push(Block::Note(say(&Message::new("compare-kept").name("id", id.to_string()))));
    }
    blocks
}

fn side(name: &str, side: &Side, catalog: &Catalog) -> Vec<String> {
    let rate = side.step_ns.zip(side.samples_per_step).map(|(step, samples)| {
        let rate = Message::new("compare-rate").with("samples", words::figure(samples * 1e9 / step as f64));
        catalog.message(&rate)
    });
    vec![
        name.to_owned(),
        side.step_ns.map_or_else(|| "–".to_owned(), |ns| catalog.arg(&Arg::Time(ns))),
        rate.unwrap_or_default(),
        shown(&side.command, &side.environment, &side.tries),
    ]
}
