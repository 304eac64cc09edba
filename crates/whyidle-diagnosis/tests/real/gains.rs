//! Predictions held against measured steps: the unprofiled step from the trace alone, and the step after a cure.

use serde_json::Value;
use whyidle_diagnosis::Basis;

use crate::support::{Recorded, lab, median_and_worst};

/// The lab has more recordings than ship.
const WHOLE_LAB: usize = 30;

#[test]
fn the_unprofiled_step_is_estimated_or_refused_by_name() {
    let (mut device_bound, mut host_bound, mut one_rank) = (Vec::new(), Vec::new(), Vec::new());
    let (mut refused, mut all, mut inside) = (0, 0, 0);
    for recorded in lab().into_iter().map(Recorded::of_the_rank_shown) {
        recorded.judged(None, |case, verdict| {
            let error = case.step.ns as f64 / recorded.step_ns() as f64 - 1.0;
            let work_bound = recorded
                .list("primary")
                .iter()
                .all(|id| id.starts_with("compute.") || *id == "memory.recompute");
            all += 1;
            if verdict.step.basis == Basis::Estimated {
                eprintln!(
                    "{}: {:+.1} %{}",
                    recorded.name,
                    error * 100.0,
                    if work_bound { " GPU-bound" } else { "" }
                );
                if work_bound { &mut device_bound } else { &mut host_bound }.push(error.abs());
                if !work_bound && !case.several_ranks() {
                    one_rank.push(error.abs());
                }
                inside += usize::from((case.step.low_ns..=case.step.high_ns).contains(&recorded.step_ns()));
            } else {
                refused += 1;
                let doubts = ["doubt-starved", "doubt-ranks", "doubt-items"];
                let named = verdict.ruling.doubts.iter().find(|doubt| doubts.contains(&doubt.id));
                eprintln!("{}: refused, {}", recorded.name, named.expect("by name").id);
            }
        });
    }
    // The share is a goal of the whole lab; what ships was chosen for its variety, refusals among it.
    if all >= WHOLE_LAB {
        assert!(refused * 5 <= all, "refused {refused} of {all}");
    } else {
        eprintln!("skipped: {all} recordings are not the whole lab; refused {refused}");
    }
    let (_, worst) = median_and_worst(device_bound.clone());
    assert!(worst <= 0.025, "GPU-bound: worst {worst:.3}");
    if host_bound.len() >= 8 {
        let estimated = host_bound.len() + device_bound.len();
        let (median, worst) = median_and_worst(host_bound);
        eprintln!(
            "host-bound: median {median:.3}, worst {worst:.3}; {inside} of {estimated} in their interval"
        );
        // Several host-bound ranks are the hardest: each is held up by the slowest of them.
        assert!(median <= 0.10 && worst <= 0.30, "host-bound: median {median:.3}, worst {worst:.3}");
        let (median, _) = median_and_worst(one_rank);
        assert!(median <= 0.08, "host-bound, one rank: median {median:.3}");
        assert!(inside * 10 >= estimated * 9, "{inside} of {estimated} in their interval");
    }
}

/// The what-if that a measured pair stands for.
fn what_if_of(gain: &Value) -> String {
    let cause = gain["cause"].as_str().unwrap();
    match (&gain["change"]["to"], cause) {
        (Value::Number(to), _) => format!("{cause}={to}"),
        (Value::String(to), "compute.precision") => format!("{cause}={to}"),
        _ => cause.to_owned(),
    }
}

#[test]
fn cures_bring_what_was_measured() {
    let (mut waits, mut kernels) = (Vec::new(), Vec::new());
    let (mut covered, mut widths) = (0, Vec::new());
    for recorded in lab() {
        for gain in recorded.truth["gains"].as_array().unwrap() {
            let what_if = what_if_of(gain);
            if what_if.starts_with("rank.") {
                // Needs the other ranks' traces.
                continue;
            }
            let after = gain["step_ms_after"].as_f64().unwrap();
            let (low, high) =
                (gain["low_ms"].as_f64().unwrap_or(after), gain["high_ms"].as_f64().unwrap_or(after));
            let answer = recorded.answer(Some(recorded.step_ns()), &what_if);
            let predicted = answer.gain.unwrap_or_else(|| panic!("{}: no gain", recorded.name)).step_after;
            let ms = |ns: i64| ns as f64 / 1e6;
            let error =
                |value: f64| if value < low { value / low - 1.0 } else { (value / high - 1.0).max(0.0) };
            let found = error(ms(predicted.ns));
            eprintln!(
                "{}: {what_if} predicted {:.1} ({:.1}–{:.1}), measured {low:.1}–{high:.1} ms: {:+.1} %",
                recorded.name,
                ms(predicted.ns),
                ms(predicted.low_ns),
                ms(predicted.high_ns),
                found * 100.0
            );
            let list = if what_if.starts_with("compute.") { &mut kernels } else { &mut waits };
            list.push(found.abs());
            covered += usize::from(ms(predicted.low_ns) <= high && low <= ms(predicted.high_ns));
            widths.push((predicted.high_ns - predicted.low_ns) as f64 / predicted.ns as f64);
        }
    }
    let all = waits.len() + kernels.len();
    eprintln!("intervals hold {covered} of {all}, median width {:.3}", median_and_worst(widths.clone()).0);
    for (list, median_limit, worst_limit) in [(waits, 0.03, 0.12), (kernels, 0.08, 0.15)] {
        if list.len() >= 3 {
            let (median, worst) = median_and_worst(list);
            assert!(median <= median_limit && worst <= worst_limit, "median {median:.3}, worst {worst:.3}");
        }
    }
    if all >= 10 {
        assert!(covered * 10 >= all * 9, "intervals hold {covered} of {all}");
        assert!(median_and_worst(widths).0 <= 0.25);
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

/// What a remedy cannot bring is not promised.
#[test]
fn nothing_is_promised_in_vain() {
    for recorded in lab() {
        let step_ns = recorded.step_ns();
        let saved = |what_if: &str| {
            let answer = recorded.answer(Some(step_ns), what_if);
            answer.gain.map_or(0.0, |gain| 1.0 - gain.step_after.ns as f64 / step_ns as f64)
        };
        let gpu_bound = recorded.list("primary").iter().all(|id| id.starts_with("compute."));
        if gpu_bound {
            // The GPU is the limit: neither syncs nor launches nor the loader hold it up.
            for what_if in ["host.sync", "host.gc", "memory.allocator", "data.workers=64"] {
                assert!(saved(what_if) <= 0.01, "{}: {what_if} saves {}", recorded.name, saved(what_if));
            }
            assert!(saved("host.launch") <= 0.05, "{}: {}", recorded.name, saved("host.launch"));
        }
        let mut primary = "";
        recorded.judged(Some(step_ns), |_, verdict| primary = verdict.ruling.primary);
        if primary == "data.workers" {
            // The loader sets the pace: nothing else shortens the step.
            for what_if in ["host.launch", "compute.elementwise", "host.sync"] {
                assert!(saved(what_if) <= 0.001, "{}: {what_if} saves {}", recorded.name, saved(what_if));
            }
            assert!(saved("data.workers") > 0.05, "{}", recorded.name);
        }
    }
}

#[test]
fn removing_syncs_from_a_launch_bound_step_leaves_its_launches() {
    let sync_item = lab().into_iter().find(|recorded| recorded.name == "sync_item").unwrap();
    let after = sync_item.answer(Some(sync_item.step_ns()), "host.sync").gain.unwrap();
    // Measured without the syncs: 23.1 ms, and 26.0 when it was timed again. The GPU's own work is 11 ms.
    assert!((22_000_000..27_000_000).contains(&after.step_after.ns), "{after:?}");
    assert_eq!(after.next_limit, "host.launch");
}

#[test]
fn remedies_add_up_to_no_more_than_they_bring_together() {
    for recorded in lab() {
        let step_ns = recorded.step_ns();
        let mut ladder = Vec::new();
        recorded.judged(Some(step_ns), |_, verdict| ladder = verdict.ladder.clone());
        let mut before = step_ns;
        let mut asked = String::new();
        for rung in &ladder {
            let after = rung.gain.step_after.ns;
            assert!(after < before, "{}: {} on top gains nothing", recorded.name, rung.cause);
            before = after;
            asked = if asked.is_empty() { rung.cause.to_owned() } else { format!("{asked}+{}", rung.cause) };
            let together = recorded.answer(Some(step_ns), &asked).gain.unwrap();
            assert_eq!(together.step_after, rung.gain.step_after, "{}: {asked}", recorded.name);
        }
    }
}

#[test]
fn the_critical_path_is_as_long_as_the_step() {
    for recorded in lab() {
        recorded.judged(Some(recorded.step_ns()), |case, verdict| {
            let path = verdict.critical_path.as_ref().unwrap();
            let sum: i64 = path.parts.iter().map(|part| part.ns).sum();
            assert!((path.length_ns - sum).abs() <= 10, "{}: parts {sum} of {path:?}", recorded.name);
            let period = case.replay.as_ref().unwrap().period;
            assert!((path.length_ns - period).abs() * 50 <= period, "{}: {period}", recorded.name);
            let longest = path.parts[0].id;
            let expected = match recorded.name.as_str() {
                "attn_math" => "gpu",
                "sync_item" => "host",
                "jsonl_worker1" => "loader",
                _ => longest,
            };
            assert_eq!(longest, expected, "{}", recorded.name);
        });
    }
}
