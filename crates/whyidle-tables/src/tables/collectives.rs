//! Collectives of the steps analysed.

use rustc_hash::FxHashMap;
use whyidle_analysis::communication::{Kind, collectives};
use whyidle_model::{Collective, CollectiveOwner};

use crate::column::{Cell, Rows, Sink, Stop, Table, columns};
use crate::source::Traced;

pub(super) const TABLE: Table = Table {
    name: "collectives",
    doc: "Collectives and point-to-point transfers that end in a step. One rank alone cannot tell transfer from waiting for others: a length is both.",
    columns: columns! {
        trace Integer "" "the trace";
        kernel Integer "" "id in kernels";
        device Integer "" "the GPU";
        stream Integer "" "the stream";
        step Integer "" "the step in whose window it ends";
        kind Text "" "all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send_receive, other";
        start_ns Integer "ns" "start";
        end_ns Integer "ns" "end";
        duration_ns Integer "ns" "length: transfer and waiting together";
        exposed_ns Integer "ns" "the part that no other work hides";
        backward Integer "" "1: launched from inside backward";
        bytes Integer "bytes" "the whole tensor; NULL where not recorded";
        in_elements Integer "" "elements sent by this rank; NULL where not recorded";
        out_elements Integer "" "elements received by this rank; NULL where not recorded";
        dtype Text "" "type of an element, as the framework calls it";
        group_name Text "" "process group";
        group_description Text "" "what it is for, as default_pg";
        group_size Integer "" "ranks in it; NULL where not recorded";
        ranks Text "" "its ranks, shortened by the framework after 30";
        seq Integer "" "sequence number in the group; NULL where not recorded";
    },
    rows: Rows::Traced(rows),
};

/// Stable id of a kind.
fn id(kind: Kind) -> &'static str {
    match kind {
        Kind::AllReduce => "all_reduce",
        Kind::AllGather => "all_gather",
        Kind::ReduceScatter => "reduce_scatter",
        Kind::Broadcast => "broadcast",
        Kind::AllToAll => "all_to_all",
        Kind::SendReceive => "send_receive",
        Kind::Other => "other",
    }
}

fn rows(from: &Traced<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let trace = from.trace;
    let mut described: FxHashMap<u32, &Collective> = FxHashMap::default();
    for collective in &trace.collectives {
        if let CollectiveOwner::Gpu(id) = collective.owner {
            described.insert(id.0, collective);
        }
    }
    for device in &from.devices {
        for used in collectives(trace, from.facts, device) {
            let (start, end) = (trace.gpu.start[used.activity.index()], trace.gpu.end(used.activity));
            let said = described.get(&used.activity.0);
            let step = device.steps.ended_at(end).map(|at| device.steps.used[at].number);
            let text = |sym: fn(&Collective) -> whyidle_model::Sym| {
                said.map_or(Cell::Null, |said| from.name(sym(said)).into())
            };
            sink(&[
                from.number.into(),
                used.activity.0.into(),
                device.device.into(),
                trace.streams[trace.gpu.stream[used.activity.index()].index()].number.into(),
                step.into(),
                id(used.kind).into(),
                start.into(),
                end.into(),
                used.ns.into(),
                used.exposed_ns.into(),
                used.in_backward.into(),
                used.bytes.into(),
                said.map(|said| said.in_elements).into(),
                said.map(|said| said.out_elements).into(),
                text(|said| said.dtype),
                text(|said| said.group),
                text(|said| said.group_description),
                said.map(|said| said.group_size).filter(|&size| size > 0).into(),
                text(|said| said.ranks),
                said.and_then(|said| said.sequence).into(),
            ])?;
        }
    }
    Ok(())
}
