//! What the caching allocator handed out and took back.

use crate::column::{Rows, Sink, Stop, Table, columns};
use crate::source::Traced;

pub(super) const TABLE: Table = Table {
    name: "memory",
    doc: "Allocations and releases, in traces recorded with profile_memory=True.",
    columns: columns! {
        trace Integer "" "the trace";
        device Integer "" "the GPU; NULL: host memory";
        t_ns Integer "ns" "when";
        bytes Integer "bytes" "handed out (positive) or taken back (negative)";
        allocated_bytes Integer "bytes" "in use by tensors afterwards; NULL where not recorded";
        reserved_bytes Integer "bytes" "held by the allocator afterwards; NULL where not recorded";
    },
    rows: Rows::Traced(rows),
};

fn rows(from: &Traced<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let memory = &from.trace.memory;
    for row in 0..memory.time.len() {
        sink(&[
            from.number.into(),
            Some(memory.device[row]).filter(|&device| device >= 0).into(),
            memory.time[row].into(),
            memory.bytes[row].into(),
            Some(memory.total_allocated[row]).filter(|&bytes| bytes >= 0).into(),
            Some(memory.total_reserved[row]).filter(|&bytes| bytes >= 0).into(),
        ])?;
    }
    Ok(())
}
