//! Small made snapshots: totals, rests, growth, pieces, and the join with gaps.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use whyidle_model::{AllocatorAction as Action, BlockState, Frame, MemoryMark, MemorySnapshot};

use super::*;
use crate::ledger::GapPart;
use crate::lines::Line;
use crate::tree::{NONE, Opened};

const MIB: u64 = 1 << 20;
const START: u64 = 0x7f00_0000_0000;

/// A snapshot being made. Segments lie where they are put.
#[derive(Default)]
struct Made {
    snapshot: MemorySnapshot,
    us: i64,
}

impl Made {
    fn segment(&mut self, address: u64, size: u64, blocks: &[(u64, u64, BlockState)]) -> &mut Self {
        let (table, rows) = (&mut self.snapshot.segments, &mut self.snapshot.blocks);
        let from = rows.size.len() as u32;
        for &(at, size, state) in blocks {
            rows.address.push(at);
            rows.size.push(size);
            rows.requested.push(size);
            rows.state.push(state);
            rows.stack.push(0);
        }
        let of = |state| blocks.iter().filter(|block| block.2 == state).map(|block| block.1).sum::<u64>();
        table.device.push(0);
        table.address.push(address);
        table.size.push(size);
        table.allocated.push(of(BlockState::Allocated));
        table.active.push(of(BlockState::Allocated) + of(BlockState::PendingFree));
        table.requested.push(of(BlockState::Allocated));
        table.expandable.push(false);
        table.blocks.push(from..rows.size.len() as u32);
        self
    }

    fn event(&mut self, action: Action, address: u64, bytes: u64, stack: u32) -> &mut Self {
        let events = &mut self.snapshot.events;
        self.us += 10;
        events.action.push(action);
        events.address.push(address);
        events.size.push(events.sizes.len() as u32);
        events.sizes.push(bytes);
        events.times.push(1_760_000_000_000_000 + self.us);
        events.stack.push(stack);
        self
    }

    /// Adds a stack of one frame.
    fn stack(&mut self, function: &str, file: &str) -> u32 {
        let (names, stacks) = (&mut self.snapshot.names, &mut self.snapshot.stacks);
        let frame = Frame { function: names.intern(function), file: names.intern(file), line: 7 };
        stacks.members.push(stacks.frames.len() as u32);
        stacks.frames.push(frame);
        stacks.ends.push(stacks.members.len() as u32);
        stacks.ends.len() as u32 - 1
    }

    fn facts(&mut self) -> DeviceMemory {
        self.snapshot.histories = vec![vec![0..self.snapshot.events.len() as u32]];
        facts(&self.snapshot, &Sites::new(&self.snapshot)).remove(0)
    }
}

#[test]
fn a_rest_of_a_large_segment_belongs_to_its_block() {
    let mut made = Made::default();
    // 11.5 MiB asked for in a segment of 12 MiB: half a MiB is not split off; of 10 MiB in it, 2 MiB are.
    made.segment(START, 12 * MIB, &[(START, 12 * MIB, BlockState::Inactive)]);
    for bytes in [11 * MIB + MIB / 2, 10 * MIB] {
        made.event(Action::Alloc, START, bytes, 0);
        made.event(Action::FreeRequested, START, bytes, 0).event(Action::FreeCompleted, START, bytes, 0);
    }
    let memory = made.facts();
    assert_eq!((memory.peak.totals.allocated, memory.peak.totals.requested), (12 * MIB, 11 * MIB + MIB / 2));
    assert_eq!((memory.end.allocated, memory.exact, memory.peak.row), (0, true, Some(0)));
    assert_eq!((memory.events, memory.allocations), (6, 2));
    // In a segment that can grow, every rest is split off.
    made.snapshot.segments.expandable[0] = true;
    assert_eq!(made.facts().peak.totals.allocated, 11 * MIB + MIB / 2);
}

#[test]
fn what_was_there_before_the_history_is_told_from_its_frees_and_from_the_end() {
    let mut made = Made::default();
    let blocks = [(START, MIB, BlockState::Allocated), (START + MIB, 19 * MIB, BlockState::Inactive)];
    made.segment(START, 20 * MIB, &blocks);
    // Held at the opening: the block of the end, and one of 3 MiB that is given back.
    made.event(Action::FreeRequested, START + 4 * MIB, 3 * MIB, 0);
    made.event(Action::FreeCompleted, START + 4 * MIB, 3 * MIB, 0);
    let memory = made.facts();
    assert_eq!((memory.peak.totals.allocated, memory.peak.time, memory.exact), (4 * MIB, None, true));
    assert_eq!(memory.parts, [Part { site: None, bytes: 4 * MIB, count: 2 }]);
}

#[test]
fn frees_count_when_they_are_asked_for_and_active_memory_when_they_are_complete() {
    let mut made = Made::default();
    made.segment(START, 20 * MIB, &[(START, 20 * MIB, BlockState::Inactive)]);
    made.event(Action::Alloc, START, 4 * MIB, 0).event(Action::FreeRequested, START, 4 * MIB, 0);
    made.event(Action::Alloc, START + 4 * MIB, 6 * MIB, 0);
    made.event(Action::FreeCompleted, START, 4 * MIB, 0);
    made.event(Action::FreeRequested, START + 4 * MIB, 6 * MIB, 0);
    made.event(Action::FreeCompleted, START + 4 * MIB, 6 * MIB, 0);
    let peak = made.facts().peak.totals;
    assert_eq!((peak.allocated, peak.active, peak.cached()), (6 * MIB, 10 * MIB, 10 * MIB));
}

#[test]
fn a_history_without_one_kind_of_free_counts_by_the_other() {
    for left in [Action::FreeRequested, Action::FreeCompleted] {
        let mut made = Made::default();
        made.segment(START, 20 * MIB, &[(START, 20 * MIB, BlockState::Inactive)]);
        for _ in 0..2 {
            made.event(Action::Alloc, START, 4 * MIB, 0);
            made.event(left, START, 4 * MIB, 0);
        }
        let memory = made.facts();
        let peak = memory.peak.totals;
        assert_eq!((peak.allocated, peak.active, memory.exact), (4 * MIB, 4 * MIB, true), "{left:?}");
    }
}

#[test]
fn reserved_memory_follows_segments() {
    let mut made = Made::default();
    made.segment(START, 20 * MIB, &[(START, 20 * MIB, BlockState::Inactive)]);
    made.event(Action::SegmentAlloc, START + 100 * MIB, 40 * MIB, 0);
    made.event(Action::SegmentFree, START + 100 * MIB, 40 * MIB, 0);
    made.event(Action::SegmentFree, START + 200 * MIB, 30 * MIB, 0);
    let memory = made.facts();
    assert_eq!((memory.end.reserved, memory.peak_reserved), (20 * MIB, 90 * MIB));
    assert_eq!((memory.churn.came, memory.churn.went, memory.churn.came_again), (1, 2, 0));
}

/// Twelve steps: a temporary each, and a block that `keeps` says stays.
fn steps(keeps: impl Fn(usize) -> bool) -> Made {
    let mut made = Made::default();
    let (leaks, works) = (made.stack("leak", "/home/user/a.py"), made.stack("work", "/home/user/b.py"));
    let mut at = START + 100 * MIB;
    for step in 0..12 {
        for _ in 0..3 {
            made.event(Action::Alloc, START, MIB, works).event(Action::FreeRequested, START, MIB, works);
            made.event(Action::FreeCompleted, START, MIB, works);
        }
        made.event(Action::Alloc, at, 2 * MIB, leaks);
        if !keeps(step) {
            made.event(Action::FreeRequested, at, 2 * MIB, leaks).event(
                Action::FreeCompleted,
                at,
                2 * MIB,
                leaks,
            );
        }
        at += 2 * MIB;
    }
    made
}

#[test]
fn growth_is_what_every_step_leaves() {
    let memory = steps(|_| true).facts();
    let growth = memory.growth.as_ref().unwrap();
    assert_eq!((growth.by, growth.periods, growth.per_period), (PeriodsBy::Repetition, 10, 2 * MIB));
    assert_eq!((growth.kind, growth.sites.len(), growth.sites[0].count), (GrowthKind::Kept, 1, 10));
    assert_eq!(memory.advice, [Advice::Release]);
    // What is kept at first and what is kept at the end are no growth.
    assert_eq!(steps(|step| step < 6).facts().growth, None);
    assert_eq!(steps(|step| step > 8).facts().growth, None);
    assert_eq!(steps(|_| false).facts().advice, []);
}

/// Training steps that give everything back, then `rounds` at whose end each `keeps` stays: a batch, and what three
/// operators of a forward ask for, in `layers` layers each.
fn then_rounds(rounds: usize, layers: usize, keeps: usize) -> Made {
    let mut made = Made::default();
    let batch = made.stack("batch", "/home/user/a.py");
    let work = made.stack("work", "/home/user/b.py");
    let forward: Vec<u32> = ["norm", "up", "down", "act"]
        .map(|name| {
            made.stack(name, "/home/user/model.py");
            made.stack("_call_impl", "/usr/lib/python3/dist-packages/torch/nn/modules/module.py");
            // One stack of both frames.
            let ends = &mut made.snapshot.stacks.ends;
            ends.remove(ends.len() - 2);
            ends.len() as u32 - 1
        })
        .to_vec();
    for _ in 0..60 {
        made.event(Action::Alloc, START, MIB, work).event(Action::FreeCompleted, START, MIB, work);
    }
    let mut at = START + 100 * MIB;
    let mut held = std::collections::VecDeque::new();
    for _ in 0..rounds {
        let mut asked = vec![batch];
        asked.extend((0..layers).flat_map(|_| forward[..3].to_vec()));
        for stack in asked {
            made.event(Action::Alloc, at, MIB, stack);
            held.push_back((at, stack));
            at += MIB;
            made.event(Action::Alloc, START, MIB, forward[3]).event(Action::FreeCompleted, START, MIB, work);
        }
        while held.len() > keeps {
            let (at, stack) = held.pop_front().unwrap();
            made.event(Action::FreeCompleted, at, MIB, stack);
        }
    }
    made
}

#[test]
fn an_evaluation_after_training_grows_in_its_part_of_the_history() {
    let memory = then_rounds(6, 2, usize::MAX).facts();
    let growth = memory.growth.as_ref().unwrap();
    assert_eq!((growth.by, growth.kind, growth.periods), (PeriodsBy::Part, GrowthKind::Evaluation, 4));
    assert_eq!((growth.per_period, memory.periods), (7 * MIB, Some((PeriodsBy::Part, 6))));
    assert_eq!(memory.advice, [Advice::NoGrad]);
    // With an optimizer's update in each round, what forward saved outlives the backward.
    let mut made = then_rounds(6, 2, usize::MAX);
    let last = made.snapshot.events.time(made.snapshot.events.len() - 1);
    made.snapshot.marks.push(MemoryMark { name: "Optimizer.step#A".to_owned(), device: 0, time: last });
    assert_eq!(made.facts().advice, [Advice::Detach]);
}

#[test]
fn layers_of_one_forward_and_the_last_so_many_results_are_no_growth() {
    // One forward of many layers, under way when the snapshot was taken: whatever repeats is within it.
    assert_eq!(then_rounds(1, 40, usize::MAX).facts().growth, None);
    // What is kept is a list of the last so many.
    assert_eq!(then_rounds(60, 2, 70).facts().growth, None);
    // Nothing stays.
    assert_eq!(then_rounds(12, 2, 0).facts().growth, None);
}

#[test]
fn a_start_that_sets_tensors_up_is_no_growth() {
    let mut made = Made::default();
    let weights = made.stack("weights", "/home/user/a.py");
    let noise = made.stack("noise", "/home/user/a.py");
    for at in 0..12 {
        made.event(Action::Alloc, START, MIB, noise).event(Action::FreeCompleted, START, MIB, noise);
        made.event(Action::Alloc, START + (at + 1) * 2 * MIB, 2 * MIB, weights);
        made.event(Action::Alloc, START, MIB, noise);
    }
    made.event(Action::FreeCompleted, START, MIB, noise);
    let live = made.facts();
    assert!(live.growth.is_none_or(|growth| growth.by != PeriodsBy::Part));
}

#[test]
fn marks_of_the_program_are_its_steps() {
    let mut made = steps(|_| true);
    let times: Vec<i64> = (0..made.snapshot.events.len()).map(|row| made.snapshot.events.time(row)).collect();
    for (number, time) in times.iter().step_by(20).enumerate() {
        let name = format!("Optimizer.step#{number}");
        made.snapshot.marks.push(MemoryMark { name, device: 0, time: *time });
    }
    let memory = made.facts();
    assert_eq!(memory.periods, Some((PeriodsBy::Marks, times.len().div_ceil(20))));
    assert_eq!(memory.growth.map(|growth| growth.per_period), Some(4 * MIB));
}

fn gap(start: i64, end: i64) -> GapPart {
    GapPart { step: 0, line: Line::Latency, start, end, leaf: NONE, opened: Opened::default() }
}

#[test]
fn calls_of_the_driver_are_joined_with_gaps_of_the_same_time_only() {
    let mut made = Made::default();
    made.segment(START, 20 * MIB, &[]);
    for _ in 0..4 {
        made.event(Action::SegmentAlloc, START, MIB, 0).event(Action::SegmentFree, START, MIB, 0);
    }
    made.facts();
    let base = 1_760_000_000_000_000_000;
    // Events at 10, 20, … µs. The first two parts are one gap of 20 µs with one call; the third has none.
    let parts = [gap(5_000, 15_000), gap(15_000, 19_000), gap(41_000, 49_000), gap(60_000, 61_000)];
    let found = in_gaps(&parts, base, &made.snapshot, 0).unwrap();
    assert_eq!((found.came, found.went, found.failed, found.gaps), (1, 1, 0, 2));
    assert_eq!((found.with_ns, found.all_ns), (15_000, 23_000));
    assert_eq!(in_gaps(&parts, 0, &made.snapshot, 0), Err(Apart::NoClock));
    assert_eq!(in_gaps(&parts, base, &made.snapshot, 1), Err(Apart::NoHistory));
    let later = base + 1_000_000;
    assert_eq!(in_gaps(&parts, later, &made.snapshot, 0), Err(Apart::Times(925_000)));
    assert_eq!(in_gaps(&parts, base - 1_000_000, &made.snapshot, 0), Err(Apart::Times(949_000)));
}

#[test]
fn places_and_operators_are_told_from_stacks() {
    let mut made = Made::default();
    let mut of = |frames: &[(&str, &str)]| {
        for (function, file) in frames {
            made.stack(function, file);
        }
        // One stack of all of them.
        let stacks = &mut made.snapshot.stacks;
        let last = stacks.ends.len() - frames.len();
        stacks.ends.truncate(last);
        stacks.ends.push(stacks.members.len() as u32);
        let sites = Sites::new(&made.snapshot);
        let site = sites.sites[sites.of(made.snapshot.stacks.ends.len() as u32 - 1) as usize].clone();
        (site.operator, site.place.map(|place| place.0), site.phase)
    };
    let named = |operator: &str, place: Option<&str>, phase| {
        (Some(operator.to_owned()), place.map(str::to_owned), phase)
    };
    let module = "/usr/lib/python3/dist-packages/torch/nn/modules/module.py";
    let stack = [
        ("at::_ops::empty_strided::call(int)", "??"),
        ("at::_ops::to_dtype::call(int)", "??"),
        ("_call_impl", module),
        ("forward", "/home/user/model.py"),
        ("main", "/home/user/train.py"),
    ];
    assert_eq!(of(&stack), named("aten::to", Some("forward"), Phase::Forward));
    let stack = [
        ("at::_ops::mm::call(int)", "??"),
        ("torch::autograd::generated::MmBackward0::apply(int)", "??"),
        ("torch::autograd::Engine::thread_main(int)", "??"),
    ];
    assert_eq!(of(&stack), named("MmBackward0", None, Phase::Backward));
    let stack = [("step", "/x/site-packages/torch/optim/adamw.py"), ("main", "/home/user/train.py")];
    assert_eq!(of(&stack), named("step", Some("main"), Phase::Optimizer));
    assert_eq!(of(&[("_start", "??")]), (None, None, Phase::Other));
}
