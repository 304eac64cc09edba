//! Verdicts in the history, and what all that is known of a job comes to.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

use rusqlite::Connection;
use whyidle_diagnosis::{
    Basis, Change, Confidence, Details, Estimate, Finding, Gain, Line, LineKind, Message, Method, Remedy,
    Ruling, Step, Subject, Verdict,
};
use whyidle_experiment::history::{Entry, History};
use whyidle_experiment::job::job;
use whyidle_experiment::judged::Judged;
use whyidle_experiment::result::{GpuUse, Place, Run};
use whyidle_experiment::stats::steady::Steady;

const S: i64 = 1_000_000_000;

/// A step of 100 ms of which the GPU works a share, and waits for `line` in the rest; a change that brings it to `after`.
fn judged(
    began: i64,
    seconds: i64,
    gpus: u32,
    working: f64,
    line: &'static str,
    after: Option<i64>,
) -> Judged {
    let estimate = |share: f64| Estimate::exact((share * 1e8) as i64);
    let entry = |id, kind, share: f64| Line {
        id,
        kind,
        traced_ns: 0,
        unprofiled: estimate(share),
        share,
        details: Vec::new(),
    };
    let gain = after.map(|ns| Gain {
        step_after: Estimate::exact(ns),
        method: Method::Replay,
        change: Change { what: "workers", from: None, to: None },
        next_limit: "compute.bound",
    });
    let finding = Finding {
        cause: line,
        rank: None,
        cost: estimate(1.0 - working),
        share: 1.0 - working,
        gain,
        evidence: Vec::new(),
        remedy: Remedy { summary: Message::new("fix-x"), steps: Vec::new(), code: String::new() },
    };
    let verdict = Verdict {
        inputs: Vec::new(),
        subject: Subject { gpu: Some("NVIDIA H200".to_owned()), ..Subject::default() },
        step: Step {
            found_by: "optimizer-step",
            count: 9,
            first: 0,
            traced_each_ns: Vec::new(),
            traced_ns: 0,
            unprofiled: estimate(1.0),
            basis: Basis::Measured,
            host_span_ns: 0,
            host_ahead_ns: 0,
        },
        working_share: working,
        resident_share: working,
        ledger: vec![
            entry("working.matmul", LineKind::Working, working),
            entry(line, LineKind::Waiting, 1.0 - working),
        ],
        run: None,
        ranks: Vec::new(),
        ruling: Ruling {
            primary: line,
            healthy: false,
            efficient: None,
            confidence: Confidence::High,
            doubts: Vec::new(),
            sentence: vec![Message::new("say-x")],
        },
        findings: vec![finding],
        ladder: Vec::new(),
        what_if: Vec::new(),
        critical_path: None,
        replay: None,
        together: None,
        next: String::new(),
        quality: Vec::new(),
        details: Details::default(),
    };
    Judged {
        began,
        seen_ns: seconds * S,
        command: vec!["python".to_owned(), "train.py".to_owned()],
        dir: String::new(),
        place: Place::default(),
        gpus,
        verdict,
    }
}

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
