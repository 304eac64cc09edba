//! Finished pages: what a person gets to see, and that it fits the terminal.

use super::sample::{catalog, launch_bound, refused, starved, verdicts};
use crate::{
    CAUSES, Lang, TextOptions, explain, list_causes, refusal_json, refusal_markdown, refusal_text,
    render_json, render_markdown, render_text,
};
use insta::assert_snapshot;
use unicode_width::UnicodeWidthStr;
use whyidle_diagnosis::{Change, Estimate, Message};

const VERBOSE: TextOptions = TextOptions { width: 80, colour: false, verbose: true };

#[test]
fn the_first_screen() {
    for lang in Lang::ALL {
        let catalog = catalog(lang);
        for (name, verdict) in verdicts() {
            let page = render_text(&verdict, &catalog, &TextOptions::default());
            assert_snapshot!(format!("{name}.text.{}", lang.tag()), page);
        }
        assert_snapshot!(
            format!("refused.text.{}", lang.tag()),
            refusal_text(&refused(), &catalog, &TextOptions::default())
        );
    }
}

#[test]
fn narrow_and_wide_screens() {
    for lang in Lang::ALL {
        for width in [60, 120] {
            let options = TextOptions { width, ..TextOptions::default() };
            let page = render_text(&starved(), &catalog(lang), &options);
            assert_snapshot!(format!("starved.{width}.text.{}", lang.tag()), page);
        }
    }
}

#[test]
fn with_everything() {
    for lang in Lang::ALL {
        let page = render_text(&starved(), &catalog(lang), &VERBOSE);
        assert_snapshot!(format!("starved.verbose.text.{}", lang.tag()), page);
    }
}

#[test]
fn markdown() {
    for lang in Lang::ALL {
        let catalog = catalog(lang);
        for (name, verdict) in verdicts() {
            assert_snapshot!(format!("{name}.md.{}", lang.tag()), render_markdown(&verdict, &catalog));
        }
        assert_snapshot!(format!("refused.md.{}", lang.tag()), refusal_markdown(&refused(), &catalog));
    }
}

#[test]
fn json() {
    for lang in Lang::ALL {
        let catalog = catalog(lang);
        assert_snapshot!(format!("launch_bound.json.{}", lang.tag()), render_json(&launch_bound(), &catalog));
        assert_snapshot!(format!("refused.json.{}", lang.tag()), refusal_json(&refused(), &catalog));
    }
}

#[test]
fn the_page_of_a_cause() {
    for lang in Lang::ALL {
        let catalog = catalog(lang);
        let page = explain("data.workers", &catalog, &TextOptions::default()).expect("a known cause");
        assert_snapshot!(format!("explain.{}", lang.tag()), page);
        assert_snapshot!(format!("causes.{}", lang.tag()), list_causes(&catalog, &TextOptions::default()));
        assert_eq!(explain("data.nothing", &catalog, &TextOptions::default()), None);
    }
}

#[test]
fn every_line_fits_the_terminal_and_ends_without_spaces() {
    for lang in Lang::ALL {
        let catalog = catalog(lang);
        for width in 60..=120 {
            for verbose in [false, true] {
                let options = TextOptions { width, colour: false, verbose };
                for (name, verdict) in verdicts() {
                    check(&format!("{name} at {width}"), &render_text(&verdict, &catalog, &options), width);
                }
                check("refused", &refusal_text(&refused(), &catalog, &options), width);
            }
            let options = TextOptions { width, ..TextOptions::default() };
            for cause in CAUSES {
                check(cause, &explain(cause, &catalog, &options).expect("a known cause"), width);
            }
            check("causes", &list_causes(&catalog, &options), width);
        }
    }
}

/// Nothing measured, nothing known, names without an end: a page comes out all the same.
#[test]
fn odd_verdicts_are_worded_too() {
    let endless = "void very::long::name<with, many, arguments>".repeat(9);
    let mut empty = starved();
    empty.subject = Default::default();
    empty.step.unprofiled = Estimate::exact(0);
    empty.step.traced_each_ns.clear();
    empty.step.count = 0;
    empty.ledger.clear();
    empty.ruling.sentence.clear();
    empty.inputs.clear();
    let mut long = starved();
    long.subject.gpu = Some(endless.clone());
    long.details.kernels[0].name = endless.clone();
    long.ledger[5].details = vec![Message::new("sample.detail-workers").name("count", endless.clone())];
    if let Some(gain) = &mut long.findings[0].gain {
        gain.change = Change { what: "a change without an entry", from: Some(endless.clone()), to: None };
    }
    for lang in Lang::ALL {
        let catalog = catalog(lang);
        for (name, verdict) in [("empty", &empty), ("long", &long)] {
            for verbose in [false, true] {
                let options = TextOptions { width: 60, colour: false, verbose };
                check(name, &render_text(verdict, &catalog, &options), 60);
            }
            assert!(!render_markdown(verdict, &catalog).is_empty());
            assert!(!render_json(verdict, &catalog).is_empty());
        }
    }
}

fn check(what: &str, page: &str, width: usize) {
    for line in page.lines() {
        assert!(line.width() <= width, "{what}: {} columns: {line}", line.width());
        assert_eq!(line, line.trim_end(), "{what}: spaces at the end");
        assert!(!line.contains(['\u{2068}', '\u{2069}']), "{what}: isolation marks");
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let catalog = catalog(Lang::En);
    let plain = render_text(&starved(), &catalog, &VERBOSE);
    let coloured = render_text(&starved(), &catalog, &TextOptions { colour: true, ..VERBOSE });
    assert!(coloured.contains("\u{1b}["));
    assert_eq!(without_escapes(&coloured), plain);
}

fn without_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('\u{1b}') {
        plain.push_str(&rest[..start]);
        let end = rest[start..].find('m').map_or(rest.len(), |end| start + end + 1);
        rest = &rest[end..];
    }
    plain + rest
}
