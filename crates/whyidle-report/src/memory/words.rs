//! The sentences: the peak, what makes it up, and what to change.

use whyidle_analysis::memory::{
    Advice, DeviceMemory, Failure, Growth, GrowthKind, Part, PeriodsBy, Phase, Site,
};
use whyidle_diagnosis::{Arg, Message};

use super::SnapshotReport;
use crate::ranks::words::place;

/// Bytes, as a message takes them.
pub(super) fn bytes(bytes: u64) -> Arg {
    Arg::Bytes(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// A part of a whole, 0–1.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// `aten::linear · forward (model.py:21)`.
pub(super) fn site(site: &Site) -> Message {
    let at = site.place.as_ref().map(|(function, file, line)| place(function, file, *line));
    match (&site.operator, at) {
        (Some(operator), Some(at)) => {
            Message::new("memory-site").name("operator", operator).name("place", at)
        }
        (Some(operator), None) => Message::new("memory-site-bare").name("place", operator),
        (None, Some(at)) => Message::new("memory-site-bare").name("place", at),
        (None, None) => Message::new("memory-site-unknown"),
    }
}

/// A part of the peak by its name.
pub(crate) fn part(sites: &[Site], part: &Part) -> Message {
    match part.site {
        None => Message::new("memory-part-before"),
        Some(at) => site(&sites[at as usize]),
    }
}

/// Parts of the peak by phase of the step, largest first, with what was there before the history.
fn by_phase(report: &SnapshotReport, memory: &DeviceMemory) -> Vec<(&'static str, u64)> {
    let mut sums: Vec<(&'static str, u64)> = Vec::new();
    for part in &memory.parts {
        let id = match part.site.map(|at| &report.sites[at as usize]) {
            None => "memory-by-before",
            Some(site) => match site.phase {
                Phase::Forward => "memory-by-forward",
                Phase::Backward => "memory-by-backward",
                Phase::Optimizer => "memory-by-optimizer",
                Phase::Other if site.is_unknown() => "memory-by-unknown",
                Phase::Other => "memory-by-other",
            },
        };
        match sums.iter_mut().find(|(known, _)| *known == id) {
            Some((_, sum)) => *sum = sum.saturating_add(part.bytes),
            None => sums.push((id, part.bytes)),
        }
    }
    sums.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    sums
}

/// The answer, sentence by sentence.
pub(super) fn answer(report: &SnapshotReport, memory: &DeviceMemory) -> Vec<Message> {
    let peak = memory.peak.totals;
    let id = match (memory.span.is_some(), memory.exact) {
        (false, _) => "memory-end",
        (true, true) => "memory-peak",
        (true, false) => "memory-peak-about",
    };
    let mut said = vec![
        Message::new(id)
            .with("allocated", bytes(peak.allocated))
            .with("reserved", bytes(memory.peak_reserved)),
    ];
    if memory.span.is_some() && peak.allocated > 0 {
        let items = by_phase(report, memory)
            .into_iter()
            .filter(|(_, bytes)| share(*bytes, peak.allocated) >= SHOWN)
            .map(|(id, bytes)| {
                Arg::Message(Box::new(Message::new(id).share("share", share(bytes, peak.allocated))))
            });
        said.push(Message::new("memory-made-of").with("parts", Arg::List(items.collect())));
    }
    if let Some(growth) = &memory.growth {
        said.extend(growth_said(report, growth));
    }
    said.extend(memory.fragmentation.failures.last().map(failure));
    match memory.advice.first() {
        Some(advice) => said.push(advised(*advice)),
        // More allocated than reserved cannot be: the history is not this memory's.
        None if memory.span.is_some() && peak.allocated <= memory.peak_reserved => {
            said.push(Message::new("memory-fine"))
        }
        None => {}
    }
    said
}

/// Phases with less of the peak are left to the table.
const SHOWN: f64 = 0.01;

/// What grows, in a sentence or two.
fn growth_said(report: &SnapshotReport, growth: &Growth) -> Vec<Message> {
    let id = match growth.by {
        PeriodsBy::Marks | PeriodsBy::Repetition => "memory-growth-steps",
        PeriodsBy::Slices => "memory-growth-slices",
        PeriodsBy::Part => "memory-growth-part",
    };
    let mut said =
        vec![Message::new(id).with("bytes", bytes(growth.per_period)).count("count", growth.periods)];
    if let Some(largest) = growth.sites.first() {
        let place = site(&report.sites[largest.site as usize]);
        said.push(Message::new("memory-growth-most").message("place", place));
    }
    said.extend(match growth.kind {
        GrowthKind::Graph => Some(Message::new("memory-growth-graph")),
        GrowthKind::Evaluation => Some(Message::new("memory-growth-evaluation")),
        GrowthKind::Kept => None,
    });
    said
}

/// An allocation that failed.
pub(super) fn failure(failure: &Failure) -> Message {
    let id = if failure.is_fragmented() { "memory-failed-pieces" } else { "memory-failed" };
    Message::new(id)
        .with("bytes", bytes(failure.bytes))
        .with("allocated", bytes(failure.allocated))
        .with("cached", bytes(failure.cached))
        .with("free", bytes(failure.device_free))
}

/// What to change, in short.
pub(super) fn advised(advice: Advice) -> Message {
    Message::new(match advice {
        Advice::NoGrad => "memory-do-no-grad",
        Advice::Detach => "memory-do-detach",
        Advice::Release => "memory-do-release",
        Advice::KeepCache => "memory-do-keep-cache",
        Advice::Expandable => "memory-do-expandable",
        Advice::SameSizes => "memory-do-same-sizes",
        Advice::NeedLess => "memory-do-need-less",
    })
}

/// When it helps, and when it does not.
pub(super) fn conditions(advice: Advice) -> Option<Message> {
    match advice {
        Advice::NoGrad => Some(Message::new("memory-if-no-grad")),
        Advice::Detach => Some(Message::new("memory-if-detach")),
        Advice::Expandable => Some(Message::new("memory-if-expandable")),
        Advice::KeepCache => Some(Message::new("memory-if-keep-cache")),
        Advice::SameSizes => Some(Message::new("memory-if-same-sizes")),
        Advice::Release | Advice::NeedLess => None,
    }
}

/// Lines to paste.
pub(super) fn code(advice: Advice) -> &'static [&'static str] {
    match advice {
        Advice::NoGrad => &["with torch.no_grad():", "    outputs = model(inputs)"],
        Advice::Detach => &["total += loss.detach()", "outputs.append(output.detach().cpu())"],
        Advice::Expandable => &["PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"],
        Advice::Release | Advice::KeepCache | Advice::SameSizes | Advice::NeedLess => &[],
    }
}

/// How periods were found.
pub(super) fn found_by(by: PeriodsBy, count: usize) -> Message {
    Message::new(match by {
        PeriodsBy::Marks => "memory-periods-marks",
        PeriodsBy::Repetition => "memory-periods-repetition",
        PeriodsBy::Slices => "memory-periods-slices",
        PeriodsBy::Part => "memory-periods-part",
    })
    .count("count", count)
}
