//! The GPU does nothing: the loader is blocked, the program still starts, or it never found the GPU.

use whyidle_analysis::signals::Doing;

use super::{NOTHING, Next, Observed, Symptom, busy, unknown, waits_for_data};
use crate::message::Message;

/// A main thread that is in one place for this share of its samples is there for good.
const MOSTLY: f64 = 0.9;
/// A process that uses less of a core than this waits.
const IDLE: f64 = 0.1;

pub(super) fn look(observed: &Observed<'_>) -> Symptom {
    const ID: &str = "symptom-util-zero";
    let (Some(levels), Some(measured)) = (observed.levels, busy(observed, "symptom-busy-mean")) else {
        return unknown(ID, "symptom-no-gpu");
    };
    let signals = observed.signals;
    let main = |doing| signals.main.as_ref().map_or(0.0, |main| main.share(doing));
    let idle = signals.process.as_ref().is_some_and(|process| process.user + process.system < IDLE);
    let points = match () {
        () if main(Doing::Imports) >= 0.5 => "symptom-zero-starts",
        () if main(Doing::Compiles) >= 0.5 => "symptom-zero-compiles",
        () if waits_for_data(signals).is_some_and(|share| share >= MOSTLY) => "symptom-zero-data",
        () if idle => "symptom-zero-stuck",
        () => "symptom-zero-elsewhere",
    };
    Symptom {
        id: ID,
        seen: Some(levels.high < NOTHING),
        measured,
        points: Message::new(points),
        next: Next::Watch,
    }
}
