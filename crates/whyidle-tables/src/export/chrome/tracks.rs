//! Tracks of whyidle's own: steps, the ledger as one line without holes, gaps with what the host did in them, and per
//! finding the stretches that it explains. Slices of a track never overlap, as the format demands.

use std::io::{self, Write};

use whyidle_analysis::facts::DeviceFacts;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::NONE;
use whyidle_model::HostId;

use super::json::{Members, Micros};
use super::{Place, Writer};
use crate::column::Stop;
use crate::source::Traced;

/// A finding and what it explains.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// Id of the cause.
    pub cause: String,
    /// What it costs per step without the profiler, ns.
    pub cost_ns: i64,
    /// The step after its remedy, ns; `None` where that is not known.
    pub step_after_ns: Option<i64>,
}

impl Explained {
    /// Whether the finding explains time on `line`: a cause explains the line of its name, those about communication the
    /// collectives that nothing hides.
    #[must_use]
    pub fn explains(&self, line: Line) -> bool {
        let communicates = ["comm.", "pipeline.", "rank."].iter().any(|kind| self.cause.starts_with(kind));
        line.id() == self.cause
            || line == Line::Communication && communicates
            || line == Line::Recompute && self.cause == "memory.recompute"
    }
}

/// A slice of a track.
struct Slice<'n> {
    category: &'n str,
    tid: i64,
    name: &'n str,
    start: i64,
    end: i64,
    step: i64,
}

pub(super) fn write<W: Write>(
    to: &mut Writer<W>,
    from: &Traced<'_>,
    place: &Place,
    explained: &[Explained],
) -> Result<(), Stop> {
    let steps: usize = from.devices.iter().map(|device| device.steps.used.len()).sum();
    if steps == 0 {
        return Ok(());
    }
    to.meta(
        "process_name",
        place.own,
        0,
        &format!("whyidle: {}where each step goes", place.label(from.trace)),
    )?;
    let several = from.devices.iter().filter(|device| !device.steps.used.is_empty()).count() > 1;
    let mut tid = 1;
    for device in from.devices.iter().filter(|device| !device.steps.used.is_empty()) {
        let of = if several { format!(" of GPU {}", device.device) } else { String::new() };
        let mut track = |to: &mut Writer<W>, name: &str| -> io::Result<i64> {
            to.meta("thread_name", place.own, tid, &format!("whyidle: {name}{of}"))?;
            tid += 1;
            Ok(tid - 1)
        };
        let at = track(to, "steps")?;
        write_steps(to, place, device, at)?;
        let at = track(to, "ledger")?;
        write_ledger(to, place, device, at)?;
        let at = track(to, "gaps")?;
        write_gaps(to, from, place, device, at)?;
        if from.shown().is_none_or(|shown| shown.device != device.device) {
            continue;
        }
        let lines: Vec<Line> = stretches(device).into_iter().map(|(_, line, ..)| line).collect();
        for finding in explained.iter().filter(|finding| lines.iter().any(|&line| finding.explains(line))) {
            let at = track(to, &format!("finding {}", finding.cause))?;
            write_finding(to, place, device, finding, at)?;
        }
    }
    Ok(())
}

impl<W: Write> Writer<W> {
    fn slice(
        &mut self,
        place: &Place,
        slice: &Slice<'_>,
        more: impl FnOnce(&mut Members<'_, W>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut event = Members::open(self.next()?)?;
        event.text("ph", "X")?;
        event.text("cat", slice.category)?;
        event.text("name", slice.name)?;
        event.raw("pid", place.own)?;
        event.raw("tid", slice.tid)?;
        event.raw("ts", Micros(slice.start))?;
        event.raw("dur", Micros(slice.end - slice.start))?;
        let mut args = event.object("args")?;
        args.raw("step", slice.step)?;
        more(&mut args)?;
        args.close()?;
        event.close()
    }
}

fn write_steps<W: Write>(
    to: &mut Writer<W>,
    place: &Place,
    device: &DeviceFacts,
    tid: i64,
) -> io::Result<()> {
    for step in &device.steps.used {
        let name = format!("step {}", step.number);
        let (start, end) = (step.window.start, step.window.end);
        let slice = Slice { category: "whyidle_step", tid, name: &name, start, end, step: step.number };
        to.slice(place, &slice, |_| Ok(()))?;
    }
    Ok(())
}

/// Stretches of the ledger in order: busy and idle ones together cover each step. Neighbours on one line are one.
fn stretches(device: &DeviceFacts) -> Vec<(u32, Line, i64, i64)> {
    let mut all: Vec<(u32, Line, i64, i64)> = device
        .ledger
        .busy
        .iter()
        .map(|busy| (busy.step, busy.line, busy.piece.start, busy.piece.end))
        .chain(device.ledger.gaps.iter().map(|part| (part.step, part.line, part.start, part.end)))
        .collect();
    all.sort_unstable_by_key(|&(_, _, start, end)| (start, end));
    all.dedup_by(|next, last| {
        let joins = (next.0, next.1, next.2) == (last.0, last.1, last.3);
        if joins {
            last.3 = next.3;
        }
        joins
    });
    all
}

fn write_ledger<W: Write>(
    to: &mut Writer<W>,
    place: &Place,
    device: &DeviceFacts,
    tid: i64,
) -> io::Result<()> {
    for (step, line, start, end) in stretches(device) {
        let step = device.steps.used[step as usize].number;
        let slice = Slice { category: "whyidle_ledger", tid, name: line.id(), start, end, step };
        to.slice(place, &slice, |args| args.text("kind", line.kind().id()))?;
    }
    Ok(())
}

fn write_gaps<W: Write>(
    to: &mut Writer<W>,
    from: &Traced<'_>,
    place: &Place,
    device: &DeviceFacts,
    tid: i64,
) -> io::Result<()> {
    for part in &device.ledger.gaps {
        let step = device.steps.used[part.step as usize].number;
        let (start, end) = (part.start, part.end);
        let slice = Slice { category: "whyidle_gap", tid, name: part.line.id(), start, end, step };
        to.slice(place, &slice, |args| {
            if part.leaf == NONE {
                return Ok(());
            }
            args.text("host", from.name(from.trace.host.name[HostId(part.leaf).index()]))
        })?;
    }
    Ok(())
}

fn write_finding<W: Write>(
    to: &mut Writer<W>,
    place: &Place,
    device: &DeviceFacts,
    finding: &Explained,
    tid: i64,
) -> io::Result<()> {
    for (step, line, start, end) in
        stretches(device).into_iter().filter(|&(_, line, ..)| finding.explains(line))
    {
        let step = device.steps.used[step as usize].number;
        let slice = Slice { category: "whyidle_finding", tid, name: &finding.cause, start, end, step };
        to.slice(place, &slice, |args| {
            args.text("line", line.id())?;
            args.raw("cost_ns", finding.cost_ns)?;
            finding.step_after_ns.map_or(Ok(()), |ns| args.raw("step_after_ns", ns))
        })?;
    }
    Ok(())
}
