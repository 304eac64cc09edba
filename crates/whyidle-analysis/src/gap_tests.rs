//! Whom a gap is charged to, rule by rule, and that nothing is ever lost.

use proptest::prelude::*;
use whyidle_model::GpuKind;

use crate::ledger::Line;
use crate::testing::Made;

/// Time on each line that is not empty, µs, for a step from 1000 to the end of the last kernel.
///
/// The step's first kernel ends the gap under test; a backlog kernel ends at 1000.
fn lines(made: Made) -> Vec<(Line, i64)> {
    let made = made.range("ProfilerStep#1", 900, 9_000).orphan("backlog", 500, 500);
    let (_, device) = made.facts();
    assert_eq!(device.ledger.length(), device.steps.used[0].window.length());
    Line::ALL
        .iter()
        .map(|&line| (line, device.ledger.total(line) / 1_000))
        .filter(|&(_, us)| us > 0)
        .collect()
}

#[test]
fn a_late_launch_is_the_hosts_and_one_in_time_is_latency() {
    let late = lines(Made::new().op("aten::mm", 1, 1_000, 210).kernel("gemm", 1_200, 1_210, 100));
    assert_eq!(late, [(Line::Matmul, 100), (Line::HostLaunch, 210)]);
    let early = lines(Made::new().op("aten::mm", 1, 900, 60).kernel("gemm", 950, 1_010, 100));
    assert_eq!(early, [(Line::Matmul, 100), (Line::Latency, 10)]);
    let never_started = lines(Made::new().kernel("gemm", 950, 2_000, 100));
    assert_eq!(never_started, [(Line::Matmul, 100), (Line::DeviceWait, 1_000)]);
}

#[test]
fn the_innermost_thing_the_host_did_owns_the_gap() {
    let loading = Made::new()
        .range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 1_000, 500)
        .op("aten::stack", 1, 1_100, 50)
        .op("aten::mm", 1, 1_600, 20)
        .kernel("gemm", 1_610, 1_620, 10);
    // Operators inside the loader are loading; between the two nothing was active.
    assert_eq!(
        lines(loading),
        [(Line::Matmul, 10), (Line::DataWorkers, 500), (Line::HostLaunch, 20), (Line::HostPython, 100)]
    );
    let collecting =
        Made::new().frame("<built-in function collect>", 1_000, 300).kernel("gemm", 1_310, 1_320, 10);
    assert_eq!(
        lines(collecting),
        [(Line::Matmul, 10), (Line::HostLaunch, 10), (Line::HostPython, 10), (Line::HostGc, 300)]
    );
    let allocating = Made::new()
        .op("aten::empty", 1, 1_000, 100)
        .call("cudaMalloc", 1_020, 60)
        .kernel("gemm", 1_100, 1_110, 10);
    assert_eq!(lines(allocating), [(Line::Matmul, 10), (Line::HostLaunch, 50), (Line::Allocator, 60)]);
}

#[test]
fn a_synchronisation_costs_the_run_ahead_it_took_and_no_more() {
    // Blocked from 960 to 1000 while the device worked: 40 µs of head start are gone, the rest is launching.
    let synced = Made::new()
        .call("cudaStreamSynchronize", 960, 42)
        .op("aten::mm", 1, 1_002, 108)
        .kernel("gemm", 1_100, 1_110, 10);
    assert_eq!(lines(synced), [(Line::Matmul, 10), (Line::HostLaunch, 68), (Line::HostSync, 42)]);
}

#[test]
fn the_buffer_given_back_after_a_blocking_copy_belongs_to_the_copy() {
    let copied = Made::new()
        .op("aten::copy_", 1, 1_000, 120)
        .launch(
            "cudaMemcpyAsync",
            1_010,
            100,
            GpuKind::Memcpy,
            "Memcpy HtoD (Pageable -> Device)",
            7,
            1_020,
            80,
            1 << 20,
        )
        .kernel("gemm", 1_400, 1_410, 10);
    let found = lines(copied);
    // 1 MiB at 4 GB/s is 262 µs of release, and the 90 µs of head start that the copy took away pay for the rest.
    let of = |line| found.iter().find(|row| row.0 == line).map_or(0, |row| row.1);
    assert_eq!(found, [(Line::Matmul, 10), (Line::DataTransfer, of(Line::DataTransfer))]);
    assert_eq!(of(Line::DataTransfer), 410);
}

#[test]
fn a_collective_is_exposed_only_where_no_compute_runs() {
    let reduced = Made::new()
        .kernel("gemm", 900, 1_000, 100)
        .launch("cudaLaunchKernel", 905, 5, GpuKind::Kernel, "ncclDevKernel_AllReduce", 20, 1_050, 150, 0)
        .kernel("gemm", 910, 1_102, 50);
    // Covered to 1152 but for the pause of 2 µs between the two, which would be there without it.
    assert_eq!(lines(reduced), [(Line::Matmul, 150), (Line::Communication, 48), (Line::Latency, 2)]);
}

proptest! {
    /// Whatever host and device do, every nanosecond of every step is on exactly one line.
    #[test]
    fn random_timelines_are_accounted_for_to_the_nanosecond(
        parts in prop::collection::vec((0_u8..7, 0_i64..60, 1_i64..40, 0_i64..50, 0_i64..30), 1..60)
    ) {
        let mut made = Made::new();
        let mut now = 0;
        for step in 0..4 {
            made = made.range(&format!("ProfilerStep#{step}"), step * 1_000, 1_000);
        }
        for (what, pause, dur, delay, gpu) in parts {
            now += pause;
            made = match what {
                0 => made.op("aten::add", 1, now, dur),
                1 => made.call("cudaStreamSynchronize", now, dur),
                2 => made.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", now, dur),
                3 => made.frame("train.py(3): f", now, dur),
                4 => made.op("autograd::engine::evaluate_function: X", 2, now, dur),
                5 => made.launch("cudaLaunchKernel", now, 3, GpuKind::Kernel, "ncclDevKernel", 20, now + delay, gpu, 0),
                _ => made.kernel("gemm", now, now + delay, gpu),
            };
            now += dur / 2;
        }
        let (_, device) = made.facts();
        prop_assert_eq!(device.ledger.steps.len(), device.steps.used.len());
        for (step, row) in device.steps.used.iter().zip(&device.ledger.steps) {
            prop_assert!(row.iter().all(|&ns| ns >= 0));
            prop_assert_eq!(row.iter().sum::<i64>(), step.window.length());
        }
        let gaps: i64 = device.ledger.gaps.iter().map(|part| part.end - part.start).sum();
        let busy: i64 = device.ledger.busy.iter().map(|busy| busy.piece.end - busy.piece.start).sum();
        prop_assert_eq!(gaps + busy, device.ledger.length());
    }
}

/// A kernel of no length once ended a step whose gap before it was on no list.
#[test]
fn a_step_that_ends_with_an_activity_of_no_length_is_complete() {
    let found = lines(Made::new().kernel("gemm", 1_500, 1_510, 0));
    assert_eq!(found.iter().map(|row| row.1).sum::<i64>(), 510);
}
