//! What a measured step predicts, on setups whose measured figures are made up.

use super::*;
use crate::{Checkpointing, Parallel, Rates, Request, Said, Sharding, gpu, link, preset, search};

fn setup(checkpointing: Checkpointing) -> Setup {
    let model = preset("llama-3.2-1b").expect("a preset");
    Setup { checkpointing, ..Setup::new(model, 4, 2048) }
}

fn measured(step: f64) -> Measured {
    Measured::new(step, 0.95 * step, 0.01)
}

fn calibrated(setup: Setup, measured: Measured) -> Result<Calibration, PlanError> {
    let gpu = gpu("h200", &[]).expect("a GPU");
    let observed = Observed::described(setup, gpu.clone(), &Said::default()).expect("a setup");
    Calibration::new(observed, gpu, measured)
}

/// Of the measured setup itself nothing is estimated, whatever the peak.
#[test]
fn the_measured_setup_is_as_measured() {
    let own = setup(Checkpointing::None);
    let peak = worst(&own).allocated * 1.3;
    let found = calibrated(own.clone(), Measured { peak: Some(peak), ..measured(0.5) }).expect("a peak");
    let (memory, range) = found.memory(&own);
    assert!((memory.allocated - peak).abs() < 1.0 && range.low == range.high);
    let network = link("ib-ndr").expect("a link");
    let (step, range) = found.estimate(&own, &network, Schedule::OneForwardOneBackward);
    assert!((step.step - 0.5).abs() < 1e-9 && range == Range::exact(0.5), "{} {range:?}", step.step);
}

/// A peak beyond the model's error contradicts it, and the range of other setups holds what the model says without it.
#[test]
fn a_peak_that_contradicts_the_model_widens_the_range() {
    let own = setup(Checkpointing::None);
    let other = Setup { batch: 8, ..own.clone() };
    let plain = worst(&own).allocated;
    for (factor, contradicts) in [(1.05, false), (0.95, false), (1.2, true), (0.85, true)] {
        let peak = Some(plain * factor);
        let found = calibrated(own.clone(), Measured { peak, ..measured(0.5) }).expect("a possible peak");
        assert_eq!(found.contradicts(), contradicts, "{factor}");
        let (_, range) = found.memory(&other);
        let uncalibrated = worst(&other).allocated;
        assert_eq!((range.low..=range.high).contains(&uncalibrated), contradicts, "{factor}");
    }
}

/// No run of a setup has a peak below its states or beyond its GPU.
#[test]
fn an_impossible_peak_is_refused_with_what_is_missing() {
    let own = setup(Checkpointing::None);
    let states = worst(&own).states;
    for (peak, id) in [(0.5 * states, "plan-unseen-peak-low"), (1e12, "plan-unseen-peak-high")] {
        let refused = calibrated(own.clone(), Measured { peak: Some(peak), ..measured(0.5) });
        let refused = refused.expect_err("a refusal");
        assert_eq!(refused.id, id);
        assert!(refused.args.iter().any(|(name, _)| *name == "missing"), "{refused}");
    }
}

/// A replay's step without recomputation is the step that a plan without checkpointing has, and layers that are kept
/// in part return their part.
#[test]
fn a_replayed_step_is_what_other_setups_start_from() {
    let own = setup(Checkpointing::Full);
    let replayed = Range { best: 0.4, low: 0.38, high: 0.42 };
    let without_again = Some(WithoutAgain { step: replayed, working: 0.38, host: None });
    let found = calibrated(own.clone(), Measured { without_again, ..measured(0.5) }).expect("no peak");
    let network = link("ib-ndr").expect("a link");
    let step = |setup: &Setup| found.estimate(setup, &network, Schedule::OneForwardOneBackward);
    let (none, range) = step(&setup(Checkpointing::None));
    assert!((none.step - 0.4).abs() < 1e-9 && range == replayed, "{} {range:?}", none.step);
    let (half, range) = step(&setup(Checkpointing::Every(2)));
    assert!((half.step - 0.45).abs() < 1e-9 && (range.best - 0.45).abs() < 1e-9);
    let (larger, range) = step(&Setup { batch: 8, ..setup(Checkpointing::None) });
    assert!(larger.step > 1.5 * none.step && larger.step < 2.1 * none.step, "{}", larger.step);
    assert!(range.low < larger.step && larger.step < range.high);
}

/// So does the step whose weights are gathered once.
#[test]
fn a_second_gather_that_goes_returns_what_the_replay_says() {
    let parallel = Parallel { data: 8, sharding: Sharding::Full, ..Parallel::default() };
    let own = Setup { parallel, ..setup(Checkpointing::None) };
    let gathered_once = Some(Range { best: 0.05, low: 0.04, high: 0.06 });
    let found = calibrated(own.clone(), Measured { gathered_once, ..measured(0.5) }).expect("no peak");
    let network = link("ib-ndr").expect("a link");
    let keep = Parallel { sharding: Sharding::KeepGathered, ..parallel };
    let (kept, range) =
        found.estimate(&Setup { parallel: keep, ..own }, &network, Schedule::OneForwardOneBackward);
    assert!((kept.step - 0.45).abs() < 1e-9, "{}", kept.step);
    assert!((range.low - 0.44).abs() < 1e-9 && (range.high - 0.46).abs() < 1e-9, "{range:?}");
}

/// A faster GPU makes the GPU's work shorter: the measured step is one of the GPU that it was measured on.
#[test]
fn a_faster_gpu_is_faster() {
    let own = setup(Checkpointing::None);
    let found = calibrated(own.clone(), measured(0.5)).expect("no peak");
    let network = link("ib-ndr").expect("a link");
    let step = |name: &str| {
        let found = found.clone().on(gpu(name, &[]).expect("a GPU"));
        found.estimate(&own, &network, Schedule::OneForwardOneBackward).0.step
    };
    assert!(step("b200") < 0.7 * step("h200"), "{} {}", step("b200"), step("h200"));
    assert!(step("a100") > 2.0 * step("h200"));
}

/// A search and a single plan are judged by one model: the same strategy has the same memory and the same step.
#[test]
fn a_search_from_a_measured_step_says_what_a_plan_says() {
    let own = setup(Checkpointing::Full);
    let replayed = Range { best: 0.4, low: 0.38, high: 0.42 };
    let without_again = Some(WithoutAgain { step: replayed, working: 0.38, host: None });
    let peak = Some(worst(&own).allocated + 1e9);
    let found = calibrated(own.clone(), Measured { without_again, peak, ..measured(0.5) }).expect("a peak");
    let network = link("ib-ndr").expect("a link");
    let request = |global_batch, seq, rates| Request {
        base: Setup { seq, ..own.clone() },
        gpu: found.gpu.clone(),
        gpus: 8,
        network,
        global_batch,
        free: 0.1,
        rates,
    };
    let rates = || Rates::Measured(Box::new(found.clone()));
    let strategies = search(&request(64, 2048, rates())).expect("strategies");
    assert!(strategies.judged > 100 && !strategies.best.is_empty());
    for each in &strategies.best {
        let (memory, _) = found.memory(&each.setup);
        let (step, _) = found.estimate(&each.setup, &network, each.schedule);
        assert_eq!((each.memory.allocated, each.estimate.step), (memory.allocated, step.step));
    }
    // Nothing measured says how fast a sample of 16 times the tokens is; a stated rate does.
    let far = search(&request(64, 1 << 21, rates())).expect_err("out of reach");
    assert_eq!(far.id, "plan-error-out-of-reach");
    let stated = Rates::Remembered(Box::new(found.clone()), 0.5);
    assert!(search(&request(64, 1 << 21, stated)).is_ok());
}
