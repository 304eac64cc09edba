//! Collectives of one rank: kind, size, and how much of each nothing hides.
//!
//! One rank cannot tell transfer from waiting: every length here is both together.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use whyidle_model::{CollectiveOwner, GpuId, Trace};

use crate::facts::{DeviceFacts, Facts};
use crate::kernelclass::Work;
use crate::ledger::Line;

/// Kind of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// Sum (or other reduction) on all ranks.
    AllReduce,
    /// Every rank gets all parts.
    AllGather,
    /// Every rank gets its part of the sum.
    ReduceScatter,
    /// One rank's tensor to all.
    Broadcast,
    /// Every rank to every rank.
    AllToAll,
    /// Point to point.
    SendReceive,
    /// Anything else.
    Other,
}

/// The kind of a collective's kernel or of its recorded name.
#[must_use]
pub fn kind(name: &str) -> Kind {
    let lower = name.to_ascii_lowercase().replace('_', "");
    if lower.contains("alltoall") {
        Kind::AllToAll
    } else if lower.contains("allreduce") || lower.contains("crossdevicereduce") {
        Kind::AllReduce
    } else if lower.contains("allgather") {
        Kind::AllGather
    } else if lower.contains("reducescatter") {
        Kind::ReduceScatter
    } else if lower.contains("broadcast") {
        Kind::Broadcast
    } else if lower.contains("sendrecv") || lower.contains("send") || lower.contains("recv") {
        Kind::SendReceive
    } else {
        Kind::Other
    }
}

/// One collective in the steps analysed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// The kernel.
    pub activity: GpuId,
    /// Its kind.
    pub kind: Kind,
    /// Its length, ns: transfer and waiting together.
    pub ns: i64,
    /// The part of it that no other work hides, ns.
    pub exposed_ns: i64,
    /// Bytes of the whole tensor, where the framework recorded them: input of an all-reduce or reduce-scatter, output of an all-gather.
    pub bytes: Option<i64>,
    /// Launched from inside backward.
    pub in_backward: bool,
}

/// Collectives launched in the steps analysed, by start.
#[must_use]
pub fn collectives(trace: &Trace, facts: &Facts, device: &DeviceFacts) -> Vec<Use> {
    let mut exposed: FxHashMap<u32, i64> = FxHashMap::default();
    for busy in device.ledger.busy.iter().filter(|busy| busy.line == Line::Communication) {
        *exposed.entry(busy.piece.activity.0).or_default() += busy.piece.end - busy.piece.start;
    }
    let mut arguments: FxHashMap<u32, &whyidle_model::Collective> = FxHashMap::default();
    for collective in &trace.collectives {
        if let CollectiveOwner::Gpu(id) = collective.owner {
            arguments.insert(id.0, collective);
        }
    }
    let inside = |id: GpuId| device.steps.ended_at(trace.gpu.end(id)).is_some();
    device
        .rows
        .iter()
        .map(|&row| GpuId(row))
        .filter(|&id| facts.works[id.index()] == Work::Collective && inside(id))
        .map(|id| {
            let described = arguments.get(&id.0);
            let recorded = described.map(|collective| kind(trace.names.get(collective.name)));
            let kind = kind_of(trace, facts, id, recorded);
            let bytes = described.and_then(|collective| bytes_of(trace, collective));
            let in_backward = facts.tree.launch_of(id).is_some_and(|call| facts.tree.is_backward(call));
            Use {
                activity: id,
                kind,
                ns: trace.gpu.dur[id.index()],
                exposed_ns: exposed.get(&id.0).copied().unwrap_or(0),
                bytes,
                in_backward,
            }
        })
        .collect()
}

/// Bytes of the whole tensor of a collective, where the framework recorded them.
pub(crate) fn bytes_of(trace: &Trace, collective: &whyidle_model::Collective) -> Option<i64> {
    let elements = collective.in_elements.max(collective.out_elements);
    let width = element_bytes(trace.names.get(collective.dtype))?;
    elements.checked_mul(width).filter(|&bytes| bytes > 0)
}

/// The kind of a collective: by its kernel; a send-receive kernel also carries all-to-all, so there the
/// host's annotation around the launch decides, and without one nothing is claimed.
pub(crate) fn kind_of(trace: &Trace, facts: &Facts, id: GpuId, recorded: Option<Kind>) -> Kind {
    let named = kind(trace.names.get(trace.gpu.name[id.index()]));
    match named {
        Kind::Other => recorded.unwrap_or(named),
        Kind::SendReceive => recorded.or_else(|| annotated_kind(trace, facts, id)).unwrap_or(Kind::Other),
        _ => named,
    }
}

/// Kind by the framework's annotation around the launch (`nccl:all_to_all`, `nccl:coalesced`, `nccl:send 0->1`).
fn annotated_kind(trace: &Trace, facts: &Facts, id: GpuId) -> Option<Kind> {
    let call = facts.tree.launch_of(id)?;
    let names = facts.tree.ancestry(call).map(|at| trace.names.get(trace.host.name[at.index()]));
    let annotation = names.filter(|name| name.starts_with("nccl:") || name.starts_with("c10d::")).last()?;
    // Point-to-point transfers are batched under this name.
    if annotation == "nccl:coalesced" { Some(Kind::SendReceive) } else { Some(kind(annotation)) }
}

/// Bytes of an element of a recorded type.
fn element_bytes(dtype: &str) -> Option<i64> {
    let bytes = match dtype {
        "Double" | "Long" | "ComplexFloat" | "UInt64" => 8,
        "Float" | "Int" | "UInt32" => 4,
        "Half" | "BFloat16" | "Short" => 2,
        "Byte" | "Char" | "Bool" | "Float8_e4m3fn" | "Float8_e5m2" => 1,
        _ => return None,
    };
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_from_kernels_and_from_recorded_names() {
        assert_eq!(
            kind("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
            Kind::AllReduce
        );
        assert_eq!(kind("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*)"), Kind::AllGather);
        assert_eq!(kind("_reduce_scatter_base"), Kind::ReduceScatter);
        assert_eq!(kind("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"), Kind::SendReceive);
        assert_eq!(kind("ncclKernel_Broadcast_RING_LL_Sum_int8_t"), Kind::Broadcast);
        assert_eq!(kind("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"), Kind::Other);
        assert_eq!(element_bytes("BFloat16"), Some(2));
    }
}
