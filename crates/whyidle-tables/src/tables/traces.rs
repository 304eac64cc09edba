//! One row per trace.

use crate::column::{Cell, Rows, Sink, Stop, Table, columns};
use crate::source::Traced;

pub(super) const TABLE: Table = Table {
    name: "traces",
    doc: "One row per trace that was read.",
    columns: columns! {
        trace Integer "" "number of the trace, from 0; every table of a trace has it";
        path Text "" "where it was read from";
        kind Text "" "what recorded it: kineto (PyTorch), nsys (Nsight Systems)";
        rank Integer "" "rank in the job; NULL where the trace does not say";
        world_size Integer "" "ranks in the job; NULL where the trace does not say";
        gpu Text "" "product name of the device shown";
        device Integer "" "number of the device that a verdict is about: the one that works longest; NULL without GPU events";
        events Integer "" "events in the file, used or not";
        base_unix_ns Integer "ns" "Unix time of the trace's time 0; 0 where its times are absolute";
        found_by Text "" "how steps were found: profiler-step, optimizer-step, repetition, window";
        steps Integer "" "whole steps that are analysed on that device";
        span_ns Integer "ns" "from the first start to the last end of that device's activities";
        resident_ns Integer "ns" "union of all its activities over the whole trace";
        working_ns Integer "ns" "union of all its activities but collectives";
    },
    rows: Rows::Traced(rows),
};

fn rows(from: &Traced<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let meta = &from.trace.meta;
    let job = meta.distributed.as_ref();
    let shown = from.shown();
    let properties = shown.and_then(|shown| meta.devices.iter().find(|device| device.id == shown.device));
    sink(&[
        from.number.into(),
        from.path.into(),
        meta.recorder.id().into(),
        job.map(|job| job.rank).into(),
        job.map(|job| job.world_size).filter(|&size| size > 0).into(),
        properties.map_or(Cell::Null, |gpu| gpu.name.as_str().into()),
        shown.map(|shown| shown.device).into(),
        from.trace.events.into(),
        meta.base_unix_ns.into(),
        from.facts.found_by.id().into(),
        shown.map_or(0, |shown| shown.steps.used.len() as u64).into(),
        shown.map(|shown| shown.occupancy.span_ns).into(),
        shown.map(|shown| shown.occupancy.resident_ns).into(),
        shown.map(|shown| shown.occupancy.working_ns).into(),
    ])
}
