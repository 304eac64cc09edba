//! `compute.alignment`: a matrix product has a side off the tensor cores' grid and runs far below the
//! rate of the others.

use whyidle_replay::models::{Fact, KernelChange, alignment};

use super::kernels::{kernel_finding, rates};
use super::support::{counted, remedy};
use crate::case::Case;
use crate::edit::Edit;
use crate::message::Message;
use crate::verdict::{Change, Finding};
use crate::what_if::Setting;

const CODE: &str = "vocab_size = (vocab_size + 63) // 64 * 64";

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let found = model(case)?;
    let mut evidence: Vec<_> = rates(&found.evidence).into_iter().collect();
    let mut summary = Message::new("fix-compute-alignment");
    if let Some((side, padded)) = found.evidence.fact(Fact::Side).zip(found.evidence.fact(Fact::PaddedSide)) {
        let (side, padded) = (format!("{side:.0}"), format!("{padded:.0}"));
        let text = Message::new("ev-side").name("side", &side).name("padded", &padded);
        evidence.push(counted(text, side.parse().unwrap_or(0)));
        summary = Message::new("fix-compute-alignment-side").name("side", &side).name("padded", &padded);
    }
    let steps = ["fix-alignment-vocabulary", "fix-alignment-trap"];
    kernel_finding(
        case,
        "compute.alignment",
        &found,
        edit(case, None),
        evidence,
        remedy(summary, &steps, CODE),
    )
}

/// The side padded to the grid: its products run at the rate of the others.
pub(super) fn edit<'a>(case: &'a Case<'_>, _: Option<&Setting>) -> Option<Edit<'a>> {
    let found = model(case)?;
    let side = |fact| found.evidence.fact(fact).map(|side| format!("{side:.0}"));
    let sides = side(Fact::Side).zip(side(Fact::PaddedSide));
    let (from, to) = sides.map_or((None, None), |(side, padded)| (Some(side), Some(padded)));
    Some(Edit::of_kernels(case, Change { what: "padded", from, to }, found))
}

fn model(case: &Case<'_>) -> Option<KernelChange> {
    alignment::alignment(case.trace, case.facts, case.models())
}
