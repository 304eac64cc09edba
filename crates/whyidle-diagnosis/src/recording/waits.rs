//! The explicit waits of the main thread, charged against the GPU's idle time.

use whyidle_analysis::signals::{Doing, Phase, share_error};

use super::View;
use super::phases::recurring;

/// What pageable copies reach at most, bytes per second: they pass through a staging buffer. (PCIe 4 and 5
/// machines: 4–8 GB/s.)
const PAGEABLE_RATE: f64 = 6e9;
/// A wait below this share of the step is not worth a line.
const WORTH: f64 = 0.01;
/// Copies must account for this share of the time in a function for it to be called copying.
const COPIES: f64 = 0.25;

/// A wait.
#[derive(Clone, Debug)]
pub(crate) struct Wait {
    /// Cause id.
    pub(crate) cause: &'static str,
    /// Ledger line.
    pub(crate) line: &'static str,
    /// Share of the main thread's samples.
    pub(crate) share: f64,
    /// Half the width of its 95 % interval.
    pub(crate) error: f64,
    /// Share of the step charged to it.
    pub(crate) charged: f64,
    /// The least that must be charged: what cannot overlap with the GPU's work.
    pub(crate) low: f64,
    /// The most that can be charged.
    pub(crate) high: f64,
}

/// All waits.
pub(crate) struct Waits {
    /// The GPU's idle share; of a run without a GPU, 1: waits count as they are.
    pub(crate) idle: f64,
    /// Waits, the largest share first.
    pub(crate) all: Vec<Wait>,
    /// Those with a charge, and what is left for launching.
    pub(crate) charged: Vec<Wait>,
}

impl Waits {
    pub(crate) fn of(view: &View<'_>) -> Self {
        let idle = if view.is_host_only() { 1.0 } else { view.idle() };
        let mut all = explicit(view);
        all.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.cause.cmp(b.cause)));
        let mut left = idle;
        for wait in &mut all {
            wait.charged = wait.share.min(left);
            left -= wait.charged;
            wait.high = (wait.share + wait.error).min(idle);
            // The rest of the time the GPU works: so much of the wait can hide behind it, and no more.
            wait.low = (wait.share - wait.error + idle - 1.0).clamp(0.0, wait.charged);
        }
        let mut charged: Vec<Wait> = all.iter().filter(|wait| wait.charged >= WORTH).cloned().collect();
        if let Some(wait) = contention(view, &all, left) {
            left -= wait.charged;
            charged.push(wait);
        }
        if !view.is_host_only() && launches(view) {
            charged.extend(launching(view, left, idle));
        }
        Self { idle, all, charged }
    }

    /// The process wants to run and does not get a core: what that takes away.
    pub(crate) fn contention(&self) -> Option<&Wait> {
        self.charged.iter().find(|wait| wait.cause == "host.contention")
    }

    /// The wait that explains half of the idle time or more.
    pub(crate) fn main_cause(&self) -> Option<&Wait> {
        self.all.first().filter(|wait| wait.charged >= self.idle / 2.0 && wait.charged >= WORTH)
    }
}

/// The time in which the process wants to run and has no core: what its own waits and its CPU time leave over, on a
/// machine without idle cores where its main thread keeps losing its core to others. `left`: idle time that no wait
/// explains yet.
fn contention(view: &View<'_>, waits: &[Wait], left: f64) -> Option<Wait> {
    /// Switches per second at which the main thread loses its core.
    const TAKEN_AWAY: f64 = 50.0;
    const FULL: f64 = 0.9;
    const WANTS: f64 = 0.3;
    const GETS: f64 = 0.6;
    let process = view.signals.process.as_ref()?;
    // Who waits for workers, a disk or the interpreter's lock wants no core meanwhile.
    let sleeps = |wait: &&Wait| {
        ["data.workers", "data.storage", "io.", "run.", "host.gil"]
            .iter()
            .any(|family| wait.cause.starts_with(family))
    };
    let waiting: f64 = waits.iter().filter(sleeps).map(|wait| wait.share).sum();
    let (wants, gets) = (1.0 - waiting, process.user + process.system);
    let contended = wants > WANTS
        && gets < GETS * wants
        && process.involuntary.is_some_and(|switches| switches > TAKEN_AWAY)
        && view.signals.cores_busy.is_some_and(|busy| busy > FULL);
    let share = wants - gets;
    let charged = share.min(left);
    (contended && charged >= WORTH).then_some(Wait {
        cause: "host.contention",
        line: "host.contention",
        share,
        error: 0.0,
        charged,
        low: 0.0,
        high: share.min(left.max(charged)),
    })
}

/// The main thread is at work, not waiting: its remaining idle time is launching. Without counters nobody knows.
fn launches(view: &View<'_>) -> bool {
    let process = view.signals.process.as_ref();
    view.signals.main.is_some() || process.is_some_and(|process| process.user + process.system > 0.8)
}

/// Optimizer frames in this share of the samples: it, rather than the model, is what launches.
const OPTIMIZER: f64 = 0.30;

fn launching(view: &View<'_>, left: f64, idle: f64) -> Option<Wait> {
    if left < WORTH {
        return None;
    }
    let optimizer = view.main(Doing::Optimizes) >= OPTIMIZER;
    let cause = if optimizer { "host.optimizer" } else { "host.launch" };
    Some(Wait { cause, line: cause, share: left, error: 0.0, charged: left, low: 0.0, high: idle })
}

fn explicit(view: &View<'_>) -> Vec<Wait> {
    let Some(main) = view.signals.main.as_ref() else { return Vec::new() };
    let mut waits = Vec::new();
    let mut add = |cause: &'static str, line: &'static str, share: f64| {
        if share >= WORTH {
            let error = share_error(share, main.samples);
            waits.push(Wait { cause, line, share, error, charged: 0.0, low: 0.0, high: 0.0 });
        }
    };
    let loads = main.share(Doing::WaitsForWorkers) + main.share(Doing::StartsLoader);
    // Borders of epochs that recur are a matter of the run; the rest of the waits for workers is one of the step.
    let epochs = recurring(view.signals, Phase::Epoch).min(loads);
    add("run.epoch", "run.epoch", epochs);
    // What stands on a disk's account has no line of its own in a ledger of steps.
    add(waits_for_workers(view), "data.workers", loads - epochs);
    add("data.in_process", "data.in_process", main.share(Doing::PreparesData));
    let saves =
        if recurring(view.signals, Phase::Checkpoint) > 0.0 { "run.checkpoint" } else { "io.checkpoint" };
    add(saves, "io.checkpoint", main.share(Doing::Saves));
    add("io.logging", "io.logging", main.share(Doing::Logs));
    add("compile.recompile", "compile.recompile", main.share(Doing::Compiles));
    add("host.gc", "host.gc", main.share(Doing::Collects));
    add("host.gil", "host.gil", main.share(Doing::WaitsForGil));
    add("memory.allocator", "memory.allocator", main.share(Doing::EmptiesCache));
    let (copies, own) = (main.share(Doing::Copies), main.share(Doing::UserCode));
    if copies_explain(view, own) {
        add("data.transfer", "data.transfer", copies + own);
    } else {
        add("data.transfer", "data.transfer", copies);
        add("host.python", "host.python", own);
    }
    waits
}

/// Workers that wait for a disk most of the time are not slow themselves.
fn waits_for_workers(view: &View<'_>) -> &'static str {
    const MOSTLY: f64 = 0.3;
    let disk = view.signals.workers.as_ref().and_then(|workers| workers.disk);
    if disk.is_some_and(|disk| disk > MOSTLY) { "data.storage" } else { "data.workers" }
}

/// The bytes that reach the GPU take, at the rate of pageable copies, a good part of the time spent in the user's
/// own code: a copy has no Python frame of its own.
fn copies_explain(view: &View<'_>, share: f64) -> bool {
    let rate = view.signals.gpu.as_ref().and_then(|gpu| gpu.pcie_rx).unwrap_or(0.0);
    share > 0.0 && rate / PAGEABLE_RATE >= COPIES * share
}
