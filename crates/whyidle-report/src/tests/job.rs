//! A job: worded completely in both languages, and JSON that obeys its schema.

use serde_json::Value;
use whyidle_diagnosis::Message;
use whyidle_experiment::job::{Job, Part, Wait, Worth};

use super::experiment::is_worded;
use crate::{Catalog, Document, Lang, TextOptions};

const SCHEMA: &str = include_str!("../../schema/whyidle.job-1.schema.json");
const PLAIN: TextOptions = TextOptions { width: 80, colour: false, verbose: true };
const S: i64 = 1_000_000_000;

fn full() -> Job {
    let began = 1_795_971_809 * S;
    let part = |id, kind: &str, gpus, busy, cause: Option<&str>| Part {
        id,
        kind: kind.to_owned(),
        began: began + id * 600 * S,
        seen_ns: 65 * S,
        gpus,
        busy,
        cause: cause.map(str::to_owned),
        command: "python train.py".to_owned(),
    };
    let wait = |line: &str, seconds: i64, share| Wait { line: line.to_owned(), gpu_ns: seconds * S, share };
    Job {
        id: "4711".to_owned(),
        parts: vec![
            part(3, "verdict", 8, Some(0.31), Some("data.workers")),
            part(5, "run", 1, Some(0.4), None),
        ],
        began,
        ended: began + 14_400 * S,
        working: Some(0.31),
        resident: Some(0.4),
        waits: vec![wait("data.workers", 16_000, 0.61), wait("comm.exposed", 800, 0.03)],
        waste_gpu_ns: 18_000 * S,
        seen_gpu_ns: 26_000 * S,
        worth: Some(Worth {
            cause: "data.workers".to_owned(),
            id: 3,
            // Any that takes no arguments.
            summary: Message::new("job-no-change"),
            step_ns: 188_000_000,
            after_ns: 57_000_000,
            saved_gpu_ns: 15_800 * S,
        }),
        damaged: 1,
    }
}

pub(super) fn jobs() -> Vec<Job> {
    let measured = Job { working: None, waits: Vec::new(), worth: None, damaged: 0, ..full() };
    let healthy = Job { working: Some(0.97), resident: None, waste_gpu_ns: 90 * S, worth: None, ..full() };
    let nothing = Job { id: "x".to_owned(), ..Job::default() };
    vec![full(), measured, healthy, nothing]
}

#[test]
fn every_job_is_worded_in_both_languages_and_obeys_its_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a sound schema");
    for lang in Lang::ALL {
        let catalog = Catalog::new(lang);
        for job in jobs() {
            is_worded(&Document::Job(&job).text(&catalog, &PLAIN));
            is_worded(&Document::Job(&job).markdown(&catalog));
            let document = Document::Job(&job).json(&catalog);
            let document: Value = serde_json::from_str(&document).expect("JSON");
            let problems: Vec<String> =
                validator.iter_errors(&document).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "{problems:#?}\n{document:#}");
        }
    }
}

#[test]
fn the_screens_of_a_job_read_well() {
    for lang in Lang::ALL {
        let catalog = Catalog::new(lang);
        let all: Vec<String> = jobs().iter().map(|job| Document::Job(job).text(&catalog, &PLAIN)).collect();
        insta::assert_snapshot!(format!("job_{}", lang.tag()), all.join("\n-----\n"));
    }
}
