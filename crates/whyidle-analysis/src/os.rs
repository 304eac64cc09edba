//! What the launching thread did for the operating system while the GPU waited: calls, time off its core, and where the
//! processor was found. Only some tracers record it.

use rustc_hash::FxHashMap;
use whyidle_model::{Span, Spans, Sym, ThreadId, Trace};

use crate::ledger::{Kind, Ledger};
use crate::tree::HostTree;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OsFacts {
    /// The GPU's waits in all steps, ns: what the other figures are parts of.
    pub waits_ns: i64,
    /// Of them, with the thread in any call, ns: a union.
    pub in_calls_ns: i64,
    /// The calls, longest first: name, union of its stretches in the waits in ns, and how many.
    pub calls: Vec<(Sym, i64, u64)>,
    /// Of the waits, with the thread off its core though in no call, ns: it was ready, and another ran.
    pub preempted_ns: i64,
    /// Samples of the thread in the waits by innermost function, most first.
    pub samples: Vec<(Sym, u64)>,
}

/// The facts on a device's steps; `None` where the trace holds no such records, or no thread launches.
#[must_use]
pub fn os_facts(trace: &Trace, tree: &HostTree, rows: &[u32], ledger: &Ledger) -> Option<OsFacts> {
    if trace.os.is_empty() {
        return None;
    }
    let thread = launching_thread(trace, tree, rows)?;
    let waiting = ledger.gaps.iter().filter(|part| part.line.kind() == Kind::Waiting);
    let waits = Spans::union_of(waiting.map(|part| Span::new(part.start, part.end)));
    let mut by_name: FxHashMap<Sym, Vec<Span>> = FxHashMap::default();
    let calls = &trace.os.calls;
    for row in (0..calls.start.len()).filter(|&row| calls.thread[row] == thread) {
        let span = Span::new(calls.start[row], calls.start[row] + calls.dur[row]);
        by_name.entry(calls.name[row]).or_default().push(span);
    }
    let in_calls = Spans::union_of(by_name.values().flatten().copied()).intersect(&waits);
    let mut calls: Vec<(Sym, i64, u64)> = by_name
        .into_iter()
        .map(|(name, spans)| {
            let inside = |span: &&Span| meets(&waits, **span);
            let count = spans.iter().filter(inside).count() as u64;
            (name, Spans::union_of(spans.iter().copied()).intersect(&waits).length(), count)
        })
        .filter(|&(_, ns, _)| ns > 0)
        .collect();
    calls.sort_by_key(|&(name, ns, _)| (std::cmp::Reverse(ns), name.index()));
    let off = &trace.os.off_core;
    let off_core = (0..off.start.len())
        .filter(|&row| off.thread[row] == thread)
        .map(|row| Span::new(off.start[row], off.start[row] + off.dur[row]));
    let off_core = Spans::union_of(off_core).intersect(&waits);
    Some(OsFacts {
        waits_ns: waits.length(),
        in_calls_ns: in_calls.length(),
        calls,
        preempted_ns: off_core.length() - off_core.intersect(&in_calls).length(),
        samples: samples(trace, thread, &waits),
    })
}

/// Whether a span has an instant in common with any of `spans`.
fn meets(spans: &Spans, span: Span) -> bool {
    let spans = spans.as_slice();
    let next = spans.partition_point(|one| one.end <= span.start);
    spans.get(next).is_some_and(|one| one.start < span.end)
}

/// The thread that launches most of a device's activities.
fn launching_thread(trace: &Trace, tree: &HostTree, rows: &[u32]) -> Option<ThreadId> {
    let mut launches: FxHashMap<ThreadId, u64> = FxHashMap::default();
    for &row in rows {
        if let Some(call) = tree.launch_of(whyidle_model::GpuId(row)) {
            *launches.entry(trace.host.thread[call.index()]).or_default() += 1;
        }
    }
    launches
        .into_iter()
        .max_by_key(|&(thread, count)| (count, std::cmp::Reverse(thread.index())))
        .map(|(thread, _)| thread)
}

fn samples(trace: &Trace, thread: ThreadId, waits: &Spans) -> Vec<(Sym, u64)> {
    let samples = &trace.os.samples;
    let mut by_function: FxHashMap<Sym, u64> = FxHashMap::default();
    for row in (0..samples.t.len()).filter(|&row| samples.thread[row] == thread) {
        if meets(waits, Span::new(samples.t[row], samples.t[row].saturating_add(1))) {
            *by_function.entry(samples.function[row]).or_default() += 1;
        }
    }
    let mut found: Vec<(Sym, u64)> = by_function.into_iter().collect();
    found.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name.index()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;
    use crate::testing::Made;

    #[test]
    fn waits_are_split_by_what_the_launching_thread_asks_the_system_for() {
        let mut made = Made::new()
            .range("ProfilerStep#1", 0, 1_000)
            .kernel("gemm", 1, 10, 100)
            .kernel("gemm", 900, 910, 90)
            .range("ProfilerStep#2", 1_000, 1_000)
            .kernel("gemm", 1_001, 1_010, 100)
            .kernel("gemm", 1_900, 1_910, 90);
        let (read, futex) = (made.trace.names.intern("read"), made.trace.names.intern("futex"));
        let thread = made.trace.host.thread[1];
        let other = made.trace.thread(1, 99);
        for (name, start, dur, thread) in
            [(read, 1_200, 300, thread), (futex, 1_250, 100, thread), (read, 1_200, 700, other)]
        {
            let calls = &mut made.trace.os.calls;
            calls.start.push(start * 1_000);
            calls.dur.push(dur * 1_000);
            calls.name.push(name);
            calls.thread.push(thread);
        }
        let off = &mut made.trace.os.off_core;
        // 100 µs of it inside the call.
        (off.start, off.dur, off.thread) = (vec![1_400_000], vec![200_000], vec![thread]);
        let samples = &mut made.trace.os.samples;
        (samples.t, samples.thread, samples.function) =
            (vec![1_220_000, 50_000, 1_600_000], vec![thread; 3], vec![read, futex, futex]);
        let facts = Facts::new(&made.trace);
        let device = facts.device(&made.trace, 0, |_| true);
        let found = os_facts(&made.trace, &facts.tree, &device.rows, &device.ledger).unwrap_or_default();
        assert_eq!(found.in_calls_ns, 300_000);
        assert_eq!(found.calls, [(read, 300_000, 1), (futex, 100_000, 1)]);
        assert_eq!(found.preempted_ns, 100_000);
        assert_eq!(found.samples, [(read, 1), (futex, 1)]);
        assert!(found.waits_ns >= 780_000, "{}", found.waits_ns);
    }

    #[test]
    fn most_traces_do_not_say() {
        let made = Made::new().kernel("gemm", 0, 10, 100);
        let facts = Facts::new(&made.trace);
        let device = facts.device(&made.trace, 0, |_| true);
        assert_eq!(os_facts(&made.trace, &facts.tree, &device.rows, &device.ledger), None);
    }
}
