//! The processors are full while the GPU waits: mostly loading and pre-processing.

use super::{BUSY, Next, Observed, Symptom, unknown};
use crate::message::Message;

/// A worker that always has an item to prepare uses nearly a whole core; reading and handing over take the rest.
const WORKER: f64 = 0.85;
/// The machine's cores are full.
const MACHINE: f64 = 0.9;

pub(super) fn look(observed: &Observed<'_>) -> Symptom {
    const ID: &str = "symptom-cpu-full";
    let signals = observed.signals;
    let workers = signals.workers.as_ref().and_then(|workers| Some((workers.pids.len(), workers.busy?)));
    let own = signals.process.as_ref().map(|process| process.user + process.system);
    let Some(own) = own else { return unknown(ID, "symptom-no-process") };
    let used = own + workers.map_or(0.0, |(count, busy)| count as f64 * busy);
    let full = observed.cores.is_some_and(|cores| used >= MACHINE * f64::from(cores))
        || signals.cores_busy.is_some_and(|busy| busy >= MACHINE);
    let workers_full = workers.is_some_and(|(_, busy)| busy >= WORKER);
    let measured = match (workers, signals.cores_busy) {
        (Some((count, busy)), Some(machine)) => Message::new("symptom-cpu-workers")
            .with("own", crate::message::Arg::Number(own, 2))
            .count("count", count)
            .share("busy", busy)
            .share("machine", machine),
        (Some((count, busy)), None) => Message::new("symptom-cpu-workers-alone")
            .with("own", crate::message::Arg::Number(own, 2))
            .count("count", count)
            .share("busy", busy),
        (None, Some(machine)) => Message::new("symptom-cpu-machine")
            .with("own", crate::message::Arg::Number(own, 2))
            .share("machine", machine),
        (None, None) => Message::new("symptom-cpu-own").with("own", crate::message::Arg::Number(own, 2)),
    };
    let fed = signals.gpu.as_ref().is_some_and(|gpu| gpu.resident >= BUSY);
    let (points, next) = match () {
        () if fed => ("symptom-cpu-points-fed", Next::Verdict),
        () if workers_full => ("symptom-cpu-points-workers", Next::Explain("data.workers")),
        () => ("symptom-cpu-points-machine", Next::Explain("host.contention")),
    };
    Symptom { id: ID, seen: Some(full || workers_full), measured, points: Message::new(points), next }
}
