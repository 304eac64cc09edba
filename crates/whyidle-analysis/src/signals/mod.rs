//! Signals of a recording: what samples taken from outside say of a run, without any trace.
//!
//! * [`gpu`] – how busy the GPU was, and what its units did;
//! * [`mainthread`] – what the driving process's main thread was doing, by its stacks;
//! * [`workers`] – what the loader workers were doing;
//! * [`rhythm`] – periodic dips of the GPU's busy share, or a flat level;
//! * [`process`] – CPU time of the driving process, user and system apart, and its waits;
//! * [`phases`] – what the watched time went into beyond steps: start-up, evaluation, checkpoints, standing still;
//! * [`batches`] – the time per batch, from the bytes that workers write.
//!
//! All shares are of the time watched, each with the number of samples behind it.

pub mod batches;
mod doing;
mod files;
pub mod gpu;
pub mod mainthread;
pub mod phases;
pub mod process;
pub mod rhythm;
pub mod workers;

use whyidle_model::Samples;

pub use batches::Batches;
pub use doing::Doing;
pub use gpu::GpuSignals;
pub use mainthread::MainThread;
pub use phases::{Phase, Phases};
pub use process::ProcessSignals;
pub use rhythm::{Rhythm, rhythm};
pub use workers::WorkerSignals;

/// What is known of a recording beside its samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hints {
    /// The processes that drive GPUs, the one to judge first; found from the samples where empty.
    pub drivers: Vec<u32>,
    /// Physical number of the GPU that the first of them drives, where known.
    pub gpu: Option<u32>,
    /// When the run was steady and undisturbed, ns of Unix time: shares are of this stretch. Without it, of
    /// everything after the start-up.
    pub steady: Option<(i64, i64)>,
    /// The watch began with the program.
    pub began: bool,
}

/// The signals of one driving process and its GPU.
#[derive(Clone, Debug)]
pub struct Signals {
    /// The process.
    pub driver: Option<u32>,
    /// Time between the first and the last sample of anything in the steady stretch, ns.
    pub watched_ns: i64,
    /// What the whole watched time went into; `None` without stacks that carry their times.
    pub phases: Option<Phases>,
    /// The GPU it drives; `None` without samples of one.
    pub gpu: Option<GpuSignals>,
    /// The other GPUs that were sampled.
    pub other_gpus: Vec<GpuSignals>,
    /// Its main thread; `None` without stacks.
    pub main: Option<MainThread>,
    /// Its counters; `None` without rows of them.
    pub process: Option<ProcessSignals>,
    /// Its loader workers; `None` where it has none, or none were seen.
    pub workers: Option<WorkerSignals>,
    /// Batches that workers delivered; `None` where that cannot be told.
    pub batches: Option<Batches>,
    /// Mean use of the machine's cores by anyone; `None` without samples of it.
    pub cores_busy: Option<f64>,
    /// The machine's memory; `None` without samples of it.
    pub machine: Option<Machine>,
}

/// The signals of a recording.
#[must_use]
pub fn signals(samples: &Samples, hints: &Hints) -> Signals {
    let driver = hints.drivers.first().copied().or_else(|| driver_of(samples));
    let phases = driver.and_then(|driver| phases::phases(samples, driver, hints.began));
    let part = steady(hints, phases.as_ref()).map(|(from, until)| samples.between(from, until));
    let samples = part.as_ref().unwrap_or(samples);
    let (gpu, other_gpus) = gpu::gpus(&samples.gpu, hints.gpu);
    let main = driver.and_then(|driver| mainthread::main_thread(&samples.stacks, driver));
    let workers = driver.and_then(|driver| workers::workers(samples, driver));
    let process = driver.and_then(|driver| process::process(&samples.process, driver));
    let batches = workers.as_ref().and_then(|workers| batches::batches(&samples.process, &workers.pids));
    Signals {
        driver,
        watched_ns: span(samples).map_or(0, |(first, last)| last - first),
        phases,
        gpu,
        other_gpus,
        main,
        process,
        workers,
        batches,
        cores_busy: cores_busy(&samples.system),
        machine: machine(&samples.system),
    }
}

/// The stretch that shares are of; `None`: all of it.
fn steady(hints: &Hints, phases: Option<&Phases>) -> Option<(i64, i64)> {
    let after_startup = || {
        let phases = phases.filter(|phases| phases.visits(Phase::Startup) > 0)?;
        Some((phases.training_from()?, phases.stretches.last()?.until))
    };
    hints.steady.or_else(after_startup)
}

/// Times of the first and the last sample of anything, ns of Unix time; `None` without times.
fn span(samples: &Samples) -> Option<(i64, i64)> {
    let times = samples.gpu.t.iter().chain(&samples.process.t).copied();
    let times = times.chain(samples.stacks.seen.iter().filter_map(|seen| seen.t));
    let (first, last) = times.fold((i64::MAX, i64::MIN), |(a, b), t| (a.min(t), b.max(t)));
    (first <= last).then_some((first, last))
}

/// The machine's memory, as tight as it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// All of it, bytes.
    pub memory: f64,
    /// The least that was available, bytes.
    pub available: f64,
    /// The most that lay in shared memory (`/dev/shm` and the like), bytes; `None` where nobody knows.
    pub shm_used: Option<f64>,
    /// Share of the time with a core that waits for a disk; `None` where nobody knows.
    pub disk_wait: Option<f64>,
}

fn machine(table: &whyidle_model::Table) -> Option<Machine> {
    let values =
        |column: &str| (0..table.len()).filter_map(|row| table.number(column, row)).collect::<Vec<_>>();
    let least = |column: &str| values(column).into_iter().min_by(f64::total_cmp);
    let most = |column: &str| values(column).into_iter().max_by(f64::total_cmp);
    let growth = |column: &str| Some(values(column).last()? - values(column).first()?);
    let all = || -> Option<f64> {
        Some(growth("cpu_user")? + growth("cpu_sys")? + growth("cpu_idle")? + growth("cpu_iowait")?)
    };
    Some(Machine {
        memory: most("mem_total")?,
        available: least("mem_available")?,
        shm_used: most("shm_used"),
        disk_wait: all().filter(|all| *all > 0.0).and_then(|all| Some(growth("cpu_iowait")? / all)),
    })
}

fn cores_busy(table: &whyidle_model::Table) -> Option<f64> {
    let last = table.len().checked_sub(1)?;
    let growth = |column: &str| Some(table.number(column, last)? - table.number(column, 0)?);
    let busy = growth("cpu_user")? + growth("cpu_sys")?;
    let all = busy + growth("cpu_idle")? + growth("cpu_iowait").unwrap_or(0.0);
    (all > 0.0).then(|| busy / all)
}

/// The processes that the recorder took for drivers of GPUs when it last saw them; empty where it did not say.
#[must_use]
pub fn drivers(samples: &Samples) -> Vec<u32> {
    let table = &samples.process;
    let is_driver = |pid: &u32| {
        let last = table.rows_of("pid", f64::from(*pid)).last();
        last.is_some_and(|row| table.word("role", row) == "driver")
    };
    table.keys("pid").into_iter().filter(is_driver).collect()
}

/// The process that the samples are about: a driver, else the root of the sampled stacks, else of the process table.
fn driver_of(samples: &Samples) -> Option<u32> {
    if let Some(&driver) = drivers(samples).first() {
        return Some(driver);
    }
    let stacks = &samples.stacks;
    let roots =
        stacks.seen.iter().map(|seen| (&stacks.stacks[seen.stack], seen.count)).filter_map(|(stack, n)| {
            let is_main = stacks.names.get(stack.thread) == "MainThread";
            (stack.parents.is_empty() && is_main).then_some((stack.pid, n))
        });
    let mut counts: std::collections::BTreeMap<u32, u32> = std::collections::BTreeMap::new();
    for (pid, count) in roots {
        *counts.entry(pid).or_default() += count;
    }
    let by_stacks = counts.into_iter().max_by_key(|(_, count)| *count).map(|(pid, _)| pid);
    by_stacks.or_else(|| {
        let table = &samples.process;
        let pids = table.keys("pid");
        pids.iter().copied().find(|&pid| {
            let row = table.rows_of("pid", f64::from(pid)).next();
            let parent = row.and_then(|row| table.number("ppid", row));
            parent.is_none_or(|parent| !pids.contains(&(parent as u32)))
        })
    })
}

/// A share counted from samples: its value and half the width of its 95 % interval, samples taken as independent.
#[must_use]
pub fn share_error(share: f64, samples: u32) -> f64 {
    if samples == 0 {
        return 1.0;
    }
    // Wilson's interval: sound at 0 and 1 too.
    let (n, z) = (f64::from(samples), 1.96_f64);
    let p = share.clamp(0.0, 1.0);
    z * ((p * (1.0 - p) + z * z / (4.0 * n)) / n).sqrt() / (1.0 + z * z / n)
}

#[cfg(test)]
mod tests {
    use super::share_error;

    #[test]
    fn the_error_of_a_share_falls_with_the_samples() {
        assert!((share_error(0.5, 150) - 0.079).abs() < 0.002);
        assert!(share_error(0.0, 100) > 0.01);
        assert!((share_error(0.3, 0) - 1.0).abs() < 1e-9);
    }
}
