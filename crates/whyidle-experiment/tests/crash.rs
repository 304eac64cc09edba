//! A writer that is killed in the middle of its work loses nothing that it was told is kept.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use whyidle_experiment::history::{Entry, History};
use whyidle_experiment::result::Run;

/// Names the folder in which the child writes; set in the child only.
const FOLDER: &str = "WHYIDLE_TEST_CRASH";
/// Kills.
const ROUNDS: usize = 5;

/// A run whose body is long enough for several pages.
fn run(began: i64) -> Run {
    Run { began, losses: (0..500).map(|at| (f64::from(at), 1.5)).collect(), ..Run::default() }
}

/// Writes until it is killed, and says after each commit what is kept.
fn write(folder: &Path) {
    let mut history = History::open(&folder.join("history.db")).unwrap();
    let mut kept = File::options().create(true).append(true).open(folder.join("kept")).unwrap();
    for began in 0.. {
        let id = history.add_run(&run(began), None).unwrap();
        // In one piece: a line cut by the kill would run into the next child's.
        kept.write_all(format!("{id} {began}\n").as_bytes()).unwrap();
    }
}

/// Whole lines of what the child was told is kept.
fn kept(folder: &Path) -> Vec<(i64, i64)> {
    let text = fs::read_to_string(folder.join("kept")).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let line = |line: &str| {
        line.split_once(' ').and_then(|(id, began)| Some((id.parse().ok()?, began.parse().ok()?)))
    };
    whole.lines().filter_map(line).collect()
}

#[test]
fn what_was_kept_survives_kill_9() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        write(Path::new(&folder));
    }
    let dir = tempfile::tempdir().unwrap();
    for round in 1..=ROUNDS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "what_was_kept_survives_kill_9"])
            .env(FOLDER, dir.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let (before, start) = (kept(dir.path()).len(), Instant::now());
        while kept(dir.path()).len() < before + 20 + round {
            assert!(start.elapsed() < Duration::from_secs(60), "the child writes nothing");
            std::thread::sleep(Duration::from_millis(1));
        }
        // Child::kill is SIGKILL.
        child.kill().unwrap();
        child.wait().unwrap();
        let history = History::open(&dir.path().join("history.db")).unwrap();
        let told = kept(dir.path());
        for (id, began) in &told {
            assert_eq!(history.entry(*id).unwrap(), Some(Entry::Run(Box::new(run(*began)))), "round {round}");
        }
        // At most the one that was committed and not yet told.
        let listed = history.list(None, u32::MAX).unwrap().len();
        assert!((told.len()..=told.len() + round).contains(&listed), "{listed} of {}", told.len());
    }
}
