//! Changes that are made in a running program: `--try`, `bench --differential`, `fix`. Those with PyTorch need
//! `WHYIDLE_TEST_PYTHON`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::experiments::{Place, has_python};
use crate::support::root;
use crate::torch::{python, turn};
use crate::watching::{eventually, kill};

fn program(name: &str) -> String {
    root().join("crates/whyidle/tests/programs").join(name).display().to_string()
}

/// What became of each change, by its name.
fn tried(found: &Value) -> BTreeMap<String, Value> {
    let all = found["tried"].as_array().unwrap().iter();
    all.map(|one| (one["name"].as_str().unwrap().to_owned(), one["did"].clone())).collect()
}

#[test]
fn changes_are_made_in_the_running_program_and_what_does_not_apply_is_named() {
    let Some(python) = python() else { return };
    let _turn = turn();
    let (place, python, limited) =
        (Place::new(), python.display().to_string(), program("feeding/limited.py"));
    let folder = place.path().display().to_string();
    let changes =
        ["workers=2", "fused_optimizer", "bf16", "gc=every:10", "tf32", "channels_last", "bucket_cap_mb=50"];
    let mut args = vec!["bench", "--steps", "20", "--format", "json"];
    changes.iter().for_each(|change| args.extend(["--try", change]));
    args.extend(["--", &python, &limited, "prep", "--folder", &folder]);
    let found = place.json(&args);
    let tried = tried(&found);
    let workers = &tried["workers"]["set"];
    assert_eq!((&workers["from"], &workers["to"]), (&Value::from("0"), &Value::from("2")));
    // In the call as it stands there.
    let source = fs::read_to_string(&limited).unwrap();
    let line = source.lines().position(|line| line.contains("DataLoader(made")).unwrap() + 1;
    assert_eq!((&workers["place"][0], &workers["place"][1]), (&Value::from(limited), &Value::from(line)));
    assert_eq!(workers["edit"]["text"], ", num_workers=2");
    assert_eq!(tried["fused_optimizer"]["set"]["to"], "True");
    assert_eq!(tried["bf16"]["set"]["from"], "float32");
    assert_eq!(tried["gc"]["set"]["to"], "every:10");
    assert_eq!(tried["tf32"]["not"]["why"], "no-gpu");
    assert_eq!(tried["channels_last"]["not"]["why"], "no-convolutions");
    assert!(!tried.contains_key("bucket_cap_mb"));
    let shown = place.run(&["history", "show", "1"]);
    let text = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "workers 0 → 2 (limited.py:",
        "tf32 changed nothing: nothing runs on a GPU",
        "bucket_cap_mb=50 changed nothing: the program never came to it",
        "[workers=2 fused_optimizer bf16",
    ] {
        assert!(text.contains(said), "{said}: {}", shown.out);
    }
}

#[test]
fn what_limits_a_program_is_told_by_feeding_it_otherwise() {
    let Some(python) = python() else { return };
    let _turn = turn();
    let (place, python, limited) =
        (Place::new(), python.display().to_string(), program("feeding/limited.py"));
    // On the disk: a temporary folder may lie in memory.
    let folder = env!("CARGO_TARGET_TMPDIR");
    for (limit, expected) in [("storage", "fetch"), ("prep", "prep"), ("compute", "compute")] {
        let args = ["bench", "--differential", "--steps", "40", "--format", "json", "--"];
        let found = place.json(&[&args[..], &[&python, &limited, limit, "--folder", folder]].concat());
        assert_eq!(found["bound"], expected, "{limit}: {found:#}");
    }
    let args = ["bench", "--differential", "--steps", "40", "--rounds", "1", "--"];
    let refused = place.run(&[&args[..], &[&python, &limited, "memory", "--folder", folder]].concat());
    let text = refused.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        refused.status == Some(1) && text.contains("takes no batch from a DataLoader of PyTorch"),
        "{}{}",
        refused.out,
        refused.err
    );
}

#[test]
fn a_remedy_is_proven_and_becomes_a_patch_that_applies() {
    let Some(python) = python() else { return };
    let _turn = turn();
    let place = Place::new();
    let folder = place.path().join("program");
    fs::create_dir(&folder).unwrap();
    let source = fs::read_to_string(program("feeding/limited.py")).unwrap();
    fs::write(folder.join("train.py"), &source).unwrap();
    let python = python.display().to_string();
    let mut fix = place.whyidle(&[
        "fix",
        "--steps",
        "20",
        "--patch",
        "fix.patch",
        "--format",
        "json",
        "--try",
        "workers=4",
        "--try",
        "tf32",
        "--",
        &python,
        "train.py",
        "waits",
        "--folder",
        ".",
    ]);
    let output = fix.current_dir(&folder).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let outcome = |name: &str| {
        let attempts = found["attempts"].as_array().unwrap();
        attempts.iter().find(|attempt| attempt["candidate"]["change"]["name"] == name).unwrap()["outcome"]
            .clone()
    };
    assert_eq!(outcome("workers"), "kept", "{found:#}");
    assert_eq!(outcome("tf32")["not-applied"], "no-gpu");
    assert_eq!(found["together"]["answer"], "faster");
    assert_eq!(fs::read_to_string(folder.join("train.py")).unwrap(), source, "no file is written");
    let applied = Command::new("git").args(["apply", "fix.patch"]).current_dir(&folder).output().unwrap();
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    let patched = fs::read_to_string(folder.join("train.py")).unwrap();
    assert!(patched.contains("DataLoader(made, batch_size=8, num_workers=4)"), "{patched}");
    // It is kept, and its proof by a number of its own.
    let shown = place.json(&["history", "show", "1", "--format", "json"]);
    assert_eq!((&shown["schema"], &shown["patch"]), (&Value::from("whyidle.fix/1"), &found["patch"]));
    let again =
        place.whyidle(&["fix", "--patch", "fix.patch", "--", "true"]).current_dir(&folder).output().unwrap();
    assert!(again.status.code() == Some(2), "a patch that is there is not overwritten");
}

/// A learning rate that makes it faster, and learn otherwise.
#[test]
fn a_remedy_that_learns_otherwise_is_rolled_back() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    let learns = program("learns.py");
    let found = place.json(&[
        "fix",
        "--steps",
        "60",
        "--format",
        "json",
        "--try",
        "env:LEARNS=--lr 0.0005 --sleep 0.001",
        "--",
        "python3",
        &learns,
    ]);
    let attempt = &found["attempts"][0];
    assert_eq!(attempt["outcome"], "learns-otherwise", "{found:#}");
    assert_eq!(attempt["effect"]["answer"], "faster");
    assert_eq!(found["kept"], Value::Array(Vec::new()));
    let page = place.run(&["history", "show", "1"]);
    assert!(page.out.contains("does not learn alike"), "{}", page.out);
    let alike = place.json(&[
        "fix",
        "--steps",
        "60",
        "--format",
        "json",
        "--try",
        "env:LEARNS=--sleep 0.001",
        "--",
        "python3",
        &learns,
    ]);
    assert_eq!(alike["attempts"][0]["outcome"], "kept", "{alike:#}");
}

#[test]
fn a_search_that_is_killed_leaves_the_sources_and_what_was_found() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    let source = place.path().join("train.py");
    fs::copy(program("learns.py"), &source).unwrap();
    let before = fs::read(&source).unwrap();
    let path = source.display().to_string();
    let mut child = place
        .whyidle(&["fix", "--steps", "60", "--try", "env:LEARNS=--sleep 0.001", "--", "python3", &path])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let runs = |place: &Place| {
        let shown = place.run(&["history", "show", "1", "--format", "json"]);
        serde_json::from_str::<Value>(&shown.out).ok().filter(|found| !found["before_ns"].is_null())
    };
    eventually("a first run is kept", || runs(&place).is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(fs::read(&source).unwrap(), before);
    let found = runs(&place).unwrap();
    assert!(found["ended"].is_null() && found["before_ns"].as_i64().unwrap() > 0, "{found:#}");
    end(&path);
}

/// Ends a program that outlives its watcher, by what it was started with.
fn end(path: &str) {
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry.file_name().to_string_lossy().parse::<u32>().ok();
        let command = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        if let Some(pid) = pid.filter(|_| command.contains("python3") && command.contains(path)) {
            kill(pid, "-KILL");
        }
    }
    assert!(Path::new(path).exists());
}
