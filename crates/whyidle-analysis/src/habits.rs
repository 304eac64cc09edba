//! Habits that cost speed, counted over a device's whole trace: what `nsys analyze` lists.
//!
//! Definitions follow its rules (Nsight Systems User Guide, "Expert Systems Analysis"): `cuda_memcpy_async`,
//! `cuda_memcpy_sync`, `cuda_memset_sync`, `cuda_api_sync`, `gpu_gaps`, `gpu_time_util`. They are counts, not causes: a
//! call that waits where the GPU is busy anyway costs nothing. What each costs is the ledger's to say.

use whyidle_model::{GpuId, GpuKind, HostKind, Span, Spans, Trace};

use crate::hostclass::{HostClass, classify};
use crate::kernelclass::{CopyKind, classify_copy};
use crate::tree::HostTree;

/// A gap is listed from this length, ns: the default of `gpu_gaps`.
pub const LONG_GAP_NS: i64 = 500_000_000;
/// Parts into which `gpu_time_util` cuts the time from the first activity to the last, by default.
pub const CHUNKS: i64 = 30;
/// Below this share of a part the GPU is little used: the default of `gpu_time_util`.
pub const LITTLE: f64 = 0.5;

/// How often, how long altogether, and the longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// Lengths added up, ns; calls of one thread do not overlap, copies may.
    pub total_ns: i64,
    /// The longest, ns.
    pub longest_ns: i64,
}

impl Tally {
    fn add(&mut self, ns: i64) {
        self.count += 1;
        self.total_ns += ns;
        self.longest_ns = self.longest_ns.max(ns);
    }
}

/// The list.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Habits {
    /// Copies asked for asynchronously from or to pageable memory, which makes them wait: length on the GPU.
    pub pageable_copies: Tally,
    /// Copies by calls that wait, within the device left out: length on the GPU.
    pub sync_copies: Tally,
    /// Memsets by calls that wait: length on the GPU.
    pub sync_memsets: Tally,
    /// Calls that wait for a device, a stream or an event: length on the host.
    pub blocking_calls: Tally,
    /// Gaps of at least [`LONG_GAP_NS`].
    pub long_gaps: Tally,
    /// Parts of [`CHUNKS`] in which the GPU is busy for less than [`LITTLE`].
    pub little_used: u64,
    /// Length of one part, ns.
    pub chunk_ns: i64,
}

/// Counts the habits of the device with these activities.
#[must_use]
pub fn habits(trace: &Trace, tree: &HostTree, rows: &[u32]) -> Habits {
    let mut habits = Habits::default();
    let waits = trace.names.map(|name| {
        let waits = (name.contains("Memcpy") || name.contains("Memset")) && !name.contains("Async");
        (waits, classify(name) == HostClass::Synchronise)
    });
    for &row in rows {
        let id = GpuId(row);
        let (kind, dur) = (trace.gpu.kind[id.index()], trace.gpu.dur[id.index()]);
        if kind == GpuKind::Kernel {
            continue;
        }
        let Some(call) = tree.launch_of(id) else { continue };
        let by_waiting = waits[trace.host.name[call.index()].index()].0;
        if kind == GpuKind::Memset {
            if by_waiting {
                habits.sync_memsets.add(dur);
            }
            continue;
        }
        let name = trace.names.get(trace.gpu.name[id.index()]);
        if by_waiting {
            if classify_copy(name) != CopyKind::DeviceToDevice {
                habits.sync_copies.add(dur);
            }
        } else if name.contains("Pageable") {
            habits.pageable_copies.add(dur);
        }
    }
    for row in 0..trace.host.len() {
        let is_call = matches!(trace.host.kind[row], HostKind::Runtime | HostKind::Driver);
        if is_call && waits[trace.host.name[row].index()].1 {
            habits.blocking_calls.add(trace.host.dur[row]);
        }
    }
    let activity = |&row: &u32| Span::new(trace.gpu.start[row as usize], trace.gpu.end(GpuId(row)));
    utilisation(&Spans::union_of(rows.iter().map(activity)), &mut habits);
    habits
}

/// Gaps and parts that are little used, of the time in which a device is busy.
fn utilisation(busy: &Spans, habits: &mut Habits) {
    let Some(hull) = busy.hull() else { return };
    for pair in busy.as_slice().windows(2) {
        let gap = pair[1].start - pair[0].end;
        if gap >= LONG_GAP_NS {
            habits.long_gaps.add(gap);
        }
    }
    habits.chunk_ns = hull.length() / CHUNKS;
    if habits.chunk_ns == 0 {
        return;
    }
    for chunk in 0..CHUNKS {
        let start = hull.start + chunk * habits.chunk_ns;
        let covered = busy.clip(Span::new(start, start + habits.chunk_ns)).length();
        habits.little_used += u64::from((covered as f64) < LITTLE * habits.chunk_ns as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;
    use crate::testing::Made;

    #[test]
    fn the_list_counts_calls_copies_and_pauses() {
        let made = Made::new()
            .kernel("gemm", 0, 10, 100)
            .call("cudaStreamSynchronize", 120, 30)
            .call("cudaEventQuery", 160, 5)
            .kernel("gemm", 700_000, 700_010, 100);
        let facts = Facts::new(&made.trace);
        let rows = crate::device::activities(&made.trace, 0);
        let habits = habits(&made.trace, &facts.tree, &rows);
        assert_eq!(habits.blocking_calls, Tally { count: 1, total_ns: 30_000, longest_ns: 30_000 });
        assert_eq!(habits.long_gaps, Tally { count: 1, total_ns: 699_900_000, longest_ns: 699_900_000 });
        // 200 µs of work in 700 ms: no part of it is half full.
        assert_eq!(habits.little_used, 30);
        assert_eq!(habits.pageable_copies, Tally::default());
    }

    #[test]
    fn nothing_has_no_habits() {
        let made = Made::new();
        let facts = Facts::new(&made.trace);
        assert_eq!(habits(&made.trace, &facts.tree, &[]), Habits::default());
    }
}
