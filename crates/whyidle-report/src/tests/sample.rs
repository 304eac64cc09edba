//! Hand-made verdicts: a starved run, a healthy one, a launch-bound one whose step time is
//! estimated, two ranks, and a refusal.

use crate::{Catalog, Lang};
use whyidle_diagnosis::{
    Answer, Basis, Change, Confidence, CriticalPath, Details, Estimate, Evidence, Finding, Gain, Input, Line,
    LineKind, Message, Method, PathName, PathPart, QualityNote, RankVerdict, Refusal, Remedy, ReplayQuality,
    Ruling, Rung, Step, Subject, Total, Verdict,
};
use whyidle_model::Severity;

const MS: i64 = 1_000_000;

pub(super) fn catalog(lang: Lang) -> Catalog {
    Catalog::new(lang).with(match lang {
        Lang::En => include_str!("sample.en.ftl"),
        Lang::Zh => include_str!("sample.zh.ftl"),
    })
}

/// Every verdict, by name.
pub(super) fn verdicts() -> Vec<(&'static str, Verdict)> {
    vec![
        ("starved", starved()),
        ("healthy", healthy()),
        ("launch_bound", launch_bound()),
        ("two_ranks", two_ranks()),
    ]
}

fn about(ns: i64, low: i64, high: i64) -> Estimate {
    Estimate { ns, low_ns: low, high_ns: high }
}

fn line(id: &'static str, kind: LineKind, ns: i64, step: i64, details: Vec<Message>) -> Line {
    let share = ns as f64 / step as f64;
    Line { id, kind, traced_ns: 2 * ns, unprofiled: about(ns, ns - ns / 20, ns + ns / 20), share, details }
}

fn step(traced: &[i64], unprofiled: Estimate, basis: Basis) -> Step {
    Step {
        found_by: "profiler-step",
        count: traced.len(),
        first: 12,
        traced_each_ns: traced.to_vec(),
        traced_ns: traced.iter().sum::<i64>() / traced.len() as i64,
        unprofiled,
        basis,
        host_span_ns: 44 * MS,
        host_ahead_ns: 3 * MS,
    }
}

fn subject() -> Subject {
    Subject {
        gpu: Some("NVIDIA H200".to_owned()),
        device: 0,
        gpus: 1,
        ranks: 1,
        versions: vec![("torch".to_owned(), "2.11".to_owned()), ("cuda".to_owned(), "13.0".to_owned())],
        ..Subject::default()
    }
}

fn inputs() -> Vec<Input> {
    vec![Input { path: "lab/run/trace.json.gz".to_owned(), kind: "kineto", events: 108_000, rank: None }]
}

fn details() -> Details {
    let total = |name: &str, kind, count, total_ns, longest_ns| Total {
        name: name.to_owned(),
        kind,
        count,
        total_ns,
        longest_ns,
    };
    Details {
        kernels: vec![
            total("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT", "working.matmul", 96, 60 * MS, 900_000),
            total(
                "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >",
                "working.elementwise",
                145,
                21 * MS,
                200_000,
            ),
        ],
        operators: vec![total("aten::mm", "working.matmul", 96, 60 * MS, 900_000)],
        modules: Vec::new(),
        gaps: vec![total("data.workers", "data.workers", 1, 90 * MS, 90 * MS)],
        instruments: None,
        statistics: vec![Message::new("sample.launches").count("count", 1240).time("time", 18_400)],
    }
}

/// The sketch of the design: two workers that tokenise.
pub(super) fn starved() -> Verdict {
    let whole = 188 * MS;
    let (working, waiting, rest) = (LineKind::Working, LineKind::Waiting, LineKind::Rest);
    let place = Message::new("sample.detail-place")
        .message("what", Message::new("sample.tokenising"))
        .name("place", "data.py:41");
    let wait_details = vec![Message::new("sample.detail-workers").count("count", 2), place];
    Verdict {
        inputs: inputs(),
        subject: subject(),
        step: step(&[57 * MS, 147 * MS], Estimate::exact(whole), Basis::Given),
        working_share: 55.0 / 188.0,
        resident_share: 55.2 / 188.0,
        ledger: vec![
            line("working.matmul", working, 36 * MS, whole, vec![]),
            line("working.elementwise", working, 12 * MS, whole, vec![]),
            line("working.attention", working, 5 * MS, whole, vec![]),
            line("working.optimizer", working, 1_400_000, whole, vec![]),
            line("working.other", working, 600_000, whole, vec![]),
            line("data.workers", waiting, 131 * MS, whole, wait_details),
            line("host.launch", waiting, 700_000, whole, vec![]),
            line("rest.latency", rest, 1_200_000, whole, vec![]),
            line("rest.unexplained", rest, 100_000, whole, vec![]),
        ],
        run: None,
        ranks: Vec::new(),
        ruling: Ruling {
            primary: "data.workers",
            healthy: false,
            efficient: None,
            confidence: Confidence::High,
            doubts: Vec::new(),
            sentence: vec![
                Message::new("sample.starved")
                    .time("step", whole)
                    .time("working", 55 * MS)
                    .time("wait", 131 * MS)
                    .count("workers", 2),
                Message::new("sample.more-workers").count("to", 12).time("after", 57 * MS).name("range", "55–61"),
            ],
        },
        findings: vec![workers_finding(), pretokenise_finding()],
        ladder: vec![Rung { cause: "data.workers", gain: workers_finding().gain.expect("it has one") }, Rung { cause: "data.in_process", gain: Gain { step_after: Estimate { ns: 46 * MS, low_ns: 42 * MS, high_ns: 51 * MS }, method: Method::Model, change: Change { what: "compile", from: None, to: None }, next_limit: "compute.bound" } }],
        what_if: vec![Answer { asked: "data.workers=12".to_owned(), causes: vec!["data.workers"], changes: vec![Change { what: "workers", from: Some("2".to_owned()), to: Some("12".to_owned()) }], gain: workers_finding().gain, notes: Vec::new() }, Answer { asked: "host.gc".to_owned(), causes: vec!["host.gc"], changes: Vec::new(), gain: None, notes: vec![Message::new("what-if-nothing-there").name("cause", "host.gc")] }],
        together: None,
        critical_path: Some(CriticalPath { length_ns: 188 * MS, parts: vec![PathPart { id: "loader", ns: 131 * MS }, PathPart { id: "gpu", ns: 56 * MS }, PathPart { id: "launch", ns: MS }], names: vec![PathName { name: "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__".to_owned(), part: "loader", nodes: 3, ns: 131 * MS }] }),
        replay: Some(ReplayQuality { error: 0.0004, slack: 0.002, unrecorded: 0.0, usable: true }),
        next: "whyidle sweep --vary num_workers=2,4,8,12,16 -- python train.py --config configs/base.yaml --data /data/corpus".to_owned(),
        quality: vec![
            QualityNote {
                code: "queue-filled",
                severity: Severity::Suspect,
                count: 1,
                text: Message::new("sample.queue-filled"),
            },
            QualityNote { code: "no-launch", severity: Severity::Info, count: 12, text: Message::new("no-launch") },
        ],
        details: details(),
    }
}

fn workers_finding() -> Finding {
    Finding {
        cause: "data.workers",
        rank: None,
        cost: about(131 * MS, 127 * MS, 133 * MS),
        share: 131.0 / 188.0,
        gain: Some(Gain {
            step_after: about(57 * MS, 55 * MS, 61 * MS),
            method: Method::Replay,
            change: Change { what: "workers", from: Some("2".to_owned()), to: Some("12".to_owned()) },
            next_limit: "compute.bound",
        }),
        evidence: vec![
            Evidence {
                text: Message::new("sample.evidence-next")
                    .name("where", "_MultiProcessingDataLoaderIter._try_get_data")
                    .time("time", 131 * MS),
                value: Some(131e6),
                unit: "ns",
                place: Some("train.py:88".to_owned()),
            },
            Evidence {
                text: Message::new("sample.evidence-batch").time("time", 362 * MS),
                value: Some(362e6),
                unit: "ns",
                place: None,
            },
        ],
        remedy: Remedy {
            summary: Message::new("sample.summary-workers")
                .name("from", "2")
                .name("to", "12")
                .time("time", 362 * MS),
            steps: vec![Message::new("sample.step-cores")],
            code:
                "loader = DataLoader(dataset, num_workers=12,\n                    persistent_workers=True)"
                    .to_owned(),
        },
    }
}

fn pretokenise_finding() -> Finding {
    Finding {
        cause: "data.in_process",
        rank: None,
        cost: about(131 * MS, 127 * MS, 133 * MS),
        share: 131.0 / 188.0,
        gain: Some(Gain {
            step_after: Estimate::exact(57 * MS),
            method: Method::Bound,
            change: Change { what: "pretokenise", from: None, to: None },
            next_limit: "compute.bound",
        }),
        evidence: Vec::new(),
        remedy: Remedy {
            summary: Message::new("sample.summary-pretokenise").share("share", 0.94),
            steps: Vec::new(),
            code: String::new(),
        },
    }
}

pub(super) fn healthy() -> Verdict {
    let whole = 58_400_000;
    let (working, waiting, rest) = (LineKind::Working, LineKind::Waiting, LineKind::Rest);
    Verdict {
        step: step(&[58_300_000, 58_500_000, 58_400_000], Estimate::exact(whole), Basis::Measured),
        working_share: 0.97,
        resident_share: 0.97,
        ledger: vec![
            line("working.matmul", working, 34 * MS, whole, vec![]),
            line("working.elementwise", working, 14_300_000, whole, vec![]),
            line("working.attention", working, 8_300_000, whole, vec![]),
            line("host.launch", waiting, 200_000, whole, vec![]),
            line("rest.latency", rest, 1_600_000, whole, vec![]),
        ],
        ruling: Ruling {
            primary: "compute.bound",
            healthy: true,
            efficient: Some(true),
            confidence: Confidence::High,
            doubts: Vec::new(),
            sentence: vec![Message::new("sample.healthy").time("step", whole).share("working", 0.97)],
        },
        findings: Vec::new(),
        quality: Vec::new(),
        next: String::new(),
        ..starved()
    }
}

pub(super) fn launch_bound() -> Verdict {
    let whole = 23_100_000;
    let (working, waiting, rest) = (LineKind::Working, LineKind::Waiting, LineKind::Rest);
    Verdict {
        step: Step {
            found_by: "optimizer-step",
            ..step(&[52_300_000, 51 * MS], about(whole, 19_600_000, 26_600_000), Basis::Estimated)
        },
        working_share: 0.45,
        resident_share: 0.45,
        ledger: vec![
            line("working.matmul", working, 7 * MS, whole, vec![]),
            line("working.elementwise", working, 3_400_000, whole, vec![]),
            line(
                "host.launch",
                waiting,
                10_700_000,
                whole,
                vec![
                    Message::new("sample.detail-named")
                        .name("name", "aten::_foreach_add_")
                        .time("time", 2 * MS),
                    Message::new("sample.detail-named").name("name", "aten::linear").time("time", 1_800_000),
                    Message::new("sample.detail-named")
                        .name("name", "aten::layer_norm")
                        .time("time", 1_100_000),
                ],
            ),
            line("host.python", waiting, 1_600_000, whole, vec![]),
            line("rest.latency", rest, 300_000, whole, vec![]),
            line("rest.unexplained", rest, 100_000, whole, vec![]),
        ],
        ruling: Ruling {
            primary: "host.launch",
            healthy: false,
            efficient: None,
            confidence: Confidence::Low,
            doubts: vec![
                Message::new("sample.estimated"),
                Message::new("sample.near-threshold").share("share", 0.46).share("distance", 0.04),
            ],
            sentence: vec![
                Message::new("sample.launch")
                    .time("step", whole)
                    .time("working", 10_400_000)
                    .time("wait", 10_700_000),
                Message::new("sample.launch-remedy").time("after", 11_800_000),
            ],
        },
        findings: vec![
            Finding {
                cause: "host.launch",
                cost: about(10_700_000, 7 * MS, 14 * MS),
                share: 0.46,
                gain: Some(Gain {
                    step_after: about(11_800_000, 10_900_000, 14 * MS),
                    method: Method::Model,
                    change: Change { what: "cuda_graphs", from: None, to: None },
                    next_limit: "compute.bound",
                }),
                remedy: Remedy {
                    summary: Message::new("sample.summary-graph").count("count", 1240).time("time", 18_400),
                    steps: Vec::new(),
                    code: String::new(),
                },
                ..workers_finding()
            },
            Finding {
                cause: "host.python",
                cost: Estimate::exact(1_600_000),
                share: 0.07,
                gain: None,
                ..pretokenise_finding()
            },
            Finding {
                cause: "io.logging",
                cost: Estimate::exact(80_000),
                share: 0.003,
                gain: None,
                ..pretokenise_finding()
            },
        ],
        ladder: Vec::new(),
        what_if: Vec::new(),
        critical_path: None,
        replay: None,
        quality: vec![QualityNote {
            code: "truncated",
            severity: Severity::Loss,
            count: 1,
            text: Message::new("truncated"),
        }],
        next: "whyidle run -- python train.py".to_owned(),
        ..starved()
    }
}

pub(super) fn two_ranks() -> Verdict {
    let one = starved();
    let rank = |rank, working_share| RankVerdict {
        rank,
        step: one.step.clone(),
        working_share,
        ledger: one.ledger.clone(),
        lateness: None,
    };
    let mut findings = one.findings.clone();
    findings[0].rank = Some(1);
    Verdict {
        subject: Subject {
            gpus: 2,
            ranks: 2,
            world_size: Some(8),
            rank_shown: Some(1),
            ..one.subject.clone()
        },
        run: None,
        ranks: vec![rank(0, 0.31), rank(1, 0.29)],
        findings,
        ..one
    }
}

pub(super) fn refused() -> Refusal {
    Refusal {
        code: "no-gpu-activity",
        reason: Message::new("refusal.no-gpu-activity"),
        hint: Message::new("refusal.no-gpu-activity-hint"),
        inputs: inputs(),
        quality: vec![QualityNote {
            code: "no-activity",
            severity: Severity::Suspect,
            count: 1240,
            text: Message::new("no-activity"),
        }],
    }
}
