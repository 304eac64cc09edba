//! The gate: worded completely in both languages, and JSON that obeys its schema.

use serde_json::Value;
use whyidle_experiment::comparison::Per;
use whyidle_experiment::gate::{Answer, Change, Gate, Metric, Reason, Side};
use whyidle_experiment::result::{Basis, Ended, Others, Place};
use whyidle_experiment::stats::losses::{Distance, Losses};

use super::experiment::is_worded;
use crate::{Catalog, Document, Lang, TextOptions, render_gate_github};

const SCHEMA: &str = include_str!("../../schema/whyidle.gate-1.schema.json");
const PLAIN: TextOptions = TextOptions { width: 80, colour: false, verbose: true };
const HOUR: i64 = 3_600_000_000_000;

fn gate(answer: Answer, reason: Reason, change: f64) -> Gate {
    let side = |what: &str, figures: Vec<f64>, began| Side {
        what: what.to_owned(),
        command: "python train.py --note=100%".to_owned(),
        commit: Some("0123456789".to_owned()),
        began,
        mean: figures.first().copied(),
        figures,
        unsettled: 0,
    };
    let began = 1_795_971_809_000_000_000;
    Gate {
        metric: Metric::Step,
        per: Per::Step,
        limit: 0.05,
        baseline: side("main", vec![188e6, 189e6], began),
        new: side("", vec![204e6, 203e6, 205e6], began + 1),
        change: Some(Change { change, low: change - 0.01, high: change + 0.01, scatter: 0.004, freedom: 3 }),
        answer,
        reason,
        enough_runs: None,
        differences: Vec::new(),
        losses: Losses::Unknown,
        tolerance: 0.02,
        basis: Some(Basis::Hook),
        failed: None,
        place: Place {
            gpus: vec!["NVIDIA H200".to_owned()],
            torch: Some("2.11.0".to_owned()),
            ..Place::default()
        },
        others: Others::default(),
    }
}

pub(super) fn gates() -> Vec<Gate> {
    let distance =
        Distance { distance: 0.3, allowed: 0.02, own: 0.001, last_a: 2.3, last_b: 29.5, pieces: 16 };
    let regressed = gate(Answer::Regressed, Reason::Change, 0.081);
    let unclear = gate(Answer::Unclear, Reason::Interval, 0.049);
    let refused = |reason| Gate { change: None, ..gate(Answer::Unclear, reason, 0.0) };
    let of = |metric, value: f64| {
        let mut gate = Gate { metric, ..gate(Answer::Within, Reason::Change, -0.02) };
        gate.new.figures = vec![value];
        gate.new.mean = Some(value);
        gate
    };
    let mut old = gate(Answer::Within, Reason::Change, 0.004);
    (old.baseline.began, old.baseline.figures, old.losses) =
        (old.new.began - 30 * HOUR, vec![188e6], Losses::Alike(distance));
    let mut older = Gate { losses: Losses::OwnNotANumber { at: 3.0 }, ..old.clone() };
    (older.baseline.began, older.baseline.unsettled) = (older.new.began - 300 * HOUR, 2);
    let lost = |losses| Gate { losses, ..gate(Answer::Regressed, Reason::Losses, -0.2) };
    vec![
        regressed.clone(),
        old,
        older,
        Gate { enough_runs: Some(12), losses: Losses::Differ(distance), ..unclear.clone() },
        unclear,
        refused(Reason::FewRuns),
        refused(Reason::Mixed),
        Gate {
            differences: vec![
                ("command".to_owned(), "a".to_owned(), "b".to_owned()),
                ("gpus".to_owned(), "NVIDIA A100".to_owned(), "NVIDIA H200".to_owned()),
            ],
            ..refused(Reason::Machine)
        },
        refused(Reason::NoBaseline),
        refused(Reason::NoNew),
        refused(Reason::Interrupted),
        Gate { failed: Some((Ended::Failed, Some(3))), ..refused(Reason::Failed) },
        Gate { failed: Some((Ended::Enough, None)), ..refused(Reason::Failed) },
        lost(Losses::Differ(distance)),
        lost(Losses::NotANumber { at: 40.0 }),
        Gate { per: Per::Sample, ..lost(Losses::NotANumber { at: 4_000.0 }) },
        Gate { per: Per::Sample, ..regressed.clone() },
        Gate { per: Per::Whole, basis: Some(Basis::Whole), ..regressed },
        of(Metric::Samples, 85.2),
        of(Metric::Tokens, 87_000.0),
        of(Metric::PeakMemory, 16e9),
        of(Metric::Energy, 60.0),
    ]
}

#[test]
fn every_gate_is_worded_in_both_languages() {
    for lang in Lang::ALL {
        let catalog = Catalog::new(lang);
        for gate in gates() {
            for page in [
                Document::Gate(&gate, 3).text(&catalog, &PLAIN),
                Document::Gate(&gate, 3).markdown(&catalog),
                render_gate_github(&gate, &catalog),
            ] {
                is_worded(&page);
            }
        }
    }
}

#[test]
fn json_obeys_its_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a sound schema");
    for gate in gates() {
        let document = Document::Gate(&gate, 3).json(&Catalog::new(Lang::En));
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let problems: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{problems:#?}\n{document:#}");
    }
}

#[test]
fn a_command_for_github_is_one_line_whatever_is_in_it() {
    for gate in gates() {
        let command = render_gate_github(&gate, &Catalog::new(Lang::En));
        assert_eq!((command.matches('\n').count(), command.ends_with('\n')), (1, true), "{command}");
        let (properties, message) = command.trim_start_matches(':').split_once("::").expect("two parts");
        assert!(properties.contains(" title=whyidle%3A "), "{command}");
        assert!(message.replace("%25", "").replace("%0A", "").find('%').is_none(), "{command}");
    }
}

#[test]
fn the_screens_of_a_gate_read_well() {
    for lang in Lang::ALL {
        let catalog = Catalog::new(lang);
        let options = TextOptions { verbose: false, ..PLAIN };
        let all: Vec<String> =
            gates().iter().map(|gate| Document::Gate(gate, 3).text(&catalog, &options)).collect();
        insta::assert_snapshot!(format!("gate_{}", lang.tag()), all.join("\n-----\n"));
    }
}
