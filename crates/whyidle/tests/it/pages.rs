//! `--report`: the page is written beside what is printed, over nothing that is there, and stays small.

use std::fs;
use std::path::Path;

use crate::support::{EXAMPLE, Run, recordings, root, run, whyidle};

/// Most bytes of a usual page.
const SMALL: u64 = 1_500_000;
/// Most bytes of any.
const LARGE: u64 = 3_000_000;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn page(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_page_is_written_beside_the_text() {
    let dir = folder();
    let path = dir.path().join("report.html");
    let plain = run(&["trace", EXAMPLE]);
    let both = run(&["trace", EXAMPLE, "-o", text(&path)]);
    assert_eq!((both.status, &both.out), (Some(0), &plain.out));
    assert!(both.err.contains("report.html written"), "{}", both.err);
    let page = page(&path);
    for part in
        ["id=\"timeline\"", "waits 125 ms for data", "等数据", "whyidle export examples/", "\"steps\""]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("<html lang=\"en\""));
    let chinese = run(&["trace", EXAMPLE, "--lang", "zh", "-o", text(&path), "--force"]);
    assert_eq!(chinese.status, Some(0), "{}", chinese.err);
    assert!(self::page(&path).contains("<html lang=\"zh-CN\""));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn the_same_input_gives_the_same_page() {
    let dir = folder();
    let path = dir.path().join("report.html");
    let write = || {
        assert_eq!(run(&["diagnose", EXAMPLE, "-o", text(&path), "--force"]).status, Some(0));
        page(&path)
    };
    assert!(write() == write(), "two pages of one recording differ");
}

#[test]
fn nothing_that_is_there_is_overwritten_unasked() {
    let dir = folder();
    let path = dir.path().join("report.html");
    fs::write(&path, "mine").unwrap();
    let taken = run(&["trace", EXAMPLE, "-o", text(&path)]);
    assert_eq!((taken.status, taken.out.as_str()), (Some(2), ""), "said before any work");
    assert!(taken.err.contains("is there already") && taken.err.contains("--force"), "{}", taken.err);
    assert_eq!(page(&path), "mine");
    // What is no page is not replaced at all: it may be what was read.
    let forced = run(&["trace", EXAMPLE, "-o", text(&path), "--force"]);
    assert_eq!((forced.status, forced.out.as_str()), (Some(2), ""));
    assert!(forced.err.contains("is no page") && page(&path) == "mine", "{}", forced.err);
    fs::write(&path, "<!DOCTYPE html>\n<p>an older page").unwrap();
    assert_eq!(run(&["trace", EXAMPLE, "-o", text(&path), "--force"]).status, Some(0));
    assert!(page(&path).starts_with("<!doctype html>") && page(&path).len() > 1_000);
}

#[test]
fn a_place_that_takes_no_page_is_an_error() {
    let dir = folder();
    fs::write(dir.path().join("file"), "").unwrap();
    for (wrong, why) in [
        ("missing/report.html", "there is no such file or directory"),
        ("file/report.html", "a file is in the way"),
        (".", ""),
    ] {
        let path = dir.path().join(wrong);
        let run = run(&["trace", EXAMPLE, "--force", "-o", text(&path)]);
        assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{wrong}");
        assert!(run.err.contains("could not be written"), "{wrong}: {}", run.err);
        if cfg!(unix) {
            assert!(run.err.split_whitespace().collect::<Vec<_>>().join(" ").contains(why), "{}", run.err);
        }
    }
    let stream = run(&["trace", EXAMPLE, "-o", "-"]);
    assert_eq!(stream.status, Some(2), "{}", stream.err);
    for lonely in ["--open", "--force"] {
        assert_eq!(run(&["trace", EXAMPLE, lonely]).status, Some(2), "{lonely}");
    }
}

#[test]
fn without_a_screen_it_says_that_nothing_opens() {
    let dir = folder();
    let path = dir.path().join("report.html");
    let mut command = whyidle(&["trace", EXAMPLE, "-o", text(&path), "--open"]);
    for variable in ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"] {
        command.env_remove(variable);
    }
    if cfg!(target_os = "linux") {
        let run: Run = command.output().unwrap().into();
        assert_eq!(run.status, Some(0));
        assert!(run.err.contains("could not be opened"), "{}", run.err);
    }
}

#[test]
fn a_refusal_has_its_page_and_its_status() {
    let dir = folder();
    let path = dir.path().join("report.html");
    let empty = dir.path().join("empty.json");
    fs::write(&empty, "{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 1}]}").unwrap();
    let refused = run(&["trace", text(&empty), "-o", text(&path)]);
    assert_eq!(refused.status, Some(1), "{}", refused.err);
    assert!(page(&path).contains("No verdict") && page(&path).contains("不下结论"));
    let unread =
        run(&["trace", text(&dir.path().join("none.json")), "-o", text(&dir.path().join("none.html"))]);
    assert_eq!(unread.status, Some(2));
    assert!(!dir.path().join("none.html").exists());
}

#[test]
fn pages_of_all_recordings_are_small_and_of_one_file() {
    let dir = folder();
    for recording in recordings() {
        let path = dir.path().join("report.html");
        let run = run(&["trace", &recording, "--force", "-o", text(&path)]);
        assert_eq!(run.status, Some(0), "{recording}: {}", run.err);
        let bytes = path.metadata().unwrap().len();
        assert!(bytes <= SMALL, "{recording}: {bytes} bytes");
        let page = page(&path);
        assert!(page.contains("default-src 'none'") || page.contains("default-src &#39;none&#39;"));
        assert!(!page.contains(" src=") && !page.contains("<link"), "{recording} fetches");
    }
}

/// One step of so many kernels that no picture can show them all, with one pause in it.
#[test]
fn a_step_of_many_kernels_stays_small_and_shows_its_gap() {
    let dir = folder();
    let (trace, path) = (dir.path().join("trace.json"), dir.path().join("report.html"));
    let event = |cat: &str, name: &str, start: usize, dur: usize, more: String| {
        format!(
            "{{\"ph\":\"X\",\"cat\":\"{cat}\",\"name\":\"{name}\",\"pid\":1,\"tid\":1,\"ts\":{start},\"dur\":{dur}{more}}}"
        )
    };
    let on_gpu =
        |correlation: usize| format!(",\"args\":{{\"device\":0,\"stream\":7,\"correlation\":{correlation}}}");
    let mut events = vec![event("kernel", "before", 500, 505, on_gpu(1_000_000))];
    let mut now = 1_100;
    for at in 0..50_000 {
        // A pause of 5 ms among a second of kernels.
        now += if at == 30_000 { 5_000 } else { 20 };
        let launched = format!(",\"args\":{{\"correlation\":{}}}", at + 1);
        events.push(event("cpu_op", &format!("aten::op{}", at % 300), now, 15, String::new()));
        events.push(event("cuda_runtime", "cudaLaunchKernel", now + 3, 6, launched));
        events.push(event("kernel", &format!("kernel{}", at % 900), now + 12, 7, on_gpu(at + 1)));
    }
    events.push(event("user_annotation", "ProfilerStep#1", 1_000, now - 900, String::new()));
    events.push(event("user_annotation", "ProfilerStep#2", now + 100, 10, String::new()));
    fs::write(&trace, format!("{{\"schemaVersion\":1,\"traceEvents\":[{}]}}", events.join(","))).unwrap();
    let run = run(&["trace", text(&trace), "--no-replay", "-o", text(&path)]);
    assert_eq!(run.status, Some(0), "{}", run.err);
    let bytes = path.metadata().unwrap().len();
    assert!(bytes < LARGE / 3, "{bytes} bytes");
    let page = page(&path);
    let data = page.split("id=\"data\">").nth(1).unwrap().split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let gaps = data["timeline"]["gaps"].as_array().unwrap();
    let longest = gaps.iter().map(|gap| gap[1].as_i64().unwrap()).max().unwrap();
    assert!((4_900_000..5_100_000).contains(&longest), "{longest} ns");
    assert!(data["timeline"]["busy"].as_array().unwrap().len() / 7 < 10_000);
}

#[test]
fn a_recording_shows_its_signals_and_stacks_and_a_comparison_its_steps() {
    let dir = folder();
    let path = dir.path().join("report.html");
    let recording = "crates/whyidle/tests/recordings/attached_workers";
    assert_eq!(run(&["diagnose", recording, "-o", text(&path)]).status, Some(0));
    let signals = page(&path);
    for part in ["id=\"curves\"", "id=\"stacks\"", "\"cpu.worker\"", "_worker_loop"] {
        assert!(signals.contains(part), "{part}");
    }
    if cfg!(target_os = "linux") {
        let pair = ["testdata/fed_small", "testdata/gc_every_step"];
        let db = dir.path().join("history.db");
        let compared = run(&["compare", pair[0], pair[1], "--db", text(&db), "-o", text(&path), "--force"]);
        assert_eq!(compared.status, Some(0), "{}", compared.err);
        assert!(page(&path).contains("id=\"sides\"") && page(&path).contains("\"sides\":[["));
    }
}

/// Where `--out` is something else, the page has only its long name.
#[test]
fn digests_and_the_history_have_pages_too() {
    let dir = folder();
    let (digests, path) = (dir.path().join("job.digest.gz"), dir.path().join("report.html"));
    assert_eq!(run(&["digest", "testdata/straggler_data", "-o", text(&digests)]).status, Some(0));
    let merged = run(&["merge", text(&digests), "--report", text(&path)]);
    assert_eq!(merged.status, Some(0), "{}", merged.err);
    let page = self::page(&path);
    assert!(page.contains("class=\"heat") || page.contains("class=\"n heat"), "no map of ranks");
    assert!(!page.contains("id=\"timeline\""), "digests hold no step to draw");
    for command in [&["run", "-o", "x", "--", "true"][..], &["attach", "1", "-o", "x"]] {
        assert_eq!(run(command).status, Some(2), "{command:?}: -o would be taken for --out");
    }
}

/// The command lines of the pages that ship, and where each lies.
fn gallery() -> Vec<(Vec<String>, String)> {
    let list = fs::read_to_string(root().join("examples/gallery.txt")).unwrap();
    let one = |line: &str| {
        let (name, command) = line.split_once('\t').unwrap();
        let words = command.split(' ').map(str::to_owned).collect();
        (words, format!("examples/pages/{name}.html"))
    };
    let first = (vec!["trace".to_owned(), EXAMPLE.to_owned()], format!("{EXAMPLE}/report.html"));
    let others = list.lines().filter(|line| !line.starts_with('#')).map(one);
    std::iter::once(first).chain(others).collect()
}

/// The pages that ship are those that this program writes: `make examples` makes them anew.
#[test]
fn the_examples_are_what_the_program_writes() {
    let dir = folder();
    let path = dir.path().join("report.html");
    let gallery = gallery();
    assert!(gallery.len() > 5);
    let mut bytes = 0;
    for (command, kept) in gallery {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let run = run(&[&words[..], &["--lang", "en", "--force", "-o", text(&path)]].concat());
        assert_eq!(run.status, Some(0), "{}", run.err);
        let there = page(&root().join(&kept));
        // The command that made it names the file.
        let plain = |page: &str, name: &str| page.replace(name, "report.html");
        assert!(
            plain(&page(&path), text(&path)) == plain(&there, &kept),
            "{kept} has drifted: make examples"
        );
        bytes += there.len();
    }
    assert!(bytes < 4_000_000, "{bytes} bytes");
}
