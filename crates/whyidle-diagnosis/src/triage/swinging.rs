//! The GPU swings between busy and idle: it is fed in bursts. Mostly data; also a pause that comes back, as saving,
//! logging, or collecting garbage.

use super::{BUSY, FEWEST, Next, Observed, SWING, Symptom, busy, unknown, waits_for_data};
use crate::message::Message;

/// The main thread waits for data in this share of its samples: it is data.
const DATA: f64 = 0.2;

pub(super) fn look(observed: &Observed<'_>) -> Symptom {
    const ID: &str = "symptom-swinging";
    let (Some(levels), Some(measured)) = (observed.levels, busy(observed, "symptom-busy-ends")) else {
        return unknown(ID, "symptom-no-gpu");
    };
    if levels.samples < FEWEST {
        return unknown(ID, "symptom-few-samples");
    }
    let points = match waits_for_data(observed.signals) {
        Some(share) if share >= DATA => Message::new("symptom-swing-data").share("share", share),
        Some(share) => Message::new("symptom-swing-pause").share("share", share),
        None => Message::new("symptom-swing"),
    };
    let seen = Some(levels.swing() >= SWING && levels.mean < BUSY);
    Symptom { id: ID, seen, measured, points, next: Next::Verdict }
}
