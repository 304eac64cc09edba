//! Memory-bound small operations, fused by a compiler.
//!
//! Between two matrix products (attention, convolutions, look-ups), element-wise operators, norms,
//! casts, reductions and layout copies each read and write whole tensors. Fused, a stretch reads
//! what comes from outside once and writes what is needed outside once ([`super::flow`]); its time
//! is those bytes at the bandwidth that compiled kernels reach. A stretch never becomes slower.
//! What a compiler has already fused, and what it would leave alone, stays as it is.

use rustc_hash::FxHashMap;
use whyidle_analysis::facts::Facts;
use whyidle_analysis::operators::{OpClass, OpKind};
use whyidle_analysis::shapes::DType;
use whyidle_model::{GpuId, Sym, Trace};

use super::evidence::{Fact, Gather, Share, user_frame};
use super::flow::{Region, regions};
use super::roof::LEAST_KERNEL_NS;
use super::{Change, Context, KernelChange, Spread};

/// Share of the streaming bandwidth that compiled fusions reach: some re-read a tensor in a second
/// kernel, are bound by their arithmetic, or are too small to fill the device. Bytes of all inputs and
/// results of Triton kernels over their time in five compiled programs (transformers in bf16, TF32 and
/// autocast, torch 2.11, H200), none of them among the lab pairs it is judged on: 0.57–0.83, mean 0.69.
const FUSED_SHARE: f64 = 0.70;

/// How far from it they lie.
const SPREAD: Spread = Spread { less: 0.80, more: 1.25 };

/// Products in 16 bits run slower once the memory-bound pauses between them shrink: presumably the
/// power limit lowers the clock. Seven pairs on an H200, eager and compiled: −1 … +12 %, median 4.
const WITHOUT_PAUSES: f64 = 1.03;
const PAUSES_SPREAD: Spread = Spread { less: 0.97, more: 1.06 };
/// It shows in full where this share of the GPU's time goes.
const PAUSES_GONE: f64 = 0.15;

/// The change that fusing brings.
#[must_use]
pub fn elementwise(trace: &Trace, facts: &Facts, context: &Context) -> Option<KernelChange> {
    let bandwidth = context.roof.bandwidth()? * FUSED_SHARE;
    let mut change = Change::default();
    let mut gather = Gather::new(trace, facts, context);
    let mut layout = (0_u64, 0_i64);
    let mut casts = (0_u64, 0_i64);
    let (mut after_bytes, mut kept) = (0.0, 0_u64);
    for region in regions(trace, facts, context) {
        let old: i64 = region.entries.iter().map(|&entry| context.launched[entry].total_ns).sum();
        let fused = fused_ns(&region, bandwidth);
        let alone = region.entries.len() < 2 && region.results > 0 && !is_layout_copy(context, &region);
        if fused >= old as f64 || alone {
            continue;
        }
        let keep = region.results.max(1);
        spread_over(context, &region, keep, fused, &mut change);
        for &entry in &region.entries {
            let launched = &context.launched[entry];
            gather.launched(entry);
            let count = u64::from(launched.used_ns > 0);
            if let Some(kind) = context.kind(launched).filter(|kind| kind.class == OpClass::Copy) {
                let sum = if is_cast(kind) { &mut casts } else { &mut layout };
                *sum = (sum.0 + count, sum.1 + launched.used_ns);
            }
        }
        if region.entries.iter().any(|&entry| context.launched[entry].used_ns > 0) {
            after_bytes += region.read + region.written;
            kept += keep as u64;
        }
    }
    let steps = context.steps.max(1) as f64;
    let mut evidence = gather.finish();
    evidence.bytes_after_per_step = after_bytes / steps;
    evidence.facts = vec![
        (Fact::KernelsAfter, kept as f64 / steps),
        (Fact::Casts, casts.0 as f64 / steps),
        (Fact::CastNs, casts.1 as f64 / steps),
        (Fact::LayoutCopies, layout.0 as f64 / steps),
        (Fact::LayoutCopyNs, layout.1 as f64 / steps),
    ];
    without_pauses(context, &mut change);
    let source = "bytes at the borders of fused stretches, over the bandwidth of compiled kernels";
    change.finish(context, false, evidence, source)
}

/// What the products lose when the pauses between them shrink.
fn without_pauses(context: &Context, change: &mut Change) {
    let [old, new, ..] = change.time(context);
    let gone = (old - new) / context.busy_ns().max(1) as f64;
    let factor = 1.0 + (WITHOUT_PAUSES - 1.0) * (gone / PAUSES_GONE).clamp(0.0, 1.0);
    if factor <= 1.0 {
        return;
    }
    for launched in &context.launched {
        let Some(kind) = context.kind(launched) else { continue };
        if kind.class.is_dense() && kind.dtype.is_some_and(DType::is_half) {
            launched.activities.iter().for_each(|&id| change.scale(id, factor, PAUSES_SPREAD));
        }
    }
}

/// Time of a stretch after fusing, ns.
fn fused_ns(region: &Region, bandwidth: f64) -> f64 {
    let moving = (region.read + region.written) / bandwidth * 1e9;
    moving + LEAST_KERNEL_NS * region.results as f64
}

/// The longest `keep` activities of a stretch take over its new time; the others go.
fn spread_over(context: &Context, region: &Region, keep: usize, fused: f64, change: &mut Change) {
    let mut activities: Vec<(i64, GpuId)> = region
        .entries
        .iter()
        .flat_map(|&entry| &context.launched[entry].activities)
        .map(|&id| (context.exclusive_ns(id), id))
        .collect();
    activities.sort_unstable_by_key(|&(ns, id)| (std::cmp::Reverse(ns), id));
    let kept: i64 = activities.iter().take(keep).map(|&(ns, _)| ns).sum();
    for (at, &(_, id)) in activities.iter().enumerate() {
        let factor = if at < keep && kept > 0 { fused / kept as f64 } else { 0.0 };
        change.scale(id, factor, SPREAD);
    }
}

/// A copy between types.
fn is_cast(kind: &OpKind) -> bool {
    matches!((kind.reads.first(), kind.writes.first()), (Some(from), Some(to)) if from.1 != to.1)
}

fn is_layout_copy(context: &Context, region: &Region) -> bool {
    let mut kinds = region.entries.iter().filter_map(|&entry| context.kind(&context.launched[entry]));
    kinds.all(|kind| kind.class == OpClass::Copy && !is_cast(kind))
}

/// Layout copies (`.contiguous()`, `.reshape()` of a permuted tensor) by the user's frame that asked
/// for them, else by the outermost operator around them; longest first.
#[must_use]
pub fn layout_copies(trace: &Trace, facts: &Facts, context: &Context) -> Vec<Share> {
    let mut by_caller: FxHashMap<Sym, (u64, i64)> = FxHashMap::default();
    for launched in &context.launched {
        let (Some(operator), Some(kind)) = (launched.operator, context.kind(launched)) else { continue };
        if kind.class != OpClass::Copy || is_cast(kind) || launched.outside || launched.used_ns == 0 {
            continue;
        }
        let host = context.operators.list[operator].host;
        let caller = user_frame(trace, facts, context, host).or_else(|| {
            let outermost = facts.tree.outermost_operator(trace, host)?;
            Some(trace.host.name[outermost.index()])
        });
        if let Some(caller) = caller {
            let row = by_caller.entry(caller).or_default();
            *row = (row.0 + 1, row.1 + launched.used_ns);
        }
    }
    let steps = context.steps.max(1);
    let mut rows: Vec<Share> = by_caller
        .into_iter()
        .map(|(name, (count, ns))| Share {
            name,
            per_step: count as f64 / steps as f64,
            ns_per_step: ns / i64::try_from(steps).unwrap_or(1),
        })
        .collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.ns_per_step), row.name));
    rows
}

#[cfg(test)]
mod tests {
    use super::super::testing::{BF16_2, BF16_F32, F32_2, Program};
    use super::*;

    const PLAIN: &str = "void at::native::vectorized_elementwise_kernel<4>";
    const WIDE: &str = "[[16,1024,4096]]";

    /// A product, a chain of element-wise operators on its result, and a product that takes the last.
    fn chain(product: &str, operators: &[&str]) -> Option<KernelChange> {
        let program = Program::on(product).steps(|p, _| {
            p.op("aten::mm", "[[16384,1024],[1024,4096]]", BF16_2, "nvjet", 190_000);
            for name in operators {
                p.op(name, WIDE, BF16_2, PLAIN, 65_000);
            }
            p.op("aten::mm", "[[16384,4096],[4096,1024]]", BF16_2, "nvjet", 180_000);
        });
        program.change(elementwise)
    }

    #[test]
    fn a_chain_reads_and_writes_once() {
        let change =
            chain("NVIDIA H200", &["aten::mul", "aten::tanh", "aten::mul", "aten::add"]).expect("four");
        // 268 MB at 2.9 TB/s and a kernel's start; the products lose the pause.
        let fused = 4 * 65_000 - change.saved_ns_per_step;
        assert!((90_000..115_000).contains(&fused), "{fused}");
        let gone = change.scaled.iter().filter(|row| row.1 == 0.0).count();
        assert_eq!(gone, 3 * 4, "one kernel of four remains in each of four steps");
        assert!(!change.removed_launches);
        assert_eq!(change.evidence.bytes_after_per_step, 2.0 * 2.0 * 16384.0 * 4096.0);
    }

    #[test]
    fn one_operator_alone_cannot_be_fused() {
        assert!(chain("NVIDIA H200", &["aten::gelu"]).is_none());
    }

    #[test]
    fn an_unknown_product_takes_the_bandwidth_of_the_trace() {
        let known = chain("NVIDIA H200", &["aten::mul", "aten::tanh", "aten::add"]).expect("known");
        let unknown =
            chain("some other accelerator", &["aten::mul", "aten::tanh", "aten::add"]).expect("seen");
        let ratio = unknown.saved_ns_per_step as f64 / known.saved_ns_per_step as f64;
        assert!((0.7..1.3).contains(&ratio), "{ratio}");
    }

    #[test]
    fn what_a_compiler_made_stays() {
        let program = Program::on("NVIDIA H200").steps(|p, _| {
            p.op("aten::mm", "[[16384,1024],[1024,4096]]", BF16_2, "nvjet", 190_000);
            p.op("triton_poi_fused_gelu_1", WIDE, BF16_2, "triton_poi_fused_gelu_1", 100_000);
            p.op("triton_poi_fused_add_2", WIDE, BF16_2, "triton_poi_fused_add_2", 100_000);
        });
        assert!(program.change(elementwise).is_none());
    }

    #[test]
    fn a_cast_that_only_another_stretch_reads_is_computed_there() {
        let narrow = "[[16,1024,1024],[16,1024,1024],[]]";
        let program = Program::on("NVIDIA H200").steps(|p, _| {
            p.op("aten::mm", "[[16384,1024],[1024,1024]]", BF16_2, "nvjet", 50_000);
            p.op("aten::copy_", narrow, r#"["float","c10::BFloat16"]"#, PLAIN, 50_000);
            p.op("aten::mm", "[[16384,2048],[2048,512]]", BF16_2, "nvjet", 50_000);
            p.op("aten::add", narrow, F32_2, PLAIN, 45_000);
            p.op("aten::copy_", narrow, BF16_F32, PLAIN, 25_000);
            p.op("aten::mm", "[[16384,1024],[1024,1024]]", BF16_2, "nvjet", 50_000);
        });
        let change = program.change(elementwise).expect("three");
        let gone = change.scaled.iter().filter(|row| row.1 == 0.0).count();
        assert!(gone >= 4 && change.saved_ns_per_step > 40_000, "{gone} {}", change.saved_ns_per_step);
    }
}
