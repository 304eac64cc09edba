//! Replay on the shipped traces: it reproduces what was recorded, and less work never takes longer.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use whyidle_analysis::device::devices;
use whyidle_analysis::facts::Facts;
use whyidle_readers::{ReadOptions, read_trace};
use whyidle_replay::program::Program;
use whyidle_replay::simulate::{GONE, Lengths, Steady, fidelity, steady};

fn traces() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .flat_map(|folder| ["trace.json.gz", "trace_rank0.json.gz"].map(|file| folder.join(file)))
        .filter(|path| path.is_file())
        .collect();
    all.sort();
    assert!(all.len() > 5, "the shipped traces are there");
    all
}

/// The program of a trace, and start and end of what was recorded.
fn program(path: &Path) -> (Program, i64) {
    let trace = read_trace(path, &ReadOptions::default()).unwrap();
    let facts = Facts::new(&trace);
    let device = facts.device(&trace, devices(&trace)[0], |_| true);
    let start = device.steps.used.first().unwrap().window.start;
    (Program::new(&trace, &facts, &device).unwrap(), start)
}

#[test]
fn recorded_lengths_reproduce_the_recorded_end() {
    for path in traces() {
        let (program, start) = program(&path);
        let found = fidelity(&program, start, program.recorded_end);
        assert!(found.error <= 0.005, "{}: {}", path.display(), found.error);
    }
}

/// One small program and its steady period, made once.
fn small() -> (Program, Steady) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let smallest = traces()
        .into_iter()
        .min_by_key(|path| path.metadata().map_or(u64::MAX, |file| file.len()))
        .unwrap_or(path);
    let (program, _) = program(&smallest);
    let base = steady(&program, &Lengths::recorded(&program), 0..program.steps.len());
    (program, base)
}

#[test]
fn less_work_never_takes_longer_and_replays_repeat_exactly() {
    let (program, base) = small();
    let steps = 0..program.steps.len();
    let (host, gpu) = (program.host.len(), program.gpu.len());
    proptest!(ProptestConfig::with_cases(60), |(
        hosts in prop::collection::vec((0..host, 0.0_f64..1.0), 0..200),
        gpus in prop::collection::vec((0..gpu, 0.0_f64..1.0), 0..200),
        gone in prop::collection::vec(0..gpu, 0..20),
    )| {
        let mut less = Lengths::recorded(&program);
        for (at, factor) in hosts {
            less.host[at] = (less.host[at] as f64 * factor) as i64;
        }
        for (at, factor) in gpus {
            less.gpu[at] = (less.gpu[at] as f64 * factor) as i64;
        }
        for at in gone {
            less.gpu[at] = GONE;
        }
        let found = steady(&program, &less, steps.clone());
        prop_assert!(found.period <= base.period, "{} > {}", found.period, base.period);
        prop_assert_eq!(found, steady(&program, &less, steps.clone()));
    });
}

#[test]
fn a_cut_program_replays_as_its_steps_in_the_whole() {
    for path in traces() {
        let (mut program, _) = program(&path);
        let mut lengths = Lengths::recorded(&program);
        let last = program.steps.len() - 1;
        let steps = last.min(1)..(last + 1).min(3);
        let whole = steady(&program, &lengths, steps.clone());
        program.cut(steps.clone(), &mut lengths);
        assert_eq!(program.steps.len(), steps.len());
        assert_eq!(steady(&program, &lengths, 0..steps.len()), whole, "{}", path.display());
    }
}
