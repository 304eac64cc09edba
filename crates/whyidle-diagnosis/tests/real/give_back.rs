//! The planner calibrated on recordings: what a measured step says of another setup, and what undoing a saver of
//! memory costs and returns, against the recording of the run without it.

use std::path::Path;

use whyidle_diagnosis::case::Case;
use whyidle_diagnosis::{Known, calibrate, give_back};
use whyidle_planner::{Calibration, Said, SaverId, Schedule, link};
use whyidle_readers::recording;

use crate::support::{folder, judged_as};

/// Runs `check` on the case of a recording; `None` where it is not there.
fn calibrated<T>(name: &str, check: impl FnOnce(&Case<'_>, &Calibration) -> T) -> Option<T> {
    let lab = folder("WHYIDLE_LAB", "../shared/lab")?;
    let folder = lab.join(name);
    let recorded = recording::read(&folder, None).unwrap().unwrap();
    let known = Known {
        step_measured_ns: recorded.step_ms_mean.map(|ms| (ms * 1e6) as i64),
        peak_memory: recorded.max_memory_allocated,
        said: Said {
            params: recorded.params,
            peak: recorded.max_memory_allocated,
            reserved: recorded.max_memory_reserved,
            ..Said::default()
        },
        ..Known::default()
    };
    let trace = Path::new(&folder).join("trace.json.gz");
    Some(judged_as(&trace, known, |case| check(case, &calibrate(case, None).unwrap())))
}

/// Recordings of one program that differ in batch, sequence, layers, vocabulary and checkpointing predict each other:
/// peaks within 2 %, steps within their intervals, and within 8 % where the GPU sets the pace.
#[test]
fn one_measured_step_predicts_the_others() {
    const CASES: [&str; 9] = [
        "fed",
        "fed_small",
        "fed_shallow",
        "ckpt_needless",
        "attn_flash",
        "vocab_50304",
        "opt_fused",
        "tiny_batch",
        "gc_every_step",
    ];
    let Some(all) =
        CASES.iter().map(|name| calibrated(name, |_, found| found.clone())).collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let network = link("ib-ndr").unwrap();
    let paced_by_gpu =
        |found: &Calibration| found.measured.working > 0.9 * found.measured.step && !found.measured.loader;
    let mut pairs = 0;
    for (from, name) in all.iter().zip(CASES) {
        for (to, other) in all.iter().zip(CASES).filter(|(_, other)| *other != "gc_every_step") {
            let setup = &to.observed.setup;
            let (memory, _) = from.memory(setup);
            let peak = to.measured.peak.unwrap();
            assert!((memory.allocated / peak - 1.0).abs() < 0.02, "{name} → {other}: {}", memory.allocated);
            // A collector that runs in every step is in no other recording's host.
            if !from.compares(setup) || name == "gc_every_step" || name == other {
                continue;
            }
            let (best, range) = from.estimate(setup, &network, Schedule::OneForwardOneBackward);
            let step = to.measured.step;
            assert!(range.low <= step && step <= range.high, "{name} → {other}: {step} not in {range:?}");
            if paced_by_gpu(from) && best.waiting < 0.08 * best.step {
                let error = best.step / step - 1.0;
                assert!(error.abs() <= 0.08, "{name} → {other}: {:.1} %", 100.0 * error);
                pairs += 1;
            }
        }
    }
    assert!(pairs >= 20, "{pairs}");
}

/// Of the measured setup itself, every prediction is what was measured.
#[test]
fn the_measured_setup_is_predicted_exactly() {
    for name in [
        "fed",
        "fed_small",
        "ckpt_needless",
        "attn_math",
        "hf_llama_tuned",
        "opt_forloop",
        "naive_elementwise",
    ] {
        calibrated(name, |_, found| {
            let network = link("ib-ndr").unwrap();
            let setup = &found.observed.setup;
            let (step, _) = found.estimate(setup, &network, Schedule::OneForwardOneBackward);
            assert!((step.step / found.measured.step - 1.0).abs() < 0.02, "{name}: {}", step.step);
            let parts = step.compute + step.bubble + step.exposed + step.optimizer + step.waiting;
            assert!((parts / step.step - 1.0).abs() < 1e-6, "{name}: {parts} {}", step.step);
            assert!((found.memory(setup).0.allocated - found.measured.peak.unwrap()).abs() < 1.0, "{name}");
        });
    }
}

/// Checkpointing without need: undoing it costs the difference in peak memory to the run without it, and returns the
/// difference in step time.
#[test]
fn needless_checkpointing_is_given_back() {
    let Some(without) = calibrated("fed", |_, found| found.measured) else { return };
    calibrated("ckpt_needless", |case, found| {
        let list = give_back(case, found, 0.15);
        assert_eq!(list.len(), 1, "nothing else saves memory there");
        let returned = &list[0];
        assert_eq!((returned.saver.id, returned.saver.missing), (SaverId::Checkpointing, 0.0));
        let costs = without.peak.unwrap() - found.measured.peak.unwrap();
        let error = returned.saver.costs / costs - 1.0;
        assert!(error.abs() <= 0.05, "memory {:.2} %: {} of {costs}", 100.0 * error, returned.saver.costs);
        let saves = found.measured.step - without.step;
        let error = returned.saved_ns(case.step.ns) as f64 / 1e9 / saves - 1.0;
        assert!(error.abs() <= 0.15, "step {:.1} %", 100.0 * error);
    });
}

/// A run that saves memory nowhere has nothing to give back; one that is sharded and gathers twice has.
#[test]
fn nothing_is_given_back_that_is_not_in_use() {
    calibrated("fed", |case, found| assert!(give_back(case, found, 0.15).is_empty()));
}
