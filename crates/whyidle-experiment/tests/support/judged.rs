//! A verdict that was kept, for tests of the history and of what is made from it.

use whyidle_diagnosis::{
    Basis, Change, Confidence, Details, Estimate, Finding, Gain, Line, LineKind, Message, Method, Remedy,
    Ruling, Step, Subject, Verdict,
};
use whyidle_experiment::judged::Judged;
use whyidle_experiment::result::Place;

pub(crate) const S: i64 = 1_000_000_000;

/// A step of 100 ms of which the GPU works a share, and waits for `line` in the rest; a change that brings it to `after`.
pub(crate) fn judged(
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
        remedy: Remedy {
            summary: Message::new("fix-data-workers-unknown"),
            steps: Vec::new(),
            code: String::new(),
        },
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
