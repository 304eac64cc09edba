//! A step laid out: nothing outside the step, nothing lost, and no gap hidden.

use proptest::prelude::*;

use super::{Block, Gap, HIDES_NONE_ABOVE, Lane, Part, Timeline, UNNAMED, representative, thin, timeline};
use crate::lines::Line;
use crate::testing::Made;

/// Kernels as (idle before, length), µs, in one step after a backlog.
fn made(kernels: &[(i64, i64)]) -> Made {
    let mut made = Made::new().orphan("backlog", 500, 500);
    let mut now = 1_000;
    for (at, &(idle, length)) in kernels.iter().enumerate() {
        let name = if at % 2 == 0 { "gemm" } else { "elementwise_kernel" };
        made = made.op("aten::mm", 1, now, idle.max(1)).kernel(name, now + idle / 2, now + idle, length);
        now += idle + length;
    }
    made.range("ProfilerStep#1", 900, now - 900)
}

fn laid_out(kernels: &[(i64, i64)], most: usize) -> Timeline {
    let made = made(kernels);
    let (facts, device) = made.facts();
    let at = representative(&device).expect("a step");
    timeline(&made.trace, &facts, &device, at, most).expect("a step with a length")
}

/// Blocks and gaps in order: they cover the step without holes.
fn covers(timeline: &Timeline) -> bool {
    let busy = timeline.busy.iter().map(|block| (block.start, block.end));
    let mut all: Vec<(i64, i64)> = busy.chain(timeline.gaps.iter().map(|gap| (gap.start, gap.end))).collect();
    all.sort_unstable();
    all.first().is_some_and(|first| first.0 == 0)
        && all.last().is_some_and(|last| last.1 == timeline.length)
        && all.windows(2).all(|pair| pair[0].1 == pair[1].0)
}

fn lies_inside(lane: &Lane, length: i64) -> bool {
    lane.blocks.iter().all(|block| 0 <= block.start && block.start < block.end && block.end <= length)
}

proptest! {
    #[test]
    fn blocks_lie_in_the_step_and_gaps_are_what_they_leave(
        kernels in prop::collection::vec((0_i64..400, 1_i64..400), 1..60),
        most in 4_usize..200,
    ) {
        let whole = laid_out(&kernels, usize::MAX);
        let thinned = laid_out(&kernels, most);
        for timeline in [&whole, &thinned] {
            prop_assert!(covers(timeline));
            prop_assert!(timeline.streams.iter().chain(&timeline.host).all(|lane| lies_inside(lane, timeline.length)));
            for gap in &timeline.gaps {
                prop_assert_eq!(gap.lines.iter().map(|(_, ns)| ns).sum::<i64>(), gap.length());
                prop_assert_eq!(gap.parts.iter().map(|part| part.end - part.start).sum::<i64>(), gap.length());
            }
        }
        // Nothing was merged in the first: its gaps are the free time of its kernels, its blocks the kernels.
        prop_assert!(whole.busy.iter().all(|block| block.count == 1 && block.idle == 0));
        let kernels = |timeline: &Timeline| timeline.busy.iter().map(|block| u64::from(block.count)).sum::<u64>();
        prop_assert_eq!(kernels(&whole), kernels(&thinned));
        // Idle time is idle time, drawn as a gap or noted on a block.
        let idle = |timeline: &Timeline| {
            timeline.gaps.iter().map(Gap::length).sum::<i64>() + timeline.busy.iter().map(|block| block.idle).sum::<i64>()
        };
        prop_assert_eq!(idle(&whole), idle(&thinned));
        let shown = |gap: &&Gap| gap.length() * HIDES_NONE_ABOVE >= whole.length;
        for gap in whole.gaps.iter().filter(shown) {
            prop_assert!(thinned.gaps.contains(gap), "hidden: {:?}", gap);
        }
    }

    #[test]
    fn a_lane_of_many_blocks_gets_fewer(
        blocks in prop::collection::vec((0_i64..50, 1_i64..2_000), 1..4_000),
        most in 50_usize..500,
    ) {
        let mut now = 0;
        let blocks: Vec<Block> = blocks.iter().map(|&(pause, length)| {
            now += pause + length;
            Block::one(now - length, now, Line::Matmul, UNNAMED)
        }).collect();
        let thinned = thin::lane(blocks.clone(), now, most);
        let count = |blocks: &[Block]| blocks.iter().map(|block| u64::from(block.count)).sum::<u64>();
        prop_assert_eq!(count(&blocks), count(&thinned));
        prop_assert!(thinned.len() <= blocks.len());
        prop_assert!(blocks.len() <= most || thinned.len() <= 3 * most + 2 * HIDES_NONE_ABOVE as usize);
    }
}

#[test]
fn a_hundred_thousand_kernels_become_a_picture_in_which_the_gap_stands() {
    let mut now = 0;
    let mut busy = Vec::new();
    let mut gaps = Vec::new();
    let mut gap = |start: i64, end: i64| {
        gaps.push(Gap {
            start,
            end,
            lines: vec![(Line::HostLaunch, end - start)],
            parts: vec![Part { start, end, line: Line::HostLaunch }],
            host: Vec::new(),
            ended_by: UNNAMED,
            operator: UNNAMED,
            frame: UNNAMED,
        });
    };
    for at in 0..100_000_i64 {
        let pause = if at == 60_000 { 2_000_000 } else { 500 };
        gap(now, now + pause);
        busy.push(Block::one(now + pause, now + pause + 9_500, Line::Elementwise, 0));
        now += pause + 9_500;
    }
    let (thinned, kept) = thin::device(busy, gaps, now, 2_500);
    assert!(thinned.len() < 3_000 && kept.len() < 10, "{} blocks, {} gaps", thinned.len(), kept.len());
    assert!(kept.iter().any(|gap| gap.length() == 2_000_000));
    let idle: i64 = thinned.iter().map(|block| block.idle).sum();
    assert_eq!(idle + kept.iter().map(Gap::length).sum::<i64>(), 99_999 * 500 + 2_000_000);
}

#[test]
fn a_gap_says_what_the_host_was_in_and_what_ended_it() {
    let made = Made::new()
        .orphan("backlog", 500, 500)
        .range("ProfilerStep#1", 900, 900)
        .range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 1_000, 500)
        .op("aten::mm", 1, 1_600, 20)
        .kernel("gemm", 1_610, 1_620, 100);
    let (facts, device) = made.facts();
    let timeline = timeline(&made.trace, &facts, &device, 0, 100).expect("a step");
    let [gap] = &timeline.gaps[..] else { panic!("one gap: {:?}", timeline.gaps) };
    let name = |at: u32| timeline.names.get(at as usize).map_or("", String::as_str);
    assert_eq!((gap.start, gap.length(), gap.line()), (0, 620_000, Line::DataWorkers));
    assert_eq!((name(gap.ended_by), name(gap.operator)), ("gemm", "aten::mm"));
    assert!(name(gap.host[0].0).starts_with("enumerate(DataLoader)"));
    // The mark of the step is no work of the host.
    assert!(
        timeline
            .host
            .iter()
            .flat_map(|lane| &lane.blocks)
            .all(|block| !name(block.name).starts_with("Profiler"))
    );
}
