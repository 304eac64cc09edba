//! Results that are no verdict as pages: the answer as the heading, what a script or a picture shows of it, the rest as
//! it is printed, and the runs of which it was made.

use askama::Template;
use serde_json::json;
use whyidle_experiment::comparison::Comparison;

use super::both::{Both, Tongues};
use super::{Frame, Needs, blocks, data, pictures, render, sweep};
use crate::diff::{described::labelled, words as diff_words};
use crate::document::{Beside, Document};
use crate::experiment::{gate, job, sweep::words as sweep_words, words};
use crate::page::Block;
use crate::{Catalog, Lang};

/// Columns of what is set already.
const COLUMNS: usize = 80;

/// What the template sets.
struct View {
    title: Both,
    then: Both,
    pictures: String,
    has_pairs: bool,
    has_series: bool,
    page: String,
    runs: String,
}

#[derive(Template)]
#[template(path = "document.html")]
struct DocumentPage<'a> {
    t: &'a Tongues<'a>,
    f: &'a Frame,
    p: &'a View,
}

/// The page of a document.
pub(crate) fn set(
    document: &Document<'_>,
    beside: &Beside<'_>,
    [en, zh]: [&Catalog; 2],
    lang: Lang,
) -> String {
    let tongues = Tongues { en, zh };
    let t = &tongues;
    let mut drawn = super::no_data();
    if let Document::Comparison(found, _) = document
        && found.pairs.len() > 1
    {
        drawn["pairs"] = pairs(found);
    }
    if let Document::Sweep(found, _) = document {
        drawn["sweeps"] = sweep::data(t, found);
    }
    let sides = series(document, beside);
    if !sides.is_empty() {
        drawn["sides"] = json!(sides);
    }
    let page = View {
        title: heading(t, document, |said| said.first().cloned().unwrap_or_default()),
        then: heading(t, document, |said| said.get(1..).unwrap_or_default().join(" ")),
        pictures: pictures::of(t, document),
        has_pairs: drawn.get("pairs").is_some(),
        has_series: !sides.is_empty(),
        page: match document {
            Document::Sweep(found, id) => sweep::set(t, found, *id),
            _ => blocks::set(t, |c| below(document, c)),
        },
        runs: match beside.runs {
            [] => String::new(),
            runs => blocks::set(t, |c| Document::History(runs).blocks(c, COLUMNS, true)),
        },
    };
    let charts = data::has_charts(&drawn);
    let frame = Frame::new(t, lang, &page.title, drawn, beside.command, Needs { charts, ..Needs::default() });
    render(&DocumentPage { t, f: &frame, p: &page })
}

/// Every block but the sentence, which is the heading.
fn below(document: &Document<'_>, catalog: &Catalog) -> Vec<Block> {
    // Names of kernels run to hundreds of characters, and two traces differ in dozens of them.
    let verbose = !matches!(document, Document::Diff(_));
    let blocks = document.blocks(catalog, COLUMNS, verbose);
    blocks.into_iter().filter(|block| !matches!(block, Block::Sentence(_))).collect()
}

fn heading(t: &Tongues<'_>, document: &Document<'_>, part: impl Fn(&[String]) -> String) -> Both {
    t.say(|c| part(&said(document, c)))
}

/// The answer, sentence by sentence.
fn said(document: &Document<'_>, catalog: &Catalog) -> Vec<String> {
    let messages = match document {
        Document::Run(run, _) => words::answer(run),
        Document::Comparison(found, _) => words::compared(found),
        Document::Sweep(found, _) => sweep_words::answer(found),
        Document::Gate(found, _) => gate::answer(found),
        Document::Job(found) => job::answer(found),
        Document::Diff(found) => labelled(&diff_words::answer(found), catalog),
        Document::History(_) => return vec![catalog.word("html-title-history")],
        Document::Differential(..) | Document::Fix(..) | Document::Plan(_) | Document::Fleet(_) => {
            let sentence = |block| match block {
                Block::Sentence(text) => Some(text),
                _ => None,
            };
            return document.blocks(catalog, COLUMNS, false).into_iter().filter_map(sentence).collect();
        }
    };
    messages.iter().map(|message| catalog.message(message)).collect()
}

fn pairs(found: &Comparison) -> serde_json::Value {
    let round = |ns: f64| ns.round() as i64;
    found.pairs.iter().map(|pair| json!([round(pair.a_ns), round(pair.b_ns)])).collect()
}

/// Series of steps that are long enough to be drawn.
fn series<'a>(document: &Document<'a>, beside: &Beside<'a>) -> Vec<&'a [i64]> {
    let sides = match document {
        Document::Run(run, _) => vec![&run.series[..]],
        _ => beside.series.to_vec(),
    };
    if sides.iter().any(|side| side.len() >= data::FEWEST_STEPS) { sides } else { Vec::new() }
}
