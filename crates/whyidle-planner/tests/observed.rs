//! Setups recognised from recordings: nothing but the trace and its recording is read.

#![allow(clippy::print_stdout, reason = "a skipped test says so")]

use std::path::{Path, PathBuf};

use whyidle_analysis::device::devices;
use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_planner::{
    Checkpointing, Code, Observed, OptimizerLoop, Precision, Said, Sharding, Unseen, observe,
};
use whyidle_readers::{ReadOptions, read_trace, recording};

/// What a recording says, in the planner's terms.
fn said(recorded: &recording::Recording) -> Said {
    Said {
        params: recorded.params,
        stages: recorded.stages.map(u64::from),
        micro_batches: recorded.micro_batches.or(recorded.accum).map(u64::from),
        peak: recorded.max_memory_allocated,
        reserved: recorded.max_memory_reserved,
    }
}

/// The setup of a folder's trace of `rank`, with the measured peak.
fn of(folder: &Path, rank: Option<u32>) -> Option<(Result<Observed, Unseen>, Option<u64>)> {
    let name = rank.map_or("trace.json.gz".to_owned(), |rank| format!("trace_rank{rank}.json.gz"));
    let path = folder.join(name);
    if !path.is_file() {
        return None;
    }
    let trace = read_trace(&path, &ReadOptions::default()).expect("a trace");
    let recorded = recording::read(folder, rank).expect("a recording").unwrap_or_default();
    let facts = Facts::new(&trace);
    let device: DeviceFacts = devices(&trace)
        .into_iter()
        .map(|device| facts.device(&trace, device, |_| true))
        .max_by_key(|device| device.occupancy.working_ns)?;
    let found = observe(&trace, &facts, &device, &said(&recorded), None);
    Some((found, recorded.max_memory_allocated))
}

fn folder(variable: &str, default: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = std::env::var_os(variable).map_or_else(|| root.join(default), PathBuf::from);
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: {variable} is not set and {} is not there", path.display());
    None
}

/// Every recording of a transformer that no compiler rewrote is recognised from its trace alone, and the peak that
/// follows is within 2 % of the measured one (of DDP's two figures, of either).
#[test]
fn recordings_are_recognised_and_their_peaks_follow() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let folders = [Some(root), folder("WHYIDLE_LAB", "../shared/lab")];
    let (mut recognised, mut refused) = (0, 0);
    for entry in folders.into_iter().flatten().flat_map(|folder| std::fs::read_dir(folder).expect("a folder"))
    {
        let path = entry.expect("an entry").path();
        for rank in [None, Some(0), Some(1)] {
            let Some((found, peak)) = of(&path, rank) else { continue };
            let case = path.display();
            match found {
                Ok(found) => {
                    let Some(peak) = peak.map(|peak| peak as f64) else { continue };
                    let error = |predicted: f64| (predicted / peak - 1.0).abs();
                    let error = error(found.memory.allocated).min(error(found.memory.first_steps));
                    assert!(error <= 0.02, "{case} {rank:?}: {:.2} %", 100.0 * error);
                    assert!(found.counted || found.setup.parallel.pipeline > 1, "{case}");
                    assert!(found.gpu.is_some_and(|gpu| gpu.name == "h200"), "{case}");
                    recognised += 1;
                }
                // A convolutional network, or a graph compiler's.
                Err(why) => {
                    assert!(matches!(why, Unseen::NoAttention | Unseen::Compiled), "{case}: {why:?}");
                    refused += 1;
                }
            }
        }
    }
    assert!(recognised >= 9 && refused >= 3, "{recognised} {refused}");
}

/// How a step trains is read off it too.
#[test]
fn settings_are_recognised() {
    let Some(lab) = folder("WHYIDLE_LAB", "../shared/lab") else { return };
    let setup = |case: &str, rank| of(&lab.join(case), rank).expect("a trace").0.expect("a setup").setup;
    assert_eq!(setup("ckpt_needless", None).checkpointing, Checkpointing::Full);
    assert_eq!(setup("fed", None).checkpointing, Checkpointing::None);
    assert_eq!(setup("fp32_strict", None).precision, Precision::Fp32);
    assert_eq!(setup("opt_forloop", None).optimizer_loop, OptimizerLoop::ForLoop);
    assert_eq!(setup("hf_llama_bf16_w0", None).optimizer_loop, OptimizerLoop::Foreach);
    assert_eq!(setup("naive_elementwise", None).code, Code::WrittenOut);
    assert_eq!(setup("hf_llama_tuned", None).code, Code::HuggingFace);
    assert_eq!(setup("ddp_comm_accum", Some(0)).micro_batches, 4);
    let sharding = |case: &str| setup(case, Some(0)).parallel.sharding;
    assert_eq!((sharding("fsdp_full"), sharding("fsdp_grad_op")), (Sharding::Full, Sharding::KeepGathered));
    assert_eq!(sharding("ddp_fed"), Sharding::None);
    let stage = setup("pp_m2", Some(1));
    assert_eq!((stage.parallel.pipeline, stage.stage, stage.parallel.gpipe), (2, 1, true));
}

/// A recording that states another number of parameters than the shapes make is contradicted, not believed.
#[test]
fn another_number_of_parameters_is_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/fed_small");
    let trace = read_trace(&folder.join("trace.json.gz"), &ReadOptions::default()).expect("a trace");
    let facts = Facts::new(&trace);
    let device = facts.device(&trace, 0, |_| true);
    let wrong = Said { params: Some(217_741_313), ..Said::default() };
    let refused = observe(&trace, &facts, &device, &wrong, None).expect_err("a contradiction");
    assert!(matches!(refused, Unseen::Parameters { said: 217_741_313, .. }), "{refused:?}");
    let unsaid = observe(&trace, &facts, &device, &Said::default(), None).expect("a setup");
    assert!(unsaid.unknown.iter().any(|unknown| unknown.id == "logits-kept" && !unknown.by_peak));
    assert!(unsaid.range.0 < unsaid.range.1);
}
