//! Where instruments disagree, and why: each a sentence with its reason.

use whyidle_analysis::signals::{GpuSignals, ProcessSignals};

use super::View;
use crate::message::{Arg, Message};

/// Two that measure the same differ by less.
const APART: f64 = 0.1;
/// As good as always.
const BUSY: f64 = 0.9;
/// Of the power limit: full arithmetic units or full memory bandwidth draw more.
const COOL: f64 = 0.6;
/// Copy engines at work, bytes per second.
const COPYING: f64 = 1e9;

pub(crate) fn disagreements(view: &View<'_>) -> Vec<Message> {
    let mut found = Vec::new();
    if let Some(gpu) = &view.signals.gpu {
        found.extend(windows(view, gpu));
        found.extend(hollow(gpu));
        found.extend(memory(gpu));
        found.extend(copies(gpu));
    }
    found.extend(one_core(view));
    found
}

/// NVML's utilisation against the card's own counters: its window against the step.
fn windows(view: &View<'_>, gpu: &GpuSignals) -> Option<Message> {
    let util = gpu.util.filter(|util| gpu.is_counted && (util - gpu.resident).abs() >= APART)?;
    let id = if view.has_steps() { "stat-live-why-util-step" } else { "stat-live-why-util" };
    let text = Message::new(id).share("util", util).share("resident", gpu.resident);
    Some(if view.has_steps() { text.time("step", view.step.ns) } else { text })
}

/// Always busy, yet with few multiprocessors or little power: one small kernel, or one that waits.
fn hollow(gpu: &GpuSignals) -> Option<Message> {
    let busy = if gpu.is_counted { gpu.resident } else { gpu.util? };
    let sm = gpu.sm.filter(|sm| *sm < busy / 2.0);
    let power = gpu.power_share().filter(|power| *power < COOL);
    if busy < BUSY {
        return None;
    }
    Some(match (sm, power) {
        (Some(sm), Some(power)) => {
            Message::new("stat-live-why-hollow").share("busy", busy).share("sm", sm).share("power", power)
        }
        (Some(sm), None) => Message::new("stat-live-why-few").share("busy", busy).share("sm", sm),
        (None, Some(power)) => Message::new("stat-live-why-cool").share("busy", busy).share("power", power),
        (None, None) => return None,
    })
}

/// Time with an access against bytes moved.
fn memory(gpu: &GpuSignals) -> Option<Message> {
    let (time, bytes) =
        gpu.util_memory.zip(gpu.dram).filter(|(time, bytes)| (time - bytes).abs() >= APART)?;
    Some(Message::new("stat-live-why-memory").share("time", time).share("bytes", bytes))
}

/// Copy engines are not counted as resident.
fn copies(gpu: &GpuSignals) -> Option<Message> {
    let rate = gpu.pcie_rx.filter(|rate| *rate >= COPYING && gpu.resident < 0.5)?;
    let text = Message::new("stat-live-why-copies").share("resident", gpu.resident);
    Some(text.with("rate", Arg::Bytes(rate as i64)))
}

/// A process that fills a core, on a machine whose average is low. Beside a busy GPU that holds nothing up.
fn one_core(view: &View<'_>) -> Option<Message> {
    if view.resident.is_some_and(|resident| resident >= BUSY) {
        return None;
    }
    let all = view.signals.cores_busy.filter(|all| *all < 0.5)?;
    let process = view.signals.process.as_ref().map(ProcessSignals::cores);
    let worker = view.signals.workers.as_ref().and_then(|workers| workers.busy);
    let full = process.into_iter().chain(worker).max_by(f64::total_cmp).filter(|one| *one >= BUSY)?;
    Some(Message::new("stat-live-why-core").share("one", full).share("all", all))
}
