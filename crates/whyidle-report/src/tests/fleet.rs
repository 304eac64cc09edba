//! The jobs of a cluster: worded completely in both languages, and JSON that obeys its schema.

use std::time::Duration;

use serde_json::Value;
use whyidle_diagnosis::fleet::{Cards, Fleet, FleetJob, FleetWait};

use crate::{Catalog, Document, FleetReport, Lang, TextOptions};

const SCHEMA: &str = include_str!("../../schema/whyidle.fleet-1.schema.json");
const PLAIN: TextOptions = TextOptions { width: 80, colour: false, verbose: false };
const HOUR: i64 = 3_600_000;

fn job(id: &str, held: i64, waits: &[(&str, i64)]) -> FleetJob {
    let wait = |(what, ms): &(&str, i64)| FleetWait {
        waiting_for: (*what).to_owned(),
        gpu_ms: *ms,
        share: *ms as f64 / held as f64,
    };
    FleetJob {
        id: id.to_owned(),
        user: "ada".to_owned(),
        nodes: 1,
        held_gpu_ms: held,
        idle_gpu_ms: waits.iter().map(|(_, ms)| ms).sum(),
        waits: waits.iter().map(wait).collect(),
        ..FleetJob::default()
    }
}

pub(super) fn reports() -> Vec<FleetReport> {
    let mut jobs = vec![
        FleetJob {
            namespace: "research".to_owned(),
            nodes: 2,
            command: Some(format!("python train.py {}", "--option value ".repeat(12))),
            step_changes: 2,
            ..job(
                "4711",
                183 * HOUR,
                &[
                    ("data.workers", 80 * HOUR),
                    ("host.sync", 20 * HOUR),
                    ("unknown", 12 * HOUR),
                    ("io.checkpoint", HOUR),
                ],
            )
        },
        job("pid:77@node-3", 40 * HOUR, &[("data", 10 * HOUR), ("something.new", 2 * HOUR)]),
        job("4712", 900 * HOUR, &[("comm.exposed", 11 * HOUR)]),
        job("4713", HOUR / 2, &[("memory.allocator", HOUR / 500)]),
        FleetJob {
            user: String::new(),
            step_changes: 1,
            command: Some("python a|b.py".to_owned()),
            ..job("4714", 8 * HOUR, &[])
        },
    ];
    for family in ["host", "comm", "memory", "io", "run", "compile", "rank", "pipeline"] {
        jobs.push(job(family, 10 * HOUR, &[(family, 2 * HOUR)]));
    }
    let sum = |of: fn(&FleetJob) -> i64| jobs.iter().map(of).sum();
    let fleet = Fleet {
        at: 1_796_030_000_000_000_000,
        held_gpu_ms: sum(|job| job.held_gpu_ms),
        idle_gpu_ms: sum(|job| job.idle_gpu_ms),
        cards: Some(Cards { count: 64, busy_gpu_ms: 980 * HOUR, idle_held_gpu_ms: 141 * HOUR }),
        unusable: 2,
        jobs,
    };
    let full = FleetReport {
        fleet,
        server: "http://prometheus.example:9090".to_owned(),
        since: Duration::from_secs(7 * 86_400),
        matching: Some("namespace=\"research\"".to_owned()),
        limit: 6,
    };
    let jobs = vec![job("1", 5 * HOUR, &[])];
    let fleet = Fleet { jobs, held_gpu_ms: 5 * HOUR, at: full.fleet.at, ..Fleet::default() };
    let idle =
        FleetReport { fleet, matching: None, since: Duration::from_secs(5_400), limit: 20, ..full.clone() };
    vec![full, idle]
}

/// Whether everything was worded.
fn is_worded(page: &str) {
    let left: Vec<&str> = page.split_whitespace().filter(|word| word.starts_with("fleet-")).collect();
    assert!(left.is_empty() && !page.contains(['{', '}', '$']), "{left:?} in\n{page}");
}

#[test]
fn every_fleet_is_worded_in_both_languages_and_obeys_its_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a sound schema");
    for lang in Lang::ALL {
        let catalog = Catalog::new(lang);
        for report in reports() {
            let whole = FleetReport { limit: 100, ..report.clone() };
            is_worded(&Document::Fleet(&whole).text(&catalog, &TextOptions { verbose: true, ..PLAIN }));
            is_worded(&Document::Fleet(&report).markdown(&catalog));
            let document: Value =
                serde_json::from_str(&Document::Fleet(&report).json(&catalog)).expect("JSON");
            let problems: Vec<String> =
                validator.iter_errors(&document).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "{problems:#?}\n{document:#}");
        }
    }
}

#[test]
fn totals_count_jobs_that_are_not_shown_and_advice_is_for_jobs_that_wait() {
    let catalog = Catalog::new(Lang::En);
    let document: Value = serde_json::from_str(&Document::Fleet(&reports()[0]).json(&catalog)).expect("JSON");
    let jobs = document["jobs"].as_array().expect("jobs");
    assert_eq!((jobs.len(), &document["jobs_not_shown"]), (6, &7.into()));
    let shown: i64 = jobs.iter().filter_map(|job| job["idle_gpu_ms"].as_i64()).sum();
    assert!(shown < document["idle_gpu_ms"].as_i64().expect("a total"));
    assert_eq!(document["next"], "whyidle explain data.workers");
    assert_eq!((&jobs[0]["healthy"], &jobs[2]["healthy"]), (&false.into(), &true.into()));
    let healthy: Value = serde_json::from_str(&Document::Fleet(&reports()[1]).json(&catalog)).expect("JSON");
    assert_eq!(healthy["next"], Value::Null);
}

#[test]
fn the_screens_of_a_fleet_read_well() {
    for lang in Lang::ALL {
        let catalog = Catalog::new(lang);
        let all: Vec<String> =
            reports().iter().map(|report| Document::Fleet(report).text(&catalog, &PLAIN)).collect();
        insta::assert_snapshot!(format!("fleet_{}", lang.tag()), all.join("\n-----\n"));
    }
}
