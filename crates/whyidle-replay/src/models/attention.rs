//! Attention written out, replaced by a fused kernel.
//!
//! Written out, the scores are a tensor of heads × queries × keys that several operators read and
//! write: product, scale, mask, softmax, dropout, product, and all of it again in backward. It is
//! recognised by its softmax together with a batched product that has the same scores as result or
//! operand. Everything that touches the scores goes, and so do the copies that lay out operands for
//! those products; a fused kernel does the same FLOPs at its own rate ([`super::roof`]).
//!
//! A tensor of sequence × width can have the sides of scores. It has fewer elements unless there is
//! one head; in that case only the softmax and the products count.

use rustc_hash::{FxHashMap, FxHashSet};
use whyidle_analysis::facts::Facts;
use whyidle_analysis::operators::{AttentionShape, MatmulShape, OpClass, OpKind};
use whyidle_analysis::shapes::{DType, Tensor};
use whyidle_model::{HostId, HostKind, Trace};

use super::evidence::{Fact, Gather};
use super::{Change, Context, KernelChange, Spread};

/// Fused kernels differ by library, sequence and mask.
const SPREAD: Spread = Spread { less: 0.7, more: 1.5 };

/// Dropout inside a fused kernel draws a random number per score: forward and backward together take
/// about twice as long (cuDNN through torch 2.11 on an H200, heads of 64).
const DROPOUT: f64 = 2.0;

/// A score tensor: `heads` matrices of queries × keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Scores {
    heads: u64,
    queries: u64,
    keys: u64,
}

impl Scores {
    /// The scores that a tensor can be: at least three sides, the last two queries × keys.
    fn of(tensor: &Tensor) -> Option<Self> {
        let (queries, keys) = tensor.matrix_of_batch()?;
        let (queries, keys) = (u64::try_from(queries).ok()?, u64::try_from(keys).ok()?);
        let matrix = queries.checked_mul(keys).filter(|&matrix| matrix > 0)?;
        Some(Self { heads: tensor.elements() / matrix, queries, keys })
    }

    fn transposed(self) -> Self {
        Self { queries: self.keys, keys: self.queries, ..self }
    }
}

/// What masks scores, by the sides of the mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Mask {
    /// Nothing.
    #[default]
    None,
    /// One row per item, the same for all queries: padding.
    Padding,
    /// A matrix per item: causal, padding, or both.
    PerItem,
    /// One square matrix for all: causal.
    Shared,
}

impl Mask {
    /// The mask that an operator on scores applies with another of its inputs.
    fn of(name: &str, scores: Scores, other: &Tensor) -> Self {
        let applies = ["masked_fill", "aten::where", "aten::add", "aten::mul", "tril", "triu"];
        let (matrix, [.., columns]) = (scores.queries.saturating_mul(scores.keys), &*other.dims) else {
            return Self::None;
        };
        let fits = u64::try_from(*columns) == Ok(scores.keys) && other.dims.len() > 1;
        if !fits
            || other.elements() >= scores.heads.saturating_mul(matrix)
            || !applies.iter().any(|at| name.contains(at))
        {
            return Self::None;
        }
        match other.elements() {
            elements if elements == matrix && scores.queries == scores.keys => Self::Shared,
            elements if elements % matrix == 0 => Self::PerItem,
            _ => Self::Padding,
        }
    }
}

/// What is known of one sort of scores.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    softmax: bool,
    width: Option<u64>,
    dtype: Option<DType>,
    mask: Mask,
    /// Dropout on the scores.
    dropout: bool,
    /// A tensor of another meaning has the same sides.
    ambiguous: bool,
}

/// The change that fused attention brings; `None` if none is written out.
#[must_use]
pub fn attention(trace: &Trace, facts: &Facts, context: &Context) -> Option<KernelChange> {
    let found = find(trace, context);
    let wrappers = wrappers(trace, facts, context, &found);
    let mut change = Change::default();
    let mut gather = Gather::new(trace, facts, context);
    let mut main: Option<(i64, AttentionShape, DType)> = None;
    let mut operators = 0_u64;
    for (at, launched) in context.launched.iter().enumerate() {
        let (Some(operator), Some(kind)) = (launched.operator, context.kind(launched)) else { continue };
        if launched.outside {
            continue;
        }
        let scores = touched(trace, context, kind, &found);
        let is_layout = || {
            let host = context.operators.list[operator].host;
            kind.class == OpClass::Copy
                && wrapper(trace, facts, host).is_some_and(|above| wrappers.contains(&above))
        };
        if scores.is_none() && !is_layout() {
            continue;
        }
        gather.launched(at);
        operators += u64::from(launched.used_ns > 0);
        let softmax = scores.filter(|_| is_softmax(trace, kind));
        let fused = softmax.and_then(|scores| {
            let (shape, dtype) = shape(scores, found[&scores])?;
            if main.is_none_or(|(ns, _, _)| launched.total_ns > ns) {
                main = Some((launched.total_ns, shape, dtype));
            }
            let backward = trace.names.get(kind.name).contains("backward");
            context.roof.attention_ns(shape, dtype, backward).map(|ns| ns * extra(found[&scores]))
        });
        for (nth, &id) in launched.activities.iter().enumerate() {
            let length = context.exclusive_ns(id).max(1) as f64;
            change.scale(id, if nth == 0 { fused.unwrap_or(0.0) / length } else { 0.0 }, SPREAD);
        }
    }
    let (_, shape, dtype) = main?;
    let mut evidence = gather.finish();
    evidence.possible = Some(context.roof.attention(dtype, shape.width, false)?);
    let scores = shape.heads as f64 * shape.queries as f64 * shape.keys as f64;
    evidence.facts = vec![
        (Fact::Operators, operators as f64 / context.steps.max(1) as f64),
        (Fact::Heads, shape.heads as f64),
        (Fact::Queries, shape.queries as f64),
        (Fact::Keys, shape.keys as f64),
        (Fact::Width, shape.width as f64),
        (Fact::Causal, f64::from(u8::from(shape.causal == Some(true)))),
        (Fact::ScoreBytes, scores * dtype.bytes() as f64),
    ];
    change.finish(context, true, evidence, "FLOPs of attention at the rate of fused kernels")
}

/// Scores in the trace, by what proves them: a softmax over them and a product that makes or uses them.
fn find(trace: &Trace, context: &Context) -> FxHashMap<Scores, Found> {
    let mut found: FxHashMap<Scores, Found> = FxHashMap::default();
    for kind in context.launched.iter().filter_map(|launched| context.kind(launched)) {
        let scores = context.operators.inputs(kind).first().and_then(Scores::of);
        if let Some(scores) = scores.filter(|_| is_softmax(trace, kind)) {
            found.entry(scores).or_default().softmax = true;
        }
    }
    for launched in &context.launched {
        let Some(kind) = context.kind(launched).filter(|_| !launched.outside) else { continue };
        if let Some((scores, width)) = kind.matmul.and_then(|shape| product_of(shape, &found)) {
            if let Some(entry) = found.get_mut(&scores) {
                (entry.width, entry.dtype) = (Some(width), kind.dtype);
            }
            continue;
        }
        let inputs = context.operators.inputs(kind);
        let of_scores = inputs.iter().filter_map(Scores::of).find(|scores| found.contains_key(scores));
        let Some((scores, entry)) =
            of_scores.and_then(|scores| found.get_mut(&scores).map(|entry| (scores, entry)))
        else {
            continue;
        };
        let name = trace.names.get(kind.name);
        entry.ambiguous |= matches!(kind.class, OpClass::RowNorm | OpClass::CrossNorm);
        entry.dropout |= name.contains("dropout");
        entry.mask = inputs.iter().map(|other| Mask::of(name, scores, other)).fold(entry.mask, Mask::max);
    }
    found.retain(|_, entry| entry.softmax && entry.width.is_some());
    found
}

/// The scores that a product makes (queries × keys from heads of a width) or uses, and that width.
fn product_of(shape: MatmulShape, found: &FxHashMap<Scores, Found>) -> Option<(Scores, u64)> {
    let MatmulShape { batch, m, n, k } = shape;
    let scores = |queries, keys| {
        let scores = Scores { heads: batch, queries, keys };
        [scores, scores.transposed()].into_iter().find(|scores| found.contains_key(scores))
    };
    if batch < 2 {
        return None;
    }
    // Scores are the result, the left or the right operand.
    let ways = [(scores(m, n), k), (scores(m, k), n), (scores(k, n), m)];
    let width = |way: &(Option<Scores>, u64)| way.1;
    ways.into_iter().filter(|way| way.0.is_some()).min_by_key(width).and_then(|way| Some((way.0?, way.1)))
}

/// The scores that an operator reads or writes.
fn touched(
    trace: &Trace,
    context: &Context,
    kind: &OpKind,
    found: &FxHashMap<Scores, Found>,
) -> Option<Scores> {
    if let Some(shape) = kind.matmul {
        return product_of(shape, found).map(|(scores, _)| scores);
    }
    if kind.class.is_dense() || kind.class == OpClass::Compiled {
        return None;
    }
    let tensors = context.operators.inputs(kind).iter();
    let mut of_scores = tensors.filter_map(Scores::of).filter(|scores| found.contains_key(scores));
    let softmax = is_softmax(trace, kind);
    of_scores.find(|scores| softmax || !found[scores].ambiguous)
}

fn is_softmax(trace: &Trace, kind: &OpKind) -> bool {
    let name = trace.names.get(kind.name);
    kind.class == OpClass::Softmax && !name.contains("log_softmax")
}

/// The attention behind scores, and the type it computes in.
fn shape(scores: Scores, found: Found) -> Option<(AttentionShape, DType)> {
    let Scores { heads, queries, keys } = scores;
    let causal = found.mask == Mask::Shared;
    Some((AttentionShape { heads, queries, keys, width: found.width?, causal: Some(causal) }, found.dtype?))
}

/// Factor on the time of a fused kernel for what it must do besides.
fn extra(found: Found) -> f64 {
    let mask = match found.mask {
        // Between a causal kernel (half of the FLOPs) and one that reads a mask.
        Mask::PerItem => 0.7,
        Mask::Padding => 1.3,
        Mask::None | Mask::Shared => 1.0,
    };
    mask * if found.dropout { DROPOUT } else { 1.0 }
}

/// The `matmul` or `einsum` around an operator.
fn wrapper(trace: &Trace, facts: &Facts, operator: HostId) -> Option<HostId> {
    let operators =
        facts.tree.ancestry(operator).take(6).filter(|at| trace.host.kind[at.index()] == HostKind::Op);
    operators
        .filter(|at| {
            let name = trace.names.get(trace.host.name[at.index()]);
            matches!(name, "aten::matmul" | "aten::einsum" | "aten::baddbmm" | "aten::bmm")
        })
        .last()
}

/// The wrappers around products of scores: their layout copies serve only them.
fn wrappers(
    trace: &Trace,
    facts: &Facts,
    context: &Context,
    found: &FxHashMap<Scores, Found>,
) -> FxHashSet<HostId> {
    let products = context.launched.iter().filter(|launched| {
        let shape = context.kind(launched).and_then(|kind| kind.matmul);
        shape.is_some_and(|shape| product_of(shape, found).is_some())
    });
    let hosts = products.filter_map(|launched| launched.operator).map(|at| context.operators.list[at].host);
    hosts.filter_map(|host| wrapper(trace, facts, host)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{BF16_2, Program};
    use super::*;

    const SCORES: &str = "[[4,16,2048,2048],[]]";
    const SOFTMAX: &str = "void (anonymous namespace)::softmax_warp_forward<float>";
    const PLAIN: &str = "void at::native::vectorized_elementwise_kernel<4>";

    fn written_out(p: &mut Program, mask: &str) {
        p.op("aten::bmm", "[[64,2048,64],[64,64,2048]]", BF16_2, "nvjet", 160_000);
        p.op("aten::div", SCORES, BF16_2, PLAIN, 250_000);
        p.op(
            "aten::masked_fill_",
            &format!("[[4,16,2048,2048],{mask},[]]"),
            r#"["c10::BFloat16","bool"]"#,
            PLAIN,
            730_000,
        );
        p.op(
            "aten::_softmax",
            "[[4,16,2048,2048],[],[]]",
            r#"["float","Scalar","Scalar"]"#,
            SOFTMAX,
            670_000,
        );
        p.op("aten::bmm", "[[64,2048,2048],[64,2048,64]]", BF16_2, "nvjet", 150_000);
        p.op("aten::mm", "[[8192,1024],[1024,1024]]", BF16_2, "nvjet", 30_000);
    }

    #[test]
    fn everything_on_the_scores_goes_and_a_fused_kernel_comes() {
        let program = Program::on("NVIDIA H200").steps(|p, _| {
            written_out(p, "[2048,2048]");
            p.backward(
                "aten::_softmax_backward_data",
                "[[4,16,2048,2048],[4,16,2048,2048],[],[]]",
                r#"["float","float","Scalar","Scalar"]"#,
                "void (anonymous namespace)::cunn_SoftMaxBackward<4>",
                740_000,
                false,
            );
        });
        let change = program.change(attention).expect("written out");
        let today = 160_000 + 250_000 + 730_000 + 670_000 + 150_000 + 740_000;
        let after = today - change.saved_ns_per_step;
        // 34.4 GFLOP forward, 85.9 backward at a third of the peak.
        assert!((350_000..480_000).contains(&after), "{after}");
        assert_eq!(change.evidence.fact(Fact::Causal), Some(1.0));
        assert_eq!(change.evidence.fact(Fact::Width), Some(64.0));
        assert_eq!(change.evidence.fact(Fact::Operators), Some(6.0));
    }

    #[test]
    fn a_mask_per_item_is_not_taken_for_causal() {
        let program = Program::on("NVIDIA H200").steps(|p, _| written_out(p, "[4,1,2048,2048]"));
        let change = program.change(attention).expect("written out");
        assert_eq!(change.evidence.fact(Fact::Causal), Some(0.0));
    }

    #[test]
    fn sequence_as_long_as_the_width_is_no_attention() {
        // Weights and activations have the sides of scores, and there is a softmax of something else.
        let program = Program::on("NVIDIA H200").steps(|p, _| {
            p.op("aten::mm", "[[16384,1024],[1024,1024]]", BF16_2, "nvjet", 50_000);
            p.op("aten::add", "[[16,1024,1024],[16,1024,1024],[]]", BF16_2, PLAIN, 40_000);
            p.op("aten::native_layer_norm", "[[16,1024,1024],[],[1024],[1024],[]]", BF16_2, PLAIN, 40_000);
            p.op("aten::_softmax", "[[16,1024,1024],[],[]]", BF16_2, SOFTMAX, 40_000);
            p.op("aten::_log_softmax", "[[16384,1024],[],[]]", BF16_2, SOFTMAX, 40_000);
        });
        assert!(program.change(attention).is_none());
    }

    #[test]
    fn where_scores_and_activations_look_alike_only_softmax_and_products_count() {
        // One head, sequence as long as the width.
        let program = Program::on("NVIDIA H200").steps(|p, _| {
            p.op("aten::native_layer_norm", "[[16,1024,1024],[],[1024],[1024],[]]", BF16_2, PLAIN, 40_000);
            p.op("aten::bmm", "[[16,1024,1024],[16,1024,1024]]", BF16_2, "nvjet", 100_000);
            p.op("aten::_softmax", "[[16,1024,1024],[],[]]", BF16_2, SOFTMAX, 900_000);
            p.op("aten::bmm", "[[16,1024,1024],[16,1024,1024]]", BF16_2, "nvjet", 100_000);
            p.op("aten::add", "[[16,1024,1024],[16,1024,1024],[]]", BF16_2, PLAIN, 40_000);
        });
        let change = program.change(attention).expect("written out");
        assert_eq!(change.evidence.fact(Fact::Operators), Some(3.0));
    }

    #[test]
    fn fused_attention_is_left_alone() {
        let dims = "[[4,16,2048,64],[4,16,2048,64],[4,16,2048,64]]";
        let program = Program::on("NVIDIA H200").steps(|p, _| {
            p.op("aten::_scaled_dot_product_flash_attention", dims, BF16_2, "flash_fwd_kernel", 100_000);
        });
        assert!(program.change(attention).is_none());
    }
}
