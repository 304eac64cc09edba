//! What only the whole trace can tell: lost records, overlaps on a stream, launches
//! without activities and the other way round, activities outside the window.

use rustc_hash::FxHashSet;
use whyidle_model::{CollectiveOwner, GpuActivities, GpuId, HostKind, NoteCode, Trace};

/// Activities at time 0 are lost records where all others are further away than this.
const FAR: i64 = 3_600 * 1_000_000_000;

/// Notes what is odd in `trace`, and takes out records that were lost.
pub(crate) fn check(trace: &mut Trace) {
    remove_zero_times(trace);
    let overlaps = stream_overlaps(&trace.gpu);
    trace.notes.add_many(NoteCode::StreamOverlap, overlaps, None);
    if let Some((from, to)) = trace.meta.window {
        let outside = (0..trace.gpu.len())
            .filter(|&i| trace.gpu.start[i] + trace.gpu.dur[i] <= from || trace.gpu.start[i] >= to)
            .count();
        trace.notes.add_many(NoteCode::OutsideWindow, outside as u64, None);
    }
    links(trace);
}

fn remove_zero_times(trace: &mut Trace) {
    let zero = trace.gpu.start.iter().filter(|&&start| start == 0).count();
    let far = trace.gpu.start.iter().filter(|&&start| start != 0).all(|start| start.abs() > FAR);
    if zero == 0 || zero == trace.gpu.len() || !far {
        return;
    }
    trace.notes.add_many(NoteCode::ZeroTime, zero as u64, None);
    let old = std::mem::take(&mut trace.gpu);
    let mut moved = vec![None; old.len()];
    for (i, moved) in moved.iter_mut().enumerate() {
        let row = old.get(GpuId::from_index(i));
        if row.start != 0 {
            *moved = Some(trace.gpu.push(row));
        }
    }
    trace.collectives.retain_mut(|collective| match &mut collective.owner {
        CollectiveOwner::Gpu(id) => moved[id.index()].map(|new| *id = new).is_some(),
        CollectiveOwner::Host(_) => true,
    });
}

/// Activities that begin before an earlier one of their stream has ended.
fn stream_overlaps(gpu: &GpuActivities) -> u64 {
    let mut order: Vec<u32> = (0..gpu.len()).map(|i| GpuId::from_index(i).0).collect();
    let key = |&i: &u32| (gpu.stream[i as usize], gpu.start[i as usize]);
    if !order.is_sorted_by_key(key) {
        order.sort_by_key(key);
    }
    let mut count = 0;
    let mut before = None;
    for i in order {
        let (stream, start) = key(&i);
        let end = start + gpu.dur[i as usize];
        before = match before {
            Some((same, last_end)) if same == stream => {
                count += u64::from(start < last_end);
                Some((stream, end.max(last_end)))
            }
            _ => Some((stream, end)),
        };
    }
    count
}

fn links(trace: &mut Trace) {
    let calls = |kind: HostKind| matches!(kind, HostKind::Runtime | HostKind::Driver);
    let host = &trace.host;
    let launched: FxHashSet<u32> = (0..host.len())
        .filter(|&i| calls(host.kind[i]))
        .map(|i| host.link[i])
        .filter(|&id| id != 0)
        .collect();
    let ran: FxHashSet<u32> = trace.gpu.correlation.iter().copied().collect();
    let no_launch = trace.gpu.correlation.iter().filter(|id| !launched.contains(id)).count();
    let launching = trace.names.map(launches);
    let no_activity = (0..host.len())
        .filter(|&i| calls(host.kind[i]) && launching[host.name[i].index()] && !ran.contains(&host.link[i]))
        .count();
    trace.notes.add_many(NoteCode::NoLaunch, no_launch as u64, None);
    trace.notes.add_many(NoteCode::NoActivity, no_activity as u64, None);
}

/// Whether a runtime or driver call starts work on a GPU, so that an activity is expected.
/// Memsets do not count: one of no bytes leaves no activity, and libraries call such.
fn launches(name: &str) -> bool {
    let name =
        name.strip_prefix("cuda").or_else(|| name.strip_prefix("hip")).or_else(|| name.strip_prefix("cu"));
    name.is_some_and(|name| {
        name.contains("LaunchKernel")
            || name.contains("LaunchCooperativeKernel")
            || name.contains("GraphLaunch")
            || (name.starts_with("Memcpy") && name.contains("Async"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_launches() {
        for name in [
            "cudaLaunchKernel",
            "cudaLaunchKernelExC",
            "cuLaunchKernelEx",
            "cudaMemcpyAsync",
            "cudaGraphLaunch",
            "hipExtModuleLaunchKernel",
            "hipMemcpyWithStreamAsync",
        ] {
            assert!(launches(name), "{name}");
        }
        for name in [
            "cudaStreamSynchronize",
            "cudaMemcpy",
            "aten::mm",
            "cudaGraphInstantiate",
            "cudaMallocAsync",
            "cudaMemsetAsync",
        ] {
            assert!(!launches(name), "{name}");
        }
    }
}
