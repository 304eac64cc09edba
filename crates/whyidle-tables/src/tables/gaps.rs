//! Stretches in which a device was idle, by whom it waited for.

use whyidle_analysis::tree::NONE;
use whyidle_model::HostId;

use crate::column::{Cell, Rows, Sink, Stop, Table, columns};
use crate::source::Traced;

pub(super) const TABLE: Table = Table {
    name: "gaps",
    doc: "Idle stretches of a device inside its steps, each with the line it is charged to. Together with busy they cover every step without overlap.",
    columns: columns! {
        trace Integer "" "the trace";
        device Integer "" "the GPU";
        step Integer "" "the step";
        start_ns Integer "ns" "start";
        end_ns Integer "ns" "end";
        duration_ns Integer "ns" "length";
        line Text "" "the ledger's line";
        event Integer "" "id in ops or launches of what the host was in; NULL: in nothing that was recorded";
        name Text "" "its name";
    },
    rows: Rows::Traced(rows),
};

fn rows(from: &Traced<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    for device in &from.devices {
        for part in &device.ledger.gaps {
            let event = (part.leaf != NONE).then_some(HostId(part.leaf));
            sink(&[
                from.number.into(),
                device.device.into(),
                device.steps.used[part.step as usize].number.into(),
                part.start.into(),
                part.end.into(),
                part.length().into(),
                part.line.id().into(),
                event.map(|event| event.0).into(),
                event.map_or(Cell::Null, |event| from.name(from.trace.host.name[event.index()]).into()),
            ])?;
        }
    }
    Ok(())
}
