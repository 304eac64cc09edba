//! Doors of what is given to a command: configurations, settings, tokenizers, histories, arguments.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use whyidle_feed::formats::Format;
use whyidle_readers::documents::{Field, Reading};
use whyidle_readers::settings::{self, Form};

use super::place::{asked, empty, path, with_file};

/// A program's settings file, in which one value is read and changed. First line: where it stands.
pub fn edits(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Some((path, text)) = text.split_once('\n') else { return };
    for form in [Form::Toml, Form::Yaml, Form::Json] {
        let Ok(old) = settings::value(text, form, path) else { continue };
        if let Ok(changed) = settings::set(text, form, path, "7") {
            let new = settings::value(&changed, form, path);
            assert_eq!(new.as_deref(), Ok("7"), "{form:?}: {old:?} became {new:?}");
        }
    }
}

/// The configuration of a model, and a table of GPUs.
pub fn model(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = whyidle_planner::parse_gpus(&text);
    if whyidle_planner::from_config(&text).is_ok() {
        with_file("config.json", bytes, |path| {
            let _ = asked(&["plan", "--gpu", "h200", "--seq", "64", "--batch", "2", "--config"], path);
        });
    }
}

fn feed(tokenizer: PathBuf, input: &Path, out: PathBuf, force: bool) -> Option<whyidle_feed::Settings> {
    Some(whyidle_feed::Settings {
        inputs: vec![input.to_owned()],
        reading: Reading { field: Field::parse("text")?, kind: None, whole: false },
        tokenizer,
        out,
        format: Format::Megatron,
        bos: None,
        eos: None,
        special: false,
        shard: Some(100),
        strict: false,
        force,
        save_every: Duration::from_secs(60),
    })
}

const TEXT: &str = "Hello  world, hällo 世界 \u{1f600}!\tI'm 12345\nsecond document\n";

/// A tokenizer's file; where it is one, it is used on a short text.
pub fn tokenizer(bytes: &[u8]) {
    with_file("tokenizer.json", bytes, |tokenizer| {
        with_file("input.txt", TEXT.as_bytes(), |input| {
            if let Some(settings) = feed(tokenizer.to_owned(), input, empty("out"), true) {
                let _ = whyidle_feed::tokenize(&settings, &|_, _| {});
            }
        });
    });
}

/// A folder of an unfinished run: where it stood, as a file says that others may have written. `FINGERPRINT` in it stands
/// for that of the run, so that it is gone on with.
pub fn unfinished(bytes: &[u8]) {
    thread_local! {
        static FINGERPRINT: OnceCell<String> = const { OnceCell::new() };
    }
    let vocabulary = || Path::new(env!("CARGO_MANIFEST_DIR")).join(BYTE_LEVEL);
    with_file("text.txt", TEXT.as_bytes(), |input| {
        let fingerprint =
            FINGERPRINT.with(|known| known.get_or_init(|| fingerprint(vocabulary(), input)).clone());
        let state = String::from_utf8_lossy(bytes).replace("FINGERPRINT", &fingerprint);
        let out = empty("unfinished");
        let (kept, lengths) = (path("kept.bin"), path("..kept.bin.lengths"));
        let write = || {
            std::fs::write(&kept, TEXT)?;
            std::fs::write(&lengths, TEXT)?;
            std::fs::write(out.join(".tokenize.json"), state)?;
            std::fs::write(out.join(".tokens-00000.bin.partial"), TEXT)?;
            std::fs::write(out.join(".tokens-00000.bin.lengths"), TEXT)?;
            std::fs::write(out.join("tokens-00001.bin"), TEXT)
        };
        write().unwrap_or_else(|error: std::io::Error| panic!("{error}"));
        if let Some(settings) = feed(vocabulary(), input, out.clone(), false) {
            let _ = whyidle_feed::tokenize(&settings, &|_, _| {});
        }
        for beside in [kept, lengths] {
            let there = std::fs::read(beside).unwrap_or_default();
            assert_eq!(there, TEXT.as_bytes(), "a file beside the folder was written");
        }
    });
}

/// What a whole run writes down of all that its tokens depend on.
fn fingerprint(vocabulary: PathBuf, input: &Path) -> String {
    let out = empty("whole");
    let settings = feed(vocabulary, input, out.clone(), true);
    if let Some(settings) = settings {
        let _ = whyidle_feed::tokenize(&settings, &|_, _| {});
    }
    let about = std::fs::read_to_string(out.join("tokens.json")).unwrap_or_default();
    let rest = about.split_once("\"fingerprint\": \"").map_or("", |(_, rest)| rest);
    let fingerprint = rest.split('"').next().unwrap_or_default().to_owned();
    assert!(!fingerprint.is_empty(), "no fingerprint: {about}");
    fingerprint
}

/// From this crate's folder, and from that of the test which includes this file.
const BYTE_LEVEL: &str = if cfg!(test) {
    "../whyidle-feed/testdata/byte_level.json"
} else {
    "../crates/whyidle-feed/testdata/byte_level.json"
};

/// Runs in a file, as `bench --format json` writes them.
pub fn runs(bytes: &[u8]) {
    let _ = whyidle_experiment::documents::parse(bytes);
}

/// A history, as `--db` names it.
pub fn history(bytes: &[u8]) {
    let path = path("history.db");
    for beside in ["history.db-wal", "history.db-shm"] {
        let _ = std::fs::remove_file(path.with_file_name(beside));
    }
    std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{error}"));
    if let Ok(history) = whyidle_experiment::history::History::open_to_read(&path) {
        for row in history.list(None, 20).unwrap_or_default() {
            let _ = history.entry(row.id);
        }
        let _ = history.of_job("slurm:1", 20);
    }
}

/// The agent's settings.
pub fn agent_settings(bytes: &[u8]) {
    with_file("agent.toml", bytes, |path| {
        if let Ok(settings) = whyidle_agent::settings::Settings::read(path) {
            let _ = settings.listen();
        }
    });
}

/// What stands on command lines: that of a watched program, without its secrets; moments; what to try and to vary.
pub fn arguments(bytes: &[u8]) {
    use whyidle_observe::redact;
    let text = String::from_utf8_lossy(bytes);
    let words: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let shown = redact::command(&words);
    assert_eq!(shown.len(), words.len());
    for word in &words {
        let once = redact::text(word);
        assert!(once.len() <= 12 * word.len() + 12, "it grows");
        let _ = redact::variable("NAME", word);
        let _ = whyidle_agent::time::parse(word, 1_796_000_000_000_000_000);
        let _ = whyidle_agent::time::parse_stretch(word, 1_796_000_000_000_000_000);
        let _ = whyidle_diagnosis::WhatIf::parse(word);
        let _ = whyidle_experiment::tries::Try::parse(word);
        let _ = whyidle_experiment::sweep::vary::vary(word);
    }
}
