//! Which operator each GPU activity belongs to, and what that operator must compute and move.
//!
//! * **Owner**: the innermost operator around the launch, or the matrix product, convolution or
//!   fused attention that it is a part of (a memset or a cast inside one belongs to the whole).
//! * **FLOPs**: 2 per multiply-add, of the mathematical operation; nothing for element-wise work.
//!   Matrix products 2·b·m·n·k; convolutions 2·n·co·(output sides)·(ci/groups)·(kernel sides), twice
//!   that for a backward with both gradients; fused attention 4·b·h·s·t·d forward and 2.5 × that
//!   backward (five products instead of two), half of it if causal (Dao, arXiv:2307.08691, §4.1).
//! * **Bytes**: each input read once, each output written once: the least that any kernel moves.

use rustc_hash::FxHashMap;
use whyidle_model::{GpuId, HostId, HostKind, Sym, Trace};

use crate::shapes::{DType, InputsId, Shapes, Tensor, concrete, elements, whole_numbers};
use crate::tree::{HostTree, NONE};

/// What sort of operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpClass {
    /// A matrix product.
    Matmul,
    /// A convolution, forward.
    Convolution,
    /// The gradients of a convolution.
    ConvolutionBackward,
    /// Fused attention, forward.
    Attention,
    /// The gradients of fused attention.
    AttentionBackward,
    /// A kernel that a compiler fused.
    Compiled,
    /// Softmax or log-softmax and their gradients.
    Softmax,
    /// A norm whose statistics run along rows (layer, RMS), and its gradient.
    RowNorm,
    /// A norm whose statistics run across rows (batch, group), and its gradient.
    CrossNorm,
    /// A copy or cast, concatenations included.
    Copy,
    /// A reduction; its result is small.
    Reduction,
    /// Element by element.
    Pointwise,
    /// Writes only.
    Fill,
    /// Anything else.
    Other,
}

impl OpClass {
    /// Matrix products, convolutions and attention: what tensor cores are for.
    #[must_use]
    pub fn is_dense(self) -> bool {
        matches!(
            self,
            Self::Matmul
                | Self::Convolution
                | Self::ConvolutionBackward
                | Self::Attention
                | Self::AttentionBackward
        )
    }
}

/// Sides of a matrix product: `batch` products of m × k by k × n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatmulShape {
    /// Products in the batch.
    pub batch: u64,
    /// Rows of the result.
    pub m: u64,
    /// Columns of the result.
    pub n: u64,
    /// Length of the dot products.
    pub k: u64,
}

impl MatmulShape {
    /// 2·batch·m·n·k.
    #[must_use]
    pub fn flops(self) -> f64 {
        2.0 * self.batch as f64 * self.m as f64 * self.n as f64 * self.k as f64
    }
}

/// Sides of attention: scores are `heads` × `queries` × `keys`, `heads` counting the batch too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttentionShape {
    /// Batch times heads.
    pub heads: u64,
    /// Sequence of the queries.
    pub queries: u64,
    /// Sequence of the keys.
    pub keys: u64,
    /// Width of a head.
    pub width: u64,
    /// Each query sees only earlier keys; `None` if not recorded.
    pub causal: Option<bool>,
}

impl AttentionShape {
    /// FLOPs of the forward: two products, half of them if causal.
    #[must_use]
    pub fn forward_flops(self) -> f64 {
        let full = 4.0 * self.heads as f64 * self.queries as f64 * self.keys as f64 * self.width as f64;
        if self.causal == Some(true) { full / 2.0 } else { full }
    }
}

/// A tensor reduced to what data flow needs: elements and type.
pub type Volume = (u64, DType);

/// What operators with the same name and inputs have in common.
#[derive(Clone, Debug)]
pub struct OpKind {
    /// Name.
    pub name: Sym,
    /// Sort.
    pub class: OpClass,
    /// Inputs, if shapes were recorded.
    pub inputs: Option<InputsId>,
    /// Type it computes in: that of its operands.
    pub dtype: Option<DType>,
    /// FLOPs; 0 for anything but matrix products, convolutions and attention.
    pub flops: f64,
    /// Tensors read, the small ones included.
    pub reads: Vec<Volume>,
    /// Tensors written; small results of reductions are left out.
    pub writes: Vec<Volume>,
    /// Matrix products: their sides.
    pub matmul: Option<MatmulShape>,
    /// Attention: its sides.
    pub attention: Option<AttentionShape>,
}

impl OpKind {
    /// Least bytes moved: inputs read once, outputs written once.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        self.reads.iter().chain(&self.writes).map(|&volume| bytes(volume)).sum()
    }
}

/// Bytes of a volume.
#[must_use]
pub fn bytes((elements, dtype): Volume) -> f64 {
    elements as f64 * dtype.bytes() as f64
}

/// One operator that launched something.
#[derive(Clone, Copy, Debug)]
pub struct Operator {
    /// Its row.
    pub host: HostId,
    /// Its kind.
    pub kind: u32,
}

/// Owners of all GPU activities.
pub struct Operators {
    owner: Vec<u32>,
    /// Operators with activities, in the order of their first activity's row.
    pub list: Vec<Operator>,
    kinds: Vec<OpKind>,
    shapes: Shapes,
}

impl Operators {
    /// Owners of all activities of `trace`.
    #[must_use]
    pub fn new(trace: &Trace, tree: &HostTree) -> Self {
        let classes = trace.names.map(classify);
        let mut of_host: FxHashMap<u32, u32> = FxHashMap::default();
        let mut of_kind: FxHashMap<(Sym, Option<InputsId>, Option<Sym>), u32> = FxHashMap::default();
        let mut all = Self {
            owner: vec![NONE; trace.gpu.len()],
            list: Vec::new(),
            kinds: Vec::new(),
            shapes: Shapes::default(),
        };
        for row in 0..trace.gpu.len() {
            let Some(call) = tree.launch_of(GpuId::from_index(row)) else { continue };
            let class = |at: HostId| classes[trace.host.name[at.index()].index()];
            let operators = || tree.ancestry(call).filter(|at| trace.host.kind[at.index()] == HostKind::Op);
            let Some(innermost) = operators().next() else { continue };
            let whole = operators().find(|&at| class(at).is_some_and(OpClass::is_dense));
            let owner = whole.unwrap_or(innermost);
            all.owner[row] = *of_host.entry(owner.0).or_insert_with(|| {
                let inputs = all.shapes.parse(trace, owner);
                let class = class(owner).unwrap_or(OpClass::Other);
                let kernel = (class == OpClass::Copy).then_some(trace.gpu.name[row]);
                let detail = detail(trace, tree, owner).or(kernel);
                let key = (trace.host.name[owner.index()], inputs, detail);
                let kind = *of_kind.entry(key).or_insert_with(|| {
                    let element = kernel.and_then(|kernel| element_of_copy(trace.names.get(kernel)));
                    let source = Source { trace, tree, operator: owner, element };
                    all.kinds.push(kind(&source, class, inputs, &all.shapes));
                    u32::try_from(all.kinds.len() - 1).unwrap_or(NONE)
                });
                all.list.push(Operator { host: owner, kind });
                u32::try_from(all.list.len() - 1).unwrap_or(NONE)
            });
        }
        all
    }

    /// The operator that owns an activity, as index into [`Operators::list`].
    #[must_use]
    pub fn owner(&self, activity: GpuId) -> Option<usize> {
        let owner = self.owner[activity.index()];
        (owner != NONE).then_some(owner as usize)
    }

    /// The kind of an operator.
    #[must_use]
    pub fn kind(&self, operator: usize) -> &OpKind {
        &self.kinds[self.list[operator].kind as usize]
    }

    /// A kind by its number ([`Operator::kind`]).
    #[must_use]
    pub fn kind_of(&self, kind: u32) -> &OpKind {
        &self.kinds[kind as usize]
    }

    /// The tensors among a kind's inputs; none without shapes.
    #[must_use]
    pub fn inputs(&self, kind: &OpKind) -> &[Tensor] {
        kind.inputs.map_or(&[], |id| self.shapes.get(id))
    }

    /// Whether any operator has shapes.
    #[must_use]
    pub fn has_shapes(&self) -> bool {
        self.kinds.iter().any(|kind| kind.inputs.is_some())
    }
}

/// The concrete inputs that an operator's cost depends on: its own, or those of the wrapper around it.
fn detail(trace: &Trace, tree: &HostTree, operator: HostId) -> Option<Sym> {
    described(trace, tree, operator).and_then(|at| trace.host.concrete_inputs(at))
}

/// The nearest operator, from `operator` outwards over three levels, with concrete inputs.
fn described(trace: &Trace, tree: &HostTree, operator: HostId) -> Option<HostId> {
    tree.ancestry(operator).take(3).find(|&at| trace.host.concrete_inputs(at).is_some())
}

/// Where a kind is read from.
struct Source<'a> {
    trace: &'a Trace,
    tree: &'a HostTree,
    operator: HostId,
    /// Type of the elements that its kernel copies, if the kernel's name says so.
    element: Option<DType>,
}

/// The type in the name of a kernel that concatenates: `CatArrayBatchedCopy<float, …>`, or no more
/// than its size (`OpaqueType<2u>`): then a type of that size, since only bytes count.
fn element_of_copy(kernel: &str) -> Option<DType> {
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

fn kind(source: &Source<'_>, class: OpClass, inputs: Option<InputsId>, shapes: &Shapes) -> OpKind {
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
fn classify(name: &str) -> Option<OpClass> {
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
        let reach = pick(&dilation, index, 1).saturating_mul(kernel - 1) + 1;
        let room = side.saturating_add(2 * pick(&padding, index, 0)) - reach;
        out.push(room.max(0) / pick(&stride, index, 1).max(1) + 1);
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
        _ if matches!(base, "embedding" | "index_select" | "gather") => (Vec::new(), looked_up(base, tensors)),
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

#[cfg(test)]
mod tests {
    use whyidle_model::{GpuActivity, GpuKind, HostEvent};

    use super::*;

    /// A trace in which each operator of `calls` (name, dims, types, concrete inputs; outermost first)
    /// nests in the one before it, and the last launches one kernel.
    fn nested(calls: &[(&str, &str, &str, &str)]) -> Trace {
        let mut trace = Trace::default();
        let thread = trace.thread(1, 1);
        let stream = trace.stream(0, 7);
        let length = 100;
        let push = |trace: &mut Trace, at: i64, name: &str, kind, link, dims: &str, types: &str| {
            let names = &mut trace.names;
            let event = HostEvent {
                start: at,
                dur: length - 2 * at,
                name: names.intern(name),
                kind,
                thread,
                link,
                dims: names.intern(dims),
                types: names.intern(types),
                sequence: -1,
                forward_thread: 0,
            };
            trace.host.push(event)
        };
        for (at, &(name, dims, types, inputs)) in calls.iter().enumerate() {
            let at = i64::try_from(at).expect("few");
            let id = push(&mut trace, at, name, HostKind::Op, 0, dims, types);
            if !inputs.is_empty() {
                let inputs = trace.names.intern(inputs);
                trace.host.inputs.push((id, inputs));
            }
        }
        let depth = i64::try_from(calls.len()).expect("few");
        push(&mut trace, depth, "cudaLaunchKernel", HostKind::Runtime, 1, "", "");
        trace.gpu.push(GpuActivity {
            start: 200,
            dur: 10,
            name: trace.names.find("cudaLaunchKernel").expect("interned"),
            kind: GpuKind::Kernel,
            stream,
            correlation: 1,
            external: 0,
            bytes: 0,
            blocks: 1,
            threads: 1,
        });
        trace
    }

    fn kind_of(calls: &[(&str, &str, &str, &str)]) -> OpKind {
        let trace = nested(calls);
        let operators = Operators::new(&trace, &HostTree::new(&trace));
        let owner = operators.owner(GpuId(0)).expect("an operator launched it");
        operators.kind(owner).clone()
    }

    const BF16: &str = r#"["c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar","Scalar"]"#;

    #[test]
    fn a_linear_layer_is_two_flops_per_multiply_add() {
        let dims = "[[4096],[16384,1024],[1024,4096],[],[]]";
        let kind = kind_of(&[("aten::linear", "", "", ""), ("aten::addmm", dims, BF16, "")]);
        assert_eq!(kind.matmul, Some(MatmulShape { batch: 1, m: 16384, n: 4096, k: 1024 }));
        assert_eq!(kind.flops, 2.0 * 16384.0 * 1024.0 * 4096.0);
        assert_eq!(kind.bytes(), 2.0 * (4096.0 + 16384.0 * 1024.0 + 1024.0 * 4096.0 + 16384.0 * 4096.0));
        assert_eq!(kind.dtype, Some(DType::BF16));
    }

    #[test]
    fn a_result_handed_in_is_not_read() {
        let kind = kind_of(&[("aten::mm", "[[8,4],[4,2],[8,2]]", BF16, "")]);
        assert_eq!(kind.reads.len(), 2);
        assert_eq!(kind.writes, [(16, DType::BF16)]);
        let kind = kind_of(&[("aten::bmm", "[[3,8,4],[3,4,2]]", BF16, "")]);
        assert_eq!(kind.flops, 2.0 * 3.0 * 8.0 * 4.0 * 2.0);
    }

    #[test]
    fn a_memset_inside_attention_belongs_to_it_and_causal_halves_the_work() {
        let types = r#"["float","float","float","","Scalar","Scalar","Scalar",""]"#;
        let dims = "[[2,4,128,64],[2,4,128,64],[2,4,128,64],[],[],[],[],[]]";
        let flops = |inputs: &str| {
            let kind = kind_of(&[
                ("aten::_scaled_dot_product_efficient_attention", dims, types, inputs),
                ("aten::zero_", "[[7]]", r#"["float"]"#, ""),
            ]);
            assert_eq!(kind.class, OpClass::Attention);
            kind.flops
        };
        let full = 4.0 * 8.0 * 128.0 * 128.0 * 64.0;
        assert_eq!(flops(r#"["","","","","True","0.","True",""]"#), full / 2.0);
        assert_eq!(flops(r#"["","","","","True","0.","False",""]"#), full);
        assert_eq!(flops(""), full);
    }

    #[test]
    fn attention_backward_has_five_products_and_knows_layouts() {
        let types = r#"["c10::Half","c10::Half","c10::Half","c10::Half"]"#;
        let dims = "[[2,128,4,64],[2,128,4,64],[2,256,4,64],[2,256,4,64]]";
        let kind = kind_of(&[("aten::_flash_attention_backward", dims, types, "")]);
        let shape = kind.attention.expect("shape");
        assert_eq!((shape.heads, shape.queries, shape.keys, shape.width), (8, 128, 256, 64));
        assert_eq!(kind.flops, 2.5 * 4.0 * 8.0 * 128.0 * 256.0 * 64.0);
        assert_eq!(kind.writes.len(), 3);
    }

    #[test]
    fn convolutions_take_stride_and_padding_from_their_wrapper() {
        let dims = "[[256,3,224,224],[64,3,3,3],[],[],[],[],[],[],[]]";
        let inputs = r#"["","","","[2, 2]","[1, 1]","[1, 1]","False","[0, 0]","1"]"#;
        let kind = kind_of(&[
            ("aten::convolution", dims, BF16, inputs),
            ("aten::cudnn_convolution", "[[256,3,224,224],[64,3,3,3]]", BF16, ""),
        ]);
        assert_eq!(kind.flops, 2.0 * 27.0 * 256.0 * 64.0 * 112.0 * 112.0);
        let dims = "[[256,64,112,112],[256,3,224,224],[64,3,3,3],[],[],[],[],[],[],[],[]]";
        let mask = |mask: &str| {
            let inputs =
                format!(r#"["","","","[0]","[2, 2]","[1, 1]","[1, 1]","False","[0, 0]","1","{mask}"]"#);
            kind_of(&[("aten::convolution_backward", dims, BF16, &inputs)]).flops / kind.flops
        };
        assert_eq!(mask("[True, True, False]"), 2.0);
        assert_eq!(mask("[False, True, False]"), 1.0);
    }

    #[test]
    fn kernels_that_concatenate_name_their_type() {
        let of = |argument: &str| {
            element_of_copy(&format!("void at::CatArrayBatchedCopy<{argument}, unsigned int, 4>"))
        };
        assert_eq!(of("at::native::(anonymous namespace)::OpaqueType<4u>"), Some(DType::F32));
        assert_eq!(of("float"), Some(DType::F32));
        assert_eq!(of("c10::Half"), Some(DType::F16));
        assert_eq!(of("what"), None);
        assert_eq!(element_of_copy("vectorized_elementwise_kernel<4>"), None);
    }

    #[test]
    fn element_wise_work_counts_inputs_and_the_broadcast_result() {
        let mixed = r#"["float","c10::BFloat16","Scalar"]"#;
        let add = kind_of(&[("aten::add", "[[16,8],[8],[]]", mixed, "")]);
        assert_eq!((add.class, add.bytes()), (OpClass::Pointwise, 4.0 * 128.0 + 2.0 * 8.0 + 4.0 * 128.0));
        let cast = kind_of(&[("aten::to", "", "", ""), ("aten::copy_", "[[9],[9],[]]", mixed, "")]);
        assert_eq!((cast.reads, cast.writes), (vec![(9, DType::BF16)], vec![(9, DType::F32)]));
        let scaled = kind_of(&[("aten::mul", "[[16],[]]", r#"["c10::BFloat16","double"]"#, "")]);
        assert_eq!(scaled.writes, [(16, DType::BF16)]);
        let joined = kind_of(&[("aten::cat", "[[[4,2],[4,3]],[]]", r#"["TensorList","Scalar"]"#, "")]);
        assert_eq!(joined.writes, [(20, DType::BF16)]);
        let looked_up = kind_of(&[("aten::embedding", "[[100,8],[3,5]]", r#"["float","long int"]"#, "")]);
        assert_eq!(looked_up.writes, [(120, DType::F32)]);
        let compared = kind_of(&[("aten::lt", "[[16],[]]", r#"["float","double"]"#, "")]);
        assert_eq!(compared.writes, [(16, DType::Bool)]);
    }
}
