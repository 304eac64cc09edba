//! What NCCL says of its calls: the payloads of its NVTX ranges, where the export holds them as JSON
//! (`nsys export --include-json true`).
//!
//! Known by the names that NCCL registers for the fields (`NCCL communicator ID`, `Message size [bytes]`, `No. of
//! ranks`, `Rank`). A call says bytes: what a rank sends to `ncclAllGather`, what it receives from
//! `ncclReduceScatter`, the buffer otherwise (`src/collectives.cc`).

use rustc_hash::FxHashMap;
use serde_json::{Map, Value};
use whyidle_model::{Collective, CollectiveOwner, Distributed, GpuId, GpuKind, HostId, HostKind, Sym, Trace};

/// No payload is longer, bytes.
const LONGEST: usize = 4096;

/// A call with a size.
struct Call {
    range: HostId,
    name: String,
    bytes: i64,
    communicator: String,
}

/// What all calls say.
#[derive(Default)]
pub(super) struct Payloads {
    calls: Vec<Call>,
    /// Ranks of each communicator, and the own one.
    communicators: FxHashMap<String, (u32, u32)>,
}

impl Payloads {
    /// Takes the payload of a range.
    pub(super) fn add(&mut self, range: HostId, name: &str, json: &[u8]) {
        if json.len() > LONGEST || !name.starts_with("nccl") {
            return;
        }
        let Ok(fields) = serde_json::from_slice::<Map<String, Value>>(json) else { return };
        // Large numbers are written as text.
        let number = |key: &str| match fields.get(key)? {
            Value::String(text) => text.parse().ok(),
            value => value.as_i64(),
        };
        let communicator = match fields.get("NCCL communicator ID") {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => return,
        };
        let small = |key: &str| number(key).and_then(|number| u32::try_from(number).ok());
        if let (Some(ranks), Some(rank)) = (small("No. of ranks"), small("Rank"))
            && rank < ranks
        {
            self.communicators.insert(communicator.clone(), (ranks, rank));
        }
        if let Some(bytes) = number("Message size [bytes]").filter(|&bytes| bytes > 0) {
            self.calls.push(Call { range, name: name.to_owned(), bytes, communicator });
        }
    }

    /// Says it of the trace: the job by its largest communicator, the sizes of the kernels.
    pub(super) fn describe(self, trace: &mut Trace) {
        if let Some(&(world_size, rank)) = self.communicators.values().max() {
            let backend = "nccl".to_owned();
            trace.meta.distributed =
                Some(Distributed { backend, rank, world_size, ..Distributed::default() });
        }
        for (kernel, call) in self.kernels(trace) {
            let collective = self.collective(&self.calls[call], kernel, trace);
            trace.collectives.push(collective);
        }
    }

    /// Kernels with the call that each is of: the only one that its thread made since the launch before it. Calls are
    /// often made in a group and launched at its end, so the launch need not lie in the call's range.
    fn kernels(&self, trace: &Trace) -> Vec<(GpuId, usize)> {
        if self.calls.is_empty() {
            return Vec::new();
        }
        let is_nccl = trace.names.map(|name| name.contains("nccl"));
        let rows = (0..trace.gpu.len()).filter(|&row| {
            trace.gpu.kind[row] == GpuKind::Kernel
                && trace.gpu.correlation[row] != 0
                && is_nccl[trace.gpu.name[row].index()]
        });
        let kernels: FxHashMap<u32, GpuId> =
            rows.map(|row| (trace.gpu.correlation[row], GpuId::from_index(row))).collect();
        let host = &trace.host;
        let mut launches: Vec<(u32, i64, GpuId)> = (0..host.len())
            .filter(|&row| matches!(host.kind[row], HostKind::Runtime | HostKind::Driver))
            .filter_map(|row| Some((host.thread[row].0, host.start[row], *kernels.get(&host.link[row])?)))
            .collect();
        launches.sort_unstable();
        let place = |range: HostId| (host.thread[range.index()].0, host.start[range.index()]);
        let mut calls: Vec<(u32, i64, usize)> = self
            .calls
            .iter()
            .enumerate()
            .map(|(at, call)| {
                let (thread, start) = place(call.range);
                (thread, start, at)
            })
            .collect();
        calls.sort_unstable();
        let mut next = 0;
        let mut found = Vec::new();
        for (thread, start, kernel) in launches {
            next += calls[next..].partition_point(|&(other, ..)| other < thread);
            let since = next;
            next += calls[next..].partition_point(|&(other, at, _)| (other, at) <= (thread, start));
            if let [(.., call)] = calls[since..next] {
                found.push((kernel, call));
            }
        }
        found
    }

    fn collective(&self, call: &Call, kernel: GpuId, trace: &mut Trace) -> Collective {
        let ranks = self.communicators.get(&call.communicator).map_or(0, |&(ranks, _)| ranks);
        let all = call.bytes.saturating_mul(i64::from(ranks));
        let (in_elements, out_elements) = match call.name.as_str() {
            "ncclAllGather" if ranks > 0 => (call.bytes, all),
            "ncclReduceScatter" if ranks > 0 => (all, call.bytes),
            // Of how many ranks is not known, so neither is the size.
            "ncclAllGather" | "ncclReduceScatter" => (0, 0),
            _ => (call.bytes, call.bytes),
        };
        Collective {
            owner: CollectiveOwner::Gpu(kernel),
            name: trace.names.intern(&call.name),
            in_elements,
            out_elements,
            dtype: trace.names.intern("Byte"),
            group: trace.names.intern(&call.communicator),
            group_description: Sym::EMPTY,
            group_size: ranks,
            ranks: Sym::EMPTY,
            sequence: None,
            rank: None,
        }
    }
}
