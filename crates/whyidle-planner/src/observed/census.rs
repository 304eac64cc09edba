//! What one step of a trace calls, counted: which operators, with which shapes, in forward or again in
//! backward. Everything that is recognised about a network is read off these counts.

use rustc_hash::FxHashMap;
use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::shapes::{DType, InputsId, Shapes, Tensor};
use whyidle_model::{HostId, HostKind, Trace};

/// Operators that tell what a network is made of.
const NAMES: &[&str] = &[
    "aten::linear",
    "aten::addmm",
    "aten::mm",
    "aten::embedding",
    "aten::layer_norm",
    "aten::rms_norm",
    "aten::rsqrt",
    "aten::scaled_dot_product_attention",
    "aten::softmax",
    "aten::gelu",
    "aten::silu",
    "aten::tanh",
    "aten::cat",
    "aten::cross_entropy_loss",
    "aten::native_dropout",
];

/// The product inside a linear layer.
pub(super) const PRODUCT: &str = "product";

/// Calls of one operator with one list of shapes in one step.
pub(super) struct Row<'a> {
    /// Operator.
    pub(super) name: &'a str,
    /// Its tensors.
    pub(super) inputs: &'a [Tensor],
    /// Calls in forward.
    pub(super) forward: u64,
    /// Calls in a forward that runs again inside backward.
    pub(super) again: u64,
}

impl Row<'_> {
    /// Sides of argument `at`; empty where it is no tensor.
    pub(super) fn dims(&self, at: u32) -> &[i64] {
        self.tensor(at).map_or(&[], |tensor| &tensor.dims)
    }

    /// Type of argument `at`.
    pub(super) fn dtype(&self, at: u32) -> Option<DType> {
        self.tensor(at).and_then(|tensor| tensor.dtype)
    }

    fn tensor(&self, at: u32) -> Option<&Tensor> {
        self.inputs.iter().find(|tensor| tensor.position == at)
    }
}

type Counts = FxHashMap<(&'static str, InputsId), [u64; 2]>;

/// The counts of one step.
pub(super) struct Census {
    shapes: Shapes,
    counts: Vec<((&'static str, InputsId), [u64; 2])>,
    /// A graph compiler ran in the step: its operators are not all in the trace.
    pub(super) compiled: bool,
    /// A layer runs forward after backward has begun: not all micro-batches go forward first.
    pub(super) alternates: bool,
}

impl Census {
    /// Counts the first step that `device` uses; `None` without a whole step.
    pub(super) fn new(trace: &Trace, facts: &Facts, device: &DeviceFacts) -> Option<Self> {
        let step = device.steps.used.first()?.host;
        let wanted: Vec<Option<&'static str>> =
            trace.names.map(|name| NAMES.iter().copied().find(|known| *known == name));
        let compiled = trace
            .names
            .map(|name| name.contains("CompiledFxGraph") || name.starts_with("Torch-Compiled Region"));
        let mut census =
            Self { shapes: Shapes::default(), counts: Vec::new(), compiled: false, alternates: false };
        let mut counts = Counts::default();
        let (mut last_forward, mut first_backward) = (i64::MIN, i64::MAX);
        for row in 0..trace.host.len() {
            let start = trace.host.start[row];
            if start < step.start || start >= step.end {
                continue;
            }
            census.compiled |= compiled[trace.host.name[row].index()];
            let Some(name) = wanted[trace.host.name[row].index()] else { continue };
            let id = HostId::from_index(row);
            if trace.host.kind[row] != HostKind::Op {
                continue;
            }
            let Some(name) = outermost(trace, facts, id, &wanted, name) else { continue };
            let again = facts.tree.is_recomputed(id);
            if facts.tree.is_backward(id) && !again {
                first_backward = first_backward.min(start);
                continue;
            }
            if !again && name == "aten::linear" {
                last_forward = last_forward.max(start);
            }
            if let Some(inputs) = census.shapes.parse(trace, id) {
                counts.entry((name, inputs)).or_default()[usize::from(again)] += 1;
            }
        }
        census.alternates = last_forward > first_backward;
        census.counts = counts.into_iter().collect();
        // In the order of their shapes' first appearance: answers do not depend on hashing.
        census.counts.sort_unstable_by_key(|(key, _)| (key.1, key.0));
        Some(census)
    }

    /// Every count.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.counts.iter().map(|((name, inputs), [forward, again])| Row {
            name,
            inputs: self.shapes.get(*inputs),
            forward: *forward,
            again: *again,
        })
    }

    /// Counts of one operator.
    pub(super) fn of<'a>(&'a self, name: &'static str) -> impl Iterator<Item = Row<'a>> {
        self.rows().filter(move |row| row.name == name)
    }

    /// Forward calls of one operator.
    pub(super) fn forward(&self, name: &'static str) -> u64 {
        self.of(name).map(|row| row.forward).sum()
    }

    /// Shapes were recorded.
    pub(super) fn has_shapes(&self) -> bool {
        !self.counts.is_empty()
    }
}

/// The name to count a call under. Under autocast an operator calls itself with cast inputs, and a linear layer
/// calls its product: only the outermost counts. A product inside a linear layer is kept under [`PRODUCT`]: it
/// has the type that is computed in.
fn outermost(
    trace: &Trace,
    facts: &Facts,
    id: HostId,
    wanted: &[Option<&'static str>],
    name: &'static str,
) -> Option<&'static str> {
    let around = facts
        .tree
        .ancestry(id)
        .skip(1)
        .take_while(|at| trace.host.kind[at.index()] == HostKind::Op)
        .find_map(|at| wanted[trace.host.name[at.index()].index()]);
    match around {
        None => Some(name),
        Some("aten::linear") if matches!(name, "aten::mm" | "aten::addmm") => Some(PRODUCT),
        Some(_) => None,
    }
}
