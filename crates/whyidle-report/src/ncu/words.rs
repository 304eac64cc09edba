//! The sentences: what limits the kernels, and what to change.

use whyidle_analysis::ncu::{Bound, Change, Coverage, Limiter};
use whyidle_diagnosis::Message;
use whyidle_model::NcuStall;

use super::NcuReport;

/// Part of `whole`.
pub(super) fn share(part: i64, whole: i64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 } else { 0.0 }
}

/// The answer, sentence by sentence.
pub(super) fn answer(report: &NcuReport) -> Vec<Message> {
    let together = &report.together;
    let Some(&(bound, time)) = together.bounds.first().filter(|(_, time)| *time > 0) else {
        let is_elsewhere = report.coverage.as_ref().is_some_and(|(_, coverage)| coverage.found == 0);
        return vec![Message::new(if is_elsewhere { "ncu-none-in-trace" } else { "ncu-no-throughput" })];
    };
    let held = |id| Message::new(id).share("share", share(time, together.weight_ns));
    let waits = together.stalls.iter().find(|(stall, _)| *stall != NcuStall::NotSelected);
    let mut said = vec![match (bound, waits) {
        (Bound::Compute, _) => held("ncu-held-compute"),
        (Bound::Dram, _) => held("ncu-held-dram"),
        (Bound::Cache, _) => held("ncu-held-cache"),
        (Bound::Balanced, _) => held("ncu-held-balanced"),
        (Bound::Small, _) => held("ncu-held-small"),
        (Bound::Latency, Some((stall, _))) => held("ncu-held-latency").message("stall", self::stall(*stall)),
        (Bound::Latency, None) => held("ncu-held-latency-bare"),
    }];
    said.push(match together.change {
        Some((change, time)) => self::change(change).share("share", share(time, together.weight_ns)),
        None => Message::new("ncu-change-none"),
    });
    said
}

fn change(change: Change) -> Message {
    Message::new(match change {
        Change::Fuse => "ncu-change-fuse",
        Change::Larger => "ncu-change-larger",
        Change::Precision => "ncu-change-precision",
        Change::Occupancy => "ncu-change-occupancy",
    })
}

/// How much of a step the measured kernels are.
pub(super) fn covers(path: &str, coverage: &Coverage) -> Message {
    let id = if coverage.steps > 0 { "ncu-covers" } else { "ncu-covers-whole" };
    Message::new(id)
        .share("share", share(coverage.covered_ns, coverage.working_ns))
        .time("covered", coverage.covered_ns / i64::from(coverage.steps.max(1)))
        .time("working", coverage.working_ns / i64::from(coverage.steps.max(1)))
        .name("path", path)
}

/// What limits a kernel, in a word.
pub(super) fn bound(bound: Option<Bound>) -> Message {
    Message::new(match bound {
        Some(Bound::Compute) => "ncu-bound-compute",
        Some(Bound::Dram) => "ncu-bound-dram",
        Some(Bound::Cache) => "ncu-bound-cache",
        Some(Bound::Balanced) => "ncu-bound-balanced",
        Some(Bound::Latency) => "ncu-bound-latency",
        Some(Bound::Small) => "ncu-bound-small",
        None => "ncu-bound-unknown",
    })
}

/// What allows no more warps.
pub(super) fn limiter(limiter: Limiter) -> Message {
    Message::new(match limiter {
        Limiter::Registers => "ncu-limit-registers",
        Limiter::Shared => "ncu-limit-shared",
        Limiter::Warps => "ncu-limit-warps",
        Limiter::Blocks => "ncu-limit-blocks",
        Limiter::Barriers => "ncu-limit-barriers",
    })
}

/// What a warp waits for.
pub(super) fn stall(stall: NcuStall) -> Message {
    Message::new(match stall {
        NcuStall::Selected => "ncu-stall-selected",
        NcuStall::NotSelected => "ncu-stall-not-selected",
        NcuStall::LongScoreboard => "ncu-stall-long-scoreboard",
        NcuStall::ShortScoreboard => "ncu-stall-short-scoreboard",
        NcuStall::Barrier => "ncu-stall-barrier",
        NcuStall::MathPipe => "ncu-stall-math-pipe",
        NcuStall::Mio => "ncu-stall-mio",
        NcuStall::Lg => "ncu-stall-lg",
        NcuStall::Tex => "ncu-stall-tex",
        NcuStall::Wait => "ncu-stall-wait",
        NcuStall::NoInstruction => "ncu-stall-no-instruction",
        NcuStall::ConstantMiss => "ncu-stall-constant",
        NcuStall::Branch => "ncu-stall-branch",
        NcuStall::Membar => "ncu-stall-membar",
        NcuStall::Drain => "ncu-stall-drain",
        NcuStall::Dispatch => "ncu-stall-dispatch",
        NcuStall::Gmma => "ncu-stall-gmma",
        NcuStall::Sleeping => "ncu-stall-sleeping",
        NcuStall::Misc => "ncu-stall-misc",
    })
}
