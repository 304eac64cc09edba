//! Stacks for flame graphs.

use serde_json::Value;
use whyidle_analysis::facts::Facts;
use whyidle_analysis::tree::NONE;
use whyidle_readers::samples;
use whyidle_tables::export::stacks::{Stacks, Unit};

use crate::support::{read, recording, root};

fn folded(stacks: &Stacks) -> String {
    let mut out = Vec::new();
    stacks.folded(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn total(folded: &str) -> i64 {
    folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<i64>().unwrap()).sum()
}

/// Stacks of a recording as folded lines are what whyidle reads as `stacks.txt`.
#[test]
fn folded_stacks_of_a_recording_are_read_back() {
    for name in ["attached_gc", "attached_workers", "tok_workers0"] {
        let recorded = recording(name);
        let text = folded(&Stacks::of_samples(&recorded));
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("stacks.txt"), &text).unwrap();
        let found = samples::read(dir.path()).unwrap();
        assert_eq!(found.dropped, 0, "{name}");
        let again = found.samples;
        assert_eq!(folded(&Stacks::of_samples(&again)), text, "{name}");
        let count = |samples: &whyidle_model::Samples| -> u64 {
            samples.stacks.seen.iter().map(|seen| u64::from(seen.count)).sum()
        };
        assert_eq!(count(&again), count(&recorded), "{name}");
        assert!(count(&again) > 10, "{name}");
    }
}

/// Of a trace, weights sum to the time in which its threads did anything.
#[test]
fn weights_of_a_trace_sum_to_the_active_time_of_its_threads() {
    for name in ["tok_workers0", "fed_small", "gc_every_step"] {
        let trace = read(&root().join("testdata").join(name).join("trace.json.gz"));
        let facts = Facts::new(&trace);
        let mut stacks = Stacks::new(Unit::Nanoseconds);
        stacks.add_trace(&trace, &facts, "");
        let active: i64 = (0..trace.threads.len())
            .flat_map(|thread| facts.tree.segments(&trace, thread))
            .filter(|segment| segment.leaf != NONE)
            .map(|segment| segment.end - segment.start)
            .sum();
        let text = folded(&stacks);
        assert_eq!(total(&text), active, "{name}");
        assert!(!text.contains("ProfilerStep#"), "{name}: steps share their stacks");
        let distinct: std::collections::BTreeSet<&str> =
            text.lines().map(|line| line.rsplit_once(' ').unwrap().0).collect();
        assert!(distinct.len() * 10 >= text.lines().count() * 9, "{name}: stacks are hardly repeated");
    }
}

/// speedscope's published schema, its sampled profiles.
#[test]
fn speedscope_files_obey_its_schema() {
    let schema: Value = serde_json::from_str(include_str!("speedscope.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let trace = read(&root().join("testdata/tok_workers0/trace.json.gz"));
    let mut of_trace = Stacks::new(Unit::Nanoseconds);
    of_trace.add_trace(&trace, &Facts::new(&trace), "");
    for (stacks, unit) in
        [(of_trace, "nanoseconds"), (Stacks::of_samples(&recording("attached_workers")), "none")]
    {
        let mut out = Vec::new();
        stacks.speedscope("a run", &mut out).unwrap();
        let value: Value = serde_json::from_slice(&out).unwrap();
        let errors: Vec<String> = validator.iter_errors(&value).take(3).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
        let frames = value["shared"]["frames"].as_array().unwrap().len() as u64;
        let mut sum = 0;
        for profile in value["profiles"].as_array().unwrap() {
            assert_eq!(profile["unit"], unit);
            let samples = profile["samples"].as_array().unwrap();
            let weights = profile["weights"].as_array().unwrap();
            assert_eq!(samples.len(), weights.len());
            assert!(samples.iter().flat_map(|s| s.as_array().unwrap()).all(|f| f.as_u64().unwrap() < frames));
            let of_profile: i64 = weights.iter().map(|weight| weight.as_i64().unwrap()).sum();
            assert_eq!(profile["endValue"].as_i64(), Some(of_profile));
            sum += of_profile;
        }
        assert_eq!(sum, total(&folded(&stacks)));
    }
}
