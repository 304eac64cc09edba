//! The catalogues: both languages hold the same entries with the same placeholders, what
//! the other crates say has its entry, and no entry is left over.

use super::sample::catalog;
use crate::{CAUSES, Catalog, Lang, catalog::key_of};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};
use whyidle_model::NoteCode;

/// Where the messages are made.
const DIAGNOSIS: &str = "../whyidle-diagnosis/src";

/// How message ids begin.
const MESSAGE_PREFIXES: [&str; 8] =
    ["ev-", "fix-", "say-", "doubt-", "detail-", "figure-", "quality-", "refusal-"];

/// Entries that are looked up by an id that only a run knows.
const LOOKED_UP_BY_ID: [&str; 9] =
    ["line-", "cause-", "change-", "method-", "basis-", "confidence-", "note-", "refusal-", "report-steps-"];

/// The placeholders of every entry, and which entries a language has twice.
fn entries(lang: Lang) -> (BTreeMap<String, BTreeSet<String>>, Vec<String>) {
    let mut entries = BTreeMap::new();
    let mut doubled = Vec::new();
    for source in Catalog::sources(lang) {
        let mut current: Option<String> = None;
        for line in source.lines().filter(|line| !line.starts_with('#')) {
            if line.starts_with(|c: char| c.is_ascii_alphabetic())
                && let Some((key, _)) = line.split_once('=')
            {
                let key = key.trim().to_owned();
                if entries.insert(key.clone(), BTreeSet::new()).is_some() {
                    doubled.push(key.clone());
                }
                current = Some(key);
            }
            if let Some(found) = current.as_ref().and_then(|key| entries.get_mut(key)) {
                found.extend(placeholders(line));
            }
        }
    }
    (entries, doubled)
}

/// `count` of `{ $count -> …`.
fn placeholders(line: &str) -> impl Iterator<Item = String> + '_ {
    line.split('$').skip(1).filter_map(|rest| {
        let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        (!name.is_empty()).then_some(name)
    })
}

#[test]
fn every_file_is_sound_fluent() {
    for lang in Lang::ALL {
        for source in Catalog::sources(lang) {
            if let Err((_, errors)) = fluent_bundle::FluentResource::try_new((*source).to_owned()) {
                panic!("{}: {errors:?}", lang.tag());
            }
        }
        let (_, doubled) = entries(lang);
        assert!(doubled.is_empty(), "{} has twice: {doubled:?}", lang.tag());
    }
}

#[test]
fn both_languages_have_the_same_entries_with_the_same_placeholders() {
    let [(en, _), (zh, _)] = Lang::ALL.map(entries);
    let missing = |from: &BTreeMap<String, _>, of: &BTreeMap<String, _>| {
        of.keys().filter(|key| !from.contains_key(*key)).cloned().collect::<Vec<_>>()
    };
    assert_eq!(missing(&zh, &en), Vec::<String>::new(), "missing in zh-CN");
    assert_eq!(missing(&en, &zh), Vec::<String>::new(), "missing in en");
    for (key, placeholders) in &en {
        assert_eq!(placeholders, &zh[key], "{key}");
    }
}

#[test]
fn every_id_has_its_entries() {
    for lang in Lang::ALL {
        let catalog = Catalog::new(lang);
        let mut missing: Vec<String> = Vec::new();
        let mut require = |key: String| {
            if !catalog.has(&key) {
                missing.push(key);
            }
        };
        ledger_lines().iter().for_each(|line| require(format!("line-{}", key_of(line))));
        NoteCode::ALL.iter().for_each(|code| require(format!("note-{}", code.id())));
        for cause in CAUSES {
            for part in ["name", "title", "what", "seen", "remedy", "traps"] {
                require(format!("cause-{}-{part}", key_of(cause)));
            }
        }
        for id in ["given", "measured", "estimated", "traced"] {
            require(format!("basis-{id}"));
        }
        for id in ["given", "measured", "estimated"] {
            require(format!("basis-{id}-range"));
        }
        for key in [
            "method-replay",
            "method-model",
            "method-bound",
            "confidence-high",
            "confidence-medium",
            "confidence-low",
        ] {
            require(key.to_owned());
        }
        for id in ["profiler-step", "optimizer-step", "repetition", "window"] {
            require(format!("report-steps-{id}"));
        }
        assert!(missing.is_empty(), "{}: {missing:#?}", lang.tag());
    }
}

#[test]
fn every_message_of_the_diagnosis_has_its_entry() {
    let ids = messages_of_the_diagnosis();
    for lang in Lang::ALL {
        let catalog = Catalog::new(lang);
        let missing: Vec<_> = ids.iter().filter(|id| !catalog.has(&key_of(id))).collect();
        assert!(missing.is_empty(), "{}: {missing:#?}", lang.tag());
    }
}

#[test]
fn every_change_of_the_diagnosis_has_its_entry() {
    let sources = sources(DIAGNOSIS);
    let mut ids = literals_after("what: \"", &sources);
    ids.extend(literals_after("change(\"", &sources));
    for lang in Lang::ALL {
        let catalog = Catalog::new(lang);
        let missing: Vec<_> =
            ids.iter().filter(|id| !catalog.has(&format!("change-{}", key_of(id)))).collect();
        assert!(missing.is_empty(), "{}: {missing:#?}", lang.tag());
    }
}

#[test]
fn every_cause_of_the_diagnosis_has_its_page() {
    let sources = sources(DIAGNOSIS).join("\n");
    let rows =
        sources.lines().filter(|line| line.contains("\" => ")).filter_map(|line| line.split('"').nth(1));
    let unknown: Vec<_> = rows.filter(|cause| cause.contains('.') && !CAUSES.contains(cause)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn no_entry_is_left_over() {
    let said: BTreeSet<String> = messages_of_the_diagnosis().iter().map(|id| key_of(id)).collect();
    let own = sources("src").join("\n");
    let (entries, _) = entries(Lang::En);
    let left_over: Vec<_> = entries
        .keys()
        .filter(|key| !LOOKED_UP_BY_ID.iter().any(|prefix| key.starts_with(prefix)))
        .filter(|key| !said.contains(*key) && !own.contains(&format!("\"{key}\"")))
        .collect();
    assert!(left_over.is_empty(), "{left_over:#?}");
}

#[test]
fn the_samples_are_worded_completely() {
    for lang in Lang::ALL {
        let catalog = catalog(lang);
        for (name, verdict) in super::sample::verdicts() {
            for message in verdict.ruling.sentence.iter().chain(&verdict.ruling.doubts) {
                assert_eq!(catalog.problems(message), Vec::<String>::new(), "{name}");
            }
        }
    }
}

/// What the diagnosis says: message ids given as such, and literals that look like one –
/// ids also travel through tables and helpers.
fn messages_of_the_diagnosis() -> BTreeSet<String> {
    let sources = sources(DIAGNOSIS);
    let mut ids = literals_after("Message::new(\"", &sources);
    let is_id = |literal: &String| {
        MESSAGE_PREFIXES.iter().any(|prefix| literal.starts_with(prefix))
            && literal.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    ids.extend(sources.iter().flat_map(|source| source.split('"')).map(str::to_owned).filter(is_id));
    ids
}

/// The ids of the ledger's lines: `Matmul = "working.matmul", Working;`.
fn ledger_lines() -> BTreeSet<String> {
    let rows: Vec<String> = sources("../whyidle-analysis/src")
        .iter()
        .flat_map(|source| source.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| ["Working;", "Waiting;", "Rest;"].iter().any(|kind| line.ends_with(kind)))
        .collect();
    let lines = literals_after("= \"", &rows);
    assert!(lines.contains("working.matmul"), "the ledger's table has moved");
    lines
}

/// The string literals that follow `opening` in `sources`.
fn literals_after(opening: &str, sources: &[String]) -> BTreeSet<String> {
    sources
        .iter()
        .flat_map(|source| source.split(opening).skip(1))
        .filter_map(|rest| rest.split_once('"').map(|(literal, _)| literal.to_owned()))
        .collect()
}

/// The Rust sources below `folder`, tests of this crate left out.
fn sources(folder: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.iter().map(|file| fs::read_to_string(file).expect("a readable source")).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("tests") {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
