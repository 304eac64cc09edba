//! The ranks of a job: one verdict from traces and from digests, and what is missing, double or foreign.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::root;

const RUN: &str = "testdata/straggler_data";

fn whyidle(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_whyidle")).args(arguments).current_dir(root()).output().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = whyidle(&[arguments, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn the_readmes_say_what_is_printed() {
    for (page, lang) in [("README.md", "en"), ("README.zh-CN.md", "zh")] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let verdict = json(&["trace", RUN, "--lang", lang]);
        let sentence = verdict["verdict"]["sentence"]["text"].as_str().unwrap();
        assert!(text.contains(&format!("> {sentence}\n")), "{page}: {sentence}");
    }
}

#[test]
fn digests_say_what_the_traces_say() {
    let folder = tempfile::tempdir().unwrap();
    let digests: Vec<_> = [0, 1]
        .map(|rank| {
            let out = folder.path().join(format!("{rank}.gz"));
            let trace = format!("{RUN}/trace_rank{rank}.json.gz");
            let made = whyidle(&["digest", &trace, "--recorded", "-o", shown(&out)]);
            assert!(made.status.success() && made.stdout.is_empty(), "{}", text(&made.stderr));
            assert!(fs::metadata(&out).unwrap().len() < 300_000);
            out
        })
        .into();
    let from_traces = json(&["trace", RUN]);
    // Either way round, and from the folder.
    let both = json(&["merge", shown(&digests[0]), shown(&digests[1])]);
    let turned = json(&["merge", shown(&digests[1]), shown(&digests[0])]);
    let folder_of = json(&["merge", shown(folder.path())]);
    assert_eq!(both, turned);
    assert_eq!(both, folder_of);
    assert_eq!(both, from_traces);
    // Joined in one file.
    let joined = folder.path().join("joined.gz");
    let written = whyidle(&["merge", shown(&digests[1]), shown(&digests[0]), "-o", shown(&joined)]);
    assert!(written.status.success());
    assert_eq!(json(&["merge", shown(&joined)]), both);
    // Of one rank.
    assert_eq!(json(&["merge", shown(&joined), "--rank", "0"])["subject"]["rank_shown"], 0);
    assert_eq!(whyidle(&["merge", shown(&joined), "--rank", "7"]).status.code(), Some(1));
}

#[test]
fn a_rank_given_twice_is_named_and_taken_once() {
    let trace = |rank: u32| format!("{RUN}/trace_rank{rank}.json.gz");
    let output = json(&["trace", &trace(0), &trace(1), &trace(1), "--step-ms", "210.8"]);
    assert_eq!(output["subject"]["ranks"], 2);
    let codes: Vec<&str> =
        output["quality"].as_array().unwrap().iter().map(|note| note["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"rank-twice"), "{codes:?}");
}

#[test]
fn traces_of_different_jobs_are_refused() {
    let two = whyidle(&[
        "trace",
        "testdata/straggler_data/trace_rank0.json.gz",
        "testdata/fed_small/trace.json.gz",
    ]);
    assert_eq!(two.status.code(), Some(1));
    assert!(text(&two.stdout).contains("not the ranks of one job"), "{}", text(&two.stdout));
}

#[test]
fn what_is_no_digest_is_said_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = folder.path().join("thesis.txt");
    fs::write(&foreign, "a year of work").unwrap();
    let merged = whyidle(&["merge", shown(&foreign)]);
    assert_eq!(merged.status.code(), Some(2));
    assert!(text(&merged.stderr).contains("holds no digest"), "{}", text(&merged.stderr));
    assert_eq!(whyidle(&["merge", shown(folder.path())]).status.code(), Some(2));
    let trace = "testdata/pp_m2/trace_rank0.json.gz";
    let refused = whyidle(&["digest", trace, "-o", shown(&foreign)]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "a year of work");
    // A digest is no trace, and says what it is for.
    let digest = folder.path().join("digest.gz");
    assert!(whyidle(&["digest", trace, "-o", shown(&digest)]).status.success());
    let traced = whyidle(&["trace", shown(&digest)]);
    assert_eq!(traced.status.code(), Some(2));
    assert!(text(&traced.stderr).contains("whyidle merge"), "{}", text(&traced.stderr));
    // Cut in the middle.
    let bytes = fs::read(&digest).unwrap();
    fs::write(&digest, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(whyidle(&["merge", shown(&digest)]).status.code(), Some(2));
    // Nowhere to write.
    let nowhere = folder.path().join("none/digest.gz");
    assert_eq!(whyidle(&["digest", trace, "-o", shown(&nowhere)]).status.code(), Some(2));
}
