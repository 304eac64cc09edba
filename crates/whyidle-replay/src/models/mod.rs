//! Models of kernels: what a remedy would make of their length.
//!
//! Each model is a pure function of the trace and its facts. It names the activities that the
//! remedy changes and their new length as a share of the old, over the whole trace; what that
//! saves per step is summed over the steps that the facts use. Lengths come from FLOPs and bytes
//! (`whyidle_analysis::operators`) at the rates of [`roof`]; where neither the product nor the
//! trace gives a rate, there is no change.
//!
//! A saving is GPU time. What it does to the step is the replay's to say.

pub mod alignment;
pub mod attention;
pub mod context;
pub mod elementwise;
pub mod evidence;
pub mod flow;
pub mod padding;
pub mod precision;
pub mod recompute;
pub mod roof;

pub use context::Context;
pub use evidence::{Evidence, Fact, ShapeShare, Share};

use whyidle_model::GpuId;

/// What a remedy does to kernels.
#[derive(Clone, Debug)]
pub struct KernelChange {
    /// Activities with their new length over the old; 0: gone. In the order of rows, each once.
    pub scaled: Vec<(GpuId, f64)>,
    /// The calls that launch what is gone go too.
    pub removed_launches: bool,
    /// GPU time saved per step, ns.
    pub saved_ns_per_step: i64,
    /// Least that the model's own uncertainty allows, ns; may be negative.
    pub low_ns_per_step: i64,
    /// Most that it allows, ns.
    pub high_ns_per_step: i64,
    /// What it rests on.
    pub evidence: Evidence,
    /// Where the model comes from.
    pub source: &'static str,
}

/// How far the new time may be from the modelled one: factors on what remains.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// The new time may be this much shorter.
    pub less: f64,
    /// Or this much longer.
    pub more: f64,
}

/// Gathers a change activity by activity.
#[derive(Debug, Default)]
pub(crate) struct Change {
    scaled: Vec<(GpuId, f64)>,
}

impl Change {
    /// The activity's new length is `factor` times its old one.
    pub(crate) fn scale(&mut self, activity: GpuId, factor: f64) {
        self.scaled.push((activity, if factor.is_finite() { factor.max(0.0) } else { 1.0 }));
    }

    /// The change, if it touches anything.
    pub(crate) fn finish(
        mut self,
        context: &Context,
        removed_launches: bool,
        spread: Spread,
        evidence: Evidence,
        source: &'static str,
    ) -> Option<KernelChange> {
        self.scaled.sort_by_key(|&(id, _)| id);
        self.scaled.dedup_by_key(|&mut (id, _)| id);
        if self.scaled.is_empty() || context.steps == 0 {
            return None;
        }
        let (mut old, mut new) = (0.0, 0.0);
        for &(id, factor) in &self.scaled {
            let length = context.used_ns(id) as f64;
            old += length;
            new += length * factor;
        }
        let per_step = |saved: f64| (saved / context.steps as f64).round() as i64;
        Some(KernelChange {
            scaled: self.scaled,
            removed_launches,
            saved_ns_per_step: per_step(old - new),
            low_ns_per_step: per_step(old - new * spread.more),
            high_ns_per_step: per_step(old - new * spread.less),
            evidence,
            source,
        })
    }
}

#[cfg(test)]
pub(crate) mod testing;
