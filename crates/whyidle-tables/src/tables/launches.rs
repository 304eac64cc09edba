//! Calls into the runtime and the driver.

use whyidle_model::{HostId, HostKind};

use crate::column::{Cell, Rows, Sink, Stop, Table, columns};
use crate::source::Traced;

pub(super) const TABLE: Table = Table {
    name: "launches",
    doc: "Calls into the CUDA or HIP runtime and the driver: launches, copies, synchronisations, allocations. Their ids and those of ops are one sequence.",
    columns: columns! {
        trace Integer "" "the trace";
        id Integer "" "number of the host event in its trace";
        kind Text "" "runtime or driver";
        name Text "" "the call, as cudaLaunchKernel";
        pid Integer "" "process";
        tid Integer "" "thread";
        start_ns Integer "ns" "start";
        end_ns Integer "ns" "end";
        duration_ns Integer "ns" "length";
        step Integer "" "the step in which it was called; NULL: in none";
        op Integer "" "id in ops of the innermost operator around it";
        parent Integer "" "id in ops or launches of the innermost event around it";
        correlation Integer "" "correlation id; NULL: none";
        kernel Integer "" "id in kernels of the first activity it launched; NULL: none";
        latency_ns Integer "ns" "from its start to the start of that activity: queueing is in it";
    },
    rows: Rows::Traced(rows),
};

fn rows(from: &Traced<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let (trace, tree) = (from.trace, &from.facts.tree);
    for row in 0..trace.host.len() {
        let kind = match trace.host.kind[row] {
            HostKind::Runtime => "runtime",
            HostKind::Driver => "driver",
            _ => continue,
        };
        let id = HostId::from_index(row);
        let one = trace.host.get(id);
        let thread = trace.threads[one.thread.index()];
        let kernel = tree.activity_of(id);
        sink(&[
            from.number.into(),
            id.0.into(),
            kind.into(),
            Cell::Text(from.name(one.name)),
            thread.pid.into(),
            thread.tid.into(),
            one.start.into(),
            one.end().into(),
            one.dur.into(),
            from.host_step(one.start).into(),
            tree.operator(trace, id).map(|op| op.0).into(),
            tree.parent(id).map(|parent| parent.0).into(),
            Some(one.link).filter(|&link| link != 0).into(),
            kernel.map(|kernel| kernel.0).into(),
            kernel.map(|kernel| trace.gpu.start[kernel.index()] - one.start).into(),
        ])?;
    }
    Ok(())
}
