//! `data.transfer`: copies from host to device that nothing hides, and the host's part in them.
//!
//! Copies from pageable memory are staged by the driver and block the host; from pinned memory they
//! run beside compute. A copy that is hidden costs nothing.

use whyidle_analysis::kernelclass::{CopyKind, classify_copy};
use whyidle_analysis::ledger::Line;
use whyidle_model::{GpuId, GpuKind};
use whyidle_replay::edits::asynchronous_transfers;

use super::support::{change, finding, line_evidence, remedy, timed, worth};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Evidence, Finding, Method};
use crate::what_if::Setting;

const CODE: &str = "loader = DataLoader(dataset, batch_size=batch_size, pin_memory=True)
for batch in loader:
    batch = batch.to(device, non_blocking=True)";

/// What is left once batches are pinned: their copies beside the computation.
const BESIDE: &str = "copies = torch.cuda.Stream()
with torch.cuda.stream(copies):
    following = following.to(device, non_blocking=True)
# compute on this batch, then:
torch.cuda.current_stream().wait_stream(copies)";

/// Host-to-device rate from pinned memory where the trace shows none, bytes/s: PCIe 4.0 ×16 carries
/// 31.5 GB/s raw, about 25 in practice (NVIDIA bandwidthTest).
const PINNED_RATE: f64 = 25e9;
/// Copies below this size say nothing about a rate.
const LARGE: u64 = 1 << 20;

#[derive(Default)]
struct Copies {
    count: i64,
    pageable: i64,
    pageable_ns: i64,
    /// Of memory that the record does not name.
    unnamed: i64,
    unnamed_ns: i64,
    bytes: u64,
    ns: i64,
    pinned_rates: Vec<f64>,
}

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = worth(case, Line::DataTransfer)?;
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    let copies = copies(case);
    let mut evidence = vec![line_evidence(case, Line::DataTransfer)];
    let text = Message::new(if copies.unnamed > 0 { "ev-copies-unnamed" } else { "ev-copies" })
        .count("count", copies.count)
        .with("bytes", crate::message::Arg::Bytes(i64::try_from(copies.bytes).unwrap_or(i64::MAX)))
        .time("time", copies.ns);
    let text = if copies.unnamed > 0 { text } else { text.count("pageable", copies.pageable) };
    evidence.push(timed(text, copies.ns, None));
    if copies.bytes > 0 {
        let rate = copies.rate();
        let text = Message::new("ev-copy-rate").with("rate", crate::message::Arg::Number(rate / 1e9, 1));
        evidence.push(Evidence { text, value: Some(rate), unit: "bytes/s", place: None });
    }
    let (summary, code) = if copies.are_pageable() {
        (Message::new("fix-data-transfer-pageable"), CODE)
    } else if copies.are_unnamed() {
        (Message::new("fix-data-transfer-unnamed"), CODE)
    } else {
        (Message::new("fix-data-transfer-pinned"), BESIDE)
    };
    let steps = ["fix-transfer-stream", "fix-transfer-smaller", "fix-transfer-trap"];
    Some(finding(case, "data.transfer", cost, gain, evidence, remedy(summary, &steps, code)))
}

/// Copies from pinned memory that the host does not wait for, at the rate of the trace's own pinned copies.
pub(super) fn edit<'a>(case: &'a Case<'_>, _: Option<&Setting>) -> Option<Edit<'a>> {
    let copies = copies(case);
    if copies.count == 0 {
        return None;
    }
    let pinned = median(copies.pinned_rates.clone()).unwrap_or(PINNED_RATE);
    let speed_up = if copies.pageable > 0 { (pinned / copies.rate().max(1.0)).max(1.0) } else { 1.0 };
    let pins = copies.are_pageable() || copies.are_unnamed();
    let change = if pins { change("pinned") } else { change("overlapped") };
    Some(Edit::new(change, Method::Replay, move |program, lengths| {
        asynchronous_transfers(program, &case.facts.works, lengths, speed_up);
    }))
}

impl Copies {
    /// Pageable copies take most of the time: pinning is the remedy. A few that remain beside pinned batches are not
    /// what the GPU waits for.
    fn are_pageable(&self) -> bool {
        2 * self.pageable_ns > self.ns
    }

    /// Copies of memory that the record does not name take most of the time: whether it was pinned is not known.
    fn are_unnamed(&self) -> bool {
        2 * self.unnamed_ns > self.ns
    }

    /// Bytes per second.
    fn rate(&self) -> f64 {
        self.bytes as f64 / (self.ns.max(1) as f64 / 1e9)
    }
}

/// Copies to the device in the steps analysed, per step.
fn copies(case: &Case<'_>) -> Copies {
    let mut copies = Copies::default();
    let gpu = &case.trace.gpu;
    let inside = |row: u32| case.device.steps.ended_at(gpu.end(GpuId(row))).is_some();
    for &row in &case.device.rows {
        let at = row as usize;
        if gpu.kind[at] != GpuKind::Memcpy || !inside(row) {
            continue;
        }
        let kind = classify_copy(case.trace.names.get(gpu.name[at]));
        if kind.is_to_device() {
            copies.count += 1;
            if kind == CopyKind::HostToDevicePageable {
                copies.pageable += 1;
                copies.pageable_ns += gpu.dur[at];
            }
            if kind == CopyKind::HostToDevice {
                copies.unnamed += 1;
                copies.unnamed_ns += gpu.dur[at];
            }
            copies.bytes += gpu.bytes[at];
            copies.ns += gpu.dur[at];
            if kind == CopyKind::HostToDevicePinned && gpu.bytes[at] >= LARGE && gpu.dur[at] > 0 {
                copies.pinned_rates.push(gpu.bytes[at] as f64 / (gpu.dur[at] as f64 / 1e9));
            }
        }
    }
    let count = case.steps();
    copies.count /= count;
    copies.pageable /= count;
    copies.pageable_ns /= count;
    copies.unnamed /= count;
    copies.unnamed_ns /= count;
    copies.bytes /= count as u64;
    copies.ns /= count;
    copies
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
