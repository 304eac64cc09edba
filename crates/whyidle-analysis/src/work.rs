//! What each GPU activity does, by kernel *and* by where it was launched.

use whyidle_model::{GpuId, GpuKind, HostKind, Trace};

use crate::kernelclass::{CopyKind, Work, classify, classify_copy};
use crate::tree::{Context, HostTree};

/// The operator in which PyTorch launches collectives of any library.
const COLLECTIVE: &str = "record_param_comms";

/// The work of every GPU activity, row by row.
///
/// A kernel that the operator of collectives launches is one; one launched inside `Optimizer.step` updates parameters;
/// one launched by a forward that runs again inside backward is recomputation; otherwise the kernel's name decides, and
/// where the name says no more than "element-wise", "reduction" or nothing, the operator that owns it.
#[must_use]
pub fn works(trace: &Trace, tree: &HostTree) -> Vec<Work> {
    let by_name = trace.names.map(classify);
    let by_operator = trace.names.map(classify_operator);
    (0..trace.gpu.len())
        .map(|row| {
            let id = GpuId::from_index(row);
            match trace.gpu.kind[row] {
                GpuKind::Memset => Work::Copy,
                GpuKind::Memcpy => match classify_copy(trace.names.get(trace.gpu.name[row])) {
                    CopyKind::DeviceToDevice | CopyKind::PeerToPeer => Work::Copy,
                    CopyKind::Unknown => Work::Other,
                    _ => Work::HostCopy,
                },
                GpuKind::Kernel => {
                    let named = by_name[trace.gpu.name[row].index()];
                    if named == Work::Collective {
                        return named;
                    }
                    let Some(call) = tree.launch_of(id) else { return named };
                    let owner = tree.ancestry(call).find(|at| trace.host.kind[at.index()] == HostKind::Op);
                    // Other libraries than NCCL have other names for their kernels.
                    if owner.is_some_and(|op| trace.names.get(trace.host.name[op.index()]) == COLLECTIVE) {
                        return Work::Collective;
                    }
                    if tree.context(call) == Context::Optimizer {
                        return Work::Optimizer;
                    }
                    if tree.is_recomputed(call) {
                        return Work::Recompute;
                    }
                    if matches!(named, Work::Elementwise | Work::Reduction | Work::Embedding | Work::Other) {
                        let owned = owner.and_then(|op| by_operator[trace.host.name[op.index()].index()]);
                        return owned.unwrap_or(named);
                    }
                    named
                }
            }
        })
        .collect()
}

/// The work that an operator is known for, if its name says so.
fn classify_operator(name: &str) -> Option<Work> {
    let lower = name.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    if has(&["attention", "flash_attn"]) {
        return Some(Work::Attention);
    }
    if has(&["convolution", "aten::conv"]) {
        return Some(Work::Convolution);
    }
    if has(&["layer_norm", "batch_norm", "group_norm", "rms_norm"]) {
        return Some(Work::Normalisation);
    }
    if has(&["nll_loss", "cross_entropy", "mse_loss", "binary_cross_entropy"]) {
        return Some(Work::Loss);
    }
    if has(&["softmax"]) {
        return Some(Work::Softmax);
    }
    if has(&["aten::embedding", "aten::index", "aten::gather", "aten::scatter"]) {
        return Some(Work::Embedding);
    }
    if has(&["aten::mm", "aten::bmm", "aten::addmm", "aten::matmul", "aten::linear", "aten::baddbmm"]) {
        return Some(Work::Matmul);
    }
    None
}
