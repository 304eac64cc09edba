//! What each instrument says, and where they disagree: the table of `-v`.

use whyidle_analysis::signals::{Doing, GpuSignals, Rhythm, rhythm};

use super::{View, limits};
use crate::message::Message;

pub(crate) fn table(view: &View<'_>) -> Vec<Message> {
    let mut rows = Vec::new();
    if let Some(gpu) = &view.signals.gpu {
        let mut shares = Vec::new();
        let mut add = |id: &'static str, value: Option<f64>| {
            if let Some(value) = value {
                shares.push(crate::message::Arg::Message(Box::new(Message::new(id).share("value", value))));
            }
        };
        add("stat-live-util", gpu.util);
        add("stat-live-util-memory", gpu.util_memory);
        add("stat-live-resident", gpu.is_counted.then_some(gpu.resident));
        add("stat-live-sm", gpu.sm);
        add("stat-live-occupancy", gpu.occupancy);
        add("stat-live-tensor", gpu.tensor);
        add("stat-live-fp32", gpu.fp32);
        add("stat-live-dram", gpu.dram);
        let list = crate::message::Arg::List(shares);
        rows.push(Message::new("stat-live-gpu").count("gpu", i64::from(gpu.index)).with("values", list));
        if let Some((power, limit)) = gpu.power_w.zip(gpu.limit_w) {
            rows.push(
                Message::new("stat-live-power")
                    .count("power", power.round() as i64)
                    .count("limit", limit.round() as i64)
                    .share("capped", gpu.capped),
            );
        }
        rows.extend(rhythm(gpu).map(in_words));
        rows.extend(disagreements(gpu));
        if let Some((used, all)) = gpu.memory {
            rows.push(
                Message::new("stat-live-memory")
                    .with("used", crate::message::Arg::Bytes(used as i64))
                    .share("share", if all > 0.0 { used / all } else { 0.0 }),
            );
        }
    }
    if let Some(process) = &view.signals.process {
        rows.push(Message::new("stat-live-cpu").share("user", process.user).share("system", process.system));
    }
    rows.extend(limits::rows(view));
    if let Some(main) = &view.signals.main {
        let mut doings: Vec<(Doing, f64)> = main
            .counts
            .keys()
            .map(|&doing| (doing, main.share(doing)))
            .filter(|(_, share)| *share >= 0.01)
            .collect();
        doings.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let words = doings.into_iter().map(|(doing, share)| {
            crate::message::Arg::Message(Box::new(Message::new(words(doing)).share("value", share)))
        });
        rows.push(
            Message::new("stat-live-main")
                .count("samples", i64::from(main.samples))
                .with("values", crate::message::Arg::List(words.collect())),
        );
    }
    rows
}

fn in_words(rhythm: Rhythm) -> Message {
    match rhythm {
        Rhythm::Flat => Message::new("stat-live-flat"),
        Rhythm::Periodic { period_ns, .. } => Message::new("stat-live-dips").time("period", period_ns),
        Rhythm::Irregular => Message::new("stat-live-irregular"),
    }
}

/// Where instruments disagree, and why.
fn disagreements(gpu: &GpuSignals) -> Vec<Message> {
    /// Two that measure the same differ by less.
    const APART: f64 = 0.1;
    const BUSY: f64 = 0.9;
    const COOL: f64 = 0.6;
    let mut found = Vec::new();
    if let Some(util) = gpu.util.filter(|util| gpu.is_counted && (util - gpu.resident).abs() >= APART) {
        found.push(Message::new("stat-live-why-util").share("util", util).share("resident", gpu.resident));
    }
    let power = gpu.power_w.zip(gpu.limit_w).map(|(power, limit)| power / limit.max(1.0));
    let hollow = gpu.sm.is_some_and(|sm| sm < gpu.resident / 2.0);
    if let Some(power) = power.filter(|power| gpu.resident >= BUSY && *power < COOL) {
        let id = if hollow { "stat-live-why-hollow" } else { "stat-live-why-cool" };
        found.push(Message::new(id).share("resident", gpu.resident).share("power", power));
    }
    // Copy engines are not counted as resident.
    const COPYING: f64 = 1e9;
    if let Some(rate) = gpu.pcie_rx.filter(|rate| *rate >= COPYING && gpu.resident < 0.5) {
        found.push(
            Message::new("stat-live-why-copies")
                .share("resident", gpu.resident)
                .with("rate", crate::message::Arg::Bytes(rate as i64)),
        );
    }
    found
}

fn words(doing: Doing) -> &'static str {
    match doing {
        Doing::WaitsForWorkers => "stat-live-do-waits",
        Doing::PreparesData => "stat-live-do-prepares",
        Doing::StartsLoader => "stat-live-do-starts",
        Doing::Saves => "stat-live-do-saves",
        Doing::Imports => "stat-live-do-imports",
        Doing::Compiles => "stat-live-do-compiles",
        Doing::Collects => "stat-live-do-collects",
        Doing::EmptiesCache => "stat-live-do-empties",
        Doing::WaitsForGil => "stat-live-do-gil",
        Doing::Copies => "stat-live-do-copies",
        Doing::Synchronises => "stat-live-do-syncs",
        Doing::Logs => "stat-live-do-logs",
        Doing::Communicates => "stat-live-do-communicates",
        Doing::Evaluates => "stat-live-do-evaluates",
        Doing::Optimizes => "stat-live-do-optimizes",
        Doing::Backward => "stat-live-do-backward",
        Doing::Launches => "stat-live-do-launches",
        Doing::UserCode => "stat-live-do-user",
        Doing::Unknown => "stat-live-do-unknown",
    }
}
