//! What a kernel is limited by.
//!
//! The rule and its figures are those of Nsight Compute's own "Speed of Light" rule (`SOLBottleneck` in
//! `sections/SpeedOfLight.py`, which ships with it; in its messages: "achieved compute throughput and/or memory bandwidth
//! below 60.0% of peak typically indicate latency issues"): below 60 % of both peaks neither unit limits, waiting does; else
//! the unit that is 10 points ahead does, or both do. One thing is different: Nsight Compute calls every kernel of less
//! than one wave "too small", also one of 128 blocks on 132 multiprocessors; here at least 40 % of the places must stay
//! empty for that.

use whyidle_model::{NcuKernels, NcuMetric};

use super::KernelFacts;
use crate::kernelclass::Work;

/// Below this share of the peak a unit limits nothing.
const LIMITS: f64 = 0.6;
/// Units whose shares differ by less limit together.
const ALIKE: f64 = 0.1;
/// Matrix products below this use of the tensor cores run elsewhere.
const NO_TENSOR: f64 = 0.02;
/// Below this share of the warps that a multiprocessor can hold, a kernel's own needs matter.
const FEW_WARPS: f64 = 0.5;

/// What a kernel is limited by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bound {
    /// The multiprocessors.
    Compute,
    /// DRAM.
    Dram,
    /// Caches, rather than DRAM.
    Cache,
    /// Multiprocessors and memory alike.
    Balanced,
    /// Neither: warps wait.
    Latency,
    /// Neither: there are too few blocks for the card.
    Small,
}

impl Bound {
    /// Every one.
    pub const ALL: [Self; 6] =
        [Self::Compute, Self::Dram, Self::Cache, Self::Balanced, Self::Latency, Self::Small];

    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Dram => "dram",
            Self::Cache => "cache",
            Self::Balanced => "balanced",
            Self::Latency => "latency",
            Self::Small => "small",
        }
    }
}

pub(super) fn bound(
    sm: Option<f64>,
    memory: Option<f64>,
    dram: Option<f64>,
    waves: Option<f64>,
) -> Option<Bound> {
    let (sm, memory) = (sm?, memory?);
    if sm < LIMITS && memory < LIMITS {
        let is_small = waves.is_some_and(|waves| waves <= LIMITS);
        return Some(if is_small { Bound::Small } else { Bound::Latency });
    }
    if (sm - memory).abs() < ALIKE {
        return Some(Bound::Balanced);
    }
    if sm > memory {
        return Some(Bound::Compute);
    }
    // Without a figure of its own, DRAM is what "memory" means.
    let is_dram = dram.is_none_or(|dram| memory - dram < ALIKE);
    Some(if is_dram { Bound::Dram } else { Bound::Cache })
}

/// What limits how many warps of a kernel a multiprocessor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limiter {
    /// Registers per thread.
    Registers,
    /// Shared memory per block.
    Shared,
    /// Warps per block.
    Warps,
    /// Blocks per multiprocessor.
    Blocks,
    /// Barriers per block.
    Barriers,
}

impl Limiter {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Registers => "registers",
            Self::Shared => "shared-memory",
            Self::Warps => "warps",
            Self::Blocks => "blocks",
            Self::Barriers => "barriers",
        }
    }
}

/// The resources that allow the fewest blocks; none where a multiprocessor can be filled.
pub(super) fn limiters(profile: &NcuKernels, row: usize, limit: f64) -> Vec<Limiter> {
    if limit >= 1.0 {
        return Vec::new();
    }
    let allowed: Vec<(Limiter, f64)> = [
        (Limiter::Registers, NcuMetric::LimitRegisters),
        (Limiter::Shared, NcuMetric::LimitShared),
        (Limiter::Warps, NcuMetric::LimitWarps),
        (Limiter::Blocks, NcuMetric::LimitBlocks),
        (Limiter::Barriers, NcuMetric::LimitBarriers),
    ]
    .into_iter()
    // 0 stands for "does not apply".
    .filter_map(|(limiter, metric)| {
        Some((limiter, profile.metric(metric, row).filter(|blocks| *blocks > 0.0)?))
    })
    .collect();
    let fewest = allowed.iter().map(|(_, blocks)| *blocks).fold(f64::INFINITY, f64::min);
    allowed.into_iter().filter(|(_, blocks)| *blocks <= fewest).map(|(limiter, _)| limiter).collect()
}

/// Share of the places for blocks that stay empty over all waves.
pub(super) fn empty(waves: f64) -> Option<f64> {
    let whole = waves.ceil();
    (waves > 0.0 && whole < 1e9).then(|| (whole - waves) / whole)
}

/// What could be changed about a kernel from outside, or by whoever wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// Fuse element-wise kernels, norms, reductions with their neighbours.
    Fuse,
    /// Give each launch more to do.
    Larger,
    /// Let matrix products run on the tensor cores.
    Precision,
    /// Let more warps fit: fewer registers or less shared memory per block.
    Occupancy,
}

impl Change {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Fuse => "fuse",
            Self::Larger => "larger",
            Self::Precision => "precision",
            Self::Occupancy => "occupancy",
        }
    }
}

/// Libraries' kernels for matrix products and attention choose their own shape: there is nothing to change about one that
/// is large enough and on the tensor cores.
pub(super) fn change(kernel: &KernelFacts) -> Option<Change> {
    match kernel.work {
        Work::Elementwise
        | Work::Normalisation
        | Work::Softmax
        | Work::Reduction
        | Work::Loss
        | Work::Optimizer
        | Work::Copy => Some(Change::Fuse),
        Work::Matmul | Work::Convolution
            if kernel.tensor.is_some_and(|tensor| tensor < NO_TENSOR)
                && kernel.bound != Some(Bound::Small) =>
        {
            Some(Change::Precision)
        }
        Work::Collective | Work::HostCopy => None,
        _ if kernel.bound == Some(Bound::Small) => Some(Change::Larger),
        Work::Other
            if kernel.bound == Some(Bound::Latency)
                && kernel.occupancy_limit.is_some_and(|limit| limit < FEW_WARPS)
                && kernel
                    .limiters
                    .iter()
                    .any(|limiter| matches!(limiter, Limiter::Registers | Limiter::Shared)) =>
        {
            Some(Change::Occupancy)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_is_that_of_the_speed_of_light() {
        let of = |sm: f64, memory: f64, dram: f64, waves: f64| {
            bound(Some(sm), Some(memory), Some(dram), Some(waves))
        };
        assert_eq!(of(0.45, 0.08, 0.0, 2.0), Some(Bound::Latency));
        assert_eq!(of(0.01, 0.01, 0.0, 0.03), Some(Bound::Small));
        assert_eq!(of(0.56, 0.44, 0.14, 0.97), Some(Bound::Latency), "128 of 132 places is not small");
        assert_eq!(of(0.65, 0.37, 0.14, 1.9), Some(Bound::Compute));
        assert_eq!(of(0.72, 0.65, 0.14, 1.0), Some(Bound::Balanced));
        assert_eq!(of(0.2, 0.92, 0.9, 8.0), Some(Bound::Dram));
        assert_eq!(of(0.2, 0.92, 0.3, 8.0), Some(Bound::Cache));
        assert_eq!(bound(Some(0.9), None, None, None), None);
    }

    #[test]
    fn the_scarcest_resource_limits_and_tails_cost() {
        let mut profile = NcuKernels::default();
        let row = profile.push(0, 1, "k", [1; 3], [1; 3]);
        for (metric, blocks) in [
            (NcuMetric::LimitRegisters, 4.0),
            (NcuMetric::LimitWarps, 8.0),
            (NcuMetric::LimitBarriers, 0.0),
            (NcuMetric::LimitShared, 4.0),
        ] {
            profile.set_metric(metric, row, blocks);
        }
        assert_eq!(limiters(&profile, row, 0.5), [Limiter::Registers, Limiter::Shared]);
        assert!(limiters(&profile, row, 1.0).is_empty());
        let empty = |waves: f64| empty(waves).unwrap_or(-1.0);
        assert!(
            (empty(1.6) - 0.2).abs() < 1e-12
                && (empty(2.0)).abs() < 1e-12
                && (empty(0.03) - 0.97).abs() < 1e-12
        );
        assert!((empty(0.0) + 1.0).abs() < 1e-12 && (empty(f64::INFINITY) + 1.0).abs() < 1e-12);
    }
}
