//! Plans: worded completely in both languages, and JSON that obeys its schema.

use crate::{Catalog, Document, Lang, PlanReport, TextOptions, plan_refusal_json};
use serde_json::Value;
use whyidle_diagnosis::{Arg, Message};
use whyidle_planner::{
    Checkpointing, Framework, Offload, Parallel, Precision, Rates, Request, Schedule, Setup, Sharding,
    estimate, flags, gpu, link, memory, preset, search,
};

const SCHEMA: &str = include_str!("../../schema/whyidle.plan-1.schema.json");

fn given(setup: Setup) -> PlanReport {
    let (gpu, network) = (gpu("h100", &[]).expect("a GPU"), link("ib-ndr").expect("a link"));
    let schedule = Schedule::Interleaved { chunks: 2 };
    PlanReport {
        memory: memory(&setup).expect("memory"),
        estimate: estimate(&setup, &gpu, &network, schedule, 0.5),
        gpus: setup.parallel.world(),
        setup,
        gpu,
        network,
        schedule,
        efficiency: 0.5,
        free: 0.1,
        search: None,
        tokens: Some(1e12),
        price: Some(2.0),
        calibrated: None,
    }
}

fn searched(model: &str, gpu_name: &str) -> PlanReport {
    let mut base = Setup::new(preset(model).expect("a preset"), 1, 4096);
    base.precision = Precision::Mixed;
    let (gpu, network) = (gpu(gpu_name, &[]).expect("a GPU"), link("ib-ndr").expect("a link"));
    let request =
        Request { base, gpu, gpus: 8, network, global_batch: 64, free: 0.1, rates: Rates::Stated(0.5) };
    let found = search(&request).expect("strategies");
    let first = found.best.first().or(found.too_big.first()).cloned().expect("a candidate");
    PlanReport {
        gpu: request.gpu.clone(),
        gpus: 8,
        memory: first.memory,
        estimate: first.estimate,
        schedule: first.schedule,
        search: Some(found),
        tokens: None,
        price: None,
        calibrated: None,
        ..given(first.setup)
    }
}

pub(super) fn plans() -> Vec<PlanReport> {
    let llama = Setup::new(preset("llama-3.2-1b").expect("a preset"), 2, 4096);
    let mut all = vec![given(llama.clone())];
    for sharding in [Sharding::None, Sharding::Optimizer, Sharding::Full, Sharding::KeepGathered] {
        for checkpointing in [Checkpointing::Full, Checkpointing::Selective, Checkpointing::Every(2)] {
            let parallel = Parallel { data: 8, sharding, ..Parallel::default() };
            all.push(given(Setup { parallel, checkpointing, micro_batches: 4, ..llama.clone() }));
        }
    }
    let parallel = Parallel {
        data: 2,
        tensor: 2,
        sequence: true,
        pipeline: 2,
        chunks: 2,
        context: 2,
        ..Parallel::default()
    };
    all.push(given(Setup { parallel, micro_batches: 8, offload: Offload::Optimizer, ..llama }));
    let moe = Setup::new(preset("mixtral-8x7b").expect("a preset"), 1, 2048);
    all.push(given(Setup { parallel: Parallel { data: 8, expert: 8, ..Parallel::default() }, ..moe }));
    all.extend([searched("llama-3-8b", "h100"), searched("llama-3-70b", "l4")]);
    all
}

#[test]
fn plans_are_worded_completely_in_both_languages() {
    for plan in plans() {
        for lang in Lang::ALL {
            let catalog = Catalog::new(lang);
            let options = TextOptions { verbose: true, ..TextOptions::default() };
            for page in
                [Document::Plan(&plan).text(&catalog, &options), Document::Plan(&plan).markdown(&catalog)]
            {
                assert!(!page.contains("plan-") && !page.contains("{$"), "{page}");
                assert!(
                    !page.contains("其他") && !page.contains("\n  other"),
                    "an id without a word: {page}"
                );
            }
        }
    }
}

/// What frameworks are told.
fn lines_to_paste(plan: &PlanReport) -> Vec<String> {
    let others = plan.search.iter().flat_map(|search| &search.by_framework);
    let all = others.map(|(_, other)| &other.setup).chain([&plan.setup]);
    let lines = all.flat_map(|setup| Framework::ALL.into_iter().filter_map(|each| flags(setup, each)));
    lines.flatten().map(|line| line.trim_start().to_owned()).collect()
}

/// Lines to paste stay whole; everything else keeps within the terminal.
#[test]
fn every_line_fits_the_terminal() {
    use unicode_width::UnicodeWidthStr;
    for plan in plans() {
        for lang in Lang::ALL {
            for width in [60, 80, 120] {
                let options = TextOptions { width, ..TextOptions::default() };
                let page = Document::Plan(&plan).text(&Catalog::new(lang), &options);
                let pasted = lines_to_paste(&plan);
                for line in page.lines().filter(|line| !pasted.contains(&line.trim_start().to_owned())) {
                    assert!(line.width() <= width, "{}: {line}", line.width());
                }
            }
        }
    }
}

/// Why there is no plan obeys it too, with the figures that contradict each other.
#[test]
fn a_refusal_obeys_the_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a sound schema");
    let reason = Message::new("plan-unseen-peak-low")
        .with("peak", Arg::Bytes(1 << 30))
        .with("bound", Arg::Bytes(3 << 30))
        .with("missing", Arg::Bytes(2 << 30));
    for hint in [None, Some(&Message::new("cli-for-example").name("command", "whyidle plan"))] {
        let page = plan_refusal_json("peak-low", &reason, hint, &Catalog::new(Lang::En));
        let value: Value = serde_json::from_str(&page).expect("JSON");
        assert!(validator.is_valid(&value), "{page}");
        assert_eq!(value["refused"]["reason"]["args"]["missing"]["bytes"], 2_i64 << 30);
        assert!(value["refused"]["reason"]["text"].as_str().is_some_and(|text| text.contains("2.00 GiB")));
    }
}

#[test]
fn every_plan_obeys_the_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a sound schema");
    for plan in plans() {
        let value: Value =
            serde_json::from_str(&Document::Plan(&plan).json(&Catalog::new(Lang::En))).expect("JSON");
        let errors: Vec<_> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
        let mut bad = value.clone();
        bad["memory"]["peak"] = Value::from("lunch");
        assert!(!validator.is_valid(&bad));
    }
}
