//! One row per step and device.

use crate::column::{Rows, Sink, Stop, Table, columns};
use crate::source::Traced;

pub(super) const TABLE: Table = Table {
    name: "steps",
    doc: "One row per whole step that is analysed, and device.",
    columns: columns! {
        trace Integer "" "the trace";
        device Integer "" "the GPU";
        step Integer "" "number as the program counts";
        start_ns Integer "ns" "end of the last activity launched before the step";
        end_ns Integer "ns" "end of the last activity launched in it";
        duration_ns Integer "ns" "the step on the device: end_ns - start_ns";
        host_start_ns Integer "ns" "its first launch may begin here";
        host_end_ns Integer "ns" "launches from here on are of the next step";
        mark_end_ns Integer "ns" "where the program's own mark of the step ends";
    },
    rows: Rows::Traced(rows),
};

fn rows(from: &Traced<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    for device in &from.devices {
        for step in &device.steps.used {
            sink(&[
                from.number.into(),
                device.device.into(),
                step.number.into(),
                step.window.start.into(),
                step.window.end.into(),
                step.window.length().into(),
                step.host.start.into(),
                step.host.end.into(),
                step.mark_end.into(),
            ])?;
        }
    }
    Ok(())
}
