//! The GPU is busy a part of the time, evenly: launches that are too slow for it, small kernels, or communication.

use super::{BUSY, FEWEST, NOTHING, Next, Observed, SWING, Symptom, busy, unknown, waits_for_data};
use crate::message::Message;

/// Waits for data from here on explain a flat low level too: steps shorter than the pace of sampling.
const DATA: f64 = 0.2;

pub(super) fn look(observed: &Observed<'_>) -> Symptom {
    const ID: &str = "symptom-flat-low";
    let (Some(levels), Some(measured)) = (observed.levels, busy(observed, "symptom-busy-level")) else {
        return unknown(ID, "symptom-no-gpu");
    };
    if levels.samples < FEWEST {
        return unknown(ID, "symptom-few-samples");
    }
    let is_low = levels.high >= NOTHING && levels.mean < BUSY;
    let seen = Some(is_low && levels.swing() < SWING);
    let waits = waits_for_data(observed.signals).filter(|share| *share >= DATA);
    let (points, next) = match waits {
        Some(share) => (Message::new("symptom-flat-data").share("share", share), Next::Verdict),
        None if observed.ranks.len() > 1 => (Message::new("symptom-flat-ranks"), Next::Trace),
        None => (Message::new("symptom-flat-launch"), Next::Trace),
    };
    Symptom { id: ID, seen, measured, points, next }
}
