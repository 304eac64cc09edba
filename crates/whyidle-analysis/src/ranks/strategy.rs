//! How a job is parallel, as far as one rank's trace shows it.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use whyidle_model::{GpuId, GpuKind, HostId, HostKind, Trace};

use crate::communication::{self, Kind};
use crate::facts::{DeviceFacts, Facts};
use crate::hostclass::HostClass;
use crate::kernelclass::Work;

/// Something about the parallel strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trait {
    /// `DistributedDataParallel`: forward passes per optimizer step, and reductions per optimizer step.
    DataParallel {
        /// Forward passes per optimizer step.
        forwards: u32,
        /// All-reduces launched from backward, per optimizer step.
        reductions: u32,
    },
    /// Gradients are reduced in the last micro-batch only (`no_sync`).
    NoSync,
    /// `find_unused_parameters=True`: a bitmap of the parameters used is reduced in every step.
    FindUnused,
    /// Gradients are copied out of and into buckets: `gradient_as_bucket_view=False`. Copies per step.
    CopiedGradients {
        /// Copies per step.
        copies: u32,
    },
    /// `broadcast_buffers=True` with buffers: broadcasts in forward, per step.
    BroadcastBuffers {
        /// Broadcasts per step.
        broadcasts: u32,
    },
    /// PyTorch's FSDP, first (`FullyShardedDataParallel`) or second (`fully_shard`) kind, with its gathers per step.
    Sharded {
        /// 1 or 2.
        generation: u8,
        /// Gathers from forward.
        forward: u32,
        /// Gathers from backward: full sharding where there are any.
        backward: u32,
    },
    /// DeepSpeed ZeRO.
    Zero,
    /// `torch.nn.DataParallel`: one process copies the model to every GPU in every step.
    Replicated,
    /// All-reduces in forward: tensor parallel. Per step.
    TensorParallel {
        /// All-reduces in forward, per step.
        reductions: u32,
    },
    /// Stages that send to and receive from each other.
    Pipeline,
    /// The host waits for the device before a collective is launched. Times per step.
    SyncedCollectives {
        /// Times per step.
        times: u32,
    },
}

/// What the trace shows.
pub(super) fn traits(trace: &Trace, facts: &Facts, device: &DeviceFacts) -> Vec<Trait> {
    let steps = u32::try_from(device.steps.used.len()).unwrap_or(1).max(1);
    let seen = Seen::new(trace, device);
    let collectives = Collectives::of(trace, facts, device);
    let updates = seen.updates(trace, facts, device).max(1);
    let per_update = |count: u32| count / updates;
    let mut out = Vec::new();
    let forwards = seen.count("DistributedDataParallel.forward");
    if forwards > 0 {
        let (forwards, reductions) = (per_update(forwards), per_update(collectives.reductions));
        out.push(Trait::DataParallel { forwards, reductions });
        if forwards > 1 && collectives.alike_per_update(updates) {
            out.push(Trait::NoSync);
        }
        if collectives.bitmaps >= updates {
            out.push(Trait::FindUnused);
        }
        let copies = seen.count("torch.distributed.ddp.reducer::copy_bucket_to_grad");
        if copies > 0 {
            out.push(Trait::CopiedGradients { copies: copies / steps });
        }
        if collectives.broadcasts >= steps {
            out.push(Trait::BroadcastBuffers { broadcasts: collectives.broadcasts / steps });
        }
    }
    let generation = if seen.starts_with("FSDP::") {
        Some(2)
    } else if seen.starts_with("FullyShardedDataParallel.") {
        Some(1)
    } else {
        None
    };
    if let Some(generation) = generation {
        let (forward, backward) = (collectives.gathers.0 / steps, collectives.gathers.1 / steps);
        out.push(Trait::Sharded { generation, forward, backward });
    }
    if seen.starts_with("DeepSpeedZeroOptimizer") {
        out.push(Trait::Zero);
    }
    if seen.starts_with("DataParallel.forward") || seen.count("ReplicateBackward") > 0 {
        out.push(Trait::Replicated);
    }
    if collectives.forward_reductions >= steps {
        out.push(Trait::TensorParallel { reductions: collectives.forward_reductions / steps });
    }
    if collectives.transfers >= steps {
        out.push(Trait::Pipeline);
    }
    let synced = synced(trace, facts, device);
    if synced >= steps {
        out.push(Trait::SyncedCollectives { times: synced / steps });
    }
    out
}

/// Names of host events in the steps, with how often each was seen.
struct Seen<'a>(FxHashMap<&'a str, u32>);

impl<'a> Seen<'a> {
    fn new(trace: &'a Trace, device: &DeviceFacts) -> Self {
        let mut by_symbol: FxHashMap<u32, u32> = FxHashMap::default();
        for row in 0..trace.host.len() {
            let marks = matches!(trace.host.kind[row], HostKind::Annotation | HostKind::Op);
            if marks && device.steps.launched_at(trace.host.start[row]).is_some() {
                *by_symbol.entry(trace.host.name[row].0).or_default() += 1;
            }
        }
        Self(by_symbol.into_iter().map(|(sym, n)| (trace.names.get(whyidle_model::Sym(sym)), n)).collect())
    }

    fn count(&self, name: &str) -> u32 {
        self.0.get(name).copied().unwrap_or(0)
    }

    fn starts_with(&self, prefix: &str) -> bool {
        self.0.keys().any(|name| name.starts_with(prefix))
    }

    /// Optimizer steps in the steps analysed; one per step where none is marked.
    fn updates(&self, trace: &Trace, facts: &Facts, device: &DeviceFacts) -> u32 {
        let rows = (0..trace.host.len()).map(HostId::from_index);
        let updates = rows.filter(|&id| {
            facts.tree.class(trace, id) == HostClass::OptimizerStep
                && device.steps.launched_at(trace.host.start[id.index()]).is_some()
        });
        let updates = u32::try_from(updates.count()).unwrap_or(u32::MAX);
        if updates > 0 { updates } else { u32::try_from(device.steps.used.len()).unwrap_or(1) }
    }
}

/// Collectives launched in the steps, counted by what they are for.
#[derive(Default)]
struct Collectives {
    reductions: u32,
    forward_reductions: u32,
    bitmaps: u32,
    broadcasts: u32,
    transfers: u32,
    gathers: (u32, u32),
    by_size: FxHashMap<Option<i64>, u32>,
}

impl Collectives {
    fn of(trace: &Trace, facts: &Facts, device: &DeviceFacts) -> Self {
        let mut out = Self::default();
        let integers: Vec<u32> = trace
            .collectives
            .iter()
            .filter(|one| matches!(trace.names.get(one.dtype), "Int" | "Byte"))
            .filter_map(|one| match one.owner {
                whyidle_model::CollectiveOwner::Gpu(id) => Some(id.0),
                whyidle_model::CollectiveOwner::Host(_) => None,
            })
            .collect();
        for one in communication::collectives(trace, facts, device) {
            match one.kind {
                Kind::AllReduce if integers.contains(&one.activity.0) => out.bitmaps += 1,
                Kind::AllReduce if one.in_backward => {
                    out.reductions += 1;
                    *out.by_size.entry(one.bytes).or_default() += 1;
                }
                Kind::AllReduce if in_forward(trace, facts, one.activity) => out.forward_reductions += 1,
                Kind::Broadcast if !one.in_backward => out.broadcasts += 1,
                Kind::SendReceive => out.transfers += 1,
                Kind::AllGather if one.in_backward => out.gathers.1 += 1,
                Kind::AllGather => out.gathers.0 += 1,
                _ => {}
            }
        }
        out
    }

    /// Every size of a reduction comes once per optimizer step, or as often as the step has buckets of that size.
    fn alike_per_update(&self, updates: u32) -> bool {
        !self.by_size.is_empty() && self.by_size.values().all(|count| count.is_multiple_of(updates))
    }
}

/// Launched while a forward pass runs: autograd records there.
fn in_forward(trace: &Trace, facts: &Facts, id: GpuId) -> bool {
    let Some(call) = facts.tree.launch_of(id) else { return false };
    !facts.tree.is_backward(call)
        && facts.tree.ancestry(call).any(|at| {
            let name = trace.names.get(trace.host.name[at.index()]);
            name.ends_with(".forward")
                || name.starts_with("nn.Module:")
                || name.starts_with("_c10d_functional")
        })
}

/// Collectives whose launch follows a synchronisation of its own thread without another kernel between.
fn synced(trace: &Trace, facts: &Facts, device: &DeviceFacts) -> u32 {
    let mut launches: Vec<(u32, i64, bool)> = Vec::new();
    for id in device.rows.iter().map(|&row| GpuId(row)) {
        let Some(call) = facts.tree.launch_of(id).filter(|_| trace.gpu.kind[id.index()] == GpuKind::Kernel)
        else {
            continue;
        };
        let thread = trace.host.thread[call.index()].0;
        launches.push((thread, trace.host.start[call.index()], facts.works[id.index()] == Work::Collective));
    }
    launches.sort_unstable();
    let mut syncs: Vec<(u32, i64)> = Vec::new();
    for row in 0..trace.host.len() {
        let name = trace.names.get(trace.host.name[row]);
        if trace.host.kind[row] == HostKind::Runtime
            && matches!(
                name,
                "cudaDeviceSynchronize"
                    | "cudaStreamSynchronize"
                    | "hipDeviceSynchronize"
                    | "hipStreamSynchronize"
            )
            && device.steps.launched_at(trace.host.start[row]).is_some()
        {
            syncs.push((trace.host.thread[row].0, trace.host.start[row]));
        }
    }
    let followed = syncs.into_iter().filter(|&(thread, at)| {
        let next = launches.partition_point(|&(of, time, _)| (of, time) <= (thread, at));
        launches.get(next).is_some_and(|&(of, _, collective)| of == thread && collective)
    });
    u32::try_from(followed.count()).unwrap_or(u32::MAX)
}
