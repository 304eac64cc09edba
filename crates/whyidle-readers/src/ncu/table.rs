//! Names of metrics: the raw page's own, those of other versions, and those that the details page has for them.
//! Sources: the section files that ship with Nsight Compute (`SpeedOfLight.section`, `Occupancy.section`,
//! `LaunchStatistics.section`, `SchedulerStatistics.section`, `WarpStateStatistics.section`); prints of 2019 to 2025.

use whyidle_model::{NcuKernels, NcuMetric, NcuStall};

/// Where a figure goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Metric(NcuMetric),
    Stall(NcuStall),
}

impl Target {
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Metric(metric) => metric.unit(),
            Self::Stall(stall) => stall.unit(),
        }
    }

    pub(super) fn set(self, kernels: &mut NcuKernels, row: usize, value: f64) {
        match self {
            Self::Metric(metric) => kernels.set_metric(metric, row, value),
            Self::Stall(stall) => kernels.set_stall(stall, row, value),
        }
    }
}

/// Names of the same figure in other versions and on other cards.
const OTHER_NAMES: [(&str, NcuMetric); 10] = [
    ("gpu__time_duration.avg", NcuMetric::Duration),
    ("dram__throughput.avg.pct_of_peak_sustained_elapsed", NcuMetric::Dram),
    ("lts__t_bytes.avg.pct_of_peak_sustained_elapsed", NcuMetric::L2),
    ("launch__occupancy_limit_barrier", NcuMetric::LimitBarriers),
    ("device__attribute_multiprocessor_count", NcuMetric::Multiprocessors),
    // Until Turing the tensor cores have no counter for all of their types together.
    ("sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active", NcuMetric::Tensor),
    ("sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active", NcuMetric::Tensor),
    ("smsp__issue_active.sum.pct_of_peak_sustained_active", NcuMetric::Issue),
    ("sm__maximum_warps_avg_per_active_cycle_pct", NcuMetric::OccupancyLimit),
    ("sm__cycles_elapsed.max", NcuMetric::Elapsed),
];

/// Names of the details page, of all versions.
const DETAILS: [(&str, NcuMetric); 28] = [
    ("Duration", NcuMetric::Duration),
    ("Compute (SM) Throughput", NcuMetric::Sm),
    ("Compute (SM) [%]", NcuMetric::Sm),
    ("SM Throughput", NcuMetric::Sm),
    ("SM [%]", NcuMetric::Sm),
    ("SOL SM", NcuMetric::Sm),
    ("Memory Throughput", NcuMetric::Memory),
    ("Memory [%]", NcuMetric::Memory),
    ("SOL Memory", NcuMetric::Memory),
    ("DRAM Throughput", NcuMetric::Dram),
    ("SOL DRAM", NcuMetric::Dram),
    ("L2 Cache Throughput", NcuMetric::L2),
    ("SOL L2 Cache", NcuMetric::L2),
    ("L1/TEX Cache Throughput", NcuMetric::L1),
    ("SOL L1/TEX Cache", NcuMetric::L1),
    ("Elapsed Cycles", NcuMetric::Elapsed),
    ("SM Active Cycles", NcuMetric::Active),
    ("Achieved Occupancy", NcuMetric::Occupancy),
    ("Theoretical Occupancy", NcuMetric::OccupancyLimit),
    ("Block Limit Registers", NcuMetric::LimitRegisters),
    ("Block Limit Shared Mem", NcuMetric::LimitShared),
    ("Block Limit Warps", NcuMetric::LimitWarps),
    ("Block Limit SM", NcuMetric::LimitBlocks),
    ("Block Limit Barriers", NcuMetric::LimitBarriers),
    ("Waves Per SM", NcuMetric::Waves),
    ("# SMs", NcuMetric::Multiprocessors),
    ("Registers Per Thread", NcuMetric::Registers),
    ("One or More Eligible", NcuMetric::Issue),
];

/// What a column of the raw page is.
pub(super) fn of_raw(name: &str) -> Option<Target> {
    if let Some(rest) = name
        .strip_prefix("smsp__average_warps_issue_stalled_")
        .or_else(|| name.strip_prefix("smsp__average_warp_latency_issue_stalled_"))
    {
        let reason = rest.split('.').next()?;
        let reason = reason.strip_suffix("_per_issue_active").unwrap_or(reason);
        return stall(reason).map(Target::Stall);
    }
    let own = NcuMetric::ALL.iter().copied().find(|metric| metric.id() == name);
    own.or_else(|| find(&OTHER_NAMES, name)).map(Target::Metric)
}

/// What a name of the details page is, and the unit that it must come in.
pub(super) fn of_details(name: &str) -> Option<(Target, &'static str)> {
    if let Some(reason) = name.strip_prefix("Stall ") {
        let reason = reason.to_ascii_lowercase().replace(' ', "_");
        let stall = stall(&reason)?;
        return Some((Target::Stall(stall), stall.unit()));
    }
    let metric = find(&DETAILS, name)?;
    Some((Target::Metric(metric), metric.unit()))
}

fn find(table: &[(&str, NcuMetric)], name: &str) -> Option<NcuMetric> {
    table.iter().find(|(known, _)| *known == name).map(|(_, metric)| *metric)
}

fn stall(reason: &str) -> Option<NcuStall> {
    let reason = match reason {
        "no_instructions" => "no_instruction",
        "branch_resolve" => "branch_resolving",
        "dispatch" => "dispatch_stall",
        other => other,
    };
    NcuStall::ALL.iter().copied().find(|stall| stall.id() == reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_pages_and_of_other_versions_meet() {
        assert_eq!(
            of_raw("sm__throughput.avg.pct_of_peak_sustained_elapsed"),
            Some(Target::Metric(NcuMetric::Sm))
        );
        assert_eq!(
            of_raw("smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"),
            Some(Target::Stall(NcuStall::Wait))
        );
        assert_eq!(
            of_details("Stall Long Scoreboard"),
            Some((Target::Stall(NcuStall::LongScoreboard), "inst"))
        );
        assert_eq!(of_details("SOL DRAM").map(|found| found.0), Some(Target::Metric(NcuMetric::Dram)));
        assert_eq!((of_raw("ID"), of_details("Stack Size")), (None, None));
    }
}
