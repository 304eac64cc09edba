//! What the GPUs did.

use whyidle_model::{GpuId, GpuKind};

use crate::column::{Cell, Rows, Sink, Stop, Table, columns};
use crate::source::Traced;

pub(super) const TABLE: Table = Table {
    name: "kernels",
    doc: "Every activity of a GPU: kernels (collectives too), copies, memsets.",
    columns: columns! {
        trace Integer "" "the trace";
        id Integer "" "number of the activity in its trace";
        device Integer "" "the GPU";
        stream Integer "" "the stream";
        kind Text "" "kernel, memcpy or memset";
        name Text "" "name";
        start_ns Integer "ns" "start";
        end_ns Integer "ns" "end";
        duration_ns Integer "ns" "length; lengths of activities that overlap count twice when summed";
        own_ns Integer "ns" "what the ledger charges to it: sums to the busy part of the steps, and counts no instant twice";
        line Text "" "the ledger's line; NULL: outside the steps, or hidden throughout";
        step Integer "" "the step whose ledger it is in; NULL likewise";
        launch Integer "" "id in launches of the call that launched it; NULL: not in the trace";
        op Integer "" "id in ops of the innermost operator around that call";
        correlation Integer "" "correlation id; NULL: none";
        bytes Integer "bytes" "copies and memsets: bytes moved; NULL where not recorded";
        blocks Integer "" "kernels: thread blocks; NULL where not recorded";
        threads Integer "" "kernels: threads per block; NULL where not recorded";
    },
    rows: Rows::Traced(rows),
};

fn rows(from: &Traced<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let (trace, tree) = (from.trace, &from.facts.tree);
    let known = |number: u32| (number != 0).then_some(number);
    for (row, charge) in from.charges().iter().enumerate() {
        let id = GpuId::from_index(row);
        let one = trace.gpu.get(id);
        let stream = trace.streams[one.stream.index()];
        let launch = tree.launch_of(id);
        let op = launch.and_then(|call| tree.operator(trace, call));
        let kind = match one.kind {
            GpuKind::Kernel => "kernel",
            GpuKind::Memcpy => "memcpy",
            GpuKind::Memset => "memset",
        };
        sink(&[
            from.number.into(),
            id.0.into(),
            stream.device.into(),
            stream.number.into(),
            kind.into(),
            Cell::Text(from.name(one.name)),
            one.start.into(),
            trace.gpu.end(id).into(),
            one.dur.into(),
            charge.ns.into(),
            charge.line.map(|line| line.id()).into(),
            charge.line.map(|_| charge.step).into(),
            launch.map(|call| call.0).into(),
            op.map(|op| op.0).into(),
            known(one.correlation).into(),
            Some(one.bytes).filter(|&bytes| bytes > 0).into(),
            known(one.blocks).into(),
            known(one.threads).into(),
        ])?;
    }
    Ok(())
}
