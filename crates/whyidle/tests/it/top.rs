//! The dashboard: pictures of real recordings, and clear words where there is nothing to draw.

use std::fs;

use crate::support::{LANGUAGES, Run, root, whyidle};

/// One picture on a screen of so many columns and lines.
fn picture(args: &[&str], columns: u16, lines: u16) -> Run {
    let (columns, lines) = (columns.to_string(), lines.to_string());
    let mut command = whyidle(&[&["top", "--once"], args].concat());
    command.env("COLUMNS", columns).env("LINES", lines).output().unwrap().into()
}

fn recording(name: &str) -> String {
    format!("crates/whyidle/tests/recordings/{name}")
}

#[test]
fn pictures_of_recordings() {
    for lang in LANGUAGES {
        for (name, columns, lines) in [
            ("attached_two_ranks", 120, 40),
            ("attached_workers", 80, 24),
            ("attached_gc", 60, 20),
            ("straggler_data", 80, 24),
        ] {
            let run = picture(&["--replay", &recording(name), "--lang", lang], columns, lines);
            assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "{name}");
            let wide =
                run.out.lines().find(|line| unicode_width::UnicodeWidthStr::width(*line) > columns.into());
            assert_eq!((run.out.lines().count(), wide), (lines.into(), None), "{name}");
            insta::assert_snapshot!(format!("top.{name}.{columns}x{lines}.{lang}"), run.out);
        }
    }
}

/// What is shown of the whole of a recording is what `diagnose` says of it.
#[test]
fn the_ledger_is_that_of_diagnose() {
    let dir = recording("attached_workers");
    let shown = picture(&["--replay", &dir], 120, 40).out;
    let report: serde_json::Value =
        serde_json::from_str(&crate::support::printed(&["diagnose", &dir, "--format", "json"])).unwrap();
    let share = |id: &str| {
        let ledger = report["ledger"].as_array().unwrap();
        ledger.iter().find(|line| line["id"] == id).unwrap()["share"].as_f64().unwrap()
    };
    let waits = format!("waiting for: data {:.0} %", 100.0 * share("data.workers"));
    assert!(shown.contains(&waits), "{waits}\n{shown}");
}

#[test]
fn recordings_with_parts_missing_or_damaged_are_drawn_as_far_as_they_go() {
    let dir = tempfile::tempdir().unwrap();
    let source = root().join(recording("attached_workers"));
    let target = dir.path().display().to_string();
    for left_out in ["nvml.csv", "proc.csv", "stacks.jsonl", "recording.json", "system.csv"] {
        for entry in fs::read_dir(&source).unwrap() {
            let path = entry.unwrap().path();
            let place = dir.path().join(path.file_name().unwrap());
            let mut bytes = fs::read(&path).unwrap();
            if path.ends_with(left_out) {
                let _ = fs::remove_file(&place);
                continue;
            }
            // Half a line at the end: a watcher that was killed.
            if !path.ends_with("recording.json") {
                bytes.truncate(bytes.len() - 7);
            }
            fs::write(place, bytes).unwrap();
        }
        let run = picture(&["--replay", &target], 80, 24);
        assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "without {left_out}");
        let is_without_gpu = left_out == "nvml.csv";
        let heading =
            if is_without_gpu { "what the main thread waits for" } else { "whom the GPU waits for" };
        assert!(run.out.contains(heading), "without {left_out}: {}", run.out);
    }
}

#[test]
fn clear_words_where_there_is_nothing_to_draw() {
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().display().to_string();
    let none = picture(&["--replay", &empty], 80, 24);
    assert_eq!(none.status, Some(1));
    assert!(
        none.err.contains("no samples with times") && none.err.contains("whyidle attach"),
        "{}",
        none.err
    );
    let missing = picture(&["--replay", &format!("{empty}/nowhere")], 80, 24);
    assert_eq!(missing.status, Some(2), "{}", missing.err);
    let gone = picture(&["4194300"], 80, 24);
    assert_eq!(gone.status, Some(2));
    assert!(gone.err.contains("there is no process 4194300"), "{}", gone.err);
    let piped: Run =
        whyidle(&["top", "--replay", &recording("fed")]).env("TERM", "xterm").output().unwrap().into();
    assert_eq!(piped.status, Some(2));
    assert!(piped.err.contains("no terminal") && piped.err.contains("--once"), "{}", piped.err);
}

#[test]
fn any_screen_has_a_picture() {
    for (columns, lines) in [(1, 1), (2, 3), (60, 1), (1, 60), (400, 200)] {
        let run = picture(&["--replay", &recording("attached_two_ranks")], columns, lines);
        assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "{columns}x{lines}");
    }
}
