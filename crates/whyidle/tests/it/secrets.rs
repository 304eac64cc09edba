//! Secrets that stand in a program's arguments and variables: the program gets them, nobody else does.

use std::fs;
use std::path::Path;

use crate::experiments::Place;

/// What must be found nowhere. None is told by its looks.
const SECRETS: [&str; 4] = ["hunter2-option", "hunter2-equals", "hunter2-address", "hunter2-variable"];

/// A program that says whether it got them, never what they are, and then prints steps.
const PROGRAM: &str = r#"
import os, sys, time
got = [sys.argv[2], sys.argv[3].split("=")[1], sys.argv[4].split(":")[2].split("@")[0], os.environ["WANDB_API_KEY"]]
print("got", sum(word.startswith("hunter" + "2-") for word in got), flush=True)
for step in range(1, 60):
    print("step", step, "loss 2.5", flush=True)
    time.sleep(0.02)
"#;

/// Every byte below a folder, names of files among them, with where it stands.
fn all(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(all(&path));
        } else if path.is_file() {
            found.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    found
}

fn told(bytes: &[u8]) -> Option<&'static str> {
    SECRETS.into_iter().find(|secret| bytes.windows(secret.len()).any(|window| window == secret.as_bytes()))
}

#[test]
fn no_command_keeps_or_shows_the_secrets_of_a_program() {
    if !crate::experiments::has_python() {
        return;
    }
    let place = Place::new();
    let program = place.path().join("program.py");
    fs::write(&program, PROGRAM).unwrap();
    let program = program.display().to_string();
    let command = [
        "--",
        "python3",
        &program,
        "--api-key",
        SECRETS[0],
        &format!("--token={}", SECRETS[1]),
        &format!("--url=https://me:{}@host/", SECRETS[2]),
        "--workers",
        "2",
    ]
    .map(str::to_owned);
    let file = |name: &str| place.path().join(name).display().to_string();
    let asked: [(&str, Vec<String>); 8] = [
        (
            "bench",
            words(&["bench", "--steps", "10", "--append", &file("BENCH.md"), "-o", &file("bench.html")]),
        ),
        (
            "differential",
            words(&["bench", "--differential", "--steps", "5", "--rounds", "1", "--format", "json"]),
        ),
        (
            "compare",
            words(&[
                "compare",
                "--set",
                "workers=4",
                "--set",
                "env:MY_TOKEN=hunter2-variable",
                "--pairs",
                "3",
                "--steps",
                "5",
                "-o",
                &file("compare.html"),
            ]),
        ),
        ("sweep", words(&["sweep", "--vary", "workers=2,4", "--steps", "5", "--format", "json"])),
        ("fix", words(&["fix", "--steps", "5", "--pairs", "3", "--format", "md"])),
        ("gate", words(&["gate", "--save", &file("baseline.json"), "--runs", "1", "--steps", "5"])),
        (
            "run",
            words(&[
                "run",
                "--no-trace",
                "--for",
                "1s",
                "--out",
                &file("recording"),
                "--report",
                &file("run.html"),
            ]),
        ),
        ("run json", words(&["run", "--no-trace", "--for", "1s", "--stop", "--format", "json"])),
    ];
    for (name, arguments) in asked {
        let arguments: Vec<&str> = arguments.iter().chain(&command).map(String::as_str).collect();
        let run = place.whyidle(&arguments).env("WANDB_API_KEY", SECRETS[3]).output().unwrap();
        let said = [&run.stdout[..], &run.stderr].concat();
        assert_eq!(told(&said), None, "{name} says it: {}", String::from_utf8_lossy(&said));
        let got = all(place.path())
            .iter()
            .any(|(path, bytes)| path.ends_with(".log") && bytes.windows(5).any(|window| window == b"got 4"));
        let shown = String::from_utf8_lossy(&said).contains("got 4");
        assert!(
            got || shown,
            "{name}: the program did not get its secrets: {}",
            String::from_utf8_lossy(&said)
        );
        for (path, bytes) in all(place.path()) {
            assert_eq!(told(&bytes), None, "{name} keeps it in {path}");
        }
    }
    for arguments in [&["history"][..], &["history", "--format", "json"]] {
        let run = place.run(arguments);
        assert_eq!((run.status, told(run.out.as_bytes())), (Some(0), None), "{}", run.out);
        assert!(run.out.contains("[redacted]"), "{}", run.out);
    }
    let recorded = fs::read_to_string(place.path().join("recording/recording.json")).unwrap();
    assert!(recorded.contains("[redacted]"), "{recorded}");
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
