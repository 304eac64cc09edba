//! Stretches in which a device was busy, each with its activity.

use crate::column::{Rows, Sink, Stop, Table, columns};
use crate::source::Traced;

pub(super) const TABLE: Table = Table {
    name: "busy",
    doc: "Busy stretches of a device inside its steps. Each instant belongs to one activity: compute before copies before collectives, so a stretch of the last two is exposed.",
    columns: columns! {
        trace Integer "" "the trace";
        device Integer "" "the GPU";
        step Integer "" "the step in whose window it lies";
        start_ns Integer "ns" "start";
        end_ns Integer "ns" "end";
        duration_ns Integer "ns" "length";
        line Text "" "the ledger's line";
        kernel Integer "" "id in kernels";
    },
    rows: Rows::Traced(rows),
};

fn rows(from: &Traced<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    for device in &from.devices {
        for busy in &device.ledger.busy {
            sink(&[
                from.number.into(),
                device.device.into(),
                device.steps.used[busy.step as usize].number.into(),
                busy.piece.start.into(),
                busy.piece.end.into(),
                (busy.piece.end - busy.piece.start).into(),
                busy.line.id().into(),
                busy.piece.activity.0.into(),
            ])?;
        }
    }
    Ok(())
}
