//! `host.optimizer`: the optimizer loops over parameters and launches several small kernels for each.
//!
//! Seen by per-parameter kernels inside `Optimizer.step` instead of multi-tensor or fused ones,
//! quantise and dequantise kernels of 8-bit optimizers among them.

use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_model::{GpuId, GpuKind, Sym};
use whyidle_replay::edits::scale_activities;

use super::support::{change, counted, finding, host_time, line_evidence, places, remedy, worth};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Finding, Method};
use crate::what_if::Setting;

const CODE: &str = "optimizer = torch.optim.AdamW(model.parameters(), lr=lr, fused=True)";

/// Host time of a fused update per parameter tensor, ns: gathering the tensor lists in Python
/// (torch 2.11 on an H200's host: `_init_group` and `_fused_adamw`).
const HOST_NS_PER_TENSOR: i64 = 10_000;
/// That cost differs this much between programs and machines, as a share of the step after the change.
const GATHERING_VARIES: f64 = 0.10;
/// AdamW moves 28 bytes per parameter when fused (reads weight, gradient and two moments, writes three),
/// about 80 as a sequence of element-wise kernels.
const FUSED_TRAFFIC: f64 = 28.0 / 80.0;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = worth(case, Line::HostOptimizer)?;
    let kernels = Kernels::of(case);
    if !kernels.loops() {
        return None;
    }
    let tensors = kernels.per_tensor_kernel;
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    let mut evidence = vec![line_evidence(case, Line::HostOptimizer)];
    evidence.push(counted(
        Message::new("ev-optimizer-kernels").count("kernels", kernels.count).count("tensors", tensors),
        kernels.count,
    ));
    evidence.extend(places(case, Line::HostOptimizer, 2));
    let summary =
        Message::new(if kernels.quantised { "fix-host-optimizer-8bit" } else { "fix-host-optimizer" });
    let steps = ["fix-optimizer-foreach", "fix-optimizer-trap"];
    Some(finding(case, "host.optimizer", cost, gain, evidence, remedy(summary, &steps, CODE)))
}

/// One fused update: the host gathers the tensors, and each parameter's bytes move once.
pub(super) fn edit<'a>(case: &'a Case<'_>, _: Option<&Setting>) -> Option<Edit<'a>> {
    let kernels = Kernels::of(case);
    if !kernels.loops() {
        return None;
    }
    let host = (kernels.per_tensor_kernel * HOST_NS_PER_TENSOR) as f64;
    let host_factor = (host / host_time(case, Context::Optimizer).max(1) as f64).min(1.0);
    let edit = Edit::new(change("fused"), Method::Model, move |program, lengths| {
        for (at, node) in program.host.iter().enumerate() {
            if node.context == Context::Optimizer {
                lengths.host[at] = (lengths.host[at] as f64 * host_factor) as i64;
            }
        }
        scale_activities(program, lengths, |id| {
            (case.facts.works[id.index()] == Work::Optimizer).then_some(FUSED_TRAFFIC)
        });
    });
    Some(edit.shortening_kernels().doubted(GATHERING_VARIES))
}

/// Multi-tensor optimizers need a handful of launches; a kernel that runs this often runs once per tensor.
const MANY_TENSORS: i64 = 8;

/// Kernels of the optimizer per step.
struct Kernels {
    count: i64,
    multi_tensor: i64,
    /// How often the most frequent kernel runs: once per parameter tensor.
    per_tensor_kernel: i64,
    quantised: bool,
}

impl Kernels {
    fn of(case: &Case<'_>) -> Self {
        let gpu = &case.trace.gpu;
        let mut counts: rustc_hash::FxHashMap<Sym, i64> = rustc_hash::FxHashMap::default();
        let mut out = Self { count: 0, multi_tensor: 0, per_tensor_kernel: 0, quantised: false };
        for &row in &case.device.rows {
            let id = GpuId(row);
            let optimizer =
                case.facts.works[id.index()] == Work::Optimizer && gpu.kind[id.index()] == GpuKind::Kernel;
            let launched = || case.facts.tree.launch_of(id).map(|call| case.trace.host.start[call.index()]);
            if optimizer && launched().and_then(|at| case.device.steps.launched_at(at)).is_some() {
                let name = gpu.name[id.index()];
                let text = case.trace.names.get(name);
                out.count += 1;
                out.multi_tensor +=
                    i64::from(text.contains("multi_tensor") || text.starts_with("triton_for"));
                out.quantised |= text.to_ascii_lowercase().contains("quantize");
                *counts.entry(name).or_default() += 1;
            }
        }
        // Some kernels serve several operations of a tensor; the rarest that runs for every tensor counts them.
        let steps = case.steps();
        let mut sorted: Vec<i64> = counts.into_values().map(|count| count / steps).collect();
        sorted.sort_unstable();
        out.per_tensor_kernel = sorted.into_iter().find(|&count| count >= MANY_TENSORS).unwrap_or(0);
        out.count /= steps;
        out.multi_tensor /= steps;
        out
    }

    /// Most kernels are single-tensor ones, and there is at least one per parameter.
    fn loops(&self) -> bool {
        self.per_tensor_kernel >= MANY_TENSORS && 2 * self.multi_tensor < self.count
    }
}
