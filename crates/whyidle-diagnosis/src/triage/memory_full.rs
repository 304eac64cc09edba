//! The GPU's memory is full: the next longer batch fails, and the allocator may have begun to give back and to ask
//! again. Full memory says nothing of the work that is done.

use super::{BUSY, Next, Observed, Symptom, unknown};
use crate::message::{Arg, Message};

/// The part of memory that practitioners keep free is 10 to 15 %.
const FULL: f64 = 0.9;

pub(super) fn look(observed: &Observed<'_>) -> Symptom {
    const ID: &str = "symptom-memory-full";
    let gpu = observed.signals.gpu.as_ref();
    let Some((used, all)) = gpu.and_then(|gpu| gpu.memory).filter(|(_, all)| *all > 0.0) else {
        return unknown(ID, "symptom-no-memory");
    };
    let measured = Message::new("symptom-memory")
        .with("used", Arg::Bytes(used as i64))
        .with("all", Arg::Bytes(all as i64))
        .share("share", used / all);
    let idle = gpu.is_some_and(|gpu| gpu.resident < BUSY);
    let points = if idle { "symptom-memory-points-idle" } else { "symptom-memory-points" };
    Symptom {
        id: ID,
        seen: Some(used / all >= FULL),
        measured,
        points: Message::new(points),
        next: Next::Explain("memory.allocator"),
    }
}
