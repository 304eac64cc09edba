//! What each instrument says of the watched program, side by side. One that the recording lacks keeps its row, without
//! a value.

use whyidle_analysis::signals::{GpuSignals, ProcessSignals};

use super::{View, disagree};
use crate::message::{Arg, Message};
use crate::verdict::{Instruments, Reading};

/// The table. `working`: the share of the step in which the GPU worked, and whether it comes from a trace.
pub(crate) fn table(view: &View<'_>, working: Option<f64>, traced: bool) -> Instruments {
    let mut readings = of_gpu(view.signals.gpu.as_ref());
    let found_by = if traced { "stat-live-working-traced" } else { "stat-live-working-sampled" };
    let found_by = working.map(|_| Message::new(found_by));
    readings.push(Reading { detail: found_by, ..share("step.working", working) });
    readings.extend(of_host(view));
    Instruments {
        gpu: view.signals.gpu.as_ref().map(|gpu| gpu.index),
        readings,
        disagreements: disagree::disagreements(view),
    }
}

fn of_gpu(gpu: Option<&GpuSignals>) -> Vec<Reading> {
    let of = |id, value: fn(&GpuSignals) -> Option<f64>| share(id, gpu.and_then(value));
    vec![
        of("gpu.util", |gpu| gpu.util),
        of("gpu.util-memory", |gpu| gpu.util_memory),
        of("gpu.resident", |gpu| gpu.is_counted.then_some(gpu.resident)),
        of("gpu.sm", |gpu| gpu.sm),
        of("gpu.warps", |gpu| gpu.occupancy),
        of("gpu.tensor", |gpu| gpu.tensor),
        of("gpu.fp32", |gpu| gpu.fp32),
        of("gpu.dram", |gpu| gpu.dram),
        Reading { detail: gpu.and_then(watts), ..of("gpu.power", GpuSignals::power_share) },
        Reading {
            detail: gpu.and_then(|gpu| gpu.memory).map(|(used, all)| {
                let bytes = |bytes: f64| Arg::Bytes(bytes as i64);
                Message::new("stat-live-memory").with("used", bytes(used)).with("all", bytes(all))
            }),
            ..of("gpu.memory", |gpu| gpu.memory.filter(|(_, all)| *all > 0.0).map(|(used, all)| used / all))
        },
        rate("gpu.pcie", gpu.and_then(|gpu| gpu.pcie_rx)),
    ]
}

fn watts(gpu: &GpuSignals) -> Option<Message> {
    let watts = |power: f64| power.round() as i64;
    let power = watts(gpu.power_w?);
    Some(match gpu.limit_w {
        Some(limit) => Message::new("stat-live-power").count("power", power).count("limit", watts(limit)),
        None => Message::new("stat-live-power-alone").count("power", power),
    })
}

fn of_host(view: &View<'_>) -> Vec<Reading> {
    let signals = view.signals;
    let process = signals.process.as_ref();
    let workers = signals.workers.as_ref();
    let apart = |process: &ProcessSignals| {
        Message::new("stat-live-cpu").share("user", process.user).share("system", process.system)
    };
    let many = workers.map(|workers| Message::new("stat-live-workers").count("count", workers.pids.len()));
    // Both, where there are both: half of the program's reads is no figure.
    let read = match workers {
        None => process.and_then(|process| process.read_rate),
        Some(workers) => {
            workers.read_rate.zip(process.and_then(|process| process.read_rate)).map(|(a, b)| a + b)
        }
    };
    vec![
        Reading { detail: process.map(apart), ..share("cpu.program", process.map(ProcessSignals::cores)) },
        Reading { detail: many, ..share("cpu.worker", workers.and_then(|workers| workers.busy)) },
        share("cpu.cores", signals.cores_busy),
        share("disk.wait", signals.machine.as_ref().and_then(|machine| machine.disk_wait)),
        rate("disk.read", read),
    ]
}

fn share(id: &'static str, value: Option<f64>) -> Reading {
    Reading { id, value: value.filter(|value| value.is_finite()), unit: "share", detail: None }
}

fn rate(id: &'static str, value: Option<f64>) -> Reading {
    Reading { unit: "bytes/s", ..share(id, value) }
}
