//! Several ranks, seen from one of them: a GPU that looks busy may wait inside a collective.

use whyidle_analysis::signals::Doing;

use super::View;

/// Kernel time of a host that is blocked on a full launch queue starts here, in cores; a host that launches all
/// the time uses a third of it.
const BLOCKED: f64 = 0.08;
/// More page faults than this per second take kernel time of their own.
const FEW_FAULTS: f64 = 3_000.0;
/// Frames of pipeline scheduling in this share of the samples.
const PIPELINES: f64 = 0.5;
/// A card that does half as much as it could with what is on it.
const HOLLOW: f64 = 0.5;

/// What a rank that looks busy is really doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ranked {
    /// It works.
    Works,
    /// It waits for a neighbour in the pipeline.
    Pipeline,
    /// It waits for another rank.
    WaitsForRank,
    /// It launches: its host is its own limit.
    Launches,
}

/// Judges one of several ranks; `None` for a job of one.
pub(crate) fn ranked(view: &View<'_>) -> Option<Ranked> {
    if view.run.world < 2 {
        return None;
    }
    let signals = view.signals;
    let gpu = signals.gpu.as_ref()?;
    if signals.main.as_ref().is_some_and(|main| main.pipelines >= PIPELINES) {
        return Some(Ranked::Pipeline);
    }
    let collective = view.main(Doing::Communicates) >= HOLLOW;
    let process = signals.process.as_ref();
    if process.is_some_and(|process| process.system < BLOCKED) && !collective {
        return Some(Ranked::Launches);
    }
    // Page faults take kernel time too: then nothing is known of the queue.
    let calm = process.is_none_or(|process| process.faults.is_none_or(|faults| faults < FEW_FAULTS));
    if !calm && !collective {
        return Some(Ranked::Works);
    }
    let sm = gpu.sm.unwrap_or(gpu.resident);
    let peer_works_less = signals.other_gpus.iter().any(|peer| {
        peer.memory.is_some_and(|(used, all)| used > 0.01 * all) && peer.resident < HOLLOW * gpu.resident
    });
    if collective || peer_works_less || sm < HOLLOW * gpu.resident {
        return Some(Ranked::WaitsForRank);
    }
    Some(Ranked::Works)
}
