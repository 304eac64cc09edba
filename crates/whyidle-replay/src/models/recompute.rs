//! Recomputation: the forward that runs again inside backward, removed.
//!
//! Activation checkpointing trades time for memory. Whether memory allows the activations to be
//! kept is the caller's to judge; here is what they cost to compute again.

use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::kernelclass::Work;
use whyidle_model::Trace;

use super::evidence::Gather;
use super::{Change, Context, KernelChange, Spread};

/// Neighbours of what is removed may gain or lose a cache hit.
const SPREAD: Spread = Spread { less: 1.0, more: 1.0 };

/// The change that keeping all activations brings; `None` without recomputation.
#[must_use]
pub fn recompute(
    trace: &Trace,
    facts: &Facts,
    _device: &DeviceFacts,
    context: &Context,
) -> Option<KernelChange> {
    let mut change = Change::default();
    let mut gather = Gather::new(trace, facts, context);
    for launched in &context.launched {
        let mut first = true;
        for &id in &launched.activities {
            if facts.works[id.index()] == Work::Recompute {
                change.scale(id, 0.0);
                if context.step(id).is_some() {
                    gather.activity(id, std::mem::take(&mut first));
                }
            }
        }
    }
    change.finish(context, true, SPREAD, gather.finish(), "recorded time of the second forward")
}
