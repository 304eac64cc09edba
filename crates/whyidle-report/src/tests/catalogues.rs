//! The catalogues: both languages hold the same entries with the same placeholders, whatever the
//! other crates say has its entry, and no entry is left over.

use super::sample::catalog;
use crate::{CAUSES, Catalog, Lang, catalog::key_of};
use fluent_bundle::FluentValue;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};
use whyidle_model::NoteCode;

/// Where messages are made.
const DIAGNOSIS: &str = "../whyidle-diagnosis/src";
const PROGRAM: &str = "../whyidle/src";
const CHECKS: &str = "../whyidle-observe/src/check";
const AGENT: &str = "../whyidle-agent/src";
const DASHBOARD: &str = "../whyidle-tui/src";
const READERS: &str = "../whyidle-readers/src/error.rs";

/// How the ids of messages begin.
const MESSAGE_PREFIXES: [&str; 19] = [
    "say-", "because-", "limit-", "doubt-", "ev-", "fix-", "det-", "stat-", "note-", "refusal-", "cli-",
    "read-", "what-if-", "look-", "list-", "top-", "symptom-", "log-", "agent-",
];

/// Parts of a cause's page.
const PAGE: [&str; 6] = ["name", "title", "what", "seen", "remedy", "traps"];

/// Entries that are looked up by an id of an enumeration.
const ENUMERATED: [(&str, &[&str]); 8] = [
    (
        "basis-",
        &["given", "measured", "estimated", "traced", "given-range", "measured-range", "estimated-range"],
    ),
    ("method-", &["replay", "model", "bound"]),
    ("path-", &["gpu", "communication", "copy", "host", "loader", "launch", "pause"]),
    ("confidence-", &["high", "medium", "low"]),
    (
        "report-steps-",
        &["profiler-step", "optimizer-step", "repetition", "window", "recorded", "batches", "second"],
    ),
    (
        "instrument-",
        &[
            "gpu-util",
            "gpu-util-counts",
            "gpu-util-memory",
            "gpu-util-memory-counts",
            "gpu-resident",
            "gpu-resident-counts",
            "gpu-sm",
            "gpu-sm-counts",
            "gpu-warps",
            "gpu-warps-counts",
            "gpu-tensor",
            "gpu-tensor-counts",
            "gpu-fp32",
            "gpu-fp32-counts",
            "gpu-dram",
            "gpu-dram-counts",
            "gpu-power",
            "gpu-power-counts",
            "gpu-memory",
            "gpu-memory-counts",
            "gpu-pcie",
            "gpu-pcie-counts",
            "step-working",
            "step-working-counts",
            "cpu-program",
            "cpu-program-counts",
            "cpu-worker",
            "cpu-worker-counts",
            "cpu-cores",
            "cpu-cores-counts",
            "disk-wait",
            "disk-wait-counts",
            "disk-read",
            "disk-read-counts",
        ],
    ),
    ("line-", &["working-resident", "rest-host", "host-gil", "host-contention", "run-epoch"]),
    (
        "phase-",
        &[
            "training",
            "run-startup",
            "run-compile",
            "run-epoch",
            "run-eval",
            "run-checkpoint",
            "run-stuck",
            "unknown",
        ],
    ),
];

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
fn all_languages_have_the_same_entries_with_the_same_placeholders() {
    let (first, _) = entries(Lang::default());
    let missing = |from: &BTreeMap<String, _>, of: &BTreeMap<String, _>| {
        of.keys().filter(|key| !from.contains_key(*key)).cloned().collect::<Vec<_>>()
    };
    for lang in Lang::ALL {
        let (other, _) = entries(lang);
        assert_eq!(missing(&other, &first), Vec::<String>::new(), "missing in {}", lang.tag());
        assert_eq!(missing(&first, &other), Vec::<String>::new(), "only in {}", lang.tag());
        for (key, placeholders) in &first {
            assert_eq!(placeholders, &other[key], "{}: {key}", lang.tag());
        }
    }
}

#[test]
fn whatever_is_said_has_its_entry() {
    let keys = said();
    for lang in Lang::ALL {
        let catalog = Catalog::new(lang);
        let missing: Vec<_> = keys.iter().filter(|key| !catalog.has(key)).collect();
        assert!(missing.is_empty(), "{}: {missing:#?}", lang.tag());
    }
}

#[test]
fn no_entry_is_left_over() {
    let said = said();
    let own = sources("src").join("\n") + &templates();
    for lang in Lang::ALL {
        let (entries, _) = entries(lang);
        let left_over: Vec<_> = entries
            .keys()
            .filter(|key| !said.contains(*key) && !own.contains(&format!("\"{key}\"")))
            .collect();
        assert!(left_over.is_empty(), "{}: {left_over:#?}", lang.tag());
    }
}

#[test]
fn every_cause_of_the_diagnosis_has_its_page() {
    let causes = whyidle_diagnosis::CAUSES.iter().map(|cause| cause.id);
    let unknown: Vec<_> = causes.filter(|cause| !CAUSES.contains(cause)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// A cause that is not looked for: its page says so where it says how it is recognised.
#[test]
fn pages_of_causes_that_are_not_looked_for_say_so() {
    let by_one = whyidle_diagnosis::CAUSES.iter().map(|cause| cause.id);
    let looked_for: BTreeSet<_> = by_one.chain(whyidle_diagnosis::ACROSS_RANKS).collect();
    for (lang, words) in [(Lang::En, "Not from "), (Lang::Zh, "看不出来")] {
        let catalog = Catalog::new(lang);
        for cause in CAUSES.iter().filter(|cause| !looked_for.contains(*cause)) {
            let seen = catalog.word(&format!("cause-{}-seen", key_of(cause)));
            assert!(seen.contains(words), "{}: {cause}: {seen}", lang.tag());
        }
    }
}

/// Whatever the arguments: words, none of anything, one, or several.
#[test]
fn every_entry_can_be_worded() {
    for lang in Lang::ALL {
        let catalog = Catalog::new(lang);
        for (key, placeholders) in entries(lang).0 {
            for value in
                [FluentValue::from("x"), FluentValue::from(0), FluentValue::from(1), FluentValue::from(2)]
            {
                let args: Vec<_> = placeholders.iter().map(|name| (name.as_str(), value.clone())).collect();
                let worded =
                    catalog.try_format(&key, &args).unwrap_or_else(|problems| panic!("{problems:?}"));
                assert!(!worded.contains(['{', '}', '$']), "{key}: {worded}");
            }
        }
    }
}

#[test]
fn chinese_is_set_with_spaces_towards_latin_text_and_with_its_own_marks() {
    let chinese = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    for source in Catalog::sources(Lang::Zh) {
        for line in source.lines() {
            let text: Vec<char> = line.split_once(" = ").map_or(line, |(_, text)| text).chars().collect();
            for pair in text.windows(2) {
                let (left, right) = (pair[0], pair[1]);
                let tight = chinese(left) && (right.is_ascii_alphanumeric() || "`(".contains(right))
                    || chinese(right) && (left.is_ascii_alphanumeric() || "`)%".contains(left));
                let mark = chinese(left) && ",;:!?".contains(right);
                assert!(!tight && !mark, "{left}{right}: {line}");
            }
        }
    }
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

/// The keys of all that is said: messages of the other crates, and what is looked up by an id.
fn said() -> BTreeSet<String> {
    let mut keys: BTreeSet<String> = [DIAGNOSIS, PROGRAM, DASHBOARD, READERS, CHECKS, AGENT]
        .iter()
        .flat_map(|place| messages(&sources(place)))
        .map(|id| key_of(&id))
        .collect();
    keys.extend(
        whyidle_diagnosis::CAUSES.iter().flat_map(|cause| [key_of(cause.because), key_of(cause.limit)]),
    );
    let levers = whyidle_diagnosis::CAUSES.iter().filter(|cause| cause.lever.is_some());
    keys.extend(levers.map(|cause| format!("gain-{}", key_of(cause.id))));
    keys.extend(tabled_messages_of_the_readers());
    let pages = [templates()];
    keys.extend(literals_after("t.word(\"", &pages));
    keys.extend(literals_after("t.format(\"", &pages));
    keys.extend(literals_after("m::copied(", &pages).into_iter().filter(|key| key.starts_with("html-")));
    keys.extend(whyidle_diagnosis::SPLIT_LINES.iter().map(|line| format!("line-{}", key_of(line))));
    keys.extend(ledger_lines().iter().map(|line| format!("line-{}", key_of(line))));
    keys.extend(whyidle_planner::PlanError::IDS.iter().map(|id| (*id).to_owned()));
    keys.extend(NoteCode::ALL.iter().map(|code| format!("note-{}", code.id())));
    keys.extend(CAUSES.iter().flat_map(|cause| PAGE.map(|part| format!("cause-{}-{part}", key_of(cause)))));
    keys.extend(changes().iter().map(|change| format!("change-{}", key_of(change))));
    keys.extend(
        ENUMERATED.iter().flat_map(|(prefix, ids)| ids.iter().map(move |id| format!("{prefix}{id}"))),
    );
    keys
}

/// Message ids in `sources`: given as such, and literals that look like one – ids also travel
/// through tables and helpers.
fn messages(sources: &[String]) -> BTreeSet<String> {
    let mut ids = literals_after("Message::new(\"", sources);
    let is_id = |literal: &String| {
        MESSAGE_PREFIXES.iter().any(|prefix| literal.len() > prefix.len() && literal.starts_with(prefix))
            && literal.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    ids.extend(sources.iter().flat_map(|source| source.split('"')).map(str::to_owned).filter(is_id));
    ids
}

/// `Found "found-" { Empty = "empty"; … }`: the prefix with each id.
fn tabled_messages_of_the_readers() -> BTreeSet<String> {
    let source = sources(READERS).join("\n");
    let mut keys = BTreeSet::new();
    for prefix in ["found-", "hint-"] {
        let (_, table) =
            source.split_once(&format!("\"{prefix}\" {{")).expect("the readers' table has moved");
        let (table, _) = table.split_once("\n    }").expect("the table's end");
        keys.extend(literals_after("= \"", &[table.to_owned()]).iter().map(|id| format!("{prefix}{id}")));
    }
    keys
}

/// The ids of what a gain changes.
fn changes() -> BTreeSet<String> {
    let sources = sources(DIAGNOSIS);
    let mut ids = literals_after("what: \"", &sources);
    ids.extend(literals_after("change(\"", &sources));
    ids.extend(literals_after("what: \"", &self::sources("src/tests/sample.rs")));
    assert!(ids.contains("workers"), "changes are made elsewhere");
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

/// The templates of pages, which look words up by themselves.
fn templates() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let files = fs::read_dir(folder).expect("templates").map(|entry| entry.expect("an entry").path());
    files.map(|path| fs::read_to_string(path).expect("a readable template")).collect()
}

/// The string literals that follow `opening` in `sources`.
fn literals_after(opening: &str, sources: &[String]) -> BTreeSet<String> {
    sources
        .iter()
        .flat_map(|source| source.split(opening).skip(1))
        .filter_map(|rest| rest.split_once('"').map(|(literal, _)| literal.to_owned()))
        .collect()
}

/// A Rust source, or those below a folder; folders of tests are left out.
fn sources(place: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(place);
    let mut files = Vec::new();
    if root.is_dir() {
        collect(&root, &mut files)
    } else {
        files.push(root)
    }
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
