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
pub(crate) mod autocast;
pub mod context;
pub mod elementwise;
pub mod evidence;
pub mod flow;
pub mod padding;
pub mod precision;
pub(crate) mod roof;

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

/// How far a new length may be from the modelled one, as factors on it.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// It may be this much shorter.
    pub less: f64,
    /// Or this much longer.
    pub more: f64,
}

/// Share by which the same kernels differ between two programs that should run them alike: clocks,
/// placement, neighbours (kernels of equal shape in pairs of recordings on an H200).
const REST: f64 = 0.015;

/// A saving below this share of the GPU's time is none.
const NOTHING: f64 = 0.002;

/// Gathers a change activity by activity.
#[derive(Debug, Default)]
pub(crate) struct Change {
    scaled: Vec<(GpuId, f64, Spread)>,
}

impl Change {
    /// The activity's new length is `factor` times its old one.
    pub(crate) fn scale(&mut self, activity: GpuId, factor: f64, spread: Spread) {
        self.scaled.push((activity, if factor.is_finite() { factor.max(0.0) } else { 1.0 }, spread));
    }

    /// Multiplies every new length.
    pub(crate) fn stretch(&mut self, by: f64) {
        self.scaled.iter_mut().for_each(|row| row.1 *= by);
    }

    /// Time in the steps used, ns: old, new, at least, at most.
    pub(crate) fn time(&self, context: &Context) -> [f64; 4] {
        let mut sums = [0.0; 4];
        for &(id, factor, spread) in &self.scaled {
            let old = context.used_ns(id) as f64;
            let new = old * factor;
            for (sum, part) in sums.iter_mut().zip([old, new, new * spread.less, new * spread.more]) {
                *sum += part;
            }
        }
        sums
    }

    /// The change, if it touches anything.
    pub(crate) fn finish(
        mut self,
        context: &Context,
        removed_launches: bool,
        evidence: Evidence,
        source: &'static str,
    ) -> Option<KernelChange> {
        self.scaled.sort_by_key(|&(id, _, _)| id);
        self.scaled.dedup_by_key(|&mut (id, _, _)| id);
        if self.scaled.is_empty() || context.steps == 0 {
            return None;
        }
        let [old, new, least, most] = self.time(context);
        if old - new < context.busy_ns() as f64 * NOTHING {
            return None;
        }
        let rest = (context.busy_ns() as f64 - (old - new)).max(0.0) * REST;
        let (least, most) = (least - rest, most + rest);
        let per_step = |saved: f64| (saved / context.steps as f64).round() as i64;
        Some(KernelChange {
            scaled: self.scaled.into_iter().map(|(id, factor, _)| (id, factor)).collect(),
            removed_launches,
            saved_ns_per_step: per_step(old - new),
            low_ns_per_step: per_step(old - most),
            high_ns_per_step: per_step(old - least),
            evidence,
            source,
        })
    }
}

#[cfg(test)]
pub(crate) mod testing;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::testing::Program;

    const NAMES: [&str; 14] = [
        "aten::mm",
        "aten::addmm",
        "aten::bmm",
        "aten::_softmax",
        "aten::add",
        "aten::mul_",
        "aten::copy_",
        "aten::cat",
        "aten::native_layer_norm",
        "aten::cudnn_convolution",
        "aten::convolution_backward",
        "aten::_scaled_dot_product_flash_attention",
        "aten::embedding",
        "aten::native_batch_norm",
    ];
    const TYPES: [&str; 5] = [
        r#"["float","float","float"]"#,
        r#"["c10::BFloat16","c10::BFloat16","float"]"#,
        r#"["TensorList","Scalar"]"#,
        r#"["","long int"]"#,
        "[",
    ];

    fn dims() -> impl Strategy<Value = String> {
        let side = prop_oneof![
            Just(0_i64),
            Just(1),
            Just(-1),
            Just(i64::MAX),
            Just(4_611_686_018_427_387_904),
            1_i64..3000
        ];
        let tensor = prop::collection::vec(side, 0..5);
        prop::collection::vec(tensor, 0..4).prop_map(|tensors| format!("{tensors:?}").replace(' ', ""))
    }

    proptest! {
        #[test]
        fn no_shape_makes_a_model_fail(
            operators in prop::collection::vec((0..NAMES.len(), dims(), 0..TYPES.len(), 1_i64..900_000, any::<bool>()), 1..12)
        ) {
            let program = Program::on("NVIDIA H200").steps(|p, _| {
                for (name, dims, types, ns, backward) in &operators {
                    if *backward {
                        p.backward(NAMES[*name], dims, TYPES[*types], "vectorized_elementwise_kernel", *ns, false);
                    } else {
                        p.op(NAMES[*name], dims, TYPES[*types], "vectorized_elementwise_kernel", *ns);
                    }
                }
            });
            for model in [
                super::precision::precision,
                super::attention::attention,
                super::elementwise::elementwise,
                super::alignment::alignment,
                super::padding::padding,
            ] {
                if let Some(change) = program.change(model) {
                    prop_assert!(change.scaled.iter().all(|row| row.1.is_finite() && row.1 >= 0.0));
                    prop_assert!(change.low_ns_per_step <= change.saved_ns_per_step);
                    prop_assert!(change.saved_ns_per_step <= change.high_ns_per_step);
                    prop_assert!(change.scaled.windows(2).all(|pair| pair[0].0 < pair[1].0));
                }
            }
        }
    }
}
