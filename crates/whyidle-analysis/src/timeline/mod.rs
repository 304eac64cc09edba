//! One step of a device laid out in time, to be drawn: what the device did and whom it waited for, what ran on each of
//! its streams, and what the host's threads did meanwhile.
//!
//! Times are ns from the start of the step's window. The device's own lane covers the window without holes: blocks and
//! gaps exclude each other and sum to it. Where there is more than a picture can show, short blocks that follow each
//! other become one that says how many it stands for and how much of it was idle ([`thin`]); a gap of at least a
//! thousandth of the step is never among them.

mod gaps;
mod host;
mod thin;

use rustc_hash::FxHashMap;
use whyidle_model::{GpuId, Span, Sym, Trace};

use crate::facts::{DeviceFacts, Facts};
use crate::lines::Line;

pub use gaps::{Gap, Part};
#[cfg(test)]
use thin::HIDES_NONE_ABOVE;

/// No name.
pub const UNNAMED: u32 = u32::MAX;
/// Streams that get a lane: those with the most on them.
const STREAMS: usize = 6;

/// A step of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Number of the device.
    pub device: i32,
    /// Number of the step, as the program counts.
    pub step: i64,
    /// Length of its window, ns.
    pub length: i64,
    /// Names that [`Block::name`] and its likes point to.
    pub names: Vec<String>,
    /// The device's busy time, each nanosecond once, in order.
    pub busy: Vec<Block>,
    /// What `busy` leaves free of the window, in order.
    pub gaps: Vec<Gap>,
    /// What ran on its streams; blocks of a lane may overlap where kernels of a stream do.
    pub streams: Vec<Lane>,
    /// What the host's threads that feed the device did, outermost first, one lane per depth.
    pub host: Vec<Lane>,
}

/// Blocks in order of their start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// Number of the stream, or of the thread.
    pub number: i64,
    /// Its name; empty where it has none.
    pub name: String,
    /// How many lanes of the same thread are above this one; 0 for streams.
    pub depth: usize,
    /// What is on it.
    pub blocks: Vec<Block>,
}

/// A stretch of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Start, ns into the step.
    pub start: i64,
    /// End, ns into the step.
    pub end: i64,
    /// Where its time is charged; of several the line with most of it. On the host: what it would be charged to if the
    /// device waited for it.
    pub line: Line,
    /// Its name in [`Timeline::names`]; [`UNNAMED`] where it stands for several that differ.
    pub name: u32,
    /// How many it stands for.
    pub count: u32,
    /// What of it is not busy, ns: pauses and gaps between those that it stands for.
    pub idle: i64,
    /// Whom most of `idle` waited for; of no meaning without it.
    pub waited: Line,
}

impl Block {
    fn one(start: i64, end: i64, line: Line, name: u32) -> Self {
        Self { start, end, line, name, count: 1, idle: 0, waited: Line::Latency }
    }

    /// Length, ns.
    #[must_use]
    pub fn length(&self) -> i64 {
        self.end - self.start
    }
}

/// Names as they are first used.
#[derive(Default)]
struct Names {
    known: FxHashMap<Sym, u32>,
    texts: Vec<String>,
}

impl Names {
    fn of(&mut self, trace: &Trace, sym: Sym) -> u32 {
        *self.known.entry(sym).or_insert_with(|| {
            self.texts.push(trace.names.get(sym).to_owned());
            u32::try_from(self.texts.len() - 1).unwrap_or(UNNAMED)
        })
    }
}

/// The step whose length is nearest the median of the steps used, as index; `None` without steps.
#[must_use]
pub fn representative(device: &DeviceFacts) -> Option<usize> {
    let lengths: Vec<i64> = device.steps.used.iter().map(|step| step.window.length()).collect();
    let mut sorted = lengths.clone();
    sorted.sort_unstable();
    let median = *sorted.get(sorted.len() / 2)?;
    (0..lengths.len()).min_by_key(|&at| (lengths[at] - median).abs())
}

/// The step with this index among those used, in at most about `most` blocks a lane; `None` where it has no length.
#[must_use]
pub fn timeline(
    trace: &Trace,
    facts: &Facts,
    device: &DeviceFacts,
    index: usize,
    most: usize,
) -> Option<Timeline> {
    let step = device.steps.used.get(index)?;
    let window = step.window;
    if window.length() <= 0 {
        return None;
    }
    let mut names = Names::default();
    let number = u32::try_from(index).ok()?;
    let busy: Vec<Block> = device
        .ledger
        .busy
        .iter()
        .filter(|busy| busy.step == number)
        .map(|busy| {
            let name = names.of(trace, trace.gpu.name[busy.piece.activity.index()]);
            Block::one(busy.piece.start - window.start, busy.piece.end - window.start, busy.line, name)
        })
        .collect();
    let gaps = gaps::gaps(trace, facts, device, number, window, &mut names);
    let (busy, gaps) = thin::device(busy, gaps, window.length(), most);
    let streams = streams(trace, facts, device, window, most, &mut names);
    let host = host::lanes(trace, facts, window, most, &mut names);
    Some(Timeline {
        device: device.device,
        step: step.number,
        length: window.length(),
        names: names.texts,
        busy,
        gaps,
        streams,
        host,
    })
}

/// What ran on the busiest streams inside `window`.
fn streams(
    trace: &Trace,
    facts: &Facts,
    device: &DeviceFacts,
    window: Span,
    most: usize,
    names: &mut Names,
) -> Vec<Lane> {
    let mut lanes: Vec<(i64, Lane)> = Vec::new();
    let mut lane_of: FxHashMap<usize, usize> = FxHashMap::default();
    for &row in &device.rows {
        let id = GpuId(row);
        let (start, end) = (trace.gpu.start[id.index()].max(window.start), trace.gpu.end(id).min(window.end));
        if start >= end {
            continue;
        }
        let stream = trace.gpu.stream[id.index()].index();
        let lane = *lane_of.entry(stream).or_insert_with(|| {
            lanes.push((0, Lane { number: trace.streams[stream].number, ..Lane::default() }));
            lanes.len() - 1
        });
        let line = Line::of_work(facts.works[id.index()]);
        let name = names.of(trace, trace.gpu.name[id.index()]);
        lanes[lane].0 += end - start;
        lanes[lane].1.blocks.push(Block::one(start - window.start, end - window.start, line, name));
    }
    lanes.sort_by_key(|(time, lane)| (std::cmp::Reverse(*time), lane.number));
    lanes.truncate(STREAMS);
    lanes
        .into_iter()
        .map(|(_, mut lane)| {
            lane.blocks = thin::lane(lane.blocks, window.length(), most);
            lane
        })
        .collect()
}

#[cfg(test)]
mod tests;
