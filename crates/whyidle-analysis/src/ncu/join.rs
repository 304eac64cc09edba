//! Kernels that were measured, found again in a trace: what they take of a step.
//!
//! A kernel of the trace is one that was measured if the function, the number of blocks and the number of threads are the
//! same, and the words of its template agree ([`super::names`]). Where several do, the one that agrees best; where several
//! agree alike – a trace says how many blocks there were, not how they lay –, they share its time as their own lengths do.

use std::collections::{BTreeMap, BTreeSet};

use whyidle_model::{GpuId, GpuKind, Span, Spans, Trace};

use super::KernelFacts;
use super::names::{agreement, short, words};
use crate::facts::{DeviceFacts, Facts};
use crate::kernelclass::Work;
use crate::steps::launch_time;

/// What the measured kernels are of a trace's steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coverage {
    /// Whole steps; 0: the trace has none, and all of it is looked at.
    pub steps: u32,
    /// Length of those steps on the device, ns; of all of the trace where there are none.
    pub step_ns: i64,
    /// Working time in them, ns: the union of all activities but collectives that were launched in them.
    pub working_ns: i64,
    /// The part of it in which a measured kernel ran, ns: a union.
    pub covered_ns: i64,
    /// Measured kernels that the trace has too.
    pub found: u32,
    /// Kernels of the trace that were not measured, longest first, with their time, ns (a sum): a few.
    pub missing: Vec<(String, i64)>,
}

/// Kernels that are named among those that were not measured.
const NAMED: usize = 8;

/// Finds kernels in a trace and gives each the time that it takes per step; one that the trace does not have gets none.
#[must_use]
pub fn join(kernels: &mut [KernelFacts], trace: &Trace, facts: &Facts, device: &DeviceFacts) -> Coverage {
    let steps = &device.steps;
    let rows: Vec<u32> = device
        .rows
        .iter()
        .copied()
        .filter(|&row| {
            let is_step = || steps.launched_at(launch_time(trace, &facts.tree, GpuId(row))).is_some();
            facts.works[row as usize] != Work::Collective && (steps.used.is_empty() || is_step())
        })
        .collect();
    let span = |row: u32| Span::new(trace.gpu.start[row as usize], trace.gpu.end(GpuId(row)));
    // Names repeat: each is matched once per shape. With its time, ns (a sum).
    let mut matched: BTreeMap<(u32, u32, u32), (Vec<usize>, i64)> = BTreeMap::new();
    let known: Vec<BTreeSet<&str>> = kernels.iter().map(|kernel| words(&kernel.name)).collect();
    let (mut time, mut missing) = (vec![0_i64; kernels.len()], BTreeMap::<u32, i64>::new());
    let mut covered = Vec::new();
    for &row in &rows {
        let at = row as usize;
        if trace.gpu.kind[at] != GpuKind::Kernel {
            continue;
        }
        let shape = (trace.gpu.name[at].0, trace.gpu.blocks[at], trace.gpu.threads[at]);
        let (found, all) = matched
            .entry(shape)
            .or_insert_with(|| (best(kernels, &known, trace.names.get(trace.gpu.name[at]), shape), 0));
        *all = all.saturating_add(trace.gpu.dur[at]);
        if !found.is_empty() {
            covered.push(span(row));
        }
    }
    for ((name, ..), (found, all)) in &matched {
        if found.is_empty() {
            let time = missing.entry(*name).or_default();
            *time = time.saturating_add(*all);
        }
        for (kernel, share) in found.iter().zip(shares(kernels, found, *all)) {
            time[*kernel] = time[*kernel].saturating_add(share);
        }
    }
    let count = i64::try_from(steps.used.len()).unwrap_or(i64::MAX).max(1);
    for (kernel, time) in kernels.iter_mut().zip(&time) {
        kernel.weight_ns = time / count;
    }
    let mut missing: Vec<(String, i64)> = missing
        .into_iter()
        .map(|(name, time)| (trace.names.get(whyidle_model::Sym(name)).to_owned(), time / count))
        .collect();
    missing.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    missing.truncate(NAMED);
    let length =
        |steps: &[crate::steps::DeviceStep]| steps.iter().map(|step| step.window.length()).sum::<i64>();
    Coverage {
        steps: u32::try_from(steps.used.len()).unwrap_or(u32::MAX),
        step_ns: if steps.used.is_empty() { device.occupancy.span_ns } else { length(&steps.used) },
        working_ns: Spans::union_of(rows.iter().map(|&row| span(row))).length(),
        covered_ns: Spans::union_of(covered).length(),
        found: u32::try_from(time.iter().filter(|time| **time > 0).count()).unwrap_or(u32::MAX),
        missing,
    }
}

/// How kernels that cannot be told apart share a time: as the lengths that were measured do. The shares add up to it.
fn shares(kernels: &[KernelFacts], found: &[usize], all: i64) -> Vec<i64> {
    let lengths: i128 = found.iter().map(|&at| i128::from(kernels[at].duration_ns)).sum();
    let (mut before, mut given) = (0_i128, 0_i64);
    let share = |(place, &at): (usize, &usize)| {
        before += i128::from(kernels[at].duration_ns);
        let until = match place + 1 == found.len() || lengths <= 0 {
            true => all,
            false => i64::try_from(i128::from(all) * before / lengths).unwrap_or(all),
        };
        let share = until - given;
        given = until;
        share
    };
    found.iter().enumerate().map(share).collect()
}

/// The kernels that agree best with one of the trace: several where they agree alike, none where none does.
fn best(
    kernels: &[KernelFacts],
    known: &[BTreeSet<&str>],
    name: &str,
    (_, blocks, threads): (u32, u32, u32),
) -> Vec<usize> {
    let (function, wanted) = (short(name), words(name));
    let product = |sides: [u32; 3]| sides.iter().fold(1_u32, |product, &side| product.saturating_mul(side));
    // A side that was not printed, or a shape that was not recorded, excludes nothing.
    let alike =
        |sides: [u32; 3], recorded: u32| recorded == 0 || product(sides) == 0 || product(sides) == recorded;
    let candidates = kernels.iter().enumerate().filter(|(_, kernel)| {
        kernel.short == function && alike(kernel.grid, blocks) && alike(kernel.block, threads)
    });
    let agreeing = candidates.filter_map(|(at, _)| Some((at, agreement(&known[at], &wanted)?)));
    agreeing
        .fold((Vec::new(), 0.0), |(mut best, so_far), (at, agreement)| {
            if best.is_empty() || agreement > so_far {
                return (vec![at], agreement);
            }
            if agreement == so_far {
                best.push(at);
            }
            (best, so_far)
        })
        .0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_cannot_be_told_apart_share_a_time_by_their_lengths() {
        let mut profile = whyidle_model::NcuKernels::default();
        for (id, grid, ns) in [(0, [128, 1, 2], 100.0), (1, [32, 4, 2], 200.0), (2, [32, 1, 1], 50.0)] {
            let row = profile.push(id, 1, "void k<int>(T1)", grid, [64, 1, 1]);
            profile.set_metric(whyidle_model::NcuMetric::Duration, row, ns);
        }
        let kernels = super::super::kernels(&profile);
        let known: Vec<BTreeSet<&str>> = kernels.iter().map(|kernel| words(&kernel.name)).collect();
        let found = |blocks| best(&kernels, &known, "void k<int>(int const*)", (0, blocks, 64));
        let grids = |found: &[usize]| found.iter().map(|&at| kernels[at].grid[0]).collect::<Vec<_>>();
        assert_eq!(grids(&found(256)), [32, 128]);
        assert_eq!(shares(&kernels, &found(256), 1_000), [666, 334]);
        assert_eq!((grids(&found(32)), found(7).len()), (vec![32], 0));
        assert_eq!(shares(&kernels, &found(32), 1_000), [1_000]);
    }
}
