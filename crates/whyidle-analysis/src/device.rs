//! One device's time: which activity each busy nanosecond belongs to.

use whyidle_model::{GpuId, Span, Spans, Trace};

use crate::kernelclass::Work;

/// A stretch of a device's time that belongs to one activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Start, ns.
    pub start: i64,
    /// End, ns.
    pub end: i64,
    /// The activity.
    pub activity: GpuId,
}

/// Rows of one device's activities, by start.
#[must_use]
pub fn activities(trace: &Trace, device: i32) -> Vec<u32> {
    let gpu = &trace.gpu;
    let mut rows: Vec<u32> = (0..gpu.len())
        .filter(|&row| trace.streams[gpu.stream[row].index()].device == device)
        .map(|row| GpuId::from_index(row).0)
        .collect();
    let key = |&row: &u32| (gpu.start[row as usize], gpu.dur[row as usize], row);
    if !rows.is_sorted_by_key(key) {
        rows.sort_unstable_by_key(key);
    }
    rows
}

/// Devices with activities, in order.
#[must_use]
pub fn devices(trace: &Trace) -> Vec<i32> {
    let mut devices: Vec<i32> = trace.streams.iter().map(|stream| stream.device).collect();
    devices.sort_unstable();
    devices.dedup();
    devices
}

/// Gives each busy nanosecond of a device to one activity: to compute before copies, to copies
/// before collectives, and among equals to the one that started first. What remains for copies
/// and collectives is thereby what nothing hides: *exposed*.
#[must_use]
pub(crate) fn paint(trace: &Trace, rows: &[u32], works: &[Work]) -> Vec<Piece> {
    let layer = |work: Work| match work {
        Work::Collective => 2,
        Work::HostCopy => 1,
        _ => 0,
    };
    let mut painted: Vec<Piece> = Vec::with_capacity(rows.len());
    for wanted in 0..3 {
        let mut covered = i64::MIN;
        let mut next: Vec<Piece> = Vec::new();
        for &row in rows.iter().filter(|&&row| layer(works[row as usize]) == wanted) {
            let id = GpuId(row);
            let start = trace.gpu.start[id.index()].max(covered);
            let end = trace.gpu.end(id);
            if start < end {
                next.push(Piece { start, end, activity: id });
                covered = end;
            }
        }
        painted = if painted.is_empty() { next } else { lay_under(painted, &next) };
    }
    painted
}

/// Adds to `top` the parts of `below` that it leaves free. Both in order and disjoint; so is the result.
fn lay_under(top: Vec<Piece>, below: &[Piece]) -> Vec<Piece> {
    if below.is_empty() {
        return top;
    }
    let mut out = Vec::with_capacity(top.len() + below.len());
    let mut next = below.iter().copied().peekable();
    let mut free_from = i64::MIN;
    for upper in top {
        while let Some(piece) = next.peek_mut() {
            let start = piece.start.max(free_from);
            if start >= upper.start {
                break;
            }
            let end = piece.end.min(upper.start);
            if start < end {
                out.push(Piece { start, end, activity: piece.activity });
            }
            if piece.end > upper.start {
                break;
            }
            next.next();
        }
        while next.next_if(|piece| piece.end <= upper.end).is_some() {}
        free_from = upper.end;
        out.push(upper);
    }
    out.extend(next.filter_map(|piece| {
        let start = piece.start.max(free_from);
        (start < piece.end).then_some(Piece { start, ..piece })
    }));
    out
}

/// Measures of a device over the whole trace, by plain unions: what other analysers report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// From the first start to the last end, ns.
    pub span_ns: i64,
    /// Union of all activities, ns.
    pub resident_ns: i64,
    /// `span_ns` − `resident_ns`.
    pub idle_ns: i64,
    /// Union of kernels other than collectives, ns; copies and memsets do not count.
    pub compute_ns: i64,
    /// Union of collectives, ns.
    pub communication_ns: i64,
    /// Collectives that run while compute runs, ns.
    pub overlap_ns: i64,
    /// Union of all activities but collectives, ns.
    pub working_ns: i64,
}

/// Measures of the activities `rows`.
#[must_use]
pub fn occupancy(trace: &Trace, rows: &[u32], works: &[Work]) -> Occupancy {
    let gpu = &trace.gpu;
    let spans = |keep: &dyn Fn(u32) -> bool| {
        Spans::union_of(
            rows.iter()
                .filter(|&&row| keep(row))
                .map(|&row| Span::new(gpu.start[row as usize], gpu.end(GpuId(row)))),
        )
    };
    let kernel = |row: u32| gpu.kind[row as usize] == whyidle_model::GpuKind::Kernel;
    let collective = |row: u32| works[row as usize] == Work::Collective;
    let all = spans(&|_| true);
    let compute = spans(&|row| kernel(row) && !collective(row));
    let communication = spans(&collective);
    let first = rows.iter().map(|&row| gpu.start[row as usize]).min().unwrap_or(0);
    let last = rows.iter().map(|&row| gpu.end(GpuId(row))).max().unwrap_or(0);
    let span_ns = last - first;
    Occupancy {
        span_ns,
        resident_ns: all.length(),
        idle_ns: span_ns - all.length(),
        compute_ns: compute.length(),
        communication_ns: communication.length(),
        overlap_ns: compute.intersect(&communication).length(),
        working_ns: spans(&|row| !collective(row)).length(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use whyidle_model::{GpuActivity, GpuKind};

    use super::*;

    fn trace(parts: &[(i64, i64, u8)]) -> (Trace, Vec<Work>) {
        let mut trace = Trace::default();
        let stream = trace.stream(0, 7);
        let name = trace.names.intern("k");
        for &(start, dur, _) in parts {
            trace.gpu.push(GpuActivity {
                start,
                dur,
                name,
                kind: GpuKind::Kernel,
                stream,
                correlation: 0,
                external: 0,
                bytes: 0,
                blocks: 0,
                threads: 0,
            });
        }
        let works = parts
            .iter()
            .map(|&(_, _, w)| [Work::Matmul, Work::HostCopy, Work::Collective][w as usize])
            .collect();
        (trace, works)
    }

    proptest! {
        #[test]
        fn every_busy_nanosecond_has_one_owner_of_the_right_layer(
            parts in prop::collection::vec((0_i64..150, 0_i64..25, 0_u8..3), 0..40)
        ) {
            let (trace, works) = trace(&parts);
            let rows = activities(&trace, 0);
            let painted = paint(&trace, &rows, &works);
            prop_assert!(painted.iter().all(|p| p.start < p.end));
            prop_assert!(painted.windows(2).all(|w| w[0].end <= w[1].start));
            for t in 0..180 {
                let best = parts.iter().filter(|&&(s, d, _)| s <= t && t < s + d).map(|p| p.2).min();
                let owner = painted.iter().find(|p| p.start <= t && t < p.end).map(|p| parts[p.activity.index()].2);
                prop_assert_eq!(owner, best);
            }
            let occupancy = occupancy(&trace, &rows, &works);
            prop_assert_eq!(occupancy.resident_ns, painted.iter().map(|p| p.end - p.start).sum::<i64>());
        }
    }
}
