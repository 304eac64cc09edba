//! `compute.padding`: steps differ in shape, so batches are padded to their longest item and part of the
//! work is on padding.
//!
//! How much of a batch is padding cannot be seen from shapes. This finding states that they vary and by
//! how much, and promises nothing.

use whyidle_replay::models::{Fact, padding};

use super::support::{counted, finding, remedy, shared};
use crate::case::Case;
use crate::message::Message;
use crate::verdict::{Estimate, Finding};

/// Lengths vary if filling every step to the longest would add this share of padding. Batches of mixed lengths
/// differ little from each other, since each is padded to its own longest.
const VARIES: f64 = 0.01;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let found = padding::padding(case.trace, case.facts, case.models())?;
    let fact = |fact| found.evidence.fact(fact).unwrap_or(0.0);
    let (fewest, most) = (fact(Fact::FewestTokens), fact(Fact::MostTokens));
    let share = fact(Fact::PaddedShare);
    if share < VARIES {
        return None;
    }
    let text = Message::new("ev-shapes-vary")
        .count("fewest", fewest as i64)
        .count("most", most as i64)
        .count("distinct", fact(Fact::DistinctShapes) as i64);
    let evidence = vec![
        counted(text, most as i64),
        shared(Message::new("ev-padded-share").share("share", share), share),
    ];
    let steps = ["fix-padding-pack", "fix-padding-shapes"];
    let remedy = remedy(Message::new("fix-compute-padding"), &steps, "");
    Some(finding(case, "compute.padding", Estimate::exact(0), None, evidence, remedy))
}
