//! `io.checkpoint`: a checkpoint is written while the GPU is idle.
//!
//! Seen by `torch.save` and its like on the stack. Without stacks, by what only saving does: many tensors, large
//! in sum, are read back to the host in one step; the Python that follows then writes them.

use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_model::GpuId;
use whyidle_replay::edits::{LONG_STRETCH_NS, remove_contexts, scale_activities};

use super::support::{change, counted, finding, has_context, line_evidence, places, remedy, share_of, worth};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::{Arg, Message};
use crate::verdict::{Estimate, Finding, Method};
use crate::what_if::Setting;

/// Reading losses, norms or predictions back takes a few copies; a model and its optimizer have hundreds of tensors.
const MANY_COPIES: i64 = 16;
/// And they are large in sum: no metric is.
const MANY_BYTES: i64 = 64 << 20;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let steps = ["fix-checkpoint-async", "fix-checkpoint-less"];
    let remedy = remedy(Message::new("fix-io-checkpoint"), &steps, "");
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    if let Some(cost) = worth(case, Line::Checkpoint) {
        let mut evidence = vec![line_evidence(case, Line::Checkpoint)];
        evidence.extend(places(case, Line::Checkpoint, 3));
        return Some(finding(case, "io.checkpoint", cost, gain, evidence, remedy));
    }
    let (count, bytes) = read_back(case);
    if count < MANY_COPIES || bytes < MANY_BYTES {
        return None;
    }
    let cost = cost(case);
    let text = Message::new("ev-read-back").count("count", count).with("bytes", Arg::Bytes(bytes));
    let evidence = vec![
        counted(text, count),
        line_evidence(case, Line::HostSync),
        line_evidence(case, Line::HostPython),
    ];
    (case.share(cost.ns) >= super::support::WORTH)
        .then(|| finding(case, "io.checkpoint", cost, gain, evidence, remedy))
}

/// Saving on a thread of its own: neither the copies to the host nor the writing hold up the step.
pub(super) fn edit<'a>(case: &'a Case<'_>, _: Option<&Setting>) -> Option<Edit<'a>> {
    let change = change("async_checkpoint");
    if has_context(case, Context::Checkpoint) {
        return Some(Edit::new(change, Method::Replay, |program, lengths| {
            remove_contexts(program, lengths, &[Context::Checkpoint]);
            let saved = |id| case.facts.tree.launch_of(id).map(|call| case.facts.tree.context(call));
            scale_activities(program, lengths, |id| {
                (is_to_host(case, id) && saved(id) == Some(Context::Checkpoint)).then_some(0.0)
            });
        }));
    }
    let (count, bytes) = read_back(case);
    (count >= MANY_COPIES && bytes >= MANY_BYTES).then(|| {
        Edit::new(change, Method::Replay, |program, lengths| {
            remove_contexts(program, lengths, &[Context::Synchronise]);
            for (at, node) in program.host.iter().enumerate() {
                if matches!(node.context, Context::Unnamed | Context::Frame) && node.length >= LONG_STRETCH_NS
                {
                    lengths.host[at] = 0;
                }
            }
            scale_activities(program, lengths, |id| is_to_host(case, id).then_some(0.0));
        })
    })
}

/// Copies to the host per step, and their bytes.
fn read_back(case: &Case<'_>) -> (i64, i64) {
    let gpu = &case.trace.gpu;
    let inside = |row: u32| {
        let end = gpu.end(GpuId(row));
        case.device.steps.used.iter().any(|step| step.window.start < end && end <= step.window.end)
    };
    let copies = case.device.rows.iter().filter(|&&row| is_to_host(case, GpuId(row)) && inside(row));
    let (count, bytes) = copies.fold((0_i64, 0_i64), |(count, bytes), &row| {
        (count + 1, bytes.saturating_add(i64::try_from(gpu.bytes[row as usize]).unwrap_or(i64::MAX)))
    });
    (count / case.steps(), bytes / case.steps())
}

fn is_to_host(case: &Case<'_>, id: GpuId) -> bool {
    case.facts.works[id.index()] == Work::HostCopy
        && whyidle_analysis::kernelclass::classify_copy(case.trace.names.get(case.trace.gpu.name[id.index()]))
            .is_to_host()
}

/// Reading back, and the long stretches of Python that write.
fn cost(case: &Case<'_>) -> Estimate {
    let (long_ns, _) = super::host_python::long_stretches(case);
    let long = share_of(long_ns, case.traced(Line::HostPython));
    let (sync, python) = (case.line(Line::HostSync), case.line(Line::HostPython));
    let add = |a: i64, b: i64| a + (b as f64 * long) as i64;
    Estimate {
        ns: add(sync.ns, python.ns),
        low_ns: add(sync.low_ns, python.low_ns),
        high_ns: add(sync.high_ns, python.high_ns),
    }
}
