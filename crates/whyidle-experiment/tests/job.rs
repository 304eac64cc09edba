//! Verdicts in the history, and what all that is known of a job comes to.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

#[path = "support/judged.rs"]
mod support;

use rusqlite::Connection;
use whyidle_experiment::history::{Entry, History};
use whyidle_experiment::job::job;
use whyidle_experiment::result::{GpuUse, Run};
use whyidle_experiment::stats::steady::Steady;

use support::{S, judged};

#[test]
fn a_job_is_what_was_seen_of_it_weighted_by_gpu_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let mut history = History::open(&path).unwrap().of(Some("7".to_owned()));
    // 100 GPU-seconds at 20 %, twice 400 at 80 %.
    let first = judged(1_000 * S, 100, 1, 0.2, "data.workers", Some(30_000_000));
    let id = history.add_verdict(&first).unwrap();
    history.add_verdict(&judged(2_000 * S, 50, 8, 0.8, "comm.exposed", Some(90_000_000))).unwrap();
    let last = history.add_verdict(&judged(3_000 * S, 50, 8, 0.8, "comm.exposed", Some(90_000_000))).unwrap();
    let mut other = History::open(&path).unwrap().of(Some("8".to_owned()));
    other.add_verdict(&judged(9_000 * S, 100, 1, 0.0, "host.sync", None)).unwrap();
    assert_eq!(history.entry(id).unwrap(), Some(Entry::Verdict(Box::new(first))), "as it was written");
    let row = &history.list(None, 9).unwrap()[3];
    assert_eq!(
        (row.kind.as_str(), row.answer.as_deref(), row.busy),
        ("verdict", Some("data.workers"), Some(0.2))
    );
    let found = job(&history, "7").unwrap().unwrap();
    assert_eq!((found.began, found.ended, found.parts.len()), (1_000 * S, 3_050 * S, 3));
    assert!((found.working.unwrap() - (20.0 + 640.0) / 900.0).abs() < 1e-9, "{:?}", found.working);
    assert_eq!((found.seen_gpu_ns, found.waste_gpu_ns / S, found.resident), (900 * S, 240, None));
    let waits: Vec<_> =
        found.waits.iter().map(|wait| (wait.line.as_str(), (wait.gpu_ns + S / 2) / S)).collect();
    assert_eq!(waits, [("comm.exposed", 160), ("data.workers", 80)]);
    // 70 GPU-seconds saved of the first; twice 40 of the others.
    let worth = found.worth.unwrap();
    assert_eq!((worth.cause.as_str(), worth.id, worth.saved_gpu_ns / S), ("comm.exposed", last, 80));
    assert_eq!(job(&history, "none").unwrap(), None);
}

/// Without a GPU a verdict knows no share of working: it comes back as it was, and says nothing of waste.
#[test]
fn a_verdict_without_a_gpu_is_kept_and_wastes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut history = History::open(&dir.path().join("history.db")).unwrap().of(Some("7".to_owned()));
    let mut unknown = judged(S, 9, 0, 0.5, "host.contention", None);
    (unknown.verdict.working_share, unknown.verdict.resident_share) = (f64::NAN, f64::NAN);
    let id = history.add_verdict(&unknown).unwrap();
    let Some(Entry::Verdict(read)) = history.entry(id).unwrap() else { panic!("the verdict") };
    assert!(read.verdict.working_share.is_nan() && read.verdict.ledger == unknown.verdict.ledger);
    assert_eq!(history.list(None, 1).unwrap()[0].busy, None);
    let found = job(&history, "7").unwrap().unwrap();
    assert_eq!((found.working, found.waste_gpu_ns, found.parts[0].busy), (None, 0, None));
}

#[test]
fn measured_runs_count_by_their_steady_steps_and_damage_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let mut history = History::open(&path).unwrap().of(Some("7".to_owned()));
    let gpu = GpuUse { index: 0, resident: 0.25, is_counted: true, power_w: None, memory: None };
    let steady = Steady { count: 100, mean_ns: S, ..Steady::default() };
    let run = Run { began: S, wall_ns: 500 * S, gpu: Some(gpu), steady: Some(steady), ..Run::default() };
    history.add_run(&run, None).unwrap();
    history.add_run(&Run::default(), None).unwrap();
    let damaged = history.add_verdict(&judged(S, 9, 1, 0.5, "host.sync", None)).unwrap();
    let body = "UPDATE bodies SET body = '{' WHERE id = ?1";
    Connection::open(&path).unwrap().execute(body, [damaged]).unwrap();
    let found = job(&history, "7").unwrap().unwrap();
    assert_eq!((found.working, found.resident, found.damaged), (None, Some(0.25), 1));
    assert_eq!((found.seen_gpu_ns, found.waste_gpu_ns, found.worth), (100 * S, 75 * S, None));
    assert_eq!((found.began, found.ended), (0, 501 * S));
}
