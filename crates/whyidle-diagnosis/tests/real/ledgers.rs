//! The ledger is exact, complete, and agrees with what curing a wait was measured to bring.

use whyidle_analysis::ledger::Line;

use crate::support::{finding, lab};

#[test]
fn lines_sum_to_the_steps_exactly_and_hardly_anything_is_unexplained() {
    for recorded in lab() {
        for step in [None, Some(recorded.step_ns())] {
            recorded.judged(step, |case, verdict| {
                for (used, row) in case.device.steps.used.iter().zip(&case.device.ledger.steps) {
                    assert_eq!(row.iter().sum::<i64>(), used.window.length(), "{}", recorded.name);
                }
                let traced: i64 = verdict.ledger.iter().map(|line| line.traced_ns).sum();
                assert_eq!(traced, verdict.step.traced_each_ns.iter().sum::<i64>(), "{}", recorded.name);
                let unprofiled: i64 = verdict.ledger.iter().map(|line| line.unprofiled.ns).sum();
                assert_eq!(unprofiled, verdict.step.unprofiled.ns, "{}", recorded.name);
                for line in &verdict.ledger {
                    let ordered = line.unprofiled.low_ns <= line.unprofiled.ns
                        && line.unprofiled.ns <= line.unprofiled.high_ns;
                    assert!(ordered && line.unprofiled.ns >= 0, "{}: {line:?}", recorded.name);
                }
                let unexplained = case.device.ledger.total(Line::Unexplained) as f64;
                assert!(unexplained <= 0.03 * traced as f64, "{}: {unexplained} ns", recorded.name);
                assert!(case.share(case.line(Line::Unexplained).ns) <= 0.03, "{}", recorded.name);
            });
        }
    }
}

/// Pairs of recordings that differ in one wait, which the second one lacks.
///
/// Left out: kernels' inefficiencies (no wait), partial cures (more micro-batches, accumulation), pairs that
/// need all ranks, and pairs whose second recording waits for something else instead: there the line
/// shrinks by more than the step does.
#[test]
fn a_cured_line_equals_the_measured_difference() {
    let all = lab();
    let mut checked = 0;
    for recorded in &all {
        for gain in recorded.truth["gains"].as_array().unwrap() {
            let cause = gain["cause"].as_str().unwrap();
            let removed = ["removed", "workers", "pre-tokenised", "fused"]
                .contains(&gain["change"]["what"].as_str().unwrap());
            if cause.starts_with("compute.") || cause.starts_with("rank.") || !removed {
                continue;
            }
            let after = gain["step_ms_after"].as_f64().unwrap();
            let (low, high) =
                (gain["low_ms"].as_f64().unwrap_or(after), gain["high_ms"].as_f64().unwrap_or(after));
            let step = recorded.truth["step_ms"].as_f64().unwrap();
            recorded.judged(Some(recorded.step_ns()), |case, verdict| {
                let found =
                    finding(verdict, cause).unwrap_or_else(|| panic!("{}: no {cause}", recorded.name));
                if found.gain.as_ref().is_some_and(|gain| gain.next_limit == "data.workers")
                    && cause != "data.workers"
                {
                    // The loader takes over: only its pace shows in the partner's step.
                    return;
                }
                checked += 1;
                let line = Line::ALL.iter().find(|line| line.id() == cause).copied();
                let cost = line.map_or(found.cost.ns, |line| case.line(line).ns) as f64 / 1e6;
                let (least, most) = (step - high - 0.1 * step, step - low + 0.1 * step);
                assert!(
                    least <= cost && cost <= most,
                    "{}: the line is {cost:.1} ms, measured {:.1} to {:.1} ms of {step:.1}",
                    recorded.name,
                    step - high,
                    step - low
                );
            });
        }
    }
    assert!(checked > 0);
}
