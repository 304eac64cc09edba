//! Parameters of one GPU and what training keeps for each: weights, gradients, optimizer states.

use super::allocator::block;
use crate::setup::{Optimizer, OptimizerLoop, Precision, Setup};
use crate::{Family, Head, Part, Role};

/// Parameters on one GPU, elements.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Local {
    /// All of this stage, whole along the data-parallel ranks.
    pub(crate) all: f64,
    /// Of its layers.
    pub(crate) layers: f64,
    /// Of one layer, the largest kind.
    pub(crate) one_layer: f64,
    /// Linear parameters of its layers (those that autocast copies).
    pub(crate) linear: f64,
    /// Linear parameters of one MLP.
    pub(crate) one_mlp: f64,
    /// Embedding and head.
    pub(crate) root: f64,
    /// The output matrix.
    pub(crate) output: f64,
    /// Largest tensor.
    pub(crate) largest: f64,
    /// Largest matrix of a layer.
    pub(crate) largest_matrix: f64,
    /// Elements that 8-bit optimizers leave in fp32 (tensors below 4096).
    pub(crate) small: f64,
    /// Elements of matrices in layers, which Muon orthogonalises.
    pub(crate) matrices: f64,
    /// Rows plus columns of matrices (Adafactor), estimated as 2√elements each.
    pub(crate) factors: f64,
    /// Number of tensors.
    pub(crate) tensors: f64,
    /// Bytes that allocation adds to every set of tensors of the weights' sizes.
    pub(crate) rounding: f64,
    /// Some linear layer has a bias.
    pub(crate) biases: bool,
}

/// Tensors below this stay in fp32 in 8-bit optimizers.
const SMALL: u64 = 4096;

impl Local {
    /// Counts this GPU's share.
    pub(crate) fn of(setup: &Setup) -> Self {
        let (model, p) = (&setup.model, &setup.parallel);
        let (first, last) = (setup.stage == 0, setup.stage + 1 == p.pipeline);
        let stage_share = 1.0 / p.pipeline as f64;
        let all_layers = model.all_layers() as f64;
        let mut local = Self::default();
        let width = if setup.precision == Precision::Pure16 { 2.0 } else { 4.0 };
        let (mut common, mut dense, mut expert) = (0.0, 0.0, 0.0);
        for tensor in model.tensors() {
            let tied_head = model.tied
                && last
                && tensor.part == Part::Embedding
                && tensor.elements == model.vocab * model.hidden;
            let share = match tensor.part {
                Part::Layer => stage_share,
                Part::Embedding if first || tied_head => 1.0,
                Part::Head if last => 1.0,
                _ => continue,
            };
            let parts = match tensor.role {
                Role::Linear | Role::Embedding => p.tensor as f64,
                Role::Expert => (p.tensor * p.expert) as f64,
                Role::Norm | Role::Whole => 1.0,
            };
            let elements = tensor.elements as f64 / parts;
            let count = tensor.count as f64 * share;
            let sum = elements * count;
            local.all += sum;
            local.tensors += count;
            local.largest = local.largest.max(elements);
            local.rounding += count * (block(width * elements) - width * elements);
            local.biases |= !tensor.matrix && tensor.role == Role::Linear;
            if tensor.elements < SMALL {
                local.small += sum;
            }
            if tensor.matrix {
                local.factors += count * 2.0 * elements.sqrt();
            }
            if tensor.part != Part::Layer {
                continue;
            }
            local.layers += sum;
            if tensor.matrix {
                local.matrices += sum;
                local.largest_matrix = local.largest_matrix.max(elements);
            }
            if matches!(tensor.role, Role::Linear | Role::Expert | Role::Whole) {
                local.linear += sum;
            }
            let per_layer = elements * tensor.count as f64;
            if tensor.role == Role::Expert {
                expert += per_layer / model.moe_layers().max(1) as f64;
            } else if tensor.elements == model.hidden * model.ffn && model.moe.is_some() {
                dense += per_layer / (model.layers - model.moe_layers()).max(1) as f64;
            } else {
                common += per_layer / all_layers;
            }
        }
        local.root = local.all - local.layers;
        local.one_layer = common + f64::max(dense, expert);
        let up = if model.gated { 3.0 } else { 2.0 };
        local.one_mlp = (up * (model.hidden * model.ffn) as f64 / p.tensor as f64).max(expert);
        local.output = match model.head {
            Head::Lm | Head::MaskedLm if last && model.family != Family::Vit => {
                (model.vocab * model.hidden) as f64 / p.tensor as f64
            }
            _ => 0.0,
        };
        if let Some(lora) = setup.lora {
            local.adapters(setup, lora.rank as f64);
        }
        local
    }

    /// Adapters: two thin matrices beside every matrix of the layers.
    fn adapters(&mut self, setup: &Setup, rank: f64) {
        // Rows plus columns of every linear matrix of a layer.
        let (m, at) = (&setup.model, &setup.model.attention);
        let (d, f, q, k) = (
            m.hidden as f64,
            m.ffn as f64,
            (at.heads * at.head_dim) as f64,
            (at.kv_heads * at.head_dim) as f64,
        );
        let up = if m.gated { 2.0 } else { 1.0 };
        let edges = 2.0 * (d + q) + 2.0 * (d + k) + (up + 1.0) * (d + f);
        self.small = 0.0;
        self.matrices = rank * edges * m.all_layers() as f64 / setup.parallel.pipeline as f64;
    }

    /// Parameters that are trained.
    pub(crate) fn trained(&self, setup: &Setup) -> f64 {
        if setup.lora.is_some() { self.matrices } else { self.all }
    }
}

/// Bytes per trained parameter of optimizer states, without master weights.
pub(crate) fn optimizer_bytes(setup: &Setup, local: &Local) -> f64 {
    let p = local.trained(setup);
    // States have the type of the weights that the optimizer sees.
    let w = if setup.precision == Precision::Pure16 { 2.0 } else { 4.0 };
    match setup.optimizer {
        Optimizer::AdamW => 2.0 * w * p,
        // Two bytes and a scale of 4 bytes per 256 elements and moment (torchao, bitsandbytes).
        Optimizer::AdamW8bit => (p - local.small) * (2.0 + 8.0 / 256.0) + local.small * 2.0 * w,
        Optimizer::Sgd => 0.0,
        Optimizer::SgdMomentum | Optimizer::Lion => w * p,
        Optimizer::Adafactor => 4.0 * local.factors,
        Optimizer::Muon => w * local.matrices + 2.0 * w * (p - local.matrices),
    }
}

/// Bytes of a weight in the step, of its gradient, and of a master copy in the optimizer.
pub(crate) fn widths(precision: Precision) -> (f64, f64, f64) {
    match precision {
        Precision::Amp | Precision::Fp32 => (4.0, 4.0, 0.0),
        Precision::Pure16 => (2.0, 2.0, 0.0),
        Precision::Mixed => (2.0, 2.0, 4.0),
    }
}

/// Temporaries of the optimizer's step, bytes.
pub(crate) fn optimizer_temporary(setup: &Setup, local: &Local) -> f64 {
    let w = if setup.precision == Precision::Pure16 { 2.0 } else { 4.0 };
    match (setup.optimizer, setup.optimizer_loop) {
        // SGD works in place, tensor lists or not.
        (Optimizer::Sgd | Optimizer::SgdMomentum, _) => 0.0,
        // One tensor after the other: the momentum's copy and the update.
        (Optimizer::Lion, _) => 2.0 * w * local.largest,
        // The second moment of one tensor, put together from its row and column; it becomes the update.
        (Optimizer::Adafactor, _) => w * local.largest,
        // The two moments of one tensor at a time, in fp32.
        (Optimizer::AdamW8bit, _) => 2.0 * 4.0 * local.largest,
        // Of one matrix of a layer: the update, and three 16-bit matrices that Newton–Schulz iterates on.
        (Optimizer::Muon, _) => (w + 3.0 * 2.0) * local.largest_matrix,
        (_, OptimizerLoop::Fused) => 0.0,
        (_, OptimizerLoop::Foreach) => w * local.trained(setup),
        (_, OptimizerLoop::ForLoop) => 2.0 * w * local.largest,
    }
}
