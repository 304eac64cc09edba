//! `attach` and `run` on a small real PyTorch program, without a GPU. `WHYIDLE_TEST_PYTHON` names a Python with
//! PyTorch, as `make test` sets it up; without it these tests say so and pass.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::support::{root, run, whyidle};
use crate::watching::eventually;

/// One training program at a time: on two cores, several starve each other of the time that is measured.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub(crate) fn turn() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn python() -> Option<PathBuf> {
    let python = std::env::var_os("WHYIDLE_TEST_PYTHON").map(PathBuf::from);
    if python.is_none() {
        println!("skipped: WHYIDLE_TEST_PYTHON names no Python with PyTorch");
    }
    python
}

fn program() -> String {
    root().join("crates/whyidle/tests/programs/loader_wait.py").display().to_string()
}

/// A running program that trains; ended when it goes out of scope.
struct Training(Child);

impl Training {
    fn start(python: &PathBuf, args: &[&str]) -> Self {
        let mut child =
            Command::new(python).arg(program()).args(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "training\n");
        Self(child)
    }
}

impl Drop for Training {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a look at a running program shows. On a machine that does much else a look may hold too few samples: then the
/// program is looked at again, twice at most.
pub(crate) fn again<T>(look: impl Fn() -> T, is_enough: impl Fn(&T) -> bool) -> T {
    let mut seen = look();
    for _ in 0..2 {
        if is_enough(&seen) {
            break;
        }
        seen = look();
    }
    seen
}

/// The verdict on a running program.
fn attached(pid: u32, is_enough: impl Fn(&Value) -> bool) -> Value {
    let attach = || {
        let found = run(&["attach", &pid.to_string(), "--for", "15s", "--format", "json"]);
        assert!(found.err.is_empty(), "{}", found.err);
        serde_json::from_str::<Value>(&found.out).unwrap()
    };
    again(attach, is_enough)
}

/// CPU time of a process, ticks.
fn cpu(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    [11, 12].iter().filter_map(|&at| fields.get(at)?.parse::<u64>().ok()).sum()
}

fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Before PyTorch 2.6 loader workers had no name of their own: with their driver's command line, and more CPU time than
/// it, they were taken for drivers.
#[test]
fn a_loader_worker_is_no_driver_though_it_has_no_name_and_works_more() {
    let Some(python) = python() else { return };
    let _turn = turn();
    let training = Training::start(&python, &["--workers", "2", "--nameless"]);
    let pid = training.0.id();
    eventually("the workers have used more CPU time than the driver", || {
        let workers = children(pid);
        workers.len() == 2 && workers.iter().all(|&worker| cpu(worker) > cpu(pid))
    });
    let report = attached(pid, |report| report["verdict"]["primary"] == "data.workers");
    assert_eq!(report["verdict"]["primary"], "data.workers", "{report}");
    let listed = run(&[]);
    assert!(listed.out.contains(&format!("whyidle attach {pid}")), "{}", listed.out);
}

/// A program that dies while it is watched: that is said, and what was seen until then is judged if it is enough.
#[test]
fn a_program_that_dies_under_the_watch_is_said_to_have_ended() {
    let Some(python) = python() else { return };
    let _turn = turn();
    for (lives, is_enough) in [(20, true), (2, false)] {
        let training = Training::start(&python, &["--workers", "0"]);
        let pid = training.0.id();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_secs(lives));
            Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
        });
        let found = run(&["attach", &pid.to_string(), "--for", "120s"]);
        killer.join().unwrap();
        assert!(found.out.contains("The program ended after "), "{}", found.out);
        assert!(found.status == Some(0) || !is_enough, "{}", found.out);
        assert!(!found.out.contains("Watch it longer"), "{}", found.out);
    }
}

#[test]
fn attach_finds_a_planted_wait_and_names_the_function() {
    let Some(python) = python() else { return };
    let _turn = turn();
    let training = Training::start(&python, &["--workers", "0"]);
    let report = attached(training.0.id(), |report| report["verdict"]["primary"] == "data.in_process");
    assert_eq!(report["verdict"]["primary"], "data.in_process");
    let sentence = report["verdict"]["sentence"]["text"].as_str().unwrap();
    assert!(sentence.contains("slow_item") && sentence.contains("No GPU was seen"), "{sentence}");
    assert_eq!(report["working_share"], Value::Null);
    let checked = run(&["check", &training.0.id().to_string()]);
    assert!(checked.out.contains("Its Python stacks can be read."), "{}", checked.out);
    let listed = run(&[]);
    assert!(listed.out.contains("loader_wait.py") && listed.out.contains("whyidle attach"), "{}", listed.out);
}

#[test]
fn attach_looks_into_loader_workers_and_counts_their_batches() {
    let Some(python) = python() else { return };
    let _turn = turn();
    let training = Training::start(&python, &["--workers", "2"]);
    let report = attached(training.0.id(), |report| report["step"]["found_by"] == "batches");
    assert_eq!(report["verdict"]["primary"], "data.workers");
    let sentence = report["verdict"]["sentence"]["text"].as_str().unwrap();
    assert!(sentence.contains("slow_item"), "{sentence}");
    assert_eq!(report["step"]["found_by"], "batches", "{}", report["step"]);
}

#[test]
fn run_brings_a_trace_out_of_an_unmodified_program() {
    let Some(python) = python() else { return };
    let _turn = turn();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("recording");
    let output = whyidle(&["run", "--for", "8s", "--stop", "--out", &out.display().to_string(), "--"])
        .args([python.display().to_string(), program()])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("No GPU was seen: this is the host's side only") && text.contains("slow_item"),
        "{text}"
    );
    // The trace is whole and of whole steps; it has no GPU in it, and that is said.
    let traced = run(&["trace", &out.display().to_string()]);
    assert_eq!(traced.status, Some(1));
    assert!(traced.out.contains("no GPU activities"), "{}", traced.out);
    let trace: Value = serde_json::from_str(&fs::read_to_string(out.join("trace.json")).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let steps = events.iter().filter(|event| {
        event["name"].as_str().is_some_and(|name| name.starts_with("Optimizer.step#")) && event["ph"] == "X"
    });
    assert!(steps.count() >= 3, "whole optimizer steps");
    assert!(!program_runs(), "the program was ended");
}

fn program_runs() -> bool {
    let own = |pid: &str| fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
        .any(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let ours = String::from_utf8_lossy(&line).contains("loader_wait.py");
            ours && String::from_utf8_lossy(&own(&pid)).contains("KINETO_USE_DAEMON")
        })
}

#[test]
fn a_program_that_ends_early_gets_its_status_and_a_reason() {
    let Some(python) = python() else { return };
    let _turn = turn();
    let output = whyidle(&["run", "--for", "60s", "--"])
        .args([python.display().to_string(), program(), "--seconds".to_owned(), "6".to_owned()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("training") && text.contains("done"), "{text}");
    assert!(text.contains("the program ended before"), "{text}");
}

/// One picture of a running program, on cards that are replayed and may fall silent.
fn top_once(pid: u32, seconds: &str, answers: &str) -> String {
    let replayed = root().join("crates/whyidle/tests/recordings/tok_heavy_workers2/nvml.csv");
    let output = whyidle(&["top", &pid.to_string(), "--once", "--for", seconds])
        .env("WHYIDLE_NVML", crate::watching::standin())
        .env("WHYIDLE_STANDIN", replayed)
        .env("WHYIDLE_STANDIN_ANSWERS", answers)
        .env("LINES", "40")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_dashboard_shows_what_attach_finds_and_says_when_the_driver_falls_silent() {
    let Some(python) = python() else { return };
    let _turn = turn();
    let training = Training::start(&python, &["--workers", "2"]);
    let pid = training.0.id();
    let wanted = ["waiting for: data", "slow_item (loader_wait.py:10)", "2 loader workers", "/700 W"];
    let shown =
        again(|| top_once(pid, "15s", "100000"), |shown| wanted.iter().all(|part| shown.contains(part)));
    assert!(wanted.iter().all(|part| shown.contains(part)), "{shown}");
    const SILENT: &str = "GPUs · The driver stopped answering";
    let silent = again(|| top_once(pid, "25s", "6"), |shown| shown.contains(SILENT));
    assert!(silent.contains(SILENT), "{silent}");
    // The first line names the program too; the table's line of it has no share left, and no zero in its place.
    let row = silent.lines().skip(1).find(|line| line.contains(&pid.to_string())).unwrap_or_default();
    assert!(row.contains('–') && !row.contains('%'), "{silent}");
}

/// What the Python package starts: rows beside what the program itself records, no verdict, and nothing overwritten.
#[test]
fn a_part_of_a_recording_goes_beside_what_the_program_records() {
    let Some(python) = python() else { return };
    let _turn = turn();
    let training = Training::start(&python, &["--workers", "0"]);
    let (pid, dir) = (training.0.id().to_string(), tempfile::tempdir().unwrap());
    let out = dir.path().display().to_string();
    fs::write(dir.path().join("recording_rank1.json"), "{}").unwrap();
    let refused = run(&["attach", &pid, "--for", "1s", "--out", &out]);
    assert_eq!(refused.status, Some(2));
    let found = run(&["attach", &pid, "--part", "--for", "3s", "--out", &out]);
    assert_eq!((found.status, found.out.as_str()), (Some(0), ""), "{}", found.err);
    assert!(dir.path().join("recording.json").exists() && dir.path().join("proc.csv").exists());
    assert_eq!(fs::read_to_string(dir.path().join("recording_rank1.json")).unwrap(), "{}");
    let again = run(&["attach", &pid, "--part", "--for", "1s", "--out", &out]);
    assert_eq!(again.status, Some(2), "{}", again.err);
}

/// The lines of the run's ledger, after a watch of the program with phases.
fn phases(python: &Path) -> Vec<Value> {
    let program = root().join("crates/whyidle/tests/programs/phases.py").display().to_string();
    let output = whyidle(&["run", "--no-trace", "--for", "20s", "--stop", "--format", "json", "--"])
        .args([python.display().to_string(), program])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let report: Value = serde_json::from_str(text.trim_start_matches("training\n")).unwrap();
    let lines = report["run"]["lines"].as_array().unwrap().clone();
    let sum: i64 = lines.iter().map(|line| line["ns"].as_i64().unwrap()).sum();
    assert_eq!(sum, report["run"]["watched_ns"].as_i64().unwrap());
    lines
}

#[test]
fn phases_of_a_run_are_told_and_sum_to_the_time_watched() {
    let Some(python) = python() else { return };
    let _turn = turn();
    let told = |lines: &[Value]| {
        let line = |id: &str| lines.iter().find(|line| line["id"] == id);
        let long = |id: &str| line(id).and_then(|line| line["ns"].as_i64()).unwrap_or(0) > 3_000_000_000;
        let share = line("training").and_then(|line| line["share"].as_f64()).unwrap_or(0.0);
        let visited = |id: &str, place: &str| {
            line(id).is_some_and(|line| {
                line["visits"].as_i64() >= Some(2)
                    && line["where"].as_str().is_some_and(|at| at.contains(place))
            })
        };
        long("run.startup")
            && share > 0.2
            && visited("run.eval", "score")
            && visited("run.checkpoint", "write")
    };
    // A busy machine takes too few samples to meet every phase twice.
    let watches: Vec<Vec<Value>> = (0..3)
        .scan(false, |done, _| {
            (!*done).then(|| {
                let lines = phases(&python);
                *done = told(&lines);
                lines
            })
        })
        .collect();
    assert!(watches.last().is_some_and(|lines| told(lines)), "{watches:#?}");
}

#[test]
fn a_program_that_only_starts_up_gets_no_verdict() {
    let Some(python) = python() else { return };
    let _turn = turn();
    let program = root().join("crates/whyidle/tests/programs/phases.py").display().to_string();
    let output = whyidle(&["run", "--no-trace", "--for", "2s", "--stop", "--"])
        .args([python.display().to_string(), program, "--start".to_owned(), "600".to_owned()])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("still starting up") && text.contains("busy (phases.py"), "{text}");
}
