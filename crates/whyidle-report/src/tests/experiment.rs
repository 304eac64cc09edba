//! Experiments: worded completely in both languages, and JSON that obeys its schemas.

use serde_json::Value;
use whyidle_experiment::comparison::{Comparison, Finish, Pair, Per, Side};
use whyidle_experiment::history::Row;
use whyidle_experiment::result::{Basis, Ended, GpuUse, Others, Peak, Place, Run};
use whyidle_experiment::stats::losses::{Distance, Losses};
use whyidle_experiment::stats::paired::{Answer, Effect};
use whyidle_experiment::stats::steady::Steady;

use crate::{Catalog, Document, Lang, TextOptions, benchmark_header, benchmark_row};

const SCHEMAS: [&str; 3] = [
    include_str!("../../schema/whyidle.bench-1.schema.json"),
    include_str!("../../schema/whyidle.compare-1.schema.json"),
    include_str!("../../schema/whyidle.history-1.schema.json"),
];
const PLAIN: TextOptions = TextOptions { width: 80, colour: false, verbose: true };

fn text(text: &str) -> String {
    text.to_owned()
}

fn full() -> Run {
    Run {
        began: 1_795_971_809_000_000_000,
        wall_ns: 60_000_000_000,
        startup_ns: Some(12_000_000_000),
        command: vec![text("python"), text("train.py"), text("--note=a|b")],
        environment: [(text("OMP_NUM_THREADS"), text("1"))].into(),
        dir: text("/work"),
        place: Place {
            host: Some(text("node7")),
            processor: Some(text("A processor")),
            cores: Some(16),
            gpus: vec![text("NVIDIA H200")],
            torch: Some(text("2.11.0")),
            commit: Some(text("0123456789abcdef")),
            dirty: Some(true),
            variables: [(text("NCCL_DEBUG"), text("INFO"))].into(),
            ..Place::default()
        },
        basis: Some(Basis::Hook),
        steps_per_figure: 1,
        steady: Some(Steady {
            warmup_steps: 12,
            warmup_ns: 4_100_000_000,
            settled: false,
            count: 212,
            mean_ns: 188_200_000,
            interval_ns: Some((187_000_000, 189_400_000)),
            long: 2,
            stalls: 2,
            stalls_ns: 1_300_000_000,
            rhythm: Some(50),
            quantiles_ns: [180_000_000, 182_000_000, 188_000_000, 193_000_000, 210_000_000, 900_000_000],
        }),
        samples_per_step: Some(16.0),
        tokens_per_step: Some(16_384.0),
        gpu: Some(GpuUse {
            index: 0,
            resident: 0.31,
            is_counted: true,
            power_w: Some(320.0),
            memory: Some(1 << 34),
        }),
        peak: Some(Peak { allocated: 16_710_967_296, held: 17_000_000_000 }),
        losses: vec![(1.0, 2.5), (2.0, f64::NAN)],
        others: Others { cores: 1.6, names: vec![(text("rustc"), 1.5)], on_gpu: vec![(0, 99)] },
        log: Some(text("/tmp/1.log")),
        hook_errors: 3,
        added: vec![text("PYTHONUNBUFFERED=1"), text("PYTHONPATH")],
        losses_from: Some(text("runs/metrics.csv")),
        ..Run::default()
    }
}

pub(super) fn runs() -> Vec<Run> {
    let bare = Steady { count: 12, mean_ns: 5_000_000, settled: true, ..Steady::default() };
    let with = |basis, ended| Run { basis: Some(basis), ended, steady: Some(bare.clone()), ..Run::default() };
    vec![
        full(),
        Run { tokens_per_step: None, ..full() },
        Run { samples_per_step: None, peak: None, ended: Ended::Interrupted, ..full() },
        with(Basis::PrintedTimes, Ended::Time),
        Run {
            steps_per_figure: 10,
            others: Others { cores: 2.0, ..Others::default() },
            ..with(Basis::PrintedSteps, Ended::Enough)
        },
        with(Basis::Batches, Ended::OutOfMemory),
        with(Basis::Recorded, Ended::Enough),
        Run { basis: Some(Basis::Whole), ended: Ended::Itself, wall_ns: 3_000_000_000, ..Run::default() },
        Run { ended: Ended::Failed, status: Some(3), ..Run::default() },
        Run { ended: Ended::Failed, ..Run::default() },
        Run::default(),
    ]
}

pub(super) fn comparisons() -> Vec<Comparison> {
    let distance =
        Distance { distance: 0.3, allowed: 0.02, own: 0.001, last_a: 2.3, last_b: 29.5, pieces: 16 };
    let side = |name: &str, ns| Side {
        command: vec![text("sh"), text("-c"), text(name)],
        step_ns: Some(ns),
        samples_per_step: Some(16.0),
        runs: 6,
        stalls: 2,
        stalls_ns: 5,
        unsettled: 1,
        ..Side::default()
    };
    let with = |answer, effect: f64, width: f64, losses| Comparison {
        a: side("python a.py", 188_000_000),
        b: side("python b.py", 143_000_000),
        basis: Some(Basis::Hook),
        pairs: vec![Pair { a_ns: 188e6, b_ns: 143e6 }; 6],
        effect: Some(Effect {
            pairs: 6,
            effect,
            low: effect - width,
            high: effect + width,
            answer,
            is_final: true,
        }),
        most_pairs: 20,
        counts: 0.02,
        losses,
        ended: Some(Finish::Done),
        ..Comparison::default()
    };
    let faster = with(Answer::Faster, -0.24, 0.02, Losses::Alike(distance));
    vec![
        faster.clone(),
        Comparison {
            per: Per::Sample,
            stalls_set_aside: true,
            ..with(Answer::Slower, 0.1, 0.02, Losses::Differ(distance))
        },
        with(Answer::Alike, 0.001, 0.004, Losses::NotANumber { at: 40.0 }),
        with(Answer::Unclear, 0.01, 0.2, Losses::OwnNotANumber { at: 40.0 }),
        Comparison {
            per: Per::Sample,
            ..with(Answer::Unclear, 0.019, 0.004, Losses::NotANumber { at: 4_000.0 })
        },
        Comparison { self_test: true, ..faster.clone() },
        Comparison { self_test: true, ..with(Answer::Unclear, 0.01, 0.02, Losses::Unknown) },
        Comparison { per: Per::Whole, basis: Some(Basis::Whole), ..faster.clone() },
        Comparison { mixed: true, effect: None, ended: Some(Finish::Failed), ..faster.clone() },
        Comparison { effect: None, ended: Some(Finish::Interrupted), ..faster.clone() },
        Comparison {
            apart: true,
            effect: None,
            differences: vec![(text("torch"), text("2.10"), String::new())],
            ..faster.clone()
        },
        Comparison { apart: true, effect: None, pairs: Vec::new(), ..faster },
        Comparison::default(),
    ]
}

pub(super) fn rows() -> Vec<Row> {
    let row = |id, answer: Option<&str>| Row {
        id,
        kind: text(if answer.is_some() { "comparison" } else { "run" }),
        command: text("python train.py"),
        effect: answer.map(|_| -0.24),
        answer: answer.map(text),
        step_ns: Some(5_000_000),
        ..Row::default()
    };
    vec![
        row(5, Some("faster")),
        row(4, Some("slower")),
        row(3, Some("alike")),
        row(2, Some("unclear")),
        row(1, None),
        Row { kind: text("verdict"), effect: None, busy: Some(0.31), ..row(6, Some("data.workers")) },
        Row { kind: text("verdict"), effect: None, busy: None, ..row(7, Some("host.sync")) },
    ]
}

/// Nothing that has no words, and no value that is missing.
pub(super) fn is_worded(page: &str) {
    let keys = ["bench-", "compare-", "gate-", "history-", "job-", "benchmark-"];
    let is_key = |word: &&str| keys.iter().any(|key| word.starts_with(key));
    let left: Vec<&str> = page.split_whitespace().filter(is_key).collect();
    assert!(left.is_empty() && !page.contains(['{', '}', '$']), "{left:?} in\n{page}");
}

#[test]
fn every_experiment_is_worded_in_both_languages() {
    for lang in Lang::ALL {
        let catalog = Catalog::new(lang);
        for run in runs() {
            is_worded(&Document::Run(&run, Some(7)).text(&catalog, &PLAIN));
            is_worded(&Document::Run(&run, None).markdown(&catalog));
            is_worded(&benchmark_row(&run, &catalog));
        }
        for comparison in comparisons() {
            is_worded(&Document::Comparison(&comparison, Some(7)).text(&catalog, &PLAIN));
            is_worded(&Document::Comparison(&comparison, None).markdown(&catalog));
        }
        is_worded(&Document::History(&rows()).text(&catalog, &PLAIN));
        is_worded(&Document::History(&[]).text(&catalog, &PLAIN));
        is_worded(&benchmark_header(&catalog));
    }
}

#[test]
fn json_obeys_its_schemas() {
    let catalog = Catalog::new(Lang::En);
    let [bench, compare, history] = SCHEMAS.map(|schema| {
        let schema: Value = serde_json::from_str(schema).expect("a schema");
        jsonschema::validator_for(&schema).expect("a sound schema")
    });
    let check = |validator: &jsonschema::Validator, document: String| {
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let problems: Vec<String> =
            validator.iter_errors(&document).map(|error| format!("{error}")).collect();
        assert!(problems.is_empty(), "{problems:#?}\n{document:#}");
    };
    runs().iter().for_each(|run| check(&bench, Document::Run(run, Some(1)).json(&catalog)));
    comparisons()
        .iter()
        .for_each(|comparison| check(&compare, Document::Comparison(comparison, None).json(&catalog)));
    check(&history, Document::History(&rows()).json(&catalog));
}

#[test]
fn a_row_of_the_table_has_a_cell_for_each_column() {
    let catalog = Catalog::new(Lang::En);
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let header = benchmark_header(&catalog);
    let columns = header.lines().nth(2).map(bars);
    assert_eq!(columns, Some(bars(&benchmark_row(&full(), &catalog))));
}

#[test]
fn the_screens_read_well() {
    for lang in Lang::ALL {
        let catalog = Catalog::new(lang);
        let options = TextOptions { verbose: false, ..PLAIN };
        insta::assert_snapshot!(
            format!("bench_{}", lang.tag()),
            Document::Run(&full(), Some(7)).text(&catalog, &options)
        );
        let all: Vec<String> = comparisons()
            .iter()
            .map(|found| Document::Comparison(found, Some(7)).text(&catalog, &options))
            .collect();
        insta::assert_snapshot!(format!("compare_{}", lang.tag()), all.join("\n-----\n"));
    }
}
