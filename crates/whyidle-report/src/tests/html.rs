//! Pages: nothing of the verdict is left out, the figures are those of the text, names of others stay text, and the
//! policy lets nothing else run.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use whyidle_analysis::curves::{Curve, Curves};
use whyidle_analysis::ledger::Line;
use whyidle_analysis::timeline::{Block, Timeline};
use whyidle_diagnosis::{Instruments, Lateness, Message, Reading, RunLedger, RunLine, Verdict};
use whyidle_tables::export::stacks::Node;

use super::sample::{catalog, refused, starved, two_ranks, verdicts};
use crate::{Catalog, Drawn, EvidenceReport, Lang, Reached, render_html, render_json};

const SCHEMA: &str = include_str!("../../schema/whyidle.verdict-1.schema.json");

fn catalogs() -> [Catalog; 2] {
    Lang::OF_PAGES.map(catalog)
}

fn page(verdict: &Verdict, drawn: &Drawn, lang: Lang) -> String {
    let [en, zh] = catalogs();
    render_html(Some(Reached::Verdict(verdict)), &EvidenceReport::default(), drawn, [&en, &zh], lang)
}

/// A page and a text alike: without the marks of what one types.
fn bare(text: &str) -> String {
    text.replace("<code>", "").replace("</code>", "").replace('`', "")
}

/// The paths of all properties that a report may have; texts with their message are leaves.
fn paths(schema: &Value, node: &Value, path: &str, found: &mut BTreeSet<String>) {
    if let Some(name) = node["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        if name != "text" {
            paths(schema, &schema["$defs"][name], path, found);
        }
        return;
    }
    for choice in ["anyOf", "oneOf"].iter().filter_map(|key| node[*key].as_array()).flatten() {
        paths(schema, choice, path, found);
    }
    if !node["items"].is_null() {
        paths(schema, &node["items"], path, found);
    }
    for (name, inner) in node["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        found.insert(path.clone());
        paths(schema, inner, &path, found);
    }
}

/// The fields that a page shows by name.
fn shown(page: &str) -> BTreeSet<String> {
    page.split("data-field=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

/// A verdict with what the other samples lack.
fn complete() -> Verdict {
    let mut verdict = two_ranks();
    for rank in &mut verdict.ranks {
        let late = Lateness {
            last: 4,
            of: 9,
            caused_ns: 5_000_000,
            waited_ns: 100,
            transfer_ns: 7,
            pace_ns: Some(1),
            straggler: false,
        };
        rank.lateness = Some(late);
    }
    let line = RunLine {
        id: "run.eval",
        ns: 10,
        visits: 3,
        period_ns: Some(5_000_000_000),
        period_steps: Some(20),
        place: Some("validate (train.py:60)".to_owned()),
    };
    verdict.details.modules = verdict.details.kernels.clone();
    verdict.run = Some(RunLedger { watched_ns: 20, lines: vec![line] });
    let reading = Reading {
        id: "gpu.power",
        value: Some(0.5),
        unit: "share",
        detail: Some(Message::new("sample.tokenising")),
    };
    verdict.details.instruments = Some(Instruments {
        gpu: Some(3),
        readings: vec![reading],
        disagreements: vec![Message::new("sample.tokenising")],
    });
    let transfer = whyidle_diagnosis::Transfer {
        kind: "all-reduce",
        bytes: 1 << 20,
        count: 7,
        transfer_ns: 9,
        algorithm: 1e9,
        bus: 2e9,
        hidden: 0.5,
    };
    let group = whyidle_diagnosis::Group {
        name: "default_pg".to_owned(),
        ranks: vec![0, 1],
        transfers: vec![transfer],
    };
    let clock = whyidle_diagnosis::Clock { rank: 1, ahead_ns: 3, error_ns: 2, drift: 1e-6 };
    verdict.together = Some(whyidle_diagnosis::TogetherFacts {
        matched: 1.0,
        matched_by: "sequence",
        missing: 0,
        replay_error: Some(0.01),
        groups: vec![group],
        clocks: vec![clock],
        strategy: Vec::new(),
    });
    verdict
}

#[test]
fn every_field_of_the_schema_is_shown() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("a schema");
    let mut wanted = BTreeSet::new();
    paths(&schema, &schema["$defs"]["report"], "", &mut wanted);
    assert!(wanted.contains("findings.gain.step_ms_after") && wanted.len() > 100, "{}", wanted.len());
    // The pages beside a verdict have their own sections.
    wanted.retain(|path| path != "evidence");
    let mut found = shown(&page(&complete(), &Drawn::default(), Lang::En));
    for (_, verdict) in verdicts() {
        found.extend(shown(&page(&verdict, &Drawn::default(), Lang::Zh)));
    }
    let missing: Vec<_> = wanted.difference(&found).collect();
    assert!(missing.is_empty(), "not shown: {missing:?}");
}

#[test]
fn every_value_of_the_json_report_is_on_the_page() {
    let [en, _] = catalogs();
    for verdict in [starved(), complete()] {
        let page = bare(&page(&verdict, &Drawn::default(), Lang::En));
        let report: Value = serde_json::from_str(&render_json(&verdict, &en)).expect("JSON");
        let mut missing = Vec::new();
        leaves(&report, "", &mut |path, value| {
            let text = match value {
                Value::String(text) => crate::html::both::escaped(text),
                Value::Null => return,
                other => other.to_string(),
            };
            if !page.contains(&bare(&text)) {
                missing.push(format!("{path} = {text}"));
            }
        });
        assert!(missing.is_empty(), "{missing:#?}");
    }
}

/// The values of a report; of a text with its message only the text.
fn leaves(value: &Value, path: &str, then: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(members) if members.contains_key("msg") => then(path, &members["text"]),
        Value::Object(members) => {
            members.iter().for_each(|(name, inner)| leaves(inner, &format!("{path}.{name}"), then));
        }
        Value::Array(items) => items.iter().for_each(|inner| leaves(inner, path, then)),
        leaf => then(path, leaf),
    }
}

#[test]
fn figures_are_those_of_the_text() {
    let [en, zh] = catalogs();
    for (name, verdict) in verdicts() {
        let page = bare(&page(&verdict, &Drawn::default(), Lang::En));
        for catalog in [&en, &zh] {
            let step_ns = verdict.step.unprofiled.ns;
            let mut wanted = vec![catalog.time(step_ns)];
            for line in verdict.ledger.iter().filter(|line| line.traced_ns != 0) {
                wanted.push(catalog.time_like(line.unprofiled.ns, step_ns));
                wanted.push(catalog.line(line.id));
            }
            for gain in verdict.findings.iter().filter_map(|finding| finding.gain.as_ref()) {
                wanted.extend([
                    catalog.step_after(gain),
                    catalog.saved(gain, step_ns),
                    catalog.method_and_range(gain),
                ]);
            }
            wanted.push(catalog.sentences(&verdict.ruling.sentence[..1]));
            for text in wanted {
                assert!(page.contains(&bare(&crate::html::both::escaped(&text))), "{name}: {text}");
            }
        }
    }
}

/// A name that would run something if it were markup, a script, JSON or an attribute.
const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\" onload='alert(3)'{{x}}<!--";

#[test]
fn names_of_others_stay_text() {
    let mut verdict = starved();
    verdict.subject.gpu = Some(HOSTILE.to_owned());
    verdict.inputs[0].path = HOSTILE.to_owned();
    verdict.next = HOSTILE.to_owned();
    verdict.details.kernels[0].name = HOSTILE.to_owned();
    verdict.findings[0].remedy.code = HOSTILE.to_owned();
    verdict.findings[0].evidence[0].place = Some(HOSTILE.to_owned());
    verdict.what_if[0].asked = HOSTILE.to_owned();
    let block =
        Block { start: 0, end: 10, line: Line::Matmul, name: 0, count: 1, idle: 0, waited: Line::Latency };
    let drawn = Drawn {
        timeline: Some(Timeline {
            length: 10,
            names: vec![HOSTILE.to_owned()],
            busy: vec![block],
            ..Timeline::default()
        }),
        stacks: vec![Node { around: None, text: HOSTILE.to_owned(), weight: 1 }],
        curves: Curves {
            span: 1,
            columns: 1,
            curves: vec![Curve { id: "cpu.worker", pid: Some(7), values: vec![Some(1.0)] }],
        },
        command: HOSTILE.to_owned(),
        export: Some(HOSTILE.to_owned()),
        ..Drawn::default()
    };
    let page = page(&verdict, &drawn, Lang::En);
    // Every script and every tag of the page is one of a page without such names.
    let tame = |page: &str| page.matches("<script").count();
    let harmless = Drawn {
        stacks: vec![Node { around: None, text: "a".to_owned(), weight: 1 }],
        timeline: Some(Timeline { length: 10, ..Timeline::default() }),
        ..drawn.clone()
    };
    let harmless = Drawn { command: "a".to_owned(), export: None, ..harmless };
    assert_eq!(tame(&page), tame(&self::page(&starved(), &harmless, Lang::En)));
    assert!(!page.contains("<img") && !page.contains("alert(1)</script>"));
    let data =
        page.split("id=\"data\">").nth(1).and_then(|rest| rest.split_once("</script>")).expect("data").0;
    let data: Value = serde_json::from_str(data).expect("JSON that no name has broken");
    assert_eq!((&data["timeline"]["names"][0], &data["stacks"][0][1]), (&json!(HOSTILE), &json!(HOSTILE)));
}

#[test]
fn a_page_fetches_nothing_and_runs_only_its_own() {
    let page = page(&starved(), &Drawn::default(), Lang::En);
    let policy = page.split("Content-Security-Policy\" content=\"").nth(1).expect("a policy");
    let policy = policy.split_once('"').expect("its end").0.replace("&#39;", "'");
    assert!(
        policy.starts_with("default-src 'none'; script-src 'sha256-") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert_eq!(policy.matches("sha256-").count(), 2, "a script and a style: {policy}");
    for fetching in ["src=\"", "@import", "url(", "<link", "<iframe", " style=\"", " onclick"] {
        assert!(!page.contains(fetching), "{fetching}");
    }
    // The one address is a link that somebody may click.
    let addresses = page.matches("https://").count();
    assert_eq!(addresses, page.matches("<a href=\"https://ui.perfetto.dev\"").count(), "addresses");
}

#[test]
fn both_languages_are_in_one_page_and_it_opens_in_the_one_asked_for() {
    for lang in Lang::ALL {
        let page = page(&starved(), &Drawn::default(), lang);
        assert!(page.contains(&format!("<html lang=\"{}\"", lang.tag())));
        for other in catalogs() {
            assert!(page.contains(&other.word("html-title-definitions")));
        }
    }
}

#[test]
fn a_refusal_has_a_page_too() {
    let [en, zh] = catalogs();
    let refusal = refused();
    let page = render_html(
        Some(Reached::Refused(&refusal)),
        &EvidenceReport::default(),
        &Drawn::default(),
        [&en, &zh],
        Lang::En,
    );
    assert!(bare(&page).contains(&bare(&crate::html::both::escaped(&en.message(&refusal.reason)))));
    assert!(page.contains("data-field=\"refused.code\"") && page.len() < 60_000, "{}", page.len());
}
