//! Operators, annotations and Python frames.

use whyidle_model::{HostId, HostKind};

use crate::column::{Cell, Rows, Sink, Stop, Table, columns};
use crate::source::Traced;

pub(super) const TABLE: Table = Table {
    name: "ops",
    doc: "What the program's threads did above the runtime: operators, annotations, Python frames, the profiler's own work.",
    columns: columns! {
        trace Integer "" "the trace";
        id Integer "" "number of the host event in its trace";
        kind Text "" "op, annotation, python, overhead";
        name Text "" "name, as aten::mm or train.py(41): main";
        pid Integer "" "process";
        tid Integer "" "thread";
        thread Text "" "the thread's name, where recorded";
        start_ns Integer "ns" "start";
        end_ns Integer "ns" "end";
        duration_ns Integer "ns" "length, everything inside included";
        self_ns Integer "ns" "time in which nothing inside it was active; sums to each thread's active time";
        parent Integer "" "id in ops or launches of the innermost event around it; NULL: outermost";
        step Integer "" "the step in which it begins; NULL: in none";
        backward Integer "" "1: in a node of backward";
        recomputed Integer "" "1: in a forward that is run again inside backward";
        dims Text "" "shapes of the inputs as JSON; NULL where not recorded";
        types Text "" "types of the inputs as JSON; NULL where not recorded";
    },
    rows: Rows::Traced(rows),
};

fn rows(from: &Traced<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let (trace, tree) = (from.trace, &from.facts.tree);
    for (row, own) in from.own_time().iter().enumerate() {
        let kind = match trace.host.kind[row] {
            HostKind::Op => "op",
            HostKind::Annotation => "annotation",
            HostKind::Python => "python",
            HostKind::Overhead => "overhead",
            HostKind::Runtime | HostKind::Driver => continue,
        };
        let id = HostId::from_index(row);
        let one = trace.host.get(id);
        let thread = trace.threads[one.thread.index()];
        sink(&[
            from.number.into(),
            id.0.into(),
            kind.into(),
            Cell::Text(from.name(one.name)),
            thread.pid.into(),
            thread.tid.into(),
            from.name(thread.name).into(),
            one.start.into(),
            one.end().into(),
            one.dur.into(),
            (*own).into(),
            tree.parent(id).map(|parent| parent.0).into(),
            from.host_step(one.start).into(),
            tree.is_backward(id).into(),
            tree.is_recomputed(id).into(),
            from.name(one.dims).into(),
            from.name(one.types).into(),
        ])?;
    }
    Ok(())
}
