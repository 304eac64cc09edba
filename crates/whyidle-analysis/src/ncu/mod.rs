//! What holds kernels back on the multiprocessors, from Nsight Compute's figures.
//!
//! Three layers, each only of what the one before leaves: *resident* – a kernel is on the card at all, which only a trace
//! of the step tells; *filled* – share of the multiprocessors' cycles, over the kernel's length, in which they hold a warp;
//! *computing* – share of those cycles in which a scheduler issues an instruction or the tensor cores work, whichever is
//! more (one instruction keeps the tensor cores busy for many cycles).
//!
//! [`bound`] says what a kernel is limited by, [`join`] weighs kernels by their time in a step.

mod bound;
mod join;
mod names;

use std::collections::BTreeMap;

use whyidle_model::{NcuKernels, NcuMetric, NcuStall};

pub use bound::{Bound, Change, Limiter};
pub use join::{Coverage, join};
pub use names::short;

use crate::kernelclass::{Work, classify};

/// Launches of one kernel in one shape, together. Shares are 0–1, and means of the launches, weighted by their length.
#[derive(Clone, Debug)]
pub struct KernelFacts {
    /// The name, as Nsight Compute prints it.
    pub name: String,
    /// Its function alone.
    pub short: String,
    /// What it does, by its name.
    pub work: Work,
    /// Sides of the grid in blocks; 0 where unknown.
    pub grid: [u32; 3],
    /// Sides of a block in threads; 0 where unknown.
    pub block: [u32; 3],
    /// Launches that were measured.
    pub launches: u32,
    /// Length of them all, ns, each alone on the card. Kernels that follow each other: a sum, not a union.
    pub duration_ns: i64,
    /// What it counts for in a mean over kernels, ns: its length, or its time per step where a trace says that.
    pub weight_ns: i64,
    /// Throughput of the multiprocessors, of their peak.
    pub sm: Option<f64>,
    /// Throughput of the busiest of caches and DRAM, of its peak.
    pub memory: Option<f64>,
    /// Throughput of DRAM, of its peak.
    pub dram: Option<f64>,
    /// What it is limited by; `None` where that was not measured.
    pub bound: Option<Bound>,
    /// Share of the multiprocessors' cycles in which they hold a warp.
    pub filled: Option<f64>,
    /// Warps held, of what a multiprocessor can hold, while it holds any.
    pub occupancy: Option<f64>,
    /// Warps that it can hold at most of this kernel.
    pub occupancy_limit: Option<f64>,
    /// What that limit comes from; several where they agree, none where it is no limit.
    pub limiters: Vec<Limiter>,
    /// How often the card is filled with blocks.
    pub waves: Option<f64>,
    /// Share of all places for blocks, over all waves, that stay empty: the last wave is not full. It costs so much
    /// where all blocks take alike.
    pub empty: Option<f64>,
    /// Use of the tensor cores, of the cycles in which a warp is held.
    pub tensor: Option<f64>,
    /// Cycles in which a scheduler issues, of those in which it holds a warp.
    pub issue: Option<f64>,
    /// What warps spend their time on, as shares of it; longest first, without the instruction itself.
    pub stalls: Vec<(NcuStall, f64)>,
}

impl KernelFacts {
    /// Share of the cycles with a warp in which something is computed; `None` where that was not measured.
    #[must_use]
    pub fn computing(&self) -> Option<f64> {
        match (self.issue, self.tensor) {
            (Some(issue), Some(tensor)) => Some(issue.max(tensor)),
            (issue, tensor) => issue.or(tensor),
        }
    }

    /// How close the busiest unit comes to its peak.
    #[must_use]
    pub fn reached(&self) -> Option<f64> {
        self.sm.zip(self.memory).map(|(sm, memory)| sm.max(memory))
    }

    /// What its author or its caller could change.
    #[must_use]
    pub fn change(&self) -> Option<Change> {
        bound::change(self)
    }
}

/// Facts of each kernel and shape, longest first.
#[must_use]
pub fn kernels(profile: &NcuKernels) -> Vec<KernelFacts> {
    type Shape = ([u32; 3], [u32; 3]);
    let mut groups: BTreeMap<(u32, Shape), Vec<usize>> = BTreeMap::new();
    for row in 0..profile.len() {
        groups.entry((profile.name[row].0, (profile.grid[row], profile.block[row]))).or_default().push(row);
    }
    let mut all: Vec<KernelFacts> = groups.into_values().map(|rows| one(profile, &rows)).collect();
    all.sort_by(|a, b| {
        b.duration_ns.cmp(&a.duration_ns).then_with(|| (&a.name, a.grid).cmp(&(&b.name, b.grid)))
    });
    all
}

fn one(profile: &NcuKernels, rows: &[usize]) -> KernelFacts {
    let first = rows[0];
    let length = |row: usize| profile.duration_ns(row).unwrap_or(0);
    // Launches without a length count alike.
    let timed = rows.iter().any(|&row| length(row) > 0);
    let weight = |row: usize| if timed { length(row) as f64 } else { 1.0 };
    let mean = |value: &dyn Fn(usize) -> Option<f64>| {
        let values: Vec<(f64, f64)> =
            rows.iter().filter_map(|&row| Some((value(row)?, weight(row)))).collect();
        let all: f64 = values.iter().map(|(_, weight)| weight).sum();
        (all > 0.0).then(|| values.iter().map(|(value, weight)| value * weight).sum::<f64>() / all)
    };
    let plain = |metric| mean(&|row| profile.metric(metric, row));
    // Counters of different passes add up to a little more than the whole at times.
    let share = |metric| plain(metric).map(|percent| (percent / 100.0).clamp(0.0, 1.0));
    let filled = mean(&|row| {
        let elapsed = profile.metric(NcuMetric::Elapsed, row).filter(|cycles| *cycles > 0.0)?;
        Some((profile.metric(NcuMetric::Active, row)? / elapsed).clamp(0.0, 1.0))
    });
    let waves = plain(NcuMetric::Waves);
    let name = profile.names.get(profile.name[first]).to_owned();
    let (sm, memory, dram) = (share(NcuMetric::Sm), share(NcuMetric::Memory), share(NcuMetric::Dram));
    let occupancy_limit = share(NcuMetric::OccupancyLimit);
    let duration_ns = rows.iter().fold(0_i64, |sum, &row| sum.saturating_add(length(row)));
    KernelFacts {
        short: short(&name),
        work: classify(&name),
        grid: profile.grid[first],
        block: profile.block[first],
        launches: u32::try_from(rows.len()).unwrap_or(u32::MAX),
        duration_ns,
        weight_ns: duration_ns,
        bound: bound::bound(sm, memory, dram, waves),
        filled,
        occupancy: share(NcuMetric::Occupancy),
        limiters: occupancy_limit.map_or_else(Vec::new, |limit| bound::limiters(profile, first, limit)),
        occupancy_limit,
        empty: waves.and_then(bound::empty),
        waves,
        tensor: share(NcuMetric::Tensor),
        issue: share(NcuMetric::Issue),
        stalls: stalls(profile, &mean),
        name,
        sm,
        memory,
        dram,
    }
}

/// A mean over launches of a figure of each, by its row.
type Mean<'a> = dyn Fn(&dyn Fn(usize) -> Option<f64>) -> Option<f64> + 'a;

fn stalls(profile: &NcuKernels, mean: &Mean<'_>) -> Vec<(NcuStall, f64)> {
    let cycles: Vec<(NcuStall, f64)> = NcuStall::ALL
        .iter()
        .filter_map(|&stall| {
            Some((stall, mean(&|row| profile.stall(stall, row).filter(|cycles| *cycles >= 0.0))?))
        })
        .collect();
    let all: f64 = cycles.iter().map(|(_, cycles)| cycles).sum();
    let mut shares: Vec<(NcuStall, f64)> = cycles
        .into_iter()
        .filter(|(stall, cycles)| *stall != NcuStall::Selected && *cycles > 0.0)
        .map(|(stall, cycles)| (stall, cycles / all))
        .collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

/// All kernels together, each weighted by its time.
#[derive(Clone, Debug, Default)]
pub struct Together {
    /// The time that they are weighted by, ns.
    pub weight_ns: i64,
    /// Time by what limits it, most first. What was not measured is in none.
    pub bounds: Vec<(Bound, i64)>,
    /// Throughput of the multiprocessors, of their peak.
    pub sm: Option<f64>,
    /// Throughput of DRAM, of its peak.
    pub dram: Option<f64>,
    /// Multiprocessors' cycles with a warp.
    pub filled: Option<f64>,
    /// Cycles of those in which something is computed.
    pub computing: Option<f64>,
    /// Use of the tensor cores.
    pub tensor: Option<f64>,
    /// Warps held.
    pub occupancy: Option<f64>,
    /// What warps spend their time on, most first.
    pub stalls: Vec<(NcuStall, f64)>,
    /// What could be changed, and the time of the kernels that it concerns, ns. `None`: nothing that would matter.
    pub change: Option<(Change, i64)>,
}

/// A change matters from this share of the time on that its kernels stay below the peak.
const MATTERS: f64 = 0.1;

/// All kernels together.
#[must_use]
pub fn together(kernels: &[KernelFacts]) -> Together {
    let mean = |value: &dyn Fn(&KernelFacts) -> Option<f64>| {
        let values: Vec<(f64, f64)> =
            kernels.iter().filter_map(|kernel| Some((value(kernel)?, kernel.weight_ns as f64))).collect();
        let all: f64 = values.iter().map(|(_, weight)| weight).sum();
        (all > 0.0).then(|| values.iter().map(|(value, weight)| value * weight).sum::<f64>() / all)
    };
    let mut bounds: BTreeMap<Bound, i64> = BTreeMap::new();
    let mut changes: BTreeMap<Change, (i64, f64)> = BTreeMap::new();
    for kernel in kernels {
        if let Some(bound) = kernel.bound {
            let time = bounds.entry(bound).or_default();
            *time = time.saturating_add(kernel.weight_ns);
        }
        if let (Some(change), Some(reached)) = (kernel.change(), kernel.reached()) {
            let (time, below) = changes.entry(change).or_default();
            *time = time.saturating_add(kernel.weight_ns);
            *below += kernel.weight_ns as f64 * (1.0 - reached);
        }
    }
    let mut bounds: Vec<(Bound, i64)> = bounds.into_iter().collect();
    bounds.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    let weight_ns = kernels.iter().fold(0_i64, |sum, kernel| sum.saturating_add(kernel.weight_ns));
    let change = changes.into_iter().max_by(|a, b| a.1.1.total_cmp(&b.1.1));
    let change = change.filter(|(_, (_, below))| *below >= MATTERS * weight_ns as f64);
    let mut stalls: Vec<(NcuStall, f64)> = NcuStall::ALL
        .iter()
        .filter_map(|&wanted| {
            let of = |kernel: &KernelFacts| {
                let share = kernel.stalls.iter().find(|(stall, _)| *stall == wanted).map(|(_, share)| *share);
                (!kernel.stalls.is_empty()).then(|| share.unwrap_or(0.0))
            };
            mean(&of).filter(|share| *share > 0.0).map(|share| (wanted, share))
        })
        .collect();
    stalls.sort_by(|a, b| b.1.total_cmp(&a.1));
    Together {
        weight_ns,
        bounds,
        sm: mean(&|kernel| kernel.sm),
        dram: mean(&|kernel| kernel.dram),
        filled: mean(&|kernel| kernel.filled),
        computing: mean(&KernelFacts::computing),
        tensor: mean(&|kernel| kernel.tensor),
        occupancy: mean(&|kernel| kernel.occupancy),
        stalls,
        change: change.map(|(change, (time, _))| (change, time)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(rows: &[(&str, f64, f64, f64, f64)]) -> NcuKernels {
        let mut profile = NcuKernels::default();
        for (at, &(name, ns, sm, memory, waves)) in rows.iter().enumerate() {
            let row = profile.push(at as u32, 1, name, [8, 1, 1], [128, 1, 1]);
            for (metric, value) in [
                (NcuMetric::Duration, ns),
                (NcuMetric::Sm, sm),
                (NcuMetric::Memory, memory),
                (NcuMetric::Waves, waves),
                (NcuMetric::Elapsed, 1_000.0),
                (NcuMetric::Active, 900.0),
            ] {
                profile.set_metric(metric, row, value);
            }
            profile.set_stall(NcuStall::Selected, row, 1.0);
            profile.set_stall(NcuStall::LongScoreboard, row, 3.0);
        }
        profile
    }

    #[test]
    fn launches_of_one_shape_are_one_and_weigh_by_their_length() {
        let facts = kernels(&profile(&[
            ("k", 1_000.0, 80.0, 10.0, 4.0),
            ("k", 3_000.0, 40.0, 10.0, 4.0),
            ("m", 9_000.0, 1.0, 2.0, 0.1),
        ]));
        assert_eq!(
            facts.iter().map(|k| (k.short.as_str(), k.launches, k.duration_ns)).collect::<Vec<_>>(),
            [("m", 1, 9_000), ("k", 2, 4_000)]
        );
        assert_eq!((facts[1].sm, facts[1].filled, facts[1].empty), (Some(0.5), Some(0.9), Some(0.0)));
        assert_eq!(facts[1].stalls, [(NcuStall::LongScoreboard, 0.75)]);
        let all = together(&facts);
        assert_eq!((all.weight_ns, all.bounds[0]), (13_000, (Bound::Small, 9_000)));
        assert_eq!(all.change, Some((Change::Larger, 9_000)));
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        let mut profile = NcuKernels::default();
        profile.push(0, 1, "k", [0; 3], [0; 3]);
        let facts = kernels(&profile);
        assert_eq!((facts[0].bound, facts[0].reached(), facts[0].computing()), (None, None, None));
        let all = together(&facts);
        assert_eq!((all.weight_ns, all.bounds.len(), all.change), (0, 0, None));
        assert!(kernels(&NcuKernels::default()).is_empty());
    }
}
