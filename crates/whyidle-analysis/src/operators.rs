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

use crate::shapes::{DType, InputsId, Shapes, Tensor};
use crate::tree::{HostTree, NONE};

mod cost;

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
        let classes = trace.names.map(cost::classify);
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
                let detail = cost::detail(trace, tree, owner).or(kernel);
                let key = (trace.host.name[owner.index()], inputs, detail);
                let kind = *of_kind.entry(key).or_insert_with(|| {
                    let element = kernel.and_then(|kernel| cost::element_of_copy(trace.names.get(kernel)));
                    let source = cost::Source { trace, tree, operator: owner, element };
                    all.kinds.push(cost::kind(&source, class, inputs, &all.shapes));
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
            cost::element_of_copy(&format!("void at::CatArrayBatchedCopy<{argument}, unsigned int, 4>"))
        };
        assert_eq!(of("at::native::(anonymous namespace)::OpaqueType<4u>"), Some(DType::F32));
        assert_eq!(of("float"), Some(DType::F32));
        assert_eq!(of("c10::Half"), Some(DType::F16));
        assert_eq!(of("what"), None);
        assert_eq!(cost::element_of_copy("vectorized_elementwise_kernel<4>"), None);
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
