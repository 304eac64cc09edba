//! What one operator computes and moves, from its name, the shapes of its inputs and its concrete inputs.

use whyidle_model::{HostId, Sym, Trace};

use super::{AttentionShape, MatmulShape, OpClass, OpKind, Volume};
use crate::shapes::{DType, InputsId, Shapes, Tensor, concrete, elements, whole_numbers};
use crate::tree::HostTree;

/// The concrete inputs that an operator's cost depends on: its own, or those of the wrapper around it.
pub(super) fn detail(trace: &Trace, tree: &HostTree, operator: HostId) -> Option<Sym> {
    described(trace, tree, operator).and_then(|at| trace.host.concrete_inputs(at))
}

/// The nearest operator, from `operator` outwards over three levels, with concrete inputs.
fn described(trace: &Trace, tree: &HostTree, operator: HostId) -> Option<HostId> {
    tree.ancestry(operator).take(3).find(|&at| trace.host.concrete_inputs(at).is_some())
}

/// Where a kind is read from.
pub(super) struct Source<'a> {
    pub(super) trace: &'a Trace,
    pub(super) tree: &'a HostTree,
    pub(super) operator: HostId,
    /// Type of the elements that its kernel copies, if the kernel's name says so.
    pub(super) element: Option<DType>,
}

/// The type in the name of a kernel that concatenates: `CatArrayBatchedCopy<float, …>`, or no more
/// than its size (`OpaqueType<2u>`): then a type of that size, since only bytes count.
pub(super) fn element_of_copy(kernel: &str) -> Option<DType> {
    let (_, argument) = kernel.split_once("CatArray")?.1.split_once('<')?;
    let argument = argument.trim_start_matches("at::native::").trim_start_matches("(anonymous namespace)::");
    if let Some(size) = argument.strip_prefix("OpaqueType<") {
        return match size.as_bytes().first() {
            Some(b'1') => Some(DType::I8),
            Some(b'2') => Some(DType::BF16),
            Some(b'4') => Some(DType::F32),
            Some(b'8') => Some(DType::I64),
            _ => None,
        };
    }
    DType::parse(argument.split(',').next()?)
}

pub(super) fn kind(source: &Source<'_>, class: OpClass, inputs: Option<InputsId>, shapes: &Shapes) -> OpKind {
    let Source { trace, tree, operator, element } = *source;
    let tensors = inputs.map_or(&[][..], |id| shapes.get(id));
    let name = trace.host.name[operator.index()];
    let base = base_name(trace.names.get(name));
    let mut kind = OpKind {
        name,
        class,
        inputs,
        dtype: operand_type(tensors),
        flops: 0.0,
        reads: tensors.iter().filter_map(volume).collect(),
        writes: Vec::new(),
        matmul: None,
        attention: None,
    };
    match class {
        OpClass::Matmul => {
            kind.matmul = matmul_shape(base, tensors);
            if let Some(shape) = kind.matmul {
                kind.flops = shape.flops();
                let out = shape.batch.saturating_mul(shape.m).saturating_mul(shape.n);
                // A compiler hands in the result as a further argument.
                let operands = tensors.iter().filter(|tensor| tensor.position <= leading(base) + 1);
                kind.reads = operands.filter_map(volume).collect();
                kind.writes = kind.dtype.map(|dtype| (out, dtype)).into_iter().collect();
            }
        }
        OpClass::Convolution | OpClass::ConvolutionBackward => {
            let described = described(trace, tree, operator);
            let details = described.map(|at| concrete(trace, at)).unwrap_or_default();
            let wrapper = described.map_or("", |at| trace.names.get(trace.host.name[at.index()]));
            if let Some((flops, writes)) =
                convolution(class, base_name(wrapper), tensors, &details, kind.dtype)
            {
                (kind.flops, kind.writes) = (flops, writes);
            }
        }
        OpClass::Attention | OpClass::AttentionBackward => {
            let outer = tree
                .ancestry(operator)
                .take(3)
                .filter(|&at| trace.host.concrete_inputs(at).is_some())
                .find_map(|at| is_causal(trace, at));
            kind.attention = attention_shape(base, class, tensors, outer);
            if let Some(shape) = kind.attention {
                let backward = class == OpClass::AttentionBackward;
                kind.flops = shape.forward_flops() * if backward { 2.5 } else { 1.0 };
                let skip = usize::from(backward);
                let operands = tensors.iter().filter_map(volume).skip(skip);
                kind.writes = operands.take(if backward { 3 } else { 1 }).collect();
            }
        }
        OpClass::Compiled => kind.reads.retain(|&(elements, _)| elements > 1),
        _ => (kind.reads, kind.writes) = flow(base, class, tensors, element),
    }
    kind
}

fn volume(tensor: &Tensor) -> Option<Volume> {
    tensor.dtype.map(|dtype| (tensor.elements(), dtype))
}

/// Type of the largest floating-point input.
fn operand_type(tensors: &[Tensor]) -> Option<DType> {
    let floats = tensors.iter().filter(|t| t.dtype.is_some_and(DType::is_float));
    floats.max_by_key(|tensor| tensor.elements()).and_then(|tensor| tensor.dtype)
}

/// `aten::_softmax` → `_softmax`; other namespaces keep theirs.
fn base_name(name: &str) -> &str {
    name.strip_prefix("aten::").unwrap_or(name)
}

/// The sort of operator that a name stands for; `None` if it is only a wrapper or unknown.
pub(super) fn classify(name: &str) -> Option<OpClass> {
    use OpClass as O;
    let base = base_name(name);
    if base.starts_with("triton_") {
        return Some(O::Compiled);
    }
    let fused_attention = base.contains("attention") || base.contains("flash_attn");
    if fused_attention && !base.contains("attention_math") && name != "aten::scaled_dot_product_attention" {
        let fused = ["_scaled_dot_product_", "_flash_", "_efficient_", "_cudnn_", "flash_attn", "efficient_"];
        if fused.iter().any(|part| base.contains(part)) && !base.starts_with("autograd::") {
            return Some(if base.contains("backward") { O::AttentionBackward } else { O::Attention });
        }
    }
    if !name.starts_with("aten::") {
        return None;
    }
    Some(match base {
        "mm" | "addmm" | "bmm" | "baddbmm" | "mv" | "addmv" | "dot" | "vdot" | "_scaled_mm" | "_int_mm"
        | "addbmm" | "_addmm_activation" | "addmm_" | "baddbmm_" => O::Matmul,
        "convolution_backward" | "miopen_convolution_backward" | "cudnn_convolution_backward" => {
            O::ConvolutionBackward
        }
        "cudnn_convolution"
        | "cudnn_convolution_relu"
        | "cudnn_convolution_add_relu"
        | "cudnn_convolution_transpose"
        | "miopen_convolution"
        | "miopen_depthwise_convolution"
        | "_conv_depthwise2d"
        | "conv_depthwise3d"
        | "convolution_overrideable" => O::Convolution,
        "copy_" | "cat" | "_cat" | "stack" | "clone" | "contiguous" | "_to_copy" | "im2col" => O::Copy,
        "fill_" | "zero_" | "normal_" | "uniform_" | "bernoulli_" | "random_" => O::Fill,
        "sum" | "mean" | "amax" | "amin" | "max" | "min" | "prod" | "var" | "std" | "var_mean"
        | "std_mean" | "norm" | "linalg_vector_norm" | "argmax" | "argmin" | "any" | "all" | "logsumexp" => {
            O::Reduction
        }
        _ if base.contains("softmax") => O::Softmax,
        _ if base.contains("batch_norm") || base.contains("group_norm") => O::CrossNorm,
        _ if base.contains("layer_norm") || base.contains("rms_norm") => O::RowNorm,
        "linear" | "matmul" | "einsum" | "scaled_dot_product_attention" => return None,
        _ => O::Pointwise,
    })
}

/// Arguments before the operands: the summand of `addmm` and its like.
fn leading(base: &str) -> u32 {
    u32::from(base.starts_with("add") || base.starts_with("badd") || base.starts_with("_addmm"))
}

/// Sides of a matrix product from its operands.
fn matmul_shape(base: &str, tensors: &[Tensor]) -> Option<MatmulShape> {
    let first = leading(base);
    let operand = |position: u32| tensors.iter().find(|tensor| tensor.position == position);
    let (a, b) = (operand(first)?, operand(first + 1)?);
    let side = |value: i64| u64::try_from(value).ok().filter(|&side| side > 0);
    let (batch, m, k, n) = match (&*a.dims, &*b.dims) {
        ([m, k], [_, n]) => (1, side(*m)?, side(*k)?, side(*n)?),
        ([batch, m, k], [_, _, n]) => (side(*batch)?, side(*m)?, side(*k)?, side(*n)?),
        ([m, k], [_]) => (1, side(*m)?, side(*k)?, 1),
        ([k], [_]) => (1, 1, side(*k)?, 1),
        _ => return None,
    };
    Some(MatmulShape { batch, m, n, k })
}

/// FLOPs and results of a convolution. `details` are the concrete inputs of `wrapper`.
fn convolution(
    class: OpClass,
    wrapper: &str,
    tensors: &[Tensor],
    details: &[&str],
    dtype: Option<DType>,
) -> Option<(f64, Vec<Volume>)> {
    let dtype = dtype?;
    let at = |position: u32| tensors.iter().find(|tensor| tensor.position == position);
    let list = |index: usize| details.get(index).map(|text| whole_numbers(text)).unwrap_or_default();
    let per_output = |weight: &Tensor| 2.0 * elements(weight.dims.get(1..).unwrap_or(&[])) as f64;
    if class == OpClass::ConvolutionBackward {
        let (grad, input, weight) = (at(0)?, at(1)?, at(2)?);
        let transposed = details.get(7).is_some_and(|text| *text == "True");
        let products = details.get(10).map_or(2, |mask| mask.split(',').take(2).filter(is_true).count());
        let sides = if transposed { input } else { grad };
        let flops = products as f64 * per_output(weight) * sides.elements() as f64;
        return Some((flops, vec![(input.elements(), dtype), (weight.elements(), dtype)]));
    }
    let (input, weight) = (at(0)?, at(1)?);
    let (stride, padding, dilation) = match wrapper {
        "cudnn_convolution" | "miopen_convolution" => (list(3), list(2), list(4)),
        _ => (list(3), list(4), list(5)),
    };
    if details.get(6).is_some_and(|text| *text == "True") {
        // Transposed: each input element meets each weight once; the result's sides are not needed.
        let flops = per_output(weight) * input.elements() as f64;
        return Some((flops, Vec::new()));
    }
    let [batch, _, sides @ ..] = &*input.dims else { return None };
    let [channels, _, kernel @ ..] = &*weight.dims else { return None };
    let pick = |values: &[i64], index: usize, default: i64| {
        values.get(index).or(values.first()).copied().unwrap_or(default)
    };
    let mut out = vec![*batch, *channels];
    for (index, (&side, &kernel)) in sides.iter().zip(kernel).enumerate() {
        let reach = pick(&dilation, index, 1).saturating_mul(kernel.saturating_sub(1)).saturating_add(1);
        let padded = side.saturating_add(pick(&padding, index, 0).saturating_mul(2));
        let room = padded.saturating_sub(reach).clamp(0, i64::MAX - 1);
        out.push(room / pick(&stride, index, 1).max(1) + 1);
    }
    let results = elements(&out);
    Some((per_output(weight) * results as f64, vec![(results, dtype)]))
}

fn is_true(part: &&str) -> bool {
    part.contains("True")
}

/// Whether attention is causal, from the concrete inputs of one of its operators.
fn is_causal(trace: &Trace, operator: HostId) -> Option<bool> {
    let base = base_name(trace.names.get(trace.host.name[operator.index()]));
    // Places of `is_causal` in `native_functions.yaml`.
    let place = match base {
        "scaled_dot_product_attention" => 5,
        "_scaled_dot_product_flash_attention" => 4,
        "_scaled_dot_product_efficient_attention" | "_scaled_dot_product_cudnn_attention" => 6,
        "_scaled_dot_product_fused_attention_overrideable" => 5,
        "_scaled_dot_product_flash_attention_backward" => 11,
        "_scaled_dot_product_efficient_attention_backward" => 11,
        "_scaled_dot_product_cudnn_attention_backward" => 14,
        _ => return None,
    };
    match concrete(trace, operator).get(place) {
        Some(&"True") => Some(true),
        Some(&"False") => Some(false),
        _ => None,
    }
}

/// Sides of fused attention. Operators called `_scaled_dot_product_…` and cuDNN's have heads before
/// the sequence, the others behind it; a variable-length call without a batch side has neither.
fn attention_shape(
    base: &str,
    class: OpClass,
    tensors: &[Tensor],
    causal: Option<bool>,
) -> Option<AttentionShape> {
    let skip = usize::from(class == OpClass::AttentionBackward);
    let mut operands = tensors.iter().skip(skip);
    let (query, key) = (operands.next()?, operands.next()?);
    let heads_first = base.contains("_scaled_dot_product_") || base.contains("_cudnn_");
    let side = |value: i64| u64::try_from(value).ok().filter(|&side| side > 0);
    let ([batch, q1, q2, width], [_, k1, k2, _]) = (&*query.dims, &*key.dims) else { return None };
    let (heads, queries, keys) = if heads_first { (q1, q2, k2) } else { (q2, q1, k1) };
    Some(AttentionShape {
        heads: side(*batch)?.saturating_mul(side(*heads)?),
        queries: side(*queries)?,
        keys: side(*keys)?,
        width: side(*width)?,
        causal,
    })
}

/// What an element-wise operator, norm, copy or reduction reads and writes.
fn flow(
    base: &str,
    class: OpClass,
    tensors: &[Tensor],
    element: Option<DType>,
) -> (Vec<Volume>, Vec<Volume>) {
    let volumes = || tensors.iter().filter_map(volume);
    let largest = volumes().max_by_key(|&(elements, _)| elements);
    match class {
        OpClass::Fill => (Vec::new(), volumes().take(1).collect()),
        OpClass::Copy if base == "copy_" => {
            (volumes().skip(1).take(1).collect(), volumes().take(1).collect())
        }
        OpClass::Copy => {
            // Concatenation: the list has no type of its own; two bytes are the common case.
            let listed = element.unwrap_or(DType::BF16);
            let all = tensors.iter().map(|t| (t.elements(), t.dtype.unwrap_or(listed)));
            let reads: Vec<Volume> = all.collect();
            let sum = reads.iter().map(|&(elements, _)| elements).fold(0, u64::saturating_add);
            let writes = reads.first().map(|&(_, dtype)| (sum, dtype));
            (reads, writes.into_iter().collect())
        }
        OpClass::Reduction => (volumes().take(1).collect(), Vec::new()),
        _ if matches!(base, "embedding" | "index_select" | "gather") => {
            (Vec::new(), looked_up(base, tensors))
        }
        // The loss itself reads one element per row; its gradient's buffer is filled by an own operator.
        _ if base.starts_with("nll_loss") => (Vec::new(), Vec::new()),
        _ if base.ends_with('_') => (volumes().collect(), volumes().take(1).collect()),
        OpClass::Pointwise => {
            let dims = tensors.iter().fold(Vec::new(), |dims, tensor| broadcast(dims, &tensor.dims));
            let comparison = matches!(
                base,
                "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "isnan" | "isinf" | "logical_not" | "logical_and"
            );
            let typed = |scalar: bool| {
                let of = tensors.iter().filter(|tensor| scalar || !tensor.dims.is_empty());
                of.filter_map(|tensor| tensor.dtype).reduce(DType::promote)
            };
            let dtype = if comparison { Some(DType::Bool) } else { typed(false).or_else(|| typed(true)) };
            (volumes().collect(), dtype.map(|dtype| (elements(&dims), dtype)).into_iter().collect())
        }
        _ => (volumes().collect(), largest.into_iter().collect()),
    }
}

/// The result of a look-up: rows of the first input, one per index; of `gather`, one element per index.
/// What is read of the table is as much.
fn looked_up(base: &str, tensors: &[Tensor]) -> Vec<Volume> {
    let Some((table, index)) = tensors.first().zip(tensors.get(1)) else { return Vec::new() };
    let row = if base == "gather" { 1 } else { elements(table.dims.get(1..).unwrap_or(&[])) };
    table.dtype.map(|dtype| (index.elements().saturating_mul(row), dtype)).into_iter().collect()
}

/// Sides of the result of two broadcast operands; the longer side wins where they disagree.
fn broadcast(a: Vec<i64>, b: &[i64]) -> Vec<i64> {
    let (mut long, short) = if a.len() >= b.len() { (a, b.to_vec()) } else { (b.to_vec(), a) };
    let offset = long.len() - short.len();
    for (side, other) in long[offset..].iter_mut().zip(short) {
        *side = (*side).max(other);
    }
    long
}
