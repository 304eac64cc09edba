//! A rank by itself: how much of its collectives is surely transfer, and how fast it would go if it never waited for
//! another.

use rustc_hash::FxHashMap;
use whyidle_analysis::communication;
use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_model::{Sym, Trace};
use whyidle_replay::program::Program;
use whyidle_replay::simulate::Lengths;
use whyidle_replay::unprofiled::{self, OpenEnded};

use crate::case::Case;
use crate::verdict::Basis;

/// How much of each collective is surely transfer, ns: as much as the shortest one of its kind and size takes, which may
/// still hold waiting, but no more of it than any other.
pub(crate) fn transfers(trace: &Trace, facts: &Facts, device: &DeviceFacts) -> FxHashMap<u32, i64> {
    let all = communication::collectives(trace, facts, device);
    let class = |one: &communication::Use| (trace.gpu.name[one.activity.index()], one.bytes);
    let mut shortest: FxHashMap<(Sym, Option<i64>), i64> = FxHashMap::default();
    for one in &all {
        let least = shortest.entry(class(one)).or_insert(one.ns);
        *least = one.ns.min(*least);
    }
    all.iter().map(|one| (one.activity.0, shortest[&class(one)])).collect()
}

impl Case<'_> {
    /// Lengths at which this rank takes the step by itself, waiting for no other: collectives as short as their
    /// transfers, the host as slow as that needs. `None` where nothing may be predicted.
    pub(crate) fn self_paced(&self) -> Option<Lengths> {
        let replayed = self.replay.as_ref().filter(|replayed| replayed.is_usable())?;
        let traced = self.basis == Basis::Traced;
        let mut lengths =
            if traced { Lengths::recorded(&replayed.program) } else { replayed.corrected.clone() };
        self.without_waits(&replayed.program, &mut lengths);
        if !traced {
            let open_ended = match replayed.open_ended {
                OpenEnded::Ranks => OpenEnded::Nothing,
                other => other,
            };
            let steps = replayed.steps.clone();
            // How it was fitted does not matter here, only the lengths do.
            let _ = unprofiled::fit(
                &replayed.program,
                &self.facts.works,
                &mut lengths,
                steps,
                self.step.ns,
                open_ended,
            );
        }
        Some(lengths)
    }

    /// Takes out of collectives what is not surely transfer.
    pub(crate) fn without_waits(&self, program: &Program, lengths: &mut Lengths) {
        for (at, node) in program.gpu.iter().enumerate() {
            if let Some(&transfer) = self.transfers.get(&node.activity.0).filter(|_| lengths.gpu[at] >= 0) {
                lengths.gpu[at] = lengths.gpu[at].min(transfer);
            }
        }
    }
}
