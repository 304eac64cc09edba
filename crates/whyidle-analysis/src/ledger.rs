//! The ledger: every nanosecond of a device's step on exactly one line.

use whyidle_model::{GpuId, Span, Trace};

use crate::chain::Chain;
use crate::device::Piece;
use crate::gaps::Explainer;
pub use crate::gaps::GapPart;
use crate::kernelclass::Work;
pub use crate::lines::{Kind, Line};
use crate::steps::DeviceStep;
use crate::tree::{Context, HostTree, NONE, Opened};

/// Queued kernels follow each other on a stream after 1–3 µs. A collective that shows through such
/// a pause is not thereby exposed: without it the pause would be the same.
const PAUSE_LIMIT_NS: i64 = 5_000;

/// The ledger of one device.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Per step: time on each line, ns, by [`Line`] as index. Each row sums to its step's window exactly.
    pub steps: Vec<[i64; Line::COUNT]>,
    /// Parts of all gaps, in order.
    pub gaps: Vec<GapPart>,
    /// Busy pieces inside the steps, in order.
    pub busy: Vec<Busy>,
}

/// Busy time with its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// Index of the step.
    pub step: u32,
    /// The line it was charged to.
    pub line: Line,
    /// The stretch and its activity.
    pub piece: Piece,
}

impl Ledger {
    /// Time on a line over all steps, ns.
    #[must_use]
    pub fn total(&self, line: Line) -> i64 {
        self.steps.iter().map(|step| step[line as usize]).sum()
    }

    /// Length of all steps, ns.
    #[must_use]
    pub fn length(&self) -> i64 {
        self.steps.iter().flatten().sum()
    }

    /// Time over all steps on lines of a kind, ns.
    #[must_use]
    pub fn total_of(&self, kind: Kind) -> i64 {
        Line::ALL.iter().filter(|line| line.kind() == kind).map(|&line| self.total(line)).sum()
    }
}

/// The ledger of a device's `steps`, from its painted time.
#[must_use]
pub fn ledger(
    trace: &Trace,
    tree: &HostTree,
    chain: &Chain,
    works: &[Work],
    painted: &[Piece],
    steps: &[DeviceStep],
) -> Ledger {
    let mut ledger = Ledger {
        steps: Vec::with_capacity(steps.len()),
        // Room that is not used costs nothing; growing costs a copy each time.
        gaps: Vec::with_capacity(painted.len() * 4),
        busy: Vec::with_capacity(painted.len()),
    };
    let mut explainer = Explainer::new(trace, tree, chain);
    for (index, step) in steps.iter().enumerate() {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let mut row = [0_i64; Line::COUNT];
        let mut now = step.window.start;
        explainer.begin_step();
        let from = painted.partition_point(|piece| piece.end <= step.window.start);
        let inside = painted.iter().enumerate().skip(from);
        for (at, piece) in inside.take_while(|(_, piece)| piece.start < step.window.end) {
            let piece = Piece { start: piece.start.max(now), end: piece.end.min(step.window.end), ..*piece };
            if piece.start > now {
                let before = ledger.gaps.len();
                explainer.explain(index, Span::new(now, piece.start), piece.activity, &mut ledger.gaps);
                for part in &ledger.gaps[before..] {
                    row[part.line as usize] += part.length();
                }
            }
            let mut line = busy_line(tree, works, piece.activity);
            if line == Line::Communication && is_pause(trace, tree, works, painted, at, piece) {
                line = Line::Latency;
            }
            row[line as usize] += piece.end - piece.start;
            ledger.busy.push(Busy { step: index, line, piece });
            now = piece.end;
        }
        if now < step.window.end {
            // The step ends with an activity of no length.
            let (line, opened) = (Line::Unexplained, Opened::default());
            ledger.gaps.push(GapPart {
                step: index,
                line,
                start: now,
                end: step.window.end,
                leaf: NONE,
                opened,
            });
            row[line as usize] += step.window.end - now;
        }
        debug_assert_eq!(row.iter().sum::<i64>(), step.window.length());
        ledger.steps.push(row);
    }
    ledger
}

/// The line of busy time. An exposed copy to the host belongs to what asked for it.
fn busy_line(tree: &HostTree, works: &[Work], activity: GpuId) -> Line {
    let work = works[activity.index()];
    if work != Work::HostCopy {
        return Line::of_work(work);
    }
    match tree.launch_of(activity).map(|call| tree.context(call)) {
        Some(context @ (Context::Checkpoint | Context::Log | Context::Synchronise)) => {
            Line::of_context(context)
        }
        _ => Line::DataTransfer,
    }
}

/// Whether a piece of a collective only shows through the pause between two compute kernels of
/// which the second was already queued.
fn is_pause(
    trace: &Trace,
    tree: &HostTree,
    works: &[Work],
    painted: &[Piece],
    at: usize,
    piece: Piece,
) -> bool {
    let computes = |neighbour: Option<&Piece>| {
        neighbour
            .filter(|other| !matches!(works[other.activity.index()], Work::Collective | Work::HostCopy))
            .copied()
    };
    let before = at.checked_sub(1).and_then(|at| computes(painted.get(at)));
    let after = computes(painted.get(at + 1));
    let (Some(before), Some(after)) = (before, after) else { return false };
    let queued =
        tree.launch_of(after.activity).is_none_or(|call| trace.host.start[call.index()] < before.end);
    queued
        && before.end == piece.start
        && after.start == piece.end
        && piece.end - piece.start <= PAUSE_LIMIT_NS
}
