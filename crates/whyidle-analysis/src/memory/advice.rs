//! What to change about memory, where the evidence says that something should be: a healthy run gets nothing.

use super::DeviceMemory;
use super::growth::GrowthKind;

/// What to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Evaluate without recording a graph.
    NoGrad,
    /// Keep results without their graph.
    Detach,
    /// Find who keeps what these sites asked for.
    Release,
    /// Leave `empty_cache` out of the steps.
    KeepCache,
    /// `expandable_segments:True`: enough was free, but in pieces.
    Expandable,
    /// Enough was free, but in pieces too small for that: the same sizes from step to step, what stays first.
    SameSizes,
    /// An allocation failed, and nothing of it is due to pieces: ask for less.
    NeedLess,
}

impl Advice {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::NoGrad => "no-grad",
            Self::Detach => "detach",
            Self::Release => "release",
            Self::KeepCache => "keep-cache",
            Self::Expandable => "expandable",
            Self::SameSizes => "same-sizes",
            Self::NeedLess => "need-less",
        }
    }
}

/// Segments asked for again after others were given back: fewer are no pattern.
const AGAIN: u64 = 8;

/// What to change, most urgent first.
pub(super) fn advice(memory: &DeviceMemory, is_expandable: bool) -> Vec<Advice> {
    let mut found = Vec::new();
    match memory.growth.as_ref().map(|growth| growth.kind) {
        Some(GrowthKind::Evaluation) => found.push(Advice::NoGrad),
        Some(GrowthKind::Graph) => found.push(Advice::Detach),
        Some(GrowthKind::Kept) => found.push(Advice::Release),
        None => {}
    }
    let churn = &memory.churn;
    let empties = churn.emptied > 0 && churn.came_again >= AGAIN;
    if empties {
        found.push(Advice::KeepCache);
    }
    let failures = &memory.fragmentation.failures;
    // What the allocator itself gives back in need, and asks for again.
    let retries = !empties
        && churn.went > churn.emptied
        && churn.came_again >= AGAIN
        && memory.fragmentation.grew_while_free > 0;
    if !is_expandable && (retries || failures.iter().any(super::Failure::is_for_expandable)) {
        found.push(Advice::Expandable);
    }
    if failures
        .iter()
        .any(|failure| failure.is_fragmented() && (is_expandable || !failure.is_for_expandable()))
    {
        found.push(Advice::SameSizes);
    }
    if failures.iter().any(|failure| !failure.is_fragmented()) {
        found.push(Advice::NeedLess);
    }
    found
}
