//! Predictions held against measured steps: the unprofiled step from the trace alone, and the step after a cure.

use whyidle_diagnosis::Basis;

use crate::support::{finding, lab, median_and_worst};

#[test]
fn the_unprofiled_step_is_estimated_or_refused() {
    let (mut device_bound, mut host_bound) = (Vec::new(), Vec::new());
    let (mut starved, mut all) = (0, 0);
    for recorded in lab() {
        let several_ranks = recorded.trace.meta.distributed.as_ref().is_some_and(|job| job.world_size > 1);
        recorded.judged(None, |case, verdict| {
            let error = (case.step.ns as f64 / recorded.step_ns() as f64 - 1.0).abs();
            let work_bound = recorded
                .list("primary")
                .iter()
                .all(|id| id.starts_with("compute.") || *id == "memory.recompute");
            all += 1;
            match verdict.step.basis {
                Basis::Estimated if work_bound => device_bound.push((error, recorded.name.clone())),
                // Of several host-bound ranks the interval says how little is known.
                Basis::Estimated if !several_ranks => host_bound.push(error),
                Basis::Estimated => {}
                _ => {
                    starved += 1;
                    assert!(
                        verdict.ruling.doubts.iter().any(|doubt| doubt.id == "doubt-starved"),
                        "{}",
                        recorded.name
                    );
                }
            }
        });
    }
    for (error, name) in &device_bound {
        assert!(*error <= 0.03, "{name}: GPU-bound, {error:.3} off");
    }
    assert!(starved * 5 <= all, "refused {starved} of {all}");
    if host_bound.len() >= 5 {
        let (median, _) = median_and_worst(host_bound);
        assert!(median <= 0.15, "host-bound median {median:.3}");
    }
}

#[test]
fn cures_bring_what_was_measured() {
    let (mut waits, mut kernels) = (Vec::new(), Vec::new());
    for recorded in lab() {
        for gain in recorded.truth["gains"].as_array().unwrap() {
            let cause = gain["cause"].as_str().unwrap();
            if cause.starts_with("rank.") || cause.starts_with("comm.") {
                // Needs the other ranks' traces.
                continue;
            }
            let after = gain["step_ms_after"].as_f64().unwrap();
            let (low, high) =
                (gain["low_ms"].as_f64().unwrap_or(after), gain["high_ms"].as_f64().unwrap_or(after));
            recorded.judged(Some(recorded.step_ns()), |_, verdict| {
                let found =
                    finding(verdict, cause).unwrap_or_else(|| panic!("{}: no {cause}", recorded.name));
                let predicted = found.gain.as_ref().unwrap_or_else(|| panic!("{}: no gain", recorded.name));
                let ms = predicted.step_after.ns as f64 / 1e6;
                let error = if ms < low { 1.0 - ms / low } else { (ms / high - 1.0).max(0.0) };
                eprintln!("{}: {cause} predicted {ms:.1}, measured {low:.1}–{high:.1} ms", recorded.name);
                let list = if cause.starts_with("compute.") { &mut kernels } else { &mut waits };
                list.push(error);
            });
        }
    }
    for (list, median_limit, worst_limit) in [(waits, 0.05, 0.12), (kernels, 0.08, 0.15)] {
        if list.len() >= 3 {
            let (median, worst) = median_and_worst(list);
            assert!(median <= median_limit && worst <= worst_limit, "median {median:.3}, worst {worst:.3}");
        }
    }
}

#[test]
fn replay_reproduces_every_trace_that_it_predicts_from() {
    let mut errors = Vec::new();
    for recorded in lab() {
        recorded.judged(Some(recorded.step_ns()), |case, _| {
            let replay = case.replay.as_ref().unwrap();
            assert!(replay.fidelity.error <= 0.03, "{}: {}", recorded.name, replay.fidelity.error);
            errors.push(replay.fidelity.error);
        });
    }
    let (median, _) = median_and_worst(errors);
    assert!(median <= 0.001, "median replay error {median}");
}
