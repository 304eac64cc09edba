//! `whyidle sql`, `export` and `diff` as a person meets them.

use std::fs;

use serde_json::{Value, json};

use crate::support::{LANGUAGES, printed, root, run, whyidle};

const FED: &str = "testdata/fed_small";
const RECORDINGS: &str = "crates/whyidle/tests/recordings";

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn sql(path: &str, query: &str) -> Value {
    parsed(&printed(&["sql", path, query, "--format", "json"]))
}

/// A file in a folder of its own.
fn fresh(name: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name).display().to_string();
    (folder, path)
}

/// Writes `from` and returns what was said beside.
fn export(from: &str, to: &str, out: &str, more: &[&str]) -> String {
    let run = run(&[&["export", from, "--to", to, "-o", out], more].concat());
    assert_eq!((run.status, run.out.as_str()), (Some(0), ""), "{}", run.err);
    run.err
}

#[test]
fn the_answer_in_each_form() {
    let query =
        "select line, sum(traced_ns) as ns from ledger where kind = 'rest' group by line order by line";
    let text = printed(&["sql", FED, query]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("line ") && lines[0].ends_with(" ns"), "{text}");
    let rows = sql(FED, query);
    let csv = printed(&["sql", FED, query, "--format", "csv"]);
    for (at, row) in rows.as_array().unwrap().iter().enumerate() {
        let (line, ns) = (row["line"].as_str().unwrap(), row["ns"].as_i64().unwrap());
        assert!(lines[at + 2].starts_with(line) && lines[at + 2].ends_with(&ns.to_string()), "{text}");
        assert!(csv.contains(&format!("{line},{ns}\r\n")), "{csv}");
    }
    assert_eq!(lines.len(), rows.as_array().unwrap().len() + 2);
}

#[test]
fn ranks_of_a_directory_are_traces_of_one_database() {
    let rows = sql(
        "testdata/ddp_small",
        "select rank, count(*) n from traces join steps using (trace) group by rank",
    );
    assert_eq!(rows, json!([{ "rank": 0, "n": 2 }, { "rank": 1, "n": 2 }]));
}

#[test]
fn a_recording_without_a_trace_and_an_export_of_nsight_systems_are_asked_too() {
    let recording = format!("{RECORDINGS}/attached_gc");
    let rows = sql(&recording, "select count(distinct metric) n, min(t_ns) > 1e18 late from samples");
    assert!(rows[0]["n"].as_i64().unwrap() > 20 && rows[0]["late"] == 1, "{rows}");
    assert_eq!(sql(&recording, "select count(*) n from kernels"), json!([{ "n": 0 }]));
    let nsys = "crates/whyidle-readers/testdata/nsys/two_processes.sqlite";
    assert_eq!(sql(nsys, "select kind from traces"), json!([{ "kind": "nsys" }]));
}

#[test]
fn the_schema_documents_every_column() {
    let schema = printed(&["sql", FED, ".schema"]);
    let tables = printed(&["sql", FED, ".tables"]);
    assert_eq!(schema.matches("CREATE TABLE").count(), tables.lines().count());
    for table in tables.lines() {
        let one = printed(&["sql", FED, &format!(".schema {table}")]);
        assert!(schema.contains(&one), "{table}");
    }
    for line in schema.lines().filter(|line| line.starts_with("  ")) {
        assert!(line.contains(" -- "), "{line}");
    }
}

#[test]
fn a_faulty_query_gets_a_hint() {
    for (query, error, hint) in [
        ("select * from kernel", "there is no table kernel", "did you mean kernels?"),
        ("select nam from kernels", "there is no column nam", "did you mean name?"),
        ("select k.duration from kernels k", "there is no column k.duration", "did you mean duration_ns?"),
        ("drop table kernels", "more than read", "single SELECT"),
        ("pragma table_info(kernels)", "more than read", "single SELECT"),
        ("attach 'x' as x", "more than read", "single SELECT"),
        ("selct 1", "syntax error", ".schema"),
        (".schema kernel", "there is no table kernel", "did you mean kernels?"),
        (".quit", "there is no command .quit", ".tables"),
        ("", "asks for nothing", ".tables"),
        ("select 1; select 2", "several statements", ""),
    ] {
        let run = run(&["sql", FED, query]);
        assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{query}");
        assert!(run.err.contains(error) && run.err.contains(hint), "{query}: {}", run.err);
    }
    // Before anything is read.
    let run = run(&["sql", "Cargo.toml", "select * from kernel"]);
    assert!(run.err.contains("there is no table"), "{}", run.err);
}

#[test]
fn a_query_that_takes_too_long_is_stopped() {
    let endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select sum(i) from n";
    let run = run(&["sql", FED, endless, "--timeout", "1s"]);
    assert_eq!((run.status, run.out.as_str()), (Some(1), ""));
    assert!(run.err.contains("stopped after 1.00 s") && run.err.contains("--timeout"), "{}", run.err);
}

#[test]
fn sql_leaves_its_input_and_its_folder_alone() {
    let folder = tempfile::tempdir().unwrap();
    let nsys = root().join("crates/whyidle-readers/testdata/nsys/two_processes.sqlite");
    let copy = folder.path().join("report.sqlite");
    fs::copy(&nsys, &copy).unwrap();
    let output = whyidle(&["sql", "report.sqlite", "select count(*) from kernels"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(output.status.success());
    assert_eq!(fs::read(copy).unwrap(), fs::read(nsys).unwrap());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn an_exported_trace_has_the_same_ledger() {
    for (from, name) in [(FED, "out.json.gz"), ("testdata/sync_item", "out.json")] {
        let (_folder, out) = fresh(name);
        export(from, "perfetto", &out, &[]);
        let bytes = fs::read(&out).unwrap();
        assert_eq!(bytes.starts_with(&[0x1f, 0x8b]), name.ends_with(".gz"));
        let original = format!("{from}/trace.json.gz");
        let ledger = |path: &str| {
            let verdict = parsed(&printed(&["trace", path, "--format", "json"]));
            (verdict["ledger"].clone(), verdict["step"].clone(), verdict["verdict"].clone())
        };
        assert_eq!(ledger(&out), ledger(&original), "{from}");
        let text = if name.ends_with(".gz") {
            let inflated = std::process::Command::new("gzip").args(["-dc", &out]).output().unwrap();
            String::from_utf8(inflated.stdout).unwrap()
        } else {
            String::from_utf8(bytes).unwrap()
        };
        for track in ["whyidle: ledger", "whyidle: gaps", "whyidle: steps", "whyidle: finding host."] {
            assert!(text.contains(track), "{from}: {track}");
        }
    }
}

#[test]
fn an_exported_database_answers_as_sql_does() {
    let (_folder, out) = fresh("out.sqlite");
    export(FED, "sqlite", &out, &[]);
    // It is no export of Nsight Systems, and whyidle says so.
    let read = run(&["trace", &out]);
    assert_eq!(read.status, Some(2));
    assert!(read.err.contains("SQLite"), "{}", read.err);
    assert!(fs::read(&out).unwrap().starts_with(b"SQLite format 3\0"));
}

#[test]
fn what_is_there_is_not_overwritten_unasked() {
    let (folder, out) = fresh("out.csv");
    export(FED, "csv", &out, &[]);
    let steps = fs::read_to_string(folder.path().join("out.csv/steps.csv")).unwrap();
    assert_eq!(steps.lines().count(), 3);
    let again = run(&["export", FED, "--to", "csv", "-o", &out]);
    assert_eq!(again.status, Some(2));
    assert!(again.err.contains("not overwritten") && again.err.contains("--force"), "{}", again.err);
    fs::write(folder.path().join("out.csv/mine.txt"), "mine").unwrap();
    export("testdata/sync_item", "csv", &out, &["--force"]);
    assert_eq!(fs::read_to_string(folder.path().join("out.csv/mine.txt")).unwrap(), "mine");
    assert_ne!(fs::read_to_string(folder.path().join("out.csv/steps.csv")).unwrap(), steps);
    // A folder is never replaced by a file, nor a file by a folder.
    let file = run(&["export", FED, "--to", "perfetto", "-o", &out, "--force"]);
    assert_eq!(file.status, Some(2), "{}", file.err);
    let nested: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(nested.len(), 1, "nothing is left behind");
}

#[test]
fn stacks_go_to_standard_output_too() {
    let recording = format!("{RECORDINGS}/attached_workers");
    let folded = printed(&["export", &recording, "--to", "folded", "-o", "-"]);
    assert!(folded.lines().all(|line| line.starts_with("process ")), "{folded}");
    let scope = parsed(&printed(&["export", FED, "--to", "speedscope", "-o", "-"]));
    assert_eq!(scope["profiles"][0]["unit"], "nanoseconds");
    let run = run(&["export", FED, "--to", "sqlite", "-o", "-"]);
    assert_eq!(run.status, Some(2));
}

#[test]
fn what_holds_nothing_of_it_is_said_so() {
    let (_folder, out) = fresh("out.json");
    let recording = format!("{RECORDINGS}/attached_gc");
    let nothing = run(&["export", &recording, "--to", "perfetto", "-o", &out]);
    assert_eq!(nothing.status, Some(1), "{}", nothing.err);
    assert!(!fs::exists(&out).unwrap());
    let unreadable = run(&["export", "Cargo.toml", "--to", "perfetto", "-o", &out]);
    assert_eq!(unreadable.status, Some(2), "{}", unreadable.err);
    assert!(!fs::exists(&out).unwrap());
}

fn diff(a: &str, b: &str) -> Value {
    let value = parsed(&printed(&["diff", a, b, "--format", "json"]));
    let schema = parsed(
        &fs::read_to_string(root().join("crates/whyidle-report/schema/whyidle.diff-1.schema.json")).unwrap(),
    );
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{a} {b}: {}", errors.join("\n"));
    value
}

fn row<'v>(rows: &'v Value, key: &str, name: &str) -> &'v Value {
    let found = rows.as_array().unwrap().iter().find(|row| row[key] == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

/// The pairs that differ by one planted fault: the step's difference is the measured one, and the fault's line or
/// kernel is what changed.
#[test]
fn a_planted_fault_is_what_changed() {
    let measured = |name: &str| {
        let case = parsed(&fs::read_to_string(root().join(format!("testdata/{name}/case.json"))).unwrap());
        (case["step_ms_mean"].as_f64().unwrap() * 1e6).round() as i64
    };
    for (a, b, line) in [
        ("fed_small", "sync_item", "host.sync"),
        ("vocab_50304", "vocab_50257", "working.matmul"),
        ("fed_small", "gc_every_step", "host.gc"),
        ("h2d_pinned", "h2d_pageable", "data.transfer"),
    ] {
        let value = diff(&format!("testdata/{a}"), &format!("testdata/{b}"));
        assert_eq!(value["step"]["difference_ns"], measured(b) - measured(a), "{a} {b}");
        assert_eq!(value["step"]["clear"], true, "{a} {b}");
        let line = row(&value["ledger"], "id", line);
        assert!(line["difference_ns"].as_i64().unwrap() > 0 && line["clear"] == true, "{a} {b}: {line}");
        let sum: i64 = value["ledger"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["difference_ns"].as_i64().unwrap())
            .sum();
        assert_eq!(sum, measured(b) - measured(a), "{a} {b}");
    }
}

#[test]
fn kernels_of_one_side_are_new_or_gone() {
    let value = diff("testdata/vocab_50257", "testdata/vocab_50304");
    let kernels = value["kernels"].as_array().unwrap();
    let only = |side: &str| {
        let one = kernels.iter().find(|row| row[side].is_null()).unwrap();
        one["name"].as_str().unwrap().to_owned()
    };
    // The slow kernel for an odd vocabulary goes, a fast one comes.
    assert!(only("b").contains("align1"), "{}", only("b"));
    assert!(only("a").starts_with("nvjet"), "{}", only("a"));
    let mm = row(&value["operators"], "name", "aten::mm");
    assert!(mm["difference_ns"].as_i64().unwrap() < -30_000_000, "{mm}");
    // What is by name sums to what the trace says: the same queries in SQL.
    let rows = sql(
        "testdata/vocab_50257",
        "select sum(own_ns) / (select count(*) from steps) ns from kernels where own_ns > 0",
    );
    let sum: i64 = kernels.iter().filter_map(|row| row["a"]["ns"].as_i64()).sum();
    assert!((rows[0]["ns"].as_i64().unwrap() - sum).abs() < 1_000, "{rows} {sum}");
}

#[test]
fn the_same_twice_has_no_clear_difference() {
    for name in [FED, "testdata/ddp_small", "crates/whyidle/tests/recordings/attached_gc"] {
        let value = diff(name, name);
        for rows in ["ledger", "kernels", "operators", "host", "places"] {
            let clear = value[rows].as_array().map(|rows| rows.iter().any(|row| row["clear"] == true));
            assert_ne!(clear, Some(true), "{name}: {rows}");
        }
        assert_eq!((&value["step"]["clear"], &value["caveats"]), (&json!(false), &json!([])), "{name}");
    }
}

#[test]
fn unlike_evidence_is_compared_with_its_caveats() {
    let codes = |value: &Value| -> Vec<String> {
        let caveats = value["caveats"].as_array().unwrap();
        caveats.iter().map(|caveat| caveat["code"].as_str().unwrap().to_owned()).collect()
    };
    // A recording without a trace beside the trace of the same program: the step is the same, and so is what the
    // coarser of both can tell.
    let value = diff(&format!("{RECORDINGS}/tok_workers0"), "testdata/tok_workers0");
    assert!(codes(&value).contains(&"one-trace".to_owned()), "{:?}", codes(&value));
    assert_eq!((&value["kernels"], &value["step"]["clear"]), (&Value::Null, &json!(false)));
    let ids: Vec<&str> =
        value["ledger"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"working.resident") && !ids.contains(&"working.matmul"), "{ids:?}");
    let value = diff("testdata/attn_flash/trace.json.gz", "testdata/attn_flash");
    assert_eq!(codes(&value), ["basis"]);
    let value = diff("testdata/ddp_small", FED);
    assert!(codes(&value).contains(&"ranks".to_owned()), "{:?}", codes(&value));
}

#[test]
fn the_screen_of_a_comparison() {
    for lang in LANGUAGES {
        let screen = printed(&["diff", "testdata/vocab_50257", "testdata/vocab_50304", "--lang", lang]);
        insta::assert_snapshot!(format!("diff_vocab_{lang}"), screen);
    }
    let recordings = ["attached_workers", "attached_gc"].map(|name| format!("{RECORDINGS}/{name}"));
    insta::assert_snapshot!("diff_recordings_en", printed(&["diff", &recordings[0], &recordings[1]]));
}

#[test]
fn a_side_that_carries_no_verdict_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json").display().to_string();
    fs::write(&path, r#"{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}"#)
        .unwrap();
    let run = run(&["diff", FED, &path]);
    assert_eq!((run.status, run.out.as_str()), (Some(1), ""));
    assert!(run.err.contains(&path), "{}", run.err);
}
