//! The host chain: the one sequence of host work that feeds the GPU.
//!
//! The main thread and autograd's threads exclude each other (the main thread waits inside
//! `backward`), so merging them in time gives one sequence without an explicit hand-over.
//! Watchdogs, pin-memory threads and loaders' helper threads stay off it.

use whyidle_model::{HostId, HostKind, Span, Trace};

use crate::hostclass::HostClass;
use crate::tree::{Context, HostTree, NONE, Opened, Segment};

/// The host chain: consecutive segments that cover a window without holes.
pub struct Chain {
    /// Threads that take part, the main thread first.
    pub threads: Vec<usize>,
    /// Segments in order, without holes; [`NONE`] as leaf where no event was active.
    pub segments: Vec<Segment>,
}

impl Chain {
    /// The chain of `trace` from its first to its last host event on it; empty without host events.
    #[must_use]
    pub fn new(trace: &Trace, tree: &HostTree) -> Self {
        let Some(main) = main_thread(trace, tree) else {
            return Self { threads: Vec::new(), segments: Vec::new() };
        };
        let mut threads = vec![main];
        threads.extend((0..tree.threads().len()).filter(|&thread| {
            thread != main
                && trace.threads[thread].pid == trace.threads[main].pid
                && tree.threads()[thread].iter().any(|&row| feeds_the_gpu(trace, tree, HostId(row)))
        }));
        let weight = |leaf| weight(trace, tree, leaf);
        let own = tree.segments(trace, main);
        let mut others = threads[1..].iter().map(|&other| tree.segments(trace, other));
        let mut merged = match others.next() {
            Some(other) => merge(own.estimate() + other.estimate(), own, other, weight),
            None => own.collect(),
        };
        for other in others {
            merged = merge(merged.len() + other.estimate(), merged.into_iter(), other, weight);
        }
        Self { threads, segments: fill(merged) }
    }

    /// Segments that touch `window`, clipped to it. A segment's `opened` counts stay with the
    /// clip that holds its start.
    pub fn within(&self, window: Span) -> impl Iterator<Item = Segment> + '_ {
        let from = self.segments.partition_point(|segment| segment.end <= window.start);
        self.segments[from..].iter().take_while(move |segment| segment.start < window.end).map(
            move |segment| Segment {
                start: segment.start.max(window.start),
                end: segment.end.min(window.end),
                leaf: segment.leaf,
                opened: if segment.start >= window.start { segment.opened } else { Opened::default() },
            },
        )
    }

    /// The segment active at `time`.
    #[must_use]
    pub fn at(&self, time: i64) -> Option<&Segment> {
        let at = self.segments.partition_point(|segment| segment.end <= time);
        self.segments.get(at).filter(|segment| segment.start <= time)
    }
}

/// The thread with the step marks; else the one that launches most.
fn main_thread(trace: &Trace, tree: &HostTree) -> Option<usize> {
    let mut launches = vec![0_usize; trace.threads.len()];
    let mut marks = vec![0_usize; trace.threads.len()];
    for row in 0..trace.host.len() {
        let thread = trace.host.thread[row].index();
        match tree.class(trace, HostId::from_index(row)) {
            HostClass::StepMark | HostClass::OptimizerStep => marks[thread] += 1,
            HostClass::Launch | HostClass::GraphLaunch | HostClass::Copy => launches[thread] += 1,
            _ => {}
        }
    }
    (0..trace.threads.len())
        .filter(|&thread| !tree.threads()[thread].is_empty())
        .max_by_key(|&thread| (marks[thread] > 0, launches[thread], tree.threads()[thread].len()))
}

/// A node of backward, or a kernel launched by an operator: older traces do not mark the nodes.
/// Helper threads make bare calls, or copy.
fn feeds_the_gpu(trace: &Trace, tree: &HostTree, id: HostId) -> bool {
    match tree.class(trace, id) {
        HostClass::BackwardNode => true,
        HostClass::Launch => tree.operator(trace, id).is_some(),
        _ => false,
    }
}

/// How strongly a thread's innermost event claims the chain: a call beats an operator, so that no launch is lost
/// where two threads run at once, and an operator a frame or annotation, which may be no more than the wait for
/// the other thread. Older profilers record the mark of a step as an operator.
fn weight(trace: &Trace, tree: &HostTree, leaf: u32) -> u8 {
    if leaf == NONE {
        return 0;
    }
    let id = HostId(leaf);
    match trace.host.kind[id.index()] {
        _ if tree.class(trace, id) == HostClass::StepMark => 1,
        HostKind::Runtime | HostKind::Driver => 4,
        HostKind::Op => 3,
        _ if tree.context(id) == Context::Idle => 1,
        _ => 2,
    }
}

/// Merges two threads' segments; where both are active the heavier leaf wins, the first on a tie.
fn merge(
    estimate: usize,
    mut a: impl Iterator<Item = Segment>,
    mut b: impl Iterator<Item = Segment>,
    weight: impl Fn(u32) -> u8,
) -> Vec<Segment> {
    const NEVER: Segment = Segment {
        start: i64::MAX,
        end: i64::MAX,
        leaf: NONE,
        opened: Opened { ops: 0, calls: 0, frames: 0 },
    };
    let mut out: Vec<Segment> = Vec::with_capacity(estimate);
    let (mut left, mut right) = (a.next().unwrap_or(NEVER), b.next().unwrap_or(NEVER));
    let mut now = i64::MIN;
    loop {
        while left.end <= now {
            left = a.next().unwrap_or(NEVER);
        }
        while right.end <= now {
            right = b.next().unwrap_or(NEVER);
        }
        now = now.max(left.start.min(right.start));
        if now == NEVER.start {
            break;
        }
        let (left_active, right_active) = (left.start <= now, right.start <= now);
        let right_wins = right_active && (!left_active || weight(right.leaf) > weight(left.leaf));
        let pick = if right_wins { right } else { left };
        let change = |segment: Segment, active| if active { segment.end } else { segment.start };
        let end = change(left, left_active).min(change(right, right_active));
        let opened = [left, right].into_iter().filter(|segment| segment.start == now);
        let opened = opened.fold(Opened::default(), |sum, segment| Opened {
            ops: sum.ops.saturating_add(segment.opened.ops),
            calls: sum.calls.saturating_add(segment.opened.calls),
            frames: sum.frames.saturating_add(segment.opened.frames),
        });
        match out.last_mut() {
            Some(last) if last.leaf == pick.leaf && last.end == now && opened == Opened::default() => {
                last.end = end
            }
            _ => out.push(Segment { start: now, end, leaf: pick.leaf, opened }),
        }
        now = end;
    }
    out
}

/// Puts empty segments into the holes, in place: this is the longest list there is.
fn fill(mut segments: Vec<Segment>) -> Vec<Segment> {
    let hole = |start, end| Segment { start, end, leaf: NONE, opened: Opened::default() };
    let holes = segments.windows(2).filter(|pair| pair[0].end < pair[1].start).count();
    let mut from = segments.len();
    segments.reserve_exact(holes);
    segments.resize(from + holes, hole(0, 0));
    // From the back: each segment moves behind all that are still to move, until no hole is left.
    let mut to = segments.len();
    while from < to {
        (from, to) = (from - 1, to - 1);
        segments[to] = segments[from];
        let (before, next) = (segments[from - 1].end, segments[to].start);
        if before < next {
            to -= 1;
            segments[to] = hole(before, next);
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn segments() -> impl Strategy<Value = Vec<Segment>> {
        prop::collection::vec((0_i64..5, 1_i64..8, 0_u32..40), 0..20).prop_map(|parts| {
            let mut now = 0;
            parts
                .into_iter()
                .map(|(hole, length, leaf)| {
                    let start = now + hole;
                    now = start + length;
                    Segment { start, end: now, leaf, opened: Opened { ops: 1, ..Opened::default() } }
                })
                .collect()
        })
    }

    fn leaf_at(list: &[Segment], t: i64) -> Option<u32> {
        list.iter().find(|s| s.start <= t && t < s.end).map(|s| s.leaf)
    }

    proptest! {
        #[test]
        fn a_filled_chain_has_no_holes_and_keeps_its_segments(list in segments()) {
            let filled = fill(list.clone());
            prop_assert!(filled.windows(2).all(|w| w[0].end == w[1].start));
            prop_assert_eq!(filled.into_iter().filter(|s| s.leaf != NONE).collect::<Vec<_>>(), list);
        }

        #[test]
        fn the_heavier_leaf_wins_everywhere_and_nothing_is_lost(a in segments(), b in segments()) {
            let weight = |leaf: u32| u8::try_from(leaf % 4).unwrap_or(0);
            let merged = merge(0, a.iter().copied(), b.iter().copied(), weight);
            for t in 0..200 {
                let expected = match (leaf_at(&a, t), leaf_at(&b, t)) {
                    (Some(l), Some(r)) if weight(r) > weight(l) => Some(r),
                    (l, r) => l.or(r),
                };
                prop_assert_eq!(leaf_at(&merged, t), expected);
            }
            prop_assert!(merged.windows(2).all(|w| w[0].end <= w[1].start));
            let opened: u32 = merged.iter().map(|s| u32::from(s.opened.ops)).sum();
            prop_assert_eq!(opened as usize, a.len() + b.len());
        }
    }
}
