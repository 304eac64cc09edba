//! `compute.attention`: attention is written out and moves its full score matrix through memory several times.

use whyidle_replay::models::{Fact, KernelChange, attention};

use super::kernels::{kernel_finding, rates};
use super::support::{change, remedy};
use crate::case::Case;
use crate::edit::Edit;
use crate::message::{Arg, Message};
use crate::verdict::{Evidence, Finding};
use crate::what_if::Setting;

const CODE: &str = "out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)";

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let found = model(case)?;
    let mut evidence: Vec<_> = rates(&found.evidence).into_iter().collect();
    let fact = |fact| found.evidence.fact(fact);
    if let (Some(queries), Some(keys), Some(bytes)) =
        (fact(Fact::Queries), fact(Fact::Keys), fact(Fact::ScoreBytes))
    {
        let text = Message::new("ev-scores")
            .name("queries", format!("{queries:.0}"))
            .name("keys", format!("{keys:.0}"))
            .with("bytes", Arg::Bytes(bytes as i64));
        evidence.push(Evidence { text, value: Some(bytes), unit: "bytes", place: None });
    }
    let steps = ["fix-attention-mask", "fix-attention-module", "fix-attention-trap"];
    let remedy = remedy(Message::new("fix-compute-attention"), &steps, CODE);
    kernel_finding(case, "compute.attention", &found, edit(case, None), evidence, remedy)
}

/// Attention by one fused kernel: no score matrix moves through memory.
pub(super) fn edit<'a>(case: &'a Case<'_>, _: Option<&Setting>) -> Option<Edit<'a>> {
    Some(Edit::of_kernels(case, change("sdpa"), model(case)?))
}

pub(super) fn model(case: &Case<'_>) -> Option<KernelChange> {
    attention::attention(case.trace, case.facts, case.models())
}
