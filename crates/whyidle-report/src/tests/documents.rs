//! Pages of results that are no verdict: the answer as the heading, the figures of the text, names of others as text.

use serde_json::Value;
use whyidle_experiment::comparison::Finish;
use whyidle_experiment::differential::{Bound, Differential, Fed, Feed, Stall, Unfed};
use whyidle_experiment::fix::candidates::Candidate;
use whyidle_experiment::fix::{Attempt, Fix, Outcome};
use whyidle_experiment::stats::paired::{Answer, Effect};
use whyidle_experiment::tries::Try;

use super::experiment::is_worded;
use super::sample::{catalog, verdicts};
use super::{diff, experiment, fleet, gate, job, plan, sweep};
use crate::html::both::escaped;
use crate::{Beside, Document, Lang, TextOptions};

/// What ends an element or begins one, in names of others.
const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";

fn page(document: &Document<'_>, lang: Lang) -> String {
    let [en, zh] = Lang::OF_PAGES.map(catalog);
    document.html(&Beside { command: HOSTILE, ..Beside::default() }, [&en, &zh], lang)
}

/// What the scripts are given.
fn data(page: &str) -> Value {
    let data = page.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next());
    serde_json::from_str(data.unwrap_or_default()).expect("JSON")
}

fn fixes() -> Vec<Fix> {
    let effect =
        Effect { pairs: 6, effect: -0.42, low: -0.45, high: -0.39, answer: Answer::Faster, is_final: true };
    let attempt = |name: &str, outcome: Outcome, effect: Option<Effect>| Attempt {
        candidate: Candidate {
            change: Try { name: name.to_owned(), value: "8".to_owned() },
            cause: Some("data.workers".to_owned()),
            predicted: Some(-0.4),
        },
        looked: Some(-0.01),
        comparison: effect.map(|_| 3),
        effect,
        losses: None,
        outcome,
    };
    let kept = Fix {
        command: vec!["python".to_owned(), HOSTILE.to_owned()],
        primary: Some("data.workers".to_owned()),
        attempts: vec![
            attempt("workers", Outcome::Kept, Some(effect)),
            attempt("pin_memory", Outcome::NoGain, None),
            attempt("compile", Outcome::NotApplied(Some("no-model".to_owned())), None),
        ],
        before_ns: Some(100_000_000),
        after_ns: Some(58_000_000),
        together: Some(effect),
        patch: "--- a\n+++ b\n".to_owned(),
        ended: Some(Finish::Done),
        ..Fix::default()
    };
    vec![Fix { attempts: Vec::new(), together: None, after_ns: None, ..kept.clone() }, kept]
}

fn differentials() -> Vec<Differential> {
    let fed = |feed, step_ns| Fed { feed, step_ns, range_ns: (step_ns - 1_000, step_ns + 1_000), runs: 2 };
    let told = Differential {
        command: vec!["python".to_owned(), HOSTILE.to_owned()],
        fed: vec![
            fed(Feed::Synthetic, 70_000_000),
            fed(Feed::Cached, 71_000_000),
            fed(Feed::Warm, 98_000_000),
        ],
        unfed: vec![(Feed::Cold, Unfed::NoFiles)],
        stalls: vec![
            Stall { of: Bound::Transfer, ns: 1_000_000, is_clear: false },
            Stall { of: Bound::Prep, ns: 27_000_000, is_clear: true },
        ],
        bound: Some(Bound::Prep),
        ended: Some(Finish::Done),
        ..Differential::default()
    };
    vec![told, Differential { unfed: vec![(Feed::Warm, Unfed::NoLoader)], ..Differential::default() }]
}

/// Does it for one document of each kind and each shape.
fn each(then: impl Fn(&Document<'_>)) {
    experiment::runs().iter().for_each(|run| then(&Document::Run(run, Some(7))));
    experiment::comparisons().iter().for_each(|found| then(&Document::Comparison(found, Some(7))));
    then(&Document::History(&experiment::rows()));
    sweep::sweeps().iter().for_each(|found| then(&Document::Sweep(found, Some(7))));
    gate::gates().iter().for_each(|found| then(&Document::Gate(found, 0)));
    job::jobs().iter().for_each(|found| then(&Document::Job(found)));
    fleet::reports().iter().for_each(|found| then(&Document::Fleet(found)));
    plan::plans().iter().for_each(|found| then(&Document::Plan(found)));
    fixes().iter().for_each(|found| then(&Document::Fix(found, Some(7))));
    differentials().iter().for_each(|found| then(&Document::Differential(found, Some(7))));
    let all = verdicts();
    then(&Document::Diff(&diff::of(&all[0].1, &all[1].1)));
}

#[test]
fn the_answer_is_the_heading_in_both_languages() {
    each(|document| {
        let page = page(document, Lang::En);
        let heading = page.split("<h1").nth(1).and_then(|rest| rest.split("</h1>").next());
        let heading = heading.unwrap_or_default();
        let words = |lang: Lang| heading.contains(&format!("<span lang=\"{}\">", lang.tag()));
        assert!(Lang::ALL.into_iter().all(words), "{document:?}: {heading}");
        // The words of the scripts keep their places open.
        let (before, after) = page.split_once("<script type=\"application/json\"").expect("data");
        let body = before.split("<body>").nth(1).expect("a body");
        // Code to paste has braces of its own.
        let prose =
            body.split("<pre>").map(|piece| piece.split_once("</pre>").map_or(piece, |(_, rest)| rest));
        let text = prose.flat_map(|piece| piece.split('>').filter_map(|piece| piece.split('<').next()));
        text.for_each(is_worded);
        assert!(after.contains("</html>"));
    });
}

#[test]
fn a_page_has_every_block_of_the_text() {
    let catalog = catalog(Lang::En);
    each(|document| {
        let page = page(document, Lang::En).replace("<code>", "").replace("</code>", "");
        let verbose = !matches!(document, Document::Diff(_));
        for block in document.blocks(&catalog, 80, verbose) {
            let texts = match block {
                crate::page::Block::Note(text) | crate::page::Block::Doubt(text) => vec![text],
                crate::page::Block::Table(rows) => rows.concat(),
                _ => Vec::new(),
            };
            for text in texts {
                assert!(page.contains(&escaped(&text.replace('`', ""))), "{text}");
            }
        }
    });
}

#[test]
fn names_of_others_stay_text() {
    let tame = page(&Document::History(&[]), Lang::En).matches("<script").count();
    each(|document| {
        let page = page(document, Lang::Zh);
        // Charts bring two scripts of their own.
        assert!(page.matches("<script").count() <= tame + 2 && !page.contains("<img"), "{page}");
        assert!(data(&page)["title"].is_array());
    });
}

#[test]
fn a_sweep_is_a_curve_with_its_knee_and_a_table() {
    let found = &sweep::sweeps()[0];
    let page = page(&Document::Sweep(found, None), Lang::En);
    let curve = &data(&page)["sweeps"][0];
    let rung = &found.rungs[0];
    assert_eq!(curve["values"].as_array().map(Vec::len), Some(rung.values.len()));
    assert_eq!(curve["figures"][0].as_f64(), rung.values[0].ns.map(|ns| ns as f64));
    let told = rung.found.expect("a knee");
    assert_eq!(curve["plateau"], serde_json::json!([told.knee, told.plateau_end]));
    assert_eq!(page.matches("class=\"chosen\"").count(), usize::from(!curve["chosen"].is_null()));
}

#[test]
fn a_search_shows_each_effect_and_no_effect_of_what_was_not_applied() {
    let [_, kept] = &fixes()[..] else { panic!("two") };
    let page = page(&Document::Fix(kept, None), Lang::En);
    let picture =
        page.split("<ol class=\"ladder spans\">").nth(1).and_then(|rest| rest.split("</ol>").next());
    let picture = picture.expect("a picture");
    assert_eq!(picture.matches("<li>").count(), 2, "{picture}");
    assert!(picture.contains("−42 %") && picture.contains("class=\"better\""), "{picture}");
    let text = Document::Fix(kept, None).text(&catalog(Lang::En), &TextOptions::default());
    assert!(text.contains("−42 %") || text.contains("-42.0 %") || text.contains("42 %"), "{text}");
}
