//! The ranks' GPUs are unevenly busy. A rank that waits for another one sits in a collective and looks busy: the one
//! that is idle most is the one that the others wait for.

use super::{Next, Observed, Symptom, unknown};
use crate::message::{Arg, Message};

/// Ranks that do the same stay within a few points of each other; a fifth of the time is no accident.
const APART: f64 = 0.2;

pub(super) fn look(observed: &Observed<'_>) -> Symptom {
    const ID: &str = "symptom-ranks-uneven";
    let by_share = |a: &&(u32, f64), b: &&(u32, f64)| a.1.total_cmp(&b.1);
    let (Some(least), Some(most)) =
        (observed.ranks.iter().min_by(by_share), observed.ranks.iter().max_by(by_share))
    else {
        return unknown(ID, "symptom-one-rank");
    };
    if observed.ranks.len() < 2 {
        return unknown(ID, "symptom-one-rank");
    }
    let each = observed.ranks.iter().map(|(rank, share)| {
        let rank = Message::new("symptom-rank").name("rank", rank.to_string()).share("share", *share);
        Arg::Message(Box::new(rank))
    });
    Symptom {
        id: ID,
        seen: Some(most.1 - least.1 >= APART),
        measured: Message::new("symptom-ranks").with("each", Arg::List(each.collect())),
        points: Message::new("symptom-ranks-points").name("rank", least.0.to_string()),
        next: Next::Verdict,
    }
}
