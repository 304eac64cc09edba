//! Where each step goes.

use whyidle_analysis::ledger::Line;

use crate::column::{Rows, Sink, Stop, Table, columns};
use crate::source::Traced;

pub(super) const TABLE: Table = Table {
    name: "ledger",
    doc: "Where each step goes: one row per step and line with time on it. Lines exclude each other; a step's rows sum to steps.duration_ns exactly.",
    columns: columns! {
        trace Integer "" "the trace";
        device Integer "" "the GPU";
        step Integer "" "the step";
        line Text "" "the line, as working.matmul, data.workers, host.launch";
        kind Text "" "working, waiting or rest";
        traced_ns Integer "ns" "time on the line, as traced: the profiler's cost is in it";
    },
    rows: Rows::Traced(rows),
};

fn rows(from: &Traced<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    for device in &from.devices {
        for (step, row) in device.steps.used.iter().zip(&device.ledger.steps) {
            for &line in Line::ALL.iter().filter(|&&line| row[line as usize] != 0) {
                sink(&[
                    from.number.into(),
                    device.device.into(),
                    step.number.into(),
                    line.id().into(),
                    line.kind().id().into(),
                    row[line as usize].into(),
                ])?;
            }
        }
    }
    Ok(())
}
