//! The planner calibrated on recordings: what a measured step says of another setup, and what undoing a saver of
//! memory costs and returns, against the recording of the run without it.

use std::path::Path;

use whyidle_diagnosis::case::Case;
use whyidle_diagnosis::{Known, Method, calibrate, give_back};
use whyidle_planner::{Calibration, Said, SaverId, Schedule, link};
use whyidle_readers::recording;

use crate::support::{folder, judged_as};

/// Runs `check` on the case of a recording; `None` where it is not there.
fn calibrated<T>(name: &str, check: impl FnOnce(&Case<'_>, &Calibration) -> T) -> Option<T> {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name);
    let folder = match shipped.is_dir() {
        true => shipped,
        false => folder("WHYIDLE_LAB", "../shared/lab")?.join(name),
    };
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
/// peaks within 2 %, steps within their intervals, and within 10 % where the GPU sets the pace.
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
            if paced_by_gpu(from) && best.waiting < 0.1 * best.step {
                let error = best.step / step - 1.0;
                assert!(error.abs() <= 0.10, "{name} → {other}: {:.1} %", 100.0 * error);
                pairs += 1;
            }
        }
    }
    assert!(pairs >= 15, "{pairs}");
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
            assert!((step.step / found.measured.step - 1.0).abs() < 1e-9, "{name}: {}", step.step);
            let parts = step.compute + step.bubble + step.exposed + step.optimizer + step.waiting;
            assert!((parts / step.step - 1.0).abs() < 1e-6, "{name}: {parts} {}", step.step);
            assert!((found.memory(setup).0.allocated - found.measured.peak.unwrap()).abs() < 1.0, "{name}");
        });
    }
}

/// Checkpointing without need: undoing it costs the difference in peak memory to the run without it, and returns the
/// difference in step time. That run (`fed` in the lab) took 58.3799 ms a step and 16 710 967 296 bytes.
#[test]
fn needless_checkpointing_is_given_back() {
    let (step, peak) = (0.058_379_9, 16_710_967_296.0);
    calibrated("ckpt_needless", |case, found| {
        let list = give_back(Some(case), found, 0.15, &link("ib-ndr").unwrap());
        assert_eq!(list.len(), 1, "nothing else saves memory there");
        let returned = &list[0];
        assert_eq!((returned.saver.id, returned.saver.missing), (SaverId::Checkpointing, 0.0));
        let costs = peak - found.measured.peak.unwrap();
        let error = returned.saver.costs / costs - 1.0;
        assert!(error.abs() <= 0.05, "memory {:.2} %: {} of {costs}", 100.0 * error, returned.saver.costs);
        let saves = found.measured.step - step;
        let error = returned.saved_ns(case.step.ns) as f64 / 1e9 / saves - 1.0;
        assert!(error.abs() <= 0.15, "step {:.1} %", 100.0 * error);
        let (after, method) = returned.gain.unwrap();
        assert!(after.low_ns as f64 / 1e9 <= step && step <= after.high_ns as f64 / 1e9, "{after:?}");
        assert_eq!(method, Method::Replay);
    })
    .expect("it ships");
}

/// What a verdict says of memory comes from the planner where it recognises the network.
#[test]
fn findings_about_memory_are_planned() {
    let evidence = |name: &str, cause: &str| {
        calibrated(name, |case, _| {
            let cause = whyidle_diagnosis::CAUSES.iter().find(|known| known.id == cause).unwrap();
            let finding = (cause.check)(case).unwrap();
            let planned = finding.evidence.iter().find(|evidence| evidence.unit == "bytes").unwrap().clone();
            (planned.text.id, planned.value.unwrap(), finding.gain)
        })
    };
    let (text, bytes, gain) = evidence("ckpt_needless", "memory.recompute").unwrap();
    assert_eq!(text, "ev-recompute-without");
    assert!((bytes / 16_710_967_296.0 - 1.0).abs() < 0.02 && gain.is_some(), "{bytes}");
    let (text, bytes, gain) = evidence("fed_small", "memory.headroom").unwrap();
    assert_eq!(text, "ev-headroom-fits");
    let change = gain.unwrap().change;
    assert_eq!((change.from.as_deref(), change.to.as_deref()), (Some("4"), Some("8")));
    assert!(bytes > 5e9 && bytes < 8e9, "{bytes}");
}

/// A run that saves memory nowhere has nothing to give back; one that is sharded and gathers twice has.
#[test]
fn nothing_is_given_back_that_is_not_in_use() {
    let network = link("ib-ndr").unwrap();
    calibrated("fed", |case, found| assert!(give_back(Some(case), found, 0.15, &network).is_empty()));
}
