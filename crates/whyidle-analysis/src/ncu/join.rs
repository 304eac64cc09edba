//! Kernels that were measured, found again in a trace: what they take of a step.
//!
//! A kernel of the trace is one that was measured if the function, the number of blocks and the number of threads are the
//! same, and the words of its template agree ([`super::names`]). Where several do, the one that agrees best.

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
    // Names repeat: each is matched once per shape.
    let mut matched: BTreeMap<(u32, u32, u32), Option<usize>> = BTreeMap::new();
    let known: Vec<BTreeSet<&str>> = kernels.iter().map(|kernel| words(&kernel.name)).collect();
    let (mut time, mut missing) = (vec![0_i64; kernels.len()], BTreeMap::<u32, i64>::new());
    let mut covered = Vec::new();
    for &row in &rows {
        let at = row as usize;
        if trace.gpu.kind[at] != GpuKind::Kernel {
            continue;
        }
        let shape = (trace.gpu.name[at].0, trace.gpu.blocks[at], trace.gpu.threads[at]);
        let found = *matched
            .entry(shape)
            .or_insert_with(|| best(kernels, &known, trace.names.get(trace.gpu.name[at]), shape));
        match found {
            Some(kernel) => {
                time[kernel] = time[kernel].saturating_add(trace.gpu.dur[at]);
                covered.push(span(row));
            }
            None => {
                let time = missing.entry(shape.0).or_default();
                *time = time.saturating_add(trace.gpu.dur[at]);
            }
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

fn best(
    kernels: &[KernelFacts],
    known: &[BTreeSet<&str>],
    name: &str,
    (_, blocks, threads): (u32, u32, u32),
) -> Option<usize> {
    let (function, wanted) = (short(name), words(name));
    let product = |sides: [u32; 3]| sides.iter().fold(1_u32, |product, &side| product.saturating_mul(side));
    // A side that was not printed, or a shape that was not recorded, excludes nothing.
    let alike =
        |sides: [u32; 3], recorded: u32| recorded == 0 || product(sides) == 0 || product(sides) == recorded;
    let candidates = kernels.iter().enumerate().filter(|(_, kernel)| {
        kernel.short == function && alike(kernel.grid, blocks) && alike(kernel.block, threads)
    });
    let agreeing = candidates.filter_map(|(at, _)| Some((at, agreement(&known[at], &wanted)?)));
    // The first of those that agree best: the longest.
    agreeing
        .fold(None, |best: Option<(usize, f64)>, found| match best {
            Some(best) if best.1 >= found.1 => Some(best),
            _ => Some(found),
        })
        .map(|(at, _)| at)
}
