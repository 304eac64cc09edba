//! What a plan rests on that no measured peak stands behind: formulas from papers, or derived.

use crate::Family;
use crate::setup::{Checkpointing, Code, Loss, Offload, Precision, Setup, Sharding};

/// Parts of `setup` without a measured peak, as stable ids: `tensor`, `context`, `expert`, `pipeline`, `zero`,
/// `offload`, `qlora`, `megatron`, `selective`, `fused-loss`, `compiled`.
#[must_use]
pub fn untested(setup: &Setup) -> Vec<&'static str> {
    let p = &setup.parallel;
    let compiled_measured = setup.model.moe.is_none()
        && match setup.model.family {
            Family::Gpt => setup.code != Code::HuggingFace,
            Family::Llama => setup.code == Code::HuggingFace,
            _ => false,
        };
    [
        ("tensor", p.tensor > 1),
        ("context", p.context > 1),
        ("expert", p.expert > 1),
        // GPipe was measured.
        ("pipeline", p.pipeline > 1 && !p.gpipe),
        ("zero", p.data > 1 && p.sharding == Sharding::Gradients),
        ("offload", setup.offload != Offload::None),
        ("qlora", setup.lora.is_some_and(|lora| lora.quantised)),
        ("megatron", setup.code == Code::Megatron),
        ("selective", setup.checkpointing == Checkpointing::Selective),
        ("fused-loss", setup.loss == Loss::Fused),
        ("compiled", setup.compiled && (!compiled_measured || setup.precision == Precision::Fp32)),
    ]
    .into_iter()
    .filter_map(|(id, is)| is.then_some(id))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Parallel, preset};

    #[test]
    fn what_was_measured_is_not_listed() {
        let mut setup = Setup::new(preset("llama-3-8b").expect("a preset"), 1, 8192);
        assert!(untested(&setup).is_empty());
        setup.parallel = Parallel { data: 8, sharding: Sharding::Full, ..Parallel::default() };
        assert!(untested(&setup).is_empty());
        setup.parallel = Parallel { tensor: 8, pipeline: 4, ..Parallel::default() };
        setup.offload = Offload::Optimizer;
        assert_eq!(untested(&setup), ["tensor", "pipeline", "offload"]);
    }
}
