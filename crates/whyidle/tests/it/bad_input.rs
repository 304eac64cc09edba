//! Bad input: an error with a hint on standard error, nothing on standard output, nothing left behind;
//! evidence that cannot carry a verdict is refused in words.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{LANGUAGES, Run, root, whyidle};
use crate::verdicts::schema;

const GZIPPED: &str = "testdata/fed_small/trace.json.gz";

/// Runs the program inside `folder`, and checks that the folder stays as it was.
fn run_in(folder: &Path, args: &[&str]) -> Run {
    let before = names(folder);
    let run = whyidle(args).current_dir(folder).output().unwrap().into();
    assert_eq!(names(folder), before, "something was left behind");
    run
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A folder with one file in it.
fn folder_with(name: &str, bytes: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), bytes).unwrap();
    folder
}

/// The shipped trace with the events that `keep` accepts.
fn filtered(keep: impl Fn(&str) -> bool) -> Vec<u8> {
    let inflated = Command::new("gzip").args(["-dc", GZIPPED]).current_dir(root()).output().unwrap();
    let mut trace: Value = serde_json::from_slice(&inflated.stdout).unwrap();
    trace["traceEvents"]
        .as_array_mut()
        .unwrap()
        .retain(|event| keep(event["cat"].as_str().unwrap_or_default()));
    serde_json::to_vec(&trace).unwrap()
}

fn is_gpu(category: &str) -> bool {
    matches!(category, "kernel" | "gpu_memcpy" | "gpu_memset" | "gpu_user_annotation")
}

#[test]
fn what_cannot_be_read_is_an_error_with_a_hint() {
    let gzipped = fs::read(root().join(GZIPPED)).unwrap();
    let noise: Vec<u8> = (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let cases: [(&str, &[u8], &str); 9] = [
        ("empty.json", b"", "empty.json is empty"),
        ("blank.json", b" \n\n", "blank.json is empty"),
        ("snapshot.pickle", b"\x80\x04\x95\x0a\x00", "a Python pickle"),
        ("cut.json.gz", &gzipped[..100], "damaged after"),
        ("noise.json", &noise, "binary data"),
        ("page.json.gz", b"<!DOCTYPE html><html><body>Sign in</body></html>", "a web page"),
        ("steps.json", b"step,loss\n1,2.5\n", "text"),
        ("config.json", br#"{"lr": 0.1}"#, "JSON without a list of events"),
        ("broken.json", br#"{"traceEvents": [{"ph": "X", "name" "#, "unreadable from byte"),
    ];
    for (name, bytes, words) in cases {
        let folder = folder_with(name, bytes);
        let run = run_in(folder.path(), &["trace", name]);
        assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{name}");
        assert!(run.err.starts_with(&format!("error: {name}")) && run.err.contains(words), "{}", run.err);
        assert!(run.err.contains("\nhint: "), "{name} has no hint: {}", run.err);
    }
}

#[test]
fn a_path_without_a_trace_is_an_error_with_a_hint() {
    let folder = folder_with("notes.txt", b"nothing here");
    for path in ["missing.json", "."] {
        for lang in LANGUAGES {
            let run = run_in(folder.path(), &["trace", path, "--lang", lang]);
            assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{path}");
            let labels = if lang == "en" { ["error: ", "\nhint: "] } else { ["错误：", "\n提示："] };
            assert!(labels.iter().all(|label| run.err.contains(label)), "{path}: {}", run.err);
        }
    }
}

#[test]
fn usage_errors_are_told_from_refusals() {
    let folder = tempfile::tempdir().unwrap();
    for args in [
        &["trace"][..],
        &["trace", "x.json", "--step-ms", "soon"],
        &["trace", "x.json", "--step-ms", "0"],
        &["trace", "x.json", "--step", "9..3"],
        &["trace", "x.json", "--lang", "tlh"],
        &["frobnicate"],
        &["explain", "data.nothing"],
        &["run"],
        &["attach"],
        &["attach", "1", "--for", "soon"],
    ] {
        let run = run_in(folder.path(), args);
        assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{args:?}");
        assert!(!run.err.is_empty(), "{args:?}");
    }
}

/// Both languages say what is wrong, with the names as they were typed and what was probably meant.
#[test]
fn a_command_line_that_is_not_understood_is_told_in_the_catalogue_s_words() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&[&str], [&str; 2], &str); 13] = [
        (&["trace"], ["something is missing", "还缺"], "<PATH>..."),
        (&["pln"], ["there is no command pln", "没有 pln 这个命令"], "plan"),
        (&["trace", "x", "--fomat", "md"], ["there is no option", "这里没有 --fomat"], "--format"),
        (&["trace", "x", "--format", "xml"], ["cannot be \"xml\"", "不能是 “xml”"], "json"),
        (&["trace", "x", "--format"], ["needs a value", "后面要有一个值"], "--format"),
        (&["trace", "x", "--step-ms", "0"], ["give a number from", "请给出 0.01 到"], "57.4"),
        (&["trace", "x", "--step", "9..3"], ["the range is empty", "这一段是空的"], "--step"),
        (&["trace", "x", "--rank", "1.5"], ["a whole number", "的整数"], "--rank"),
        (
            &["trace", "x", "--no-replay", "--critical-path"],
            ["does not go together", "不能与"],
            "--critical-path",
        ),
        (&["attach", "1", "--for", "soon"], ["seconds or minutes", "秒或分钟"], "--for"),
        (&["attach", "0"], ["from 1 to 4,194,304", "1 到 4,194,304"], "PID"),
        (&["plan", "--batch", "-3"], ["there is no option", "这里没有"], "-3"),
        (&["plan", "--batch", "1", "--batch", "2"], ["is given twice", "出现了两次"], "--batch"),
    ];
    for (args, wanted, name) in cases {
        for (lang, words) in LANGUAGES.into_iter().zip(wanted) {
            let run = run_in(folder.path(), &[args, &["--lang", lang]].concat());
            assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{args:?}");
            assert!(run.err.contains(words) && run.err.contains(name), "{args:?} {words}: {}", run.err);
            assert!(run.err.trim_end().ends_with(['.', '。']), "{args:?}: {}", run.err);
        }
    }
    let run: Run = whyidle(&["trace"]).env("LC_ALL", "zh_CN.UTF-8").output().unwrap().into();
    assert!(run.err.starts_with("错误："), "the locale decides: {}", run.err);
}

#[test]
fn evidence_that_cannot_carry_a_verdict_is_refused_in_words() {
    let nothing = json!({"schemaVersion": 1, "traceEvents": []});
    let gzipped = fs::read(root().join(GZIPPED)).unwrap();
    let cases = [
        ("half.json.gz", gzipped[..gzipped.len() / 2].to_vec(), "truncated"),
        ("host-only.json", filtered(|category| !is_gpu(category)), "no-gpu-activity"),
        ("gpu-only.json", filtered(is_gpu), "no-host-activity"),
        ("nothing.json", serde_json::to_vec(&nothing).unwrap(), "empty"),
    ];
    let schema = schema();
    for (name, bytes, code) in cases {
        let folder = folder_with(name, &bytes);
        for lang in LANGUAGES {
            let text = run_in(folder.path(), &["trace", name, "--lang", lang]);
            assert_eq!((text.status, text.err.as_str()), (Some(1), ""), "{name}");
            let run = run_in(folder.path(), &["trace", name, "--lang", lang, "--format", "json"]);
            assert_eq!((run.status, run.err.as_str()), (Some(1), ""), "{name}");
            let report: Value = serde_json::from_str(&run.out).unwrap();
            assert!(schema.is_valid(&report), "{name}");
            assert_eq!(report["refused"]["code"], code, "{name}");
            let said = |part: &str| {
                let words = report["refused"][part]["text"].as_str().unwrap();
                let squeeze = |text: &str| text.split_whitespace().collect::<String>();
                squeeze(&text.out).contains(&squeeze(words))
            };
            assert!(said("reason") && said("hint"), "{name}: {}", text.out);
        }
    }
}

#[test]
fn what_the_trace_contradicts_or_does_not_hold_is_refused() {
    for (args, code) in [
        (&["testdata/fed_small", "--step", "99"][..], "no-such-step"),
        (&["testdata/fed_small", "--device", "7"], "no-such-device"),
        (&["testdata/ddp_small", "--rank", "5"], "no-such-rank"),
        (&["testdata/fed_small", "--step-ms", "1"], "step-contradicted"),
        (&[GZIPPED, GZIPPED], "not-one-job"),
    ] {
        let run = run_in(&root(), &[&["trace", "--format", "json"][..], args].concat());
        assert_eq!((run.status, run.err.as_str()), (Some(1), ""), "{args:?}");
        let report: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(report["refused"]["code"], code, "{args:?}");
    }
}

#[test]
fn a_trace_from_standard_input_is_read_plain_or_gzipped() {
    let gzipped = fs::read(root().join(GZIPPED)).unwrap();
    let plain = filtered(|_| true);
    let from_stdin = |bytes: &[u8]| {
        let mut command = whyidle(&["trace", "-", "--step-ms", "23.1"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        Run::from(child.wait_with_output().unwrap())
    };
    let (from_gzipped, from_plain) = (from_stdin(&gzipped), from_stdin(&plain));
    assert_eq!(from_gzipped.status, Some(0));
    assert_eq!(from_gzipped.out, from_plain.out);
    let empty = from_stdin(b"");
    assert_eq!((empty.status, empty.out.as_str()), (Some(2), ""));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut command = whyidle(&["trace", "testdata/ddp_small", "--format", "json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0; 10]).unwrap();
    drop(out);
    let run: Run = child.wait_with_output().unwrap().into();
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""));
}

#[test]
fn a_query_of_nothing_says_that_its_input_cannot_be_read() {
    let folder = folder_with("trace.json", b"no trace at all");
    for query in ["select 1", "select 1 union select 2"] {
        let run = run_in(folder.path(), &["sql", "trace.json", query]);
        assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{query}: {}", run.err);
        assert!(run.err.contains("trace.json") && run.err.contains("hint:"), "{}", run.err);
    }
    let sound = run_in(&root(), &["sql", GZIPPED, "select 1 as one", "--format", "csv"]);
    assert_eq!((sound.status, sound.out.as_str()), (Some(0), "one\r\n1\r\n"), "{}", sound.err);
}

#[test]
fn a_history_that_was_named_is_there_or_it_is_an_error() {
    let folder = folder_with("other", b"");
    for args in [&["history"][..], &["history", "show", "1"], &["history", "--job", "slurm:1"]] {
        let run = run_in(folder.path(), &[args, &["--db", "none.db"]].concat());
        assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{args:?}: {}", run.err);
        assert!(run.err.contains("no history at none.db") && run.err.contains("hint:"), "{}", run.err);
    }
    // One that was not named is empty as long as nothing was kept.
    let home = folder.path().join("home").display().to_string();
    let run: Run = whyidle(&["history"]).env("XDG_DATA_HOME", home).output().unwrap().into();
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""));
}

#[test]
fn a_recording_with_a_damaged_description_is_looked_at_and_played() {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(root().join("crates/whyidle/tests/recordings/attached_gc")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    for damage in [&b"{\"schema\": \"whyidle.rec"[..], b"[1, 2]", b"\xff\xfe\x00"] {
        fs::write(folder.path().join("recording.json"), damage).unwrap();
        for args in [&["check", "."][..], &["top", "--replay", ".", "--once"]] {
            let run = run_in(folder.path(), args);
            assert_eq!(run.status, Some(0), "{args:?}: {}", run.err);
            assert!(run.err.contains("makes no sense") && !run.out.is_empty(), "{args:?}: {}", run.err);
        }
    }
}

/// What is half-written goes with the program that is told to end.
#[cfg(target_os = "linux")]
#[test]
fn an_export_that_is_told_to_end_leaves_nothing() {
    for (signal, to) in [("-TERM", "sqlite"), ("-INT", "csv"), ("-HUP", "perfetto")] {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("trace.json");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let out = folder.path().join("out");
        let args = ["export", "--to", to, "-o", &out.display().to_string(), &pipe.display().to_string()];
        let mut child = whyidle(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It waits for the rest of a trace that never comes.
        let mut writer = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        writer.write_all(b"{\"traceEvents\": [").unwrap();
        let waits = || catches(child.id());
        crate::watching::eventually("it waits for signals", waits);
        crate::watching::kill(child.id(), signal);
        assert_eq!(child.wait().unwrap().code(), None, "{to}: it ends by the signal");
        assert_eq!(names(folder.path()), ["trace.json"], "{to}");
    }
}

/// The process has a handler for Ctrl-C.
#[cfg(target_os = "linux")]
fn catches(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 0b10 != 0)
}
