//! What samples of a window say of each run: pure functions from samples to figures.

use std::collections::BTreeSet;

use whyidle_analysis::signals::{Signals, batches, gpu, mainthread, process, rhythm, workers};
use whyidle_diagnosis::waiting;
use whyidle_model::{Samples, Table};
use whyidle_observe::node::Run;

use crate::facts::Facts;
use crate::state::{CardRow, THROTTLES};

/// A period of fewer samples may be the beat of a faster one with the samples.
const FEWEST_IN_PERIOD: f64 = 6.0;
/// Growths of what workers wrote, for a quantum to be told from chance.
const FEWEST_BATCHES: u32 = 24;
/// A host that launches uses at least this much of a core for each core's worth of waiting that is charged to it.
const LAUNCHES: f64 = 0.5;

/// Whom a program waits for that nobody could tell.
pub const UNKNOWN: &str = "unknown";

/// The rows of cards in `table` that came after `after`, ns of Unix time.
pub(crate) fn card_rows(table: &Table, after: i64) -> impl Iterator<Item = CardRow> + '_ {
    let from = table.t.partition_point(|t| *t <= after);
    (from..table.len()).filter_map(move |row| {
        let number = |column: &str| table.number(column, row);
        // The card's own counters integrate over the time since the row before; a row that came too soon has none.
        let counted = || number("graphics_util").filter(|_| number("dram_bw_util").is_some());
        let has_counters =
            table.numbers.get("graphics_util").is_some_and(|all| all.iter().any(|v| v.is_finite()));
        let busy = if has_counters { counted() } else { number("util_gpu") };
        Some(CardRow {
            gpu: number("gpu").map(|gpu| gpu as u32)?,
            busy: busy
                .map(|percent| percent / 100.0)
                .filter(|busy| (0.0..=1.05).contains(busy))
                .map(|busy| busy.min(1.0)),
            memory_used: number("mem_used"),
            memory_total: number("mem_total"),
            power_w: number("power_mw").map(|mw| mw / 1e3),
            temperature_c: number("temp_c"),
            sm_mhz: number("sm_mhz"),
        })
    })
}

/// Share of the rows of a card in which its clock was held down, by reason; `None` without rows that say.
#[must_use]
pub fn throttled(table: &Table, index: u32) -> Option<[f64; 3]> {
    let bits: Vec<u64> = table
        .rows_of("gpu", f64::from(index))
        .filter_map(|row| table.number("throttle_reasons", row))
        .map(|bits| bits as u64)
        .collect();
    let share = |mask: u64| bits.iter().filter(|&&set| set & mask != 0).count() as f64 / bits.len() as f64;
    (!bits.is_empty()).then(|| THROTTLES.map(|(_, mask)| share(mask)))
}

/// The signals of a run in a window. `busy`: mean busy share of its cards, where known.
#[must_use]
pub fn signals(samples: &Samples, run: &Run, busy: Option<f64>) -> Signals {
    let own: BTreeSet<u32> = run.gpus.iter().map(|(gpu, _)| *gpu).collect();
    let held = samples
        .gpu
        .keeping(|row| samples.gpu.number("gpu", row).is_some_and(|gpu| own.contains(&(gpu as u32))));
    let (mut gpu, other_gpus) = gpu::gpus(&held, None);
    if let (Some(gpu), Some(busy)) = (gpu.as_mut(), busy) {
        gpu.resident = busy;
    }
    let t = samples.gpu.t.iter().chain(&samples.process.t).copied();
    let (first, last) = t.fold((i64::MAX, i64::MIN), |(a, b), t| (a.min(t), b.max(t)));
    Signals {
        driver: Some(run.pid),
        watched_ns: (last.saturating_sub(first)).max(0),
        phases: None,
        gpu,
        other_gpus,
        main: mainthread::main_thread(&samples.stacks, run.pid),
        process: process::process(&samples.process, run.pid),
        workers: workers::workers(samples, run.pid),
        // Costly, and of use for the time of a step alone.
        batches: None,
        cores_busy: None,
        machine: None,
    }
}

/// Who is waited for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waited {
    /// By cause: share of the main thread's samples. Of launching: the share charged to it.
    pub shares: Vec<(&'static str, f64)>,
    /// By cause: parts of the idle time, 1 together.
    pub parts: Vec<(&'static str, f64)>,
}

/// Who is waited for, by the rule of a verdict on a recording. Idle time that no wait explains is the host's launching
/// where the host is at work; else nobody knows.
#[must_use]
pub fn waited(signals: &Signals) -> Waited {
    let mut out = Waited::default();
    if signals.main.is_none() {
        out.parts.push((UNKNOWN, 1.0));
        return out;
    }
    let idle = signals.gpu.as_ref().map(|gpu| 1.0 - gpu.resident);
    let cores = signals.process.as_ref().map(process::ProcessSignals::cores);
    let mut left = 1.0;
    for (cause, share, charged) in waiting(signals) {
        let launches = matches!(cause, "host.launch" | "host.optimizer");
        if launches && cores.is_some_and(|cores| cores < LAUNCHES * charged) {
            continue;
        }
        out.shares.push((cause, share.min(1.0)));
        if let Some(idle) = idle.filter(|idle| *idle > 0.0) {
            let part = (charged / idle).clamp(0.0, left);
            left -= part;
            out.parts.push((cause, part));
        }
    }
    if left > 1e-9 {
        out.parts.push((UNKNOWN, left));
    }
    out
}

/// Time of a step, ns, and the estimate's error relative to it: the time between batches that its workers deliver, else
/// the period of its GPU's counters. Absent where neither shows one.
#[must_use]
pub fn step(samples: &Samples, signals: &Signals) -> Option<(i64, f64)> {
    let workers = signals.workers.as_ref();
    let found = workers.and_then(|workers| batches::batches(&samples.process, &workers.pids));
    if let Some(found) = found.filter(|found| found.count >= FEWEST_BATCHES) {
        return Some((found.period_ns, 1.0 / f64::from(found.count.max(1))));
    }
    let gpu = signals.gpu.as_ref().filter(|gpu| gpu.is_counted)?;
    let (first, last) = (gpu.series.first()?.0, gpu.series.last()?.0);
    let between = (last - first) as f64 / (gpu.series.len() - 1).max(1) as f64;
    match rhythm(gpu)? {
        rhythm::Rhythm::Periodic { period_ns, .. } if period_ns as f64 >= FEWEST_IN_PERIOD * between => {
            Some((period_ns, between / (last - first).max(1) as f64 + 0.01))
        }
        _ => None,
    }
}

/// What was so of a run in a window. `others`: processes on its GPUs that are not its own.
#[must_use]
pub fn facts(samples: &Samples, signals: &Signals, others: BTreeSet<u32>) -> Facts {
    let index = signals.gpu.as_ref().map(|gpu| gpu.index);
    let mhz = index.into_iter().flat_map(|index| {
        samples.gpu.rows_of("gpu", f64::from(index)).filter_map(|row| samples.gpu.number("sm_mhz", row))
    });
    let rows = index.map_or(0, |index| {
        let rows = samples.gpu.rows_of("gpu", f64::from(index));
        rows.filter(|&row| samples.gpu.number("throttle_reasons", row).is_some()).count()
    });
    Facts {
        samples: signals.main.as_ref().map_or(0, |main| main.samples),
        waiting: waited(signals).shares.into_iter().collect(),
        busy: signals
            .gpu
            .as_ref()
            .map(|gpu| gpu.series.iter().map(|(_, busy)| *busy).collect())
            .unwrap_or_default(),
        sm_mhz: mhz.collect(),
        throttled: (
            signals.gpu.as_ref().map_or(0.0, |gpu| gpu.throttled),
            u32::try_from(rows).unwrap_or(u32::MAX),
        ),
        cores: cores(&samples.system),
        workers: signals.workers.as_ref().map(|workers| workers.pids.len()),
        others,
    }
}

/// Share of the machine's cores in use between each two rows.
fn cores(table: &Table) -> Vec<f64> {
    let between = |row: usize| {
        let growth = |column: &str| Some(table.number(column, row)? - table.number(column, row - 1)?);
        let busy = growth("cpu_user")? + growth("cpu_sys")?;
        let all = busy + growth("cpu_idle")? + growth("cpu_iowait").unwrap_or(0.0);
        (all > 0.0 && busy >= 0.0).then(|| busy / all)
    };
    (1..table.len()).filter_map(between).collect()
}
