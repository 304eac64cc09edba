//! The gaps of a step as wholes: what they are made of, and what the host was in.

use rustc_hash::FxHashMap;
use whyidle_model::{HostId, Span, Trace};

use super::{Names, UNNAMED};
use crate::facts::{DeviceFacts, Facts};
use crate::hostclass::HostClass;
use crate::ledger::GapPart;
use crate::lines::Line;
use crate::tree::NONE;

/// Host events that are named of a gap.
const NAMED: usize = 3;
/// A part shorter than this fraction of its gap is drawn with the one before it.
const DRAWN_FROM: i64 = 100;

/// A stretch without anything on the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Start, ns into the step.
    pub start: i64,
    /// End, ns into the step.
    pub end: i64,
    /// Its time by line, longest first, ns; they sum to it.
    pub lines: Vec<(Line, i64)>,
    /// What it is made of, in order and without holes; what is too short to be seen is part of its neighbour.
    pub parts: Vec<Part>,
    /// Host events that were innermost longest in it, as `(name, ns)`, longest first.
    pub host: Vec<(u32, i64)>,
    /// The activity that ended it, the operator that launched that, and the line of the user's code around the
    /// launch; [`UNNAMED`] where not known.
    pub ended_by: u32,
    /// See `ended_by`.
    pub operator: u32,
    /// See `ended_by`.
    pub frame: u32,
}

/// A part of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Start, ns into the step.
    pub start: i64,
    /// End, ns into the step.
    pub end: i64,
    /// Whom the device waited for.
    pub line: Line,
}

impl Gap {
    /// Length, ns.
    #[must_use]
    pub fn length(&self) -> i64 {
        self.end - self.start
    }

    /// The line with most of it.
    #[must_use]
    pub fn line(&self) -> Line {
        self.lines.first().map_or(Line::Unexplained, |(line, _)| *line)
    }
}

/// The gaps of the step `number`: parts that touch are one gap.
pub(super) fn gaps(
    trace: &Trace,
    facts: &Facts,
    device: &DeviceFacts,
    number: u32,
    window: Span,
    names: &mut Names,
) -> Vec<Gap> {
    let parts: Vec<&GapPart> =
        device.ledger.gaps.iter().filter(|part| part.step == number && part.length() > 0).collect();
    let busy = &device.ledger.busy;
    parts
        .chunk_by(|before, after| before.end == after.start)
        .map(|parts| {
            let (start, end) = (parts[0].start, parts[parts.len() - 1].end);
            let next = busy.partition_point(|busy| (busy.step, busy.piece.start) < (number, end));
            let ended_by = busy.get(next).filter(|busy| busy.step == number).map(|busy| busy.piece.activity);
            let call = ended_by.and_then(|activity| facts.tree.launch_of(activity));
            let operator = call.and_then(|call| facts.tree.operator(trace, call));
            let frame = call.and_then(|call| facts.user_frame(trace, call));
            Gap {
                start: start - window.start,
                end: end - window.start,
                lines: by_line(parts),
                parts: drawn(parts, window.start),
                host: host(trace, facts, parts, names),
                ended_by: ended_by.map_or(UNNAMED, |id| names.of(trace, trace.gpu.name[id.index()])),
                operator: operator.map_or(UNNAMED, |id| names.of(trace, trace.host.name[id.index()])),
                frame: frame.map_or(UNNAMED, |frame| names.of(trace, frame)),
            }
        })
        .collect()
}

fn by_line(parts: &[&GapPart]) -> Vec<(Line, i64)> {
    let mut lines: Vec<(Line, i64)> = Vec::new();
    for part in parts {
        match lines.iter_mut().find(|(line, _)| *line == part.line) {
            Some((_, ns)) => *ns += part.length(),
            None => lines.push((part.line, part.length())),
        }
    }
    lines.sort_by_key(|(line, ns)| (std::cmp::Reverse(*ns), *line));
    lines
}

fn drawn(parts: &[&GapPart], from: i64) -> Vec<Part> {
    let whole = parts[parts.len() - 1].end - parts[0].start;
    let mut drawn: Vec<Part> = Vec::new();
    for part in parts {
        match drawn.last_mut() {
            Some(last) if last.line == part.line || part.length() < whole / DRAWN_FROM => {
                last.end = part.end - from;
            }
            _ => drawn.push(Part { start: part.start - from, end: part.end - from, line: part.line }),
        }
    }
    drawn
}

/// The mark of the step itself says nothing of what the host did.
fn host(trace: &Trace, facts: &Facts, parts: &[&GapPart], names: &mut Names) -> Vec<(u32, i64)> {
    let mut times: FxHashMap<u32, i64> = FxHashMap::default();
    let is_mark = |leaf: u32| facts.tree.class(trace, HostId(leaf)) == HostClass::StepMark;
    for part in parts.iter().filter(|part| part.leaf != NONE && !is_mark(part.leaf)) {
        let name = names.of(trace, trace.host.name[HostId(part.leaf).index()]);
        *times.entry(name).or_default() += part.length();
    }
    let mut longest: Vec<(u32, i64)> = times.into_iter().collect();
    longest.sort_by_key(|&(name, ns)| (std::cmp::Reverse(ns), name));
    longest.truncate(NAMED);
    longest
}
