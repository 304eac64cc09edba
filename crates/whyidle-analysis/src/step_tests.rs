//! How steps are found, and which are left out.

use crate::steps::{Excluded, FoundBy};
use crate::testing::Made;

/// Steps of 1 ms with two kernels each.
fn trained(steps: i64, marks: impl Fn(Made, i64) -> Made) -> Made {
    (0..steps).fold(Made::new(), |made, step| {
        let t = step * 1_000;
        let made = marks(made, step);
        made.op("aten::mm", 1, t + 90, 40).kernel("gemm", t + 100, t + 120, 300).kernel(
            "add",
            t + 300,
            t + 430,
            400,
        )
    })
}

#[test]
fn profiler_steps_end_where_their_last_kernel_does() {
    let made =
        trained(4, |made, step| made.range(&format!("ProfilerStep#{}", step + 5), step * 1_000, 1_000));
    let (_, device) = made.facts();
    assert_eq!(device.steps.found_by, FoundBy::ProfilerStep);
    let used: Vec<(i64, i64)> =
        device.steps.used.iter().map(|step| (step.number, step.window.length() / 1_000)).collect();
    assert_eq!(used, [(6, 1_000), (7, 1_000), (8, 1_000)]);
    assert_eq!(device.steps.excluded, [(5, Excluded::NoStart)]);
}

#[test]
fn work_launched_before_the_trace_is_counted_and_left_out() {
    let made = trained(3, |made, step| made.range(&format!("ProfilerStep#{step}"), step * 1_000, 1_000));
    let (_, device) = made.orphan("gemm", -200, 150).orphan("gemm", -50, 100).facts();
    assert_eq!((device.steps.backlog, device.steps.backlog_ns), (2, 250_000));
    assert_eq!(device.steps.used.len(), 2);
}

#[test]
fn a_last_step_without_its_activities_is_left_out() {
    let made = trained(4, |made, step| made.range(&format!("ProfilerStep#{step}"), step * 1_000, 1_000));
    let made = made.range("ProfilerStep#4", 4_000, 1_000).kernel("gemm", 4_100, 4_120, 10);
    let made = (0..5).fold(made, |made, at| made.call("cudaLaunchKernel", 4_200 + at * 10, 5));
    let (_, device) = made.facts();
    assert!(device.steps.excluded.contains(&(4, Excluded::NoEnd)), "{:?}", device.steps.excluded);
}

#[test]
fn optimizer_updates_mark_steps_where_the_profiler_does_not() {
    let made = trained(5, |made, step| {
        // Two optimizers of one step follow each other directly.
        made.range("Optimizer.step#Adam.step", step * 1_000 + 800, 60).range(
            "Optimizer.step#SGD.step",
            step * 1_000 + 870,
            60,
        )
    });
    let (facts, device) = made.facts();
    assert_eq!((facts.found_by, facts.host_steps.len()), (FoundBy::OptimizerStep, 4));
    assert!(device.steps.used.iter().all(|step| step.window.length() == 1_000_000));
}

#[test]
fn repetition_finds_steps_without_any_mark() {
    let (facts, device) = trained(8, |made, _| made).facts();
    assert_eq!(facts.found_by, FoundBy::Repetition);
    assert!(device.steps.used.len() >= 5);
    assert!(device.steps.used.iter().all(|step| step.window.length() == 1_000_000));
}

#[test]
fn without_any_of_these_the_window_is_one_step() {
    let (facts, device) =
        Made::new().kernel("a", 0, 10, 10).kernel("b", 50, 60, 10).kernel("c", 90, 99, 5).facts();
    assert_eq!(facts.found_by, FoundBy::Window);
    assert_eq!(device.steps.used.len(), 1);
}
