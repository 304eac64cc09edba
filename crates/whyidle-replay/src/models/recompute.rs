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

#[cfg(test)]
mod tests {
    use super::super::testing::{BF16_2, Program};
    use super::*;

    #[test]
    fn a_forward_inside_backward_goes() {
        let program = Program::on("NVIDIA H200").steps(|p, _| {
            p.op("aten::mm", "[[64,64],[64,64]]", BF16_2, "nvjet", 1_000);
            p.backward("aten::mm", "[[64,64],[64,64]]", BF16_2, "nvjet", 700, true);
            p.backward("aten::mm", "[[64,64],[64,64]]", BF16_2, "nvjet", 2_000, false);
        });
        let change = program.change(recompute).expect("recomputation");
        assert_eq!(change.saved_ns_per_step, 700);
        assert!(change.removed_launches && change.scaled.iter().all(|row| row.1 == 0.0));
        assert_eq!(change.scaled.len(), 4, "steps that are not used count too");
        assert_eq!(change.evidence.activities_per_step, 1.0);
    }

    #[test]
    fn without_it_there_is_nothing() {
        let program = Program::on("NVIDIA H200").steps(|p, _| {
            p.op("aten::mm", "[[64,64],[64,64]]", BF16_2, "nvjet", 1_000);
            p.backward("aten::mm", "[[64,64],[64,64]]", BF16_2, "nvjet", 2_000, false);
        });
        assert!(program.change(recompute).is_none());
    }
}
