//! `compute.alignment`: a matrix product has a side off the tensor cores' grid and runs far below the
//! rate of the others.

use whyidle_replay::models::{Fact, alignment};

use super::kernels::{kernel_finding, rates};
use super::support::{counted, remedy};
use crate::case::Case;
use crate::message::Message;
use crate::verdict::{Change, Finding};

const CODE: &str = "vocab_size = (vocab_size + 63) // 64 * 64";

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let found = alignment::alignment(case.trace, case.facts, &case.device, case.models())?;
    let mut evidence: Vec<_> = rates(&found.evidence).into_iter().collect();
    let mut what = Change { what: "padded", from: None, to: None };
    let mut summary = Message::new("fix-compute-alignment");
    if let Some((side, padded)) = found.evidence.fact(Fact::Side).zip(found.evidence.fact(Fact::PaddedSide)) {
        let (side, padded) = (format!("{side:.0}"), format!("{padded:.0}"));
        let text = Message::new("ev-side").name("side", &side).name("padded", &padded);
        evidence.push(counted(text, side.parse().unwrap_or(0)));
        summary = Message::new("fix-compute-alignment-side").name("side", &side).name("padded", &padded);
        (what.from, what.to) = (Some(side), Some(padded));
    }
    let steps = ["fix-alignment-vocabulary", "fix-alignment-trap"];
    kernel_finding(case, "compute.alignment", &found, what, evidence, remedy(summary, &steps, CODE))
}
