//! One walk through everything on one program: what is said twice – as text in both languages, as Markdown, JSON and a
//! page, in Python, in SQL, in the history – is the same, to the last digit, under the same names, in the same order.
//!
//! Nothing here is a figure of one case: the JSON is walked, and what the program's own rules make of its figures is
//! looked for in everything else. The first half is of what ships; the second, `program`, of a program that runs.

mod figures;
mod page;
mod program;
mod python;
mod said;

use std::fs;

use serde_json::Value;
use whyidle_report::{Catalog, Lang};

#[cfg(feature = "serve")]
use crate::serve::serve;
use crate::support::{EXAMPLE, LANGUAGES, printed, recordings, root, run};
use figures::Figures;
use page::Page;
use said::{Said, flat};

/// What is asked for beside the verdict.
const ASKED: [&[&str]; 3] = [
    &["trace", EXAMPLE, "--what-if", "data.workers=4", "--what-if", "data.workers=12", "--critical-path"],
    &["trace", "testdata/sync_item", "--what-if", "host.launch+host.sync", "--critical-path"],
    &["trace", "testdata/straggler_data", "--what-if", "data.workers"],
];

/// Every recording that ships, with a trace and without one, and what may be asked of them.
fn walked() -> Vec<Vec<String>> {
    let sampled = fs::read_dir(root().join("crates/whyidle/tests/recordings")).unwrap();
    let mut sampled: Vec<String> = sampled
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| format!("crates/whyidle/tests/recordings/{name}"))
        .collect();
    sampled.sort();
    let all = recordings().into_iter().chain(sampled).map(|path| vec!["diagnose".to_owned(), path]);
    let asked = ASKED.iter().map(|words| words.iter().map(|word| (*word).to_owned()).collect());
    asked.chain(all).collect()
}

pub(crate) fn catalog(lang: &str) -> Catalog {
    Catalog::new(if lang == "zh" { Lang::Zh } else { Lang::En })
}

fn with<'a>(command: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [command, more].concat()
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Text, Markdown and page say what the JSON says, in its order.
#[test]
fn one_verdict_is_the_same_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html").display().to_string();
    let mut all: Vec<String> = Vec::new();
    for command in walked() {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let command = &command[..];
        for lang in LANGUAGES {
            let report = json(&printed(&with(command, &["--format", "json", "--lang", lang])));
            let both = run(&with(command, &["-v", "--lang", lang, "-o", &path, "--force"]));
            assert_eq!(both.status, Some(0), "{command:?}: {}", both.err);
            let said = Said::of_verdict(&report, &catalog(lang));
            assert!(said.count() > 10, "{command:?}: only {} things are looked for", said.count());
            let page = Page::read(&fs::read_to_string(&path).unwrap());
            let markdown = printed(&with(command, &["--format", "md", "--lang", lang]));
            let brief = printed(&with(command, &["--lang", lang]));
            let mut missing = said.missing_in(&format!("text {lang}"), &flat(&both.out), said::Form::Whole);
            missing.extend(said.missing_in(&format!("page {lang}"), &page.words(lang), said::Form::Whole));
            missing.extend(said.missing_in(
                &format!("Markdown {lang}"),
                &flat(&markdown),
                said::Form::Folded,
            ));
            missing.extend(said.missing_in(&format!("brief {lang}"), &flat(&brief), said::Form::Brief));
            missing.extend(page.fields_missing(&report, lang));
            all.extend(missing.into_iter().map(|one| format!("{command:?}: {one}")));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// Figures that the first screen shows are the JSON's. What it sums for itself – work of all kinds, what is small – is
/// no line of the ledger, and is held against the sum.
#[test]
fn the_first_screen_shows_no_figure_of_its_own() {
    let mut all: Vec<String> = Vec::new();
    for command in walked() {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let command = &command[..];
        let report = json(&printed(&with(command, &["--format", "json"])));
        let lines = report["ledger"].as_array().unwrap();
        let sum = |of: &dyn Fn(&Value) -> bool| -> (f64, f64) {
            let lines = lines.iter().filter(|line| of(line));
            let add = |name: &str, lines: &mut dyn Iterator<Item = &Value>| -> f64 {
                lines.map(|line| line[name].as_f64().unwrap()).sum()
            };
            (add("ms", &mut lines.clone()), add("share", &mut lines.into_iter()))
        };
        let is_small = |line: &Value| line["kind"] != "working" && line["share"].as_f64() < Some(0.01);
        let mut known = report.clone();
        known["sums"] = [sum(&|line| line["kind"] == "working"), sum(&|line| is_small(line))]
            .iter()
            .map(|(ms, share)| serde_json::json!({ "ms": ms, "share": share }))
            .collect();
        // Kinds of work that are not named by themselves are one figure.
        let mut work: Vec<f64> = lines
            .iter()
            .filter(|line| line["kind"] == "working")
            .map(|line| line["ms"].as_f64().unwrap())
            .collect();
        work.sort_by(|a, b| b.total_cmp(a));
        known["others"] = (1..work.len())
            .map(|named| serde_json::json!({ "ms": work[named..].iter().sum::<f64>() }))
            .collect();
        if let Some(path) = report["critical_path"].as_object() {
            let length = path["length_ns"].as_f64().unwrap();
            let parts = ["parts", "names"].iter().flat_map(|name| path[*name].as_array().unwrap());
            known["of_path"] = parts
                .map(|part| serde_json::json!({ "share": part["ns"].as_f64().unwrap() / length }))
                .collect();
        }
        for lang in LANGUAGES {
            let brief = printed(&with(command, &["--lang", lang]));
            let unknown = Figures::of(&known).unknown_in(&format!("{command:?} {lang}"), &brief);
            all.extend(unknown);
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// What SQL and an export say of a line, and what changed from a recording to itself: the ledger, to the nanosecond.
#[test]
fn tables_and_differences_are_of_the_same_ledger() {
    let folder = tempfile::tempdir().unwrap();
    for path in [EXAMPLE, "testdata/sync_item"] {
        let report = json(&printed(&["trace", path, "--format", "json"]));
        let lines: Vec<(&str, i64)> = report["ledger"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| (line["id"].as_str().unwrap(), line["traced_ns"].as_i64().unwrap()))
            .filter(|(_, ns)| *ns != 0)
            .collect();
        let query =
            "select line, sum(traced_ns) ns from ledger group by line having ns <> 0 order by min(rowid)";
        let query = query.replace(" order by min(rowid)", "");
        let rows = json(&printed(&["sql", path, &query, "--format", "json"]));
        let out = folder.path().join(path.replace('/', "-")).display().to_string();
        assert_eq!(run(&["export", path, "--to", "csv", "-o", &out]).status, Some(0));
        let table = fs::read_to_string(format!("{out}/ledger.csv")).unwrap();
        let diff = json(&printed(&["diff", path, path, "--format", "json"]));
        assert_eq!(diff["step"]["difference_ns"], 0);
        assert_eq!(diff["a"], diff["b"]);
        assert_eq!(diff["a"]["working_share"], report["working_share"]);
        assert_eq!(diff["step"]["a"]["ns"], said::ns(&report["step"]["unprofiled_ms"]));
        let labels = report["ledger"].as_array().unwrap();
        for (line, ns) in &lines {
            let row = rows.as_array().unwrap().iter().find(|row| row["line"] == *line).unwrap();
            assert_eq!(row["ns"], *ns, "{path}: {line}");
            let of_csv = table.lines().map(|row| row.trim_end().split(',').collect::<Vec<_>>());
            let of_csv =
                of_csv.filter(|cells| cells[3] == *line).map(|cells| cells[5].parse::<i64>().unwrap());
            assert_eq!(of_csv.sum::<i64>(), *ns, "{path}: {line}");
            let compared = diff["ledger"].as_array().unwrap().iter().find(|row| row["id"] == *line).unwrap();
            assert_eq!((&compared["a"], &compared["difference_ns"]), (&compared["b"], &Value::from(0)));
            let own = labels.iter().find(|own| own["id"] == *line).unwrap();
            assert_eq!(compared["label"], own["label"], "{path}: {line}");
            assert_eq!(compared["a"]["ns"], said::ns(&own["ms"]), "{path}: {line}");
        }
        assert_eq!(rows.as_array().unwrap().len(), lines.len());
    }
}

/// What is kept of measurements: the list and each entry, in every form, say the same.
#[test]
fn the_history_says_what_was_measured() {
    const KEPT: &str = "crates/whyidle/tests/experiments/history.db";
    for lang in LANGUAGES {
        walk_history(&["--db", KEPT, "--lang", lang], lang, |command| {
            let printed = run(command);
            assert_eq!(printed.status, Some(0), "{command:?}: {}", printed.err);
            printed.out
        });
    }
}

/// Walks a history that `said` reads: entries as text, Markdown, JSON and page, and their rows in the list.
pub(crate) fn walk_history(place: &[&str], lang: &str, said: impl Fn(&[&str]) -> String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html").display().to_string();
    let catalog = catalog(lang);
    let list = json(&said(&with(&["history", "--format", "json"], place)));
    let listed = flat(&said(&with(&["history"], place)));
    let entries = list["entries"].as_array().unwrap();
    assert!(!entries.is_empty());
    for row in entries {
        let id = row["id"].to_string();
        let show = |more: &[&str]| said(&[&["history", "show", &id], more, place].concat());
        let report = json(&show(&["--format", "json"]));
        let (step, effect) = measured(&report);
        assert_eq!(row["step_ns"].as_i64(), step, "entry {id}: the list and the entry differ");
        assert_eq!(row["effect"].as_f64(), effect, "entry {id}: the list and the entry differ");
        let figure = match (effect, step) {
            (Some(effect), _) => catalog.difference(effect),
            (None, step) => catalog.time(step.unwrap()),
        };
        assert!(listed.contains(&flat(&figure)), "{figure} is not in the list");
        let text = show(&["-v"]);
        let markdown = show(&["--format", "md"]);
        show(&["-o", &path, "--force"]);
        let page = Page::read(&fs::read_to_string(&path).unwrap()).words(lang);
        if row["kind"] == "verdict" {
            let said = Said::of_verdict(&report, &catalog);
            let mut missing = said.missing_in("text", &flat(&text), said::Form::Whole);
            missing.extend(said.missing_in("page", &page, said::Form::Whole));
            missing.extend(said.missing_in("Markdown", &flat(&markdown), said::Form::Folded));
            assert!(missing.is_empty(), "entry {id}:\n{}", missing.join("\n"));
            continue;
        }
        let mut missing = Vec::new();
        let mut texts = Vec::new();
        said::texts("", &report, &mut texts);
        for (name, words) in [("text", flat(&text)), ("Markdown", flat(&markdown)), ("page", page)] {
            for (at, text) in &texts {
                if !words.contains(&flat(text)) {
                    missing.push(format!("{name}: {at}: {text}"));
                }
            }
        }
        // Runs stand below what was made of them, with a step of their own each.
        let own = text.split("\n\n     ").next().unwrap();
        let figures = Figures::of(&report);
        let figures = report["pairs"].as_array().into_iter().flatten().fold(figures, |figures, pair| {
            let side = |name: &str| pair[name].as_f64().unwrap();
            figures.and_share(side("b_ns") / side("a_ns") - 1.0)
        });
        // Half an interval, as a share of what it is of.
        let rungs = report["rungs"].as_array().into_iter().flatten();
        let values = rungs.flat_map(|rung| rung["values"].as_array().unwrap());
        let halves = values.filter_map(|value| {
            let end = |at: usize| value["interval_ns"][at].as_f64();
            Some((end(1)? - end(0)?) / 2.0 / value["ns"].as_f64()?)
        });
        let figures = halves.fold(figures, Figures::and_share);
        missing.extend(figures.unknown_in("text", own));
        assert!(missing.is_empty(), "entry {id}:\n{}\n{text}", missing.join("\n"));
    }
}

/// Step and effect of an entry, by its own members.
fn measured(report: &Value) -> (Option<i64>, Option<f64>) {
    match report["schema"].as_str().unwrap() {
        "whyidle.verdict/1" => (Some(said::ns(&report["step"]["unprofiled_ms"])), None),
        "whyidle.bench/1" => (report["steady"]["mean_ns"].as_i64(), None),
        "whyidle.compare/1" => (report["a"]["step_ns"].as_i64(), report["effect"]["effect"].as_f64()),
        "whyidle.fix/1" => (report["before_ns"].as_i64(), report["together"]["effect"].as_f64()),
        "whyidle.differential/1" => {
            let own = report["fed"].as_array().unwrap().iter().find(|fed| fed["feed"] == "warm").unwrap();
            (own["step_ns"].as_i64(), None)
        }
        "whyidle.sweep/1" => {
            let total = &report["total"];
            let ratio = total["speedup"]["ratio"].as_f64().unwrap();
            (total["before_ns"].as_i64(), Some(1.0 / ratio - 1.0))
        }
        other => panic!("{other} is not walked"),
    }
}

/// A page that is served is the page that is written.
#[cfg(feature = "serve")]
#[test]
fn a_served_page_says_the_same() {
    let served = serve("testdata", &[]);
    for lang in LANGUAGES {
        let report = json(&printed(&["diagnose", "testdata/sync_item", "--format", "json", "--lang", lang]));
        let page = Page::read(&served.get("/recording/sync_item", "")).words(lang);
        let missing =
            Said::of_verdict(&report, &catalog(lang)).missing_in("served", &page, said::Form::Whole);
        assert!(missing.is_empty(), "{}", missing.join("\n"));
    }
}
