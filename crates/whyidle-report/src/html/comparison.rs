//! A comparison of two programs, and a run, as pages.

use askama::Template;
use serde_json::json;
use whyidle_experiment::comparison::Comparison;
use whyidle_experiment::history::Row;
use whyidle_experiment::result::Run;

use super::both::{Both, Tongues};
use super::{Frame, blocks, render};
use crate::page::Block;
use crate::{Catalog, Lang, experiment};

/// What the template sets.
pub(crate) struct ComparisonView {
    title: Both,
    then: Both,
    page: String,
    runs: String,
    has_pairs: bool,
    has_series: bool,
}

#[derive(Template)]
#[template(path = "comparison.html")]
struct ComparisonPage<'a> {
    t: &'a Tongues<'a>,
    f: &'a Frame,
    p: &'a ComparisonView,
}

/// A comparison as a page; `id` is its number in the history, `runs` are its runs as the history lists them, `series` the
/// step times of A and of B, ns, where they are known.
#[must_use]
pub fn render_comparison_html(
    comparison: &Comparison,
    id: Option<i64>,
    runs: &[Row],
    series: [&[i64]; 2],
    command: &str,
    [en, zh]: [&Catalog; 2],
    lang: Lang,
) -> String {
    let tongues = Tongues { en, zh };
    let t = &tongues;
    let said = experiment::compared(comparison);
    let (first, rest) = said.split_at(said.len().min(1));
    let title = t.say(|c| c.sentences(first));
    let mut data = super::no_data();
    if !comparison.pairs.is_empty() {
        let round = |ns: f64| ns.round() as i64;
        let pairs: Vec<_> =
            comparison.pairs.iter().map(|pair| [round(pair.a_ns), round(pair.b_ns)]).collect();
        data["pairs"] = json!(pairs);
    }
    let has_series = series.iter().any(|side| side.len() >= super::data::FEWEST_STEPS);
    if has_series {
        data["sides"] = json!(series);
    }
    let charts = super::data::has_charts(&data);
    let page = ComparisonView {
        then: t.say(|c| c.sentences(rest)),
        page: blocks::set(t, |c| {
            // The sentence is the heading.
            let blocks = experiment::comparison_blocks(comparison, id, c);
            blocks.into_iter().filter(|block| !matches!(block, Block::Sentence(_))).collect()
        }),
        runs: if runs.is_empty() {
            String::new()
        } else {
            blocks::set(t, |c| experiment::history_blocks(runs, c))
        },
        has_pairs: comparison.pairs.len() > 1,
        has_series,
        title,
    };
    let frame = Frame::new(t, lang, &page.title, data, command, [false, charts]);
    render(&ComparisonPage { t, f: &frame, p: &page })
}

/// A run of the history as a page.
#[must_use]
pub fn render_run_html(
    run: &Run,
    id: Option<i64>,
    command: &str,
    [en, zh]: [&Catalog; 2],
    lang: Lang,
) -> String {
    let tongues = Tongues { en, zh };
    let t = &tongues;
    let title = t.word("html-title-run");
    let mut data = super::no_data();
    let has_series = run.series.len() >= super::data::FEWEST_STEPS;
    if has_series {
        data["sides"] = json!([run.series]);
    }
    let page = ComparisonView {
        then: Both::default(),
        page: blocks::set(t, |c| experiment::run_blocks(run, id, c)),
        runs: String::new(),
        has_pairs: false,
        has_series,
        title,
    };
    let frame = Frame::new(t, lang, &page.title, data, command, [false, has_series]);
    render(&ComparisonPage { t, f: &frame, p: &page })
}
