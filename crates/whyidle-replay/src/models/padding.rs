//! Shapes that vary between steps: evidence of padding to the longest item of a batch.
//!
//! How much of a padded batch is data cannot be seen from shapes. What can be seen is that steps
//! differ, and what it would cost to pad every step to the longest. There is no change to replay.

use rustc_hash::FxHashMap;
use whyidle_analysis::facts::Facts;
use whyidle_model::Trace;

use super::evidence::{Fact, Gather};
use super::{Context, KernelChange};

/// Evidence that steps differ in shape; `None` if they are alike or shapes were not recorded.
#[must_use]
pub fn padding(trace: &Trace, facts: &Facts, context: &Context) -> Option<KernelChange> {
    // Rows of forward products per step, by FLOPs: tokens or pixels of the step's batch.
    let mut rows: Vec<FxHashMap<u64, f64>> = vec![FxHashMap::default(); context.steps];
    let mut gather = Gather::new(trace, facts, context);
    for (at, launched) in context.launched.iter().enumerate() {
        let Some(step) = launched.activities.first().and_then(|&id| context.step(id)) else { continue };
        let Some(kind) = context.kind(launched).filter(|_| !launched.backward && !launched.outside) else {
            continue;
        };
        let tokens = match (kind.matmul, kind.class) {
            (Some(shape), _) if shape.batch == 1 => shape.m,
            (None, whyidle_analysis::operators::OpClass::Convolution) => {
                kind.reads.first().map_or(0, |&(elements, _)| elements)
            }
            _ => continue,
        };
        *rows[step].entry(tokens).or_default() += kind.flops;
        gather.launched(at);
    }
    let main = |rows: &FxHashMap<u64, f64>| {
        let heaviest = rows.iter().max_by(|a, b| a.1.total_cmp(b.1).then(a.0.cmp(b.0)));
        heaviest.map(|(&tokens, _)| tokens)
    };
    let tokens: Vec<u64> = rows.iter().filter_map(main).collect();
    let (fewest, most) = (*tokens.iter().min()?, *tokens.iter().max()?);
    if fewest == most {
        return None;
    }
    let mut distinct = tokens.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let mean = tokens.iter().map(|&tokens| tokens as f64).sum::<f64>() / tokens.len() as f64;
    let mut evidence = gather.finish();
    evidence.facts = vec![
        (Fact::FewestTokens, fewest as f64),
        (Fact::MostTokens, most as f64),
        (Fact::DistinctShapes, distinct.len() as f64),
        (Fact::PaddedShare, 1.0 - mean / most as f64),
    ];
    Some(KernelChange {
        scaled: Vec::new(),
        removed_launches: false,
        saved_ns_per_step: 0,
        low_ns_per_step: 0,
        high_ns_per_step: 0,
        evidence,
        source: "shapes of the steps",
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{BF16_2, Program};
    use super::*;

    fn lengths(length: impl Fn(i64) -> i64) -> Option<KernelChange> {
        let program = Program::on("NVIDIA H200").steps(|p, step| {
            let dims = format!("[[{},1024],[1024,4096]]", 8 * length(step));
            p.op("aten::mm", &dims, BF16_2, "nvjet", 100_000);
        });
        program.change(padding)
    }

    #[test]
    fn steps_of_different_lengths_are_evidence_and_no_change() {
        let change = lengths(|step| 512 + 128 * step).expect("they differ");
        assert_eq!(change.saved_ns_per_step, 0);
        assert!(change.scaled.is_empty());
        let fact = |fact| change.evidence.fact(fact).expect("a fact");
        assert!(fact(Fact::MostTokens) > fact(Fact::FewestTokens));
        assert!(fact(Fact::PaddedShare) > 0.0 && fact(Fact::PaddedShare) < 1.0);
    }

    #[test]
    fn equal_steps_are_none() {
        assert!(lengths(|_| 512).is_none());
    }
}
