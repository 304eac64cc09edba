//! fp32 products and attention, moved to 16 bits by autocast.
//!
//! Products and fused attention do the same FLOPs at the rate of the 16-bit type. Around them,
//! autocast decides types operator by operator (PyTorch, "CUDA op-specific behavior"): products
//! give 16 bits, norms and softmax give fp32, the rest follow their inputs. From that follow the
//! casts that are added (read one type, write the other; again in backward) and the element-wise
//! operators whose tensors halve.

use whyidle_analysis::facts::Facts;
use whyidle_analysis::operators::{OpClass, OpKind};
use whyidle_analysis::shapes::DType;
use whyidle_model::Trace;

use super::autocast::Types;
use super::context::Launched;
use super::evidence::{Fact, Gather};
use super::roof::is_product;
use super::{Change, Context, KernelChange, Spread};

const SPREAD: Spread = Spread { less: 0.85, more: 1.2 };

/// Share of the streaming bandwidth that eager casts reach, both directions together: to 16 bits
/// they stream, to fp32 they load single elements at half of that (torch 2.11, H200).
const CAST_SHARE: f64 = 0.65;

/// The change that 16-bit autocast brings; `None` without fp32 products.
#[must_use]
pub fn precision(trace: &Trace, facts: &Facts, context: &Context) -> Option<KernelChange> {
    precision_in(trace, facts, context, half_type(context)?)
}

/// The same in a certain 16-bit type; `None` also where the product has no rate for it.
#[must_use]
pub fn precision_in(trace: &Trace, facts: &Facts, context: &Context, half: DType) -> Option<KernelChange> {
    let rate = context.roof.matmul(half)?;
    let mut change = Change::default();
    let mut gather = Gather::new(trace, facts, context);
    let mut types = Types::default();
    let mut casts = Casts::default();
    let mut tf32_saved = 0.0;
    let (mut fp32_ns, mut tf32_ns) = (0_i64, 0_i64);
    for (at, launched) in context.launched.iter().enumerate() {
        let Some(kind) = context.kind(launched).filter(|_| !launched.outside) else { continue };
        let old = launched.total_ns as f64;
        if kind.class.is_dense() && kind.dtype == Some(DType::F32) && kind.flops > 0.0 && old > 0.0 {
            casts.added(types.dense(kind, launched), launched);
            let new = dense_ns(context, kind, half, rate);
            launched.activities.iter().for_each(|&id| change.scale(id, (new / old).min(1.0), SPREAD));
            gather.launched(at);
            let in_tf32 = is_tf32(trace, context, launched, kind);
            *(if in_tf32 { &mut tf32_ns } else { &mut fp32_ns }) += launched.used_ns;
            if let Some(rate) = context.roof.tf32().filter(|_| !in_tf32 && is_product(kind.class)) {
                let tf32 = context.roof.dense_ns(kind.flops, kind.bytes(), rate);
                tf32_saved += (launched.used_ns as f64 * (1.0 - tf32 / old)).max(0.0);
            }
        } else {
            let (factor, added) = types.other(trace, kind, launched);
            casts.added(added, launched);
            if factor < 1.0 {
                launched.activities.iter().for_each(|&id| change.scale(id, factor, SPREAD));
            }
        }
    }
    if fp32_ns + tf32_ns == 0 {
        return None;
    }
    let bandwidth = context.roof.bandwidth();
    let cast_ns = bandwidth.map_or(0.0, |bandwidth| casts.bytes / (bandwidth * CAST_SHARE) * 1e9);
    let mut evidence = gather.finish();
    evidence.possible = Some(rate);
    let steps = context.steps.max(1) as f64;
    let seen = types_seen(trace, context);
    evidence.facts = vec![
        (Fact::Tf32InUse, f64::from(u8::from(tf32_ns > fp32_ns))),
        (Fact::Tf32SavedNs, tf32_saved / steps),
        (Fact::AddedCastNs, cast_ns / steps),
        (Fact::Casts, seen.casts_per_step),
        (Fact::CastNs, seen.cast_ns_per_step as f64),
    ];
    // None of the new casts exists yet: every scaled activity takes its part of their time.
    let [_, after, ..] = change.time(context);
    if after > 0.0 {
        change.stretch(1.0 + cast_ns / after);
    }
    let source = "FLOPs at the 16-bit rate; autocast's casts by their bytes";
    change.finish(context, false, evidence, source)
}

/// The change that TF32 brings: fp32 products at its rate, nothing else; `None` without fp32 products outside
/// tensor cores, or without TF32.
#[must_use]
pub fn tf32(trace: &Trace, facts: &Facts, context: &Context) -> Option<KernelChange> {
    let rate = context.roof.tf32()?;
    let mut change = Change::default();
    let mut gather = Gather::new(trace, facts, context);
    for (at, launched) in context.launched.iter().enumerate() {
        let Some(kind) = context.kind(launched).filter(|_| !launched.outside) else { continue };
        let old = launched.total_ns as f64;
        let in_fp32 = kind.dtype == Some(DType::F32) && kind.flops > 0.0 && old > 0.0;
        if is_product(kind.class) && in_fp32 && !is_tf32(trace, context, launched, kind) {
            let new = context.roof.dense_ns(kind.flops, kind.bytes(), rate);
            launched.activities.iter().for_each(|&id| change.scale(id, (new / old).min(1.0), SPREAD));
            gather.launched(at);
        }
    }
    let mut evidence = gather.finish();
    evidence.possible = Some(rate);
    change.finish(context, false, evidence, "FLOPs at the TF32 rate")
}

/// What the trace shows of types, whether or not there is anything to change.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TypesSeen {
    /// Casts between floating-point types per step.
    pub casts_per_step: f64,
    /// GPU time of those, ns per step.
    pub cast_ns_per_step: i64,
    /// Operators of gradient scaling per step although products run in bf16, whose range needs none.
    pub needless_scaling_per_step: f64,
    /// GPU time of those, ns per step.
    pub needless_scaling_ns_per_step: i64,
}

/// Casts, and gradient scaling beside bf16.
#[must_use]
pub fn types_seen(trace: &Trace, context: &Context) -> TypesSeen {
    let bf16 = context.roof.seen(DType::BF16).is_some() && context.roof.seen(DType::F16).is_none();
    let (mut casts, mut scaling) = ((0_u64, 0_i64), (0_u64, 0_i64));
    for launched in context.launched.iter().filter(|launched| launched.used_ns > 0) {
        let Some(kind) = context.kind(launched) else { continue };
        let sum = if kind.class == OpClass::Copy && is_cast(kind) {
            &mut casts
        } else if bf16 && trace.names.get(kind.name).starts_with("aten::_amp_") {
            &mut scaling
        } else {
            continue;
        };
        *sum = (sum.0 + 1, sum.1 + launched.used_ns);
    }
    let steps = context.steps.max(1);
    let per_step = |ns: i64| ns / i64::try_from(steps).unwrap_or(1);
    TypesSeen {
        casts_per_step: casts.0 as f64 / steps as f64,
        cast_ns_per_step: per_step(casts.1),
        needless_scaling_per_step: scaling.0 as f64 / steps as f64,
        needless_scaling_ns_per_step: per_step(scaling.1),
    }
}

/// The 16-bit type that the trace computes in already, else the product's.
fn half_type(context: &Context) -> Option<DType> {
    let seen = [DType::BF16, DType::F16].into_iter().find(|&dtype| context.roof.seen(dtype).is_some());
    seen.or_else(|| context.rates.map(|rates| rates.half().0))
}

/// Length of a product or of attention in `half`, ns.
fn dense_ns(context: &Context, kind: &OpKind, half: DType, rate: f64) -> f64 {
    let backward = kind.class == OpClass::AttentionBackward;
    let bytes = kind.bytes() / 2.0;
    let attention = kind.attention.and_then(|shape| context.roof.attention_ns(shape, half, backward));
    if let Some(ns) = attention {
        return ns;
    }
    match (kind.matmul, context.roof.convolution(half)) {
        (Some(shape), _) => context.roof.matmul_ns(shape, bytes, rate),
        (None, Some(rate)) if is_product(kind.class) => context.roof.dense_ns(kind.flops, bytes, rate),
        _ => context.roof.dense_ns(kind.flops, bytes, rate),
    }
}

/// Whether an fp32 product ran in tensor cores: its kernel's name says so, or its rate is above
/// what the product can do without.
fn is_tf32(trace: &Trace, context: &Context, launched: &Launched, kind: &OpKind) -> bool {
    let named = launched.activities.iter().any(|&id| {
        let name = trace.names.get(trace.gpu.name[id.index()]);
        let tensor = ["tf32", "tensorop", "s1688", "hmma", "xf32"].iter().any(|part| name.contains(part));
        tensor && !name.contains("simt")
    });
    // Winograd's algorithm convolves with fewer FLOPs than counted: only products tell by their rate.
    let achieved = kind.flops / launched.total_ns.max(1) as f64 * 1e9;
    let above = kind.matmul.is_some() && context.roof.peak(DType::F32).is_some_and(|peak| achieved > peak);
    context.roof.tf32().is_some() && (named || above)
}

fn is_cast(kind: &OpKind) -> bool {
    matches!((kind.reads.first(), kind.writes.first()), (Some(from), Some(to))
        if from.1 != to.1 && from.1.is_float() && to.1.is_float())
}

/// Casts that autocast would add.
#[derive(Default)]
struct Casts {
    /// Bytes in the steps used.
    bytes: f64,
}

impl Casts {
    /// Adds casts of `elements` between fp32 and 16 bits.
    fn added(&mut self, elements: f64, launched: &Launched) {
        if launched.used_ns > 0 {
            self.bytes += elements * 6.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{BF16_2, F32_2, Program};
    use super::*;

    const DIMS: &str = "[[16384,1024],[1024,4096]]";
    const STRICT: &str = "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>";
    const TF32: &str = "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16";

    fn fp32(product: &str, kernel: &'static str, ns: i64) -> Option<KernelChange> {
        let program = Program::on(product).steps(|p, _| {
            p.op("aten::mm", DIMS, F32_2, kernel, ns);
            p.op("aten::native_layer_norm", "[[16384,4096],[],[4096]]", F32_2, "layer_norm", 150_000);
        });
        program.change(precision)
    }

    fn fp32_by(
        model: fn(&Trace, &Facts, &Context) -> Option<KernelChange>,
        kernel: &'static str,
    ) -> Option<KernelChange> {
        let ns = if kernel == STRICT { 2_740_000 } else { 380_000 };
        Program::on("NVIDIA H200").steps(|p, _| p.op("aten::mm", DIMS, F32_2, kernel, ns)).change(model)
    }

    #[test]
    fn fp32_products_take_the_16_bit_rate_and_casts_are_added() {
        let change = fp32("NVIDIA H200", STRICT, 2_740_000).expect("fp32");
        let after = 2_740_000 - change.saved_ns_per_step;
        // 137 GFLOP at 722 TFLOP/s are 190 µs; casts of both operands and of the result follow.
        assert!((250_000..550_000).contains(&after), "{after}");
        assert!(change.evidence.fact(Fact::AddedCastNs) > Some(50_000.0));
        assert_eq!(change.evidence.fact(Fact::Tf32InUse), Some(0.0));
        let saved = change.evidence.fact(Fact::Tf32SavedNs).expect("H200 has TF32");
        assert!((2_000_000.0..2_450_000.0).contains(&saved), "{saved}");
        let alone = fp32_by(tf32, STRICT).expect("TF32");
        assert!((alone.saved_ns_per_step as f64 - saved).abs() < 2.0);
        assert!(fp32_by(tf32, TF32).is_none(), "already in use");
    }

    #[test]
    fn tf32_is_recognised_by_name_and_gains_less() {
        let program = Program::on("NVIDIA H200").steps(|p, _| p.op("aten::mm", DIMS, F32_2, TF32, 380_000));
        let change = program.change(precision).expect("still fp32 in memory");
        assert_eq!(change.evidence.fact(Fact::Tf32InUse), Some(1.0));
        assert_eq!(change.evidence.fact(Fact::Tf32SavedNs), Some(0.0));
    }

    #[test]
    fn an_older_product_takes_fp16() {
        assert!(fp32("Tesla V100-SXM2-16GB", "volta_sgemm_128x64_nn", 11_000_000).is_some());
    }

    #[test]
    fn without_rates_or_without_fp32_there_is_nothing() {
        assert!(fp32("some other accelerator", STRICT, 2_740_000).is_none());
        let program =
            Program::on("NVIDIA H200").steps(|p, _| p.op("aten::mm", DIMS, BF16_2, "nvjet", 190_000));
        assert!(program.change(precision).is_none());
    }

    #[test]
    fn scaling_beside_bf16_is_seen() {
        let program = Program::on("NVIDIA H200").steps(|p, _| {
            p.op("aten::mm", DIMS, BF16_2, "nvjet", 190_000);
            let unscale = "aten::_amp_foreach_non_finite_check_and_unscale_";
            p.op(unscale, "[[],[],[]]", r#"["TensorList","float","float"]"#, "multi_tensor_apply", 30_000);
        });
        assert_eq!(
            program.with(|trace, _, context| types_seen(trace, context).needless_scaling_ns_per_step),
            30_000
        );
    }
}
