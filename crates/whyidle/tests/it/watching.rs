//! `attach` and `run` without a training program: status, signals, clear words, and what is left behind.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{root, run, whyidle};

/// Waits until `done`, and fails when that takes longer than anything should.
pub(crate) fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// The stand-in for NVML that the workspace builds, beside this test's own program.
pub(crate) fn standin() -> PathBuf {
    // Naming the crate makes cargo build its library.
    let replay = whyidle_standin::replay::Replay::read("");
    assert_eq!(replay.count(), 0);
    let beside = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let found = fs::read_dir(&beside).unwrap().map(|entry| entry.unwrap().path()).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("libwhyidle_standin") && name.ends_with(".so")
    });
    found.max_by_key(|path| fs::metadata(path).and_then(|file| file.modified()).ok()).expect("the stand-in")
}

#[test]
fn processes_that_are_no_training_program_are_said_to_be_none() {
    let gone = run(&["attach", "4194300"]);
    assert_eq!(gone.status, Some(2));
    assert!(gone.err.contains("there is no process 4194300"), "{}", gone.err);
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let other = run(&["attach", &child.id().to_string()]);
    assert!(is_alive(child.id()), "watching must not harm");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(other.status, Some(1));
    assert!(other.err.contains("have not loaded PyTorch"), "{}", other.err);
}

/// As root only, another user can be tried; elsewhere there is nothing to try.
#[test]
fn what_permission_is_missing_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let binary = dir.path().join("whyidle");
    fs::copy(env!("CARGO_BIN_EXE_whyidle"), &binary).unwrap();
    Command::new("chmod").arg("-R").arg("a+rx").arg(dir.path()).status().unwrap();
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let found = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&binary)
        .args(["attach", &child.id().to_string()])
        .env("LC_ALL", "C")
        .output();
    child.kill().unwrap();
    child.wait().unwrap();
    match found {
        Ok(found) if !String::from_utf8_lossy(&found.stderr).contains("setpriv:") => {
            let words = String::from_utf8_lossy(&found.stderr);
            assert_eq!(found.status.code(), Some(1), "{words}");
            assert!(words.contains("belongs to user 0") && words.contains("SYS_PTRACE"), "{words}");
        }
        _ => println!("skipped: no other user can be tried here"),
    }
}

#[test]
fn run_returns_the_programs_own_status_and_output() {
    let found = run(&["run", "--no-trace", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!(found.status, Some(7));
    assert!(found.out.starts_with("out\n") && found.err.contains("err\n"), "{}", found.out);
    assert!(found.out.contains("No verdict"), "{}", found.out);
    let judged = run(&["run", "--no-trace", "--verdict-exit", "--", "sh", "-c", "exit 7"]);
    assert_eq!(judged.status, Some(1));
    let missing = run(&["run", "--", "/nonexistent/program"]);
    assert_eq!(missing.status, Some(2));
    assert!(missing.err.contains("could not be started"), "{}", missing.err);
}

#[test]
fn signals_reach_the_program_and_it_decides() {
    let dir = tempfile::tempdir().unwrap();
    let marker = dir.path().join("ready");
    let script = format!("trap 'exit 42' TERM; touch {}; while :; do sleep 0.05; done", marker.display());
    let mut watcher = started(&["run", "--no-trace", "--", "sh", "-c", &script]);
    eventually("the program is ready", || marker.exists());
    kill(watcher.id(), "-TERM");
    assert_eq!(watcher.wait().unwrap().code(), Some(42));
}

/// Ctrl-Z stops program and watcher together and gives the terminal back; `fg` brings both back.
#[test]
fn a_stopped_program_stops_the_watcher_and_goes_on_with_it() {
    let script = "echo ready; read line; echo heard $line; exit 7";
    let shell = root().join("crates/whyidle/tests/programs/job_control.py");
    const WANTED: &str = "ready True\nstopped True\ngoes on True\nstatus True\n";
    let mut seen = String::new();
    // The terminal is watched with time limits, which a busy machine may miss.
    for _ in 0..3 {
        let output = Command::new("python3")
            .arg(&shell)
            .args([env!("CARGO_BIN_EXE_whyidle"), "run", "--no-trace", "--", "sh", "-c", script])
            .output();
        let Ok(output) = output else {
            println!("skipped: there is no python3");
            return;
        };
        seen = String::from_utf8_lossy(&output.stdout).into_owned();
        if seen == WANTED {
            break;
        }
    }
    assert_eq!(seen, WANTED);
}

#[test]
fn a_recording_that_is_removed_is_not_named() {
    let found = run(&["run", "--no-trace", "--", "sleep", "1"]);
    assert!(found.out.contains("No verdict") && !found.out.contains("/tmp/"), "{}", found.out);
    assert!(found.out.contains("proc.csv"), "{}", found.out);
}

#[test]
fn nothing_is_left_behind() {
    let before = leftovers();
    let found = run(&["run", "--", "sh", "-c", "env | grep KINETO_"]);
    assert!(
        found.out.contains("KINETO_USE_DAEMON=1")
            && found.out.contains("KINETO_IPC_SOCKET_DIR=/tmp/whyidle-")
    );
    let dir =
        found.out.lines().find_map(|line| line.strip_prefix("KINETO_IPC_SOCKET_DIR=")).unwrap().to_owned();
    assert!(!Path::new(&dir).exists(), "{dir}");
    // Other tests have folders of their own for a while.
    let is_clean = (0..300).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        leftovers() <= before
    });
    assert!(is_clean || before == 0, "temporary folders are left");
}

fn leftovers() -> usize {
    // Other tests make such folders at the same time; none may stay for long.
    let own = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("whyidle-");
    fs::read_dir("/tmp").unwrap().flatten().filter(own).count()
}

#[test]
fn a_killed_watcher_leaves_a_readable_recording_and_an_unharmed_program() {
    let dir = tempfile::tempdir().unwrap();
    let (out, pid_file) = (dir.path().join("recording"), dir.path().join("pid"));
    let script = format!("echo $$ > {}; exec sleep 600", pid_file.display());
    let mut watcher =
        started(&["run", "--no-trace", "--out", &out.display().to_string(), "--", "sh", "-c", &script]);
    let rows = || fs::read_to_string(out.join("proc.csv")).map_or(0, |text| text.lines().count());
    eventually("rows are on disk", || rows() > 3);
    kill(watcher.id(), "-KILL");
    watcher.wait().unwrap();
    let program: u32 = fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    assert!(is_alive(program));
    kill(program, "-KILL");
    let read = run(&["diagnose", &out.display().to_string()]);
    // No GPU, no Python: no verdict, but every file is read.
    assert_eq!((read.status, read.err.as_str()), (Some(1), ""));
    assert!(read.out.contains("proc.csv"), "{}", read.out);
}

#[test]
fn gpus_are_read_through_the_real_library_interface() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("recording");
    let replayed = root().join("crates/whyidle/tests/recordings/tok_heavy_workers2/nvml.csv");
    let output = whyidle(&["run", "--no-trace", "--out", &out.display().to_string(), "--", "sleep", "2"])
        .env("WHYIDLE_NVML", standin())
        .env("WHYIDLE_STANDIN", &replayed)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let recording: Value =
        serde_json::from_str(&fs::read_to_string(out.join("recording.json")).unwrap()).unwrap();
    assert_eq!(recording["gpus"][0]["name"], "NVIDIA H200");
    assert_eq!(recording["driver"], "580.159.04");
    let table = fs::read_to_string(out.join("nvml.csv")).unwrap();
    let header: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
    // What changes slowly is not read in every round.
    let seen = |name: &str, of_sort: &dyn Fn(&str) -> bool| {
        table.lines().skip(1).any(|row| row.split(',').nth(column(name)).is_some_and(of_sort))
    };
    assert!(seen("mem_total", &|text| text == "150754820096"), "{table}");
    assert!(seen("power_limit_mw", &|text| text == "700000"), "{table}");
    assert!(seen("graphics_util", &|text| text.parse::<f64>().is_ok()), "{table}");
}

#[test]
fn a_driver_that_vanishes_ends_the_gpu_samples_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("recording");
    let replayed = root().join("crates/whyidle/tests/recordings/fed/nvml.csv");
    let output = whyidle(&["run", "--no-trace", "--out", &out.display().to_string(), "--", "sleep", "8"])
        .env("WHYIDLE_NVML", standin())
        .env("WHYIDLE_STANDIN", &replayed)
        .env("WHYIDLE_STANDIN_ANSWERS", "5")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let recording = fs::read_to_string(out.join("recording.json")).unwrap();
    assert!(recording.contains("nvml-vanished"), "{recording}");
    assert!(fs::read_to_string(out.join("proc.csv")).unwrap().lines().count() > 20);
}

#[test]
fn a_thousand_processes_and_a_changed_program_are_no_trouble() {
    let script = "i=0; while [ $i -lt 1000 ]; do sleep 3 & i=$((i+1)); done; wait; exec sh -c 'exit 5'";
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("recording");
    let found = run(&["run", "--no-trace", "--out", &out.display().to_string(), "--", "sh", "-c", script]);
    assert_eq!(found.status, Some(5), "{}", found.err);
    let recording: Value =
        serde_json::from_str(&fs::read_to_string(out.join("recording.json")).unwrap()).unwrap();
    let cpu =
        recording["watcher"]["cpu_s"].as_f64().unwrap() / recording["watcher"]["wall_s"].as_f64().unwrap();
    assert!(cpu < 0.5, "the watcher used {cpu} of a core");
}

fn started(args: &[&str]) -> Child {
    // A group of its own: the test's own signals must not reach it.
    whyidle(args).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().unwrap()
}

pub(crate) fn kill(pid: u32, signal: &str) {
    let status = Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

/// Refused before anything is watched, with the numbers of those that are there.
#[test]
fn a_gpu_that_is_not_there_is_refused() {
    let replayed = root().join("crates/whyidle/tests/recordings/tok_heavy_workers2/nvml.csv");
    let own = std::process::id().to_string();
    for command in [
        vec!["attach", &own, "--gpu", "7"],
        vec!["top", &own, "--once", "--gpu", "7"],
        vec!["run", "--gpu", "7", "--", "sh", "-c", "echo started"],
    ] {
        let output = whyidle(&command)
            .env("WHYIDLE_NVML", standin())
            .env("WHYIDLE_STANDIN", &replayed)
            .output()
            .unwrap();
        let (out, words) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(out.is_empty(), "{out}");
        assert!(words.contains("there is no GPU 7") && words.contains("GPUs of this machine: 0"), "{words}");
    }
}

/// A process that is dead and waits for its parent to ask is called that.
#[test]
fn a_dead_process_is_not_said_to_lack_pytorch() {
    let mut child = Command::new("true").spawn().unwrap();
    let pid = child.id();
    eventually("it has ended", || !is_alive(pid));
    let pid_text = pid.to_string();
    for command in [vec!["attach", &pid_text], vec!["top", "--once", &pid_text], vec!["check", &pid_text]] {
        let found = run(&command);
        let words = format!("{}{}", found.out, found.err);
        assert!(words.contains("has ended already") && !words.contains("PyTorch"), "{words}");
        assert!(!words.contains(&format!("whyidle attach {pid}")), "{words}");
        assert_eq!(found.status, Some(1), "{words}");
    }
    child.wait().unwrap();
}

/// What is no training program is not offered to be attached to.
#[test]
fn the_quick_look_sends_nobody_to_a_process_that_does_not_train() {
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let found = run(&["check", &child.id().to_string()]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(found.out.contains("have not loaded PyTorch"), "{}", found.out);
    assert!(!found.out.contains(&format!("whyidle attach {}", child.id())), "{}", found.out);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    for (out, reason) in
        [(dir.path().to_owned(), "is not empty"), (file.join("below"), "could not be written")]
    {
        let out = out.display().to_string();
        let found = run(&["run", "--no-trace", "--out", &out, "--", "sh", "-c", "echo started"]);
        assert_eq!(found.status, Some(2), "{}", found.err);
        assert!(found.err.contains(&out) && found.err.contains(reason), "{}", found.err);
        assert!(!found.out.contains("started"), "{}", found.out);
    }
}
