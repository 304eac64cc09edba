//! Recomputation: the forward that runs again inside backward, removed.
//!
//! Activation checkpointing trades time for memory. Whether memory allows the activations to be
//! kept is the caller's to judge; here is what they cost to compute again.

use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::kernelclass::Work;
use whyidle_model::Trace;

use super::evidence::Gather;
use super::{Change, Context, KernelChange, Spread};

/// Share of the recorded time that may show as more or less: what is not marked as recomputation
/// (views, casts of its inputs), and the cache that it kept warm for what follows.
const UNSURE: f64 = 0.08;

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
                change.scale(id, 0.0, Spread::NONE);
                if context.step(id).is_some() {
                    gather.activity(id, std::mem::take(&mut first));
                }
            }
        }
    }
    let evidence = gather.finish();
    let mut change = change.finish(context, true, evidence, "recorded time of the second forward")?;
    let unsure = (change.saved_ns_per_step as f64 * UNSURE).round() as i64;
    change.low_ns_per_step -= unsure;
    change.high_ns_per_step += unsure;
    Some(change)
}
