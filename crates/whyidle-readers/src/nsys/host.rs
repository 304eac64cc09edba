//! What the program's threads did: calls, NVTX ranges, the tracer's own work.

use std::borrow::Cow;

use whyidle_model::{HostEvent, HostKind, NoteCode, Sym, ThreadId};

use super::build::Builder;
use super::database::{Database, Values};
use super::names;
use super::nccl::Payloads;
use super::range;
use super::texts::{Symbols, Texts, shortened};
use crate::limits::MAX_ROWS;

const CALLS: &str = "CUPTI_ACTIVITY_KIND_RUNTIME";
const OVERHEADS: [&str; 2] = ["CUPTI_ACTIVITY_KIND_OVERHEAD", "PROFILER_OVERHEAD"];
const RANGES: &str = "NVTX_EVENTS";

/// `eventType` of a range that one thread pushed and popped, and of one that was started and ended by hand.
const PUSH_POP: i64 = 59;
const START_END: i64 = 60;

/// Tables of host events that say nothing which is used: libraries. Their rows are counted.
const UNUSED: [&str; 2] = ["CUBLAS_EVENTS", "CUDNN_EVENTS"];

/// Reads all of it; what NCCL says of its calls.
pub(super) fn read(database: &Database, texts: &Texts, builder: &mut Builder) -> Payloads {
    calls(database, texts, builder);
    overheads(database, texts, builder);
    let payloads = ranges(database, texts, builder);
    super::os::read(database, texts, builder);
    thread_names(database, texts, builder);
    for table in UNUSED {
        let end = database.each(table, ["globalTid"], |row| {
            if builder.takes(row.integer(0)) {
                builder.note(NoteCode::Unused);
            }
        });
        builder.ended(end);
    }
    payloads
}

/// Start and length of a row whose first columns are start, end and thread; `None` where it is another process's, or
/// cannot be placed.
pub(super) fn placed(row: &Values<'_>, builder: &mut Builder) -> Option<(i64, i64)> {
    if !builder.takes(row.integer(2)) {
        return None;
    }
    let times = builder.times(row.integer(0), row.integer(1))?;
    if builder.trace.host.len() >= MAX_ROWS {
        builder.note(NoteCode::TableFull);
        return None;
    }
    Some(times)
}

fn event(start: i64, dur: i64, name: Sym, kind: HostKind, thread: ThreadId, link: u32) -> HostEvent {
    let (dims, types) = (Sym::EMPTY, Sym::EMPTY);
    HostEvent { start, dur, name, kind, thread, link, dims, types, sequence: -1, forward_thread: 0 }
}

/// Runtime and driver calls, which share a table.
fn calls(database: &Database, texts: &Texts, builder: &mut Builder) {
    let mut symbols = Symbols::new(texts, |name| Cow::Borrowed(names::call(name)));
    let columns = ["start", "end", "globalTid", "correlationId", "nameId"];
    let end = database.each(CALLS, columns, |row| {
        let Some((start, dur)) = placed(row, builder) else { return };
        let name = symbols.first(&mut builder.trace.names, &[row.integer(4)]);
        let runtime = builder.trace.names.get(name).starts_with("cuda");
        let kind = if runtime { HostKind::Runtime } else { HostKind::Driver };
        let thread = builder.thread(row.integer(2));
        builder.trace.host.push(event(start, dur, name, kind, thread, row.small(3)));
    });
    builder.ended(end);
}

/// What the tracer reports of its own work and of the driver's (`Command Buffer Full`, `Lazy Function Loading`).
fn overheads(database: &Database, texts: &Texts, builder: &mut Builder) {
    for table in OVERHEADS {
        let mut symbols = Symbols::new(texts, |name| Cow::Borrowed(name));
        let end = database.each(table, ["start", "end", "globalTid", "nameId"], |row| {
            let Some((start, dur)) = placed(row, builder) else { return };
            let name = symbols.first(&mut builder.trace.names, &[row.integer(3)]);
            let thread = builder.thread(row.integer(2));
            builder.trace.host.push(event(start, dur, name, HostKind::Overhead, thread, 0));
        });
        builder.ended(end);
    }
}

/// NVTX ranges of one thread: operators where PyTorch wrote them, annotations otherwise. Marks, and ranges that another
/// thread ended, are not used.
fn ranges(database: &Database, texts: &Texts, builder: &mut Builder) -> Payloads {
    let mut payloads = Payloads::default();
    let columns = ["start", "end", "globalTid", "eventType", "text", "textId", "endGlobalTid", "jsonText"];
    let end = database.each(RANGES, columns, |row| {
        let foreign_end = row.integer(6).is_some_and(|thread| Some(thread) != row.integer(2));
        if !matches!(row.integer(3), Some(PUSH_POP | START_END)) || row.integer(1).is_none() || foreign_end {
            if builder.takes(row.integer(2)) {
                builder.note(NoteCode::Unused);
            }
            return;
        }
        let Some((start, dur)) = placed(row, builder) else { return };
        let own = row.text(4).map(|text| builder.utf8(shortened(text)));
        let Some(text) = own.as_deref().or_else(|| texts.get(row.integer(5))) else {
            return builder.note(NoteCode::Unused);
        };
        let range = range::parse(text);
        let name = builder.trace.names.intern(range.name);
        let thread = builder.thread(row.integer(2));
        let id = builder.trace.host.push(HostEvent {
            dims: builder.trace.names.intern(&range.dims),
            sequence: range.sequence,
            ..event(start, dur, name, range.kind, thread, 0)
        });
        if let Some(json) = row.text(7) {
            payloads.add(id, range.name, json);
        }
    });
    builder.ended(end);
    builder.trace.meta.record_shapes = builder.trace.host.dims.iter().any(|&dims| dims != Sym::EMPTY);
    payloads
}

fn thread_names(database: &Database, texts: &Texts, builder: &mut Builder) {
    let end = database.each("ThreadNames", ["globalTid", "nameId"], |row| {
        let (Some(global), Some(name)) = (row.integer(0), texts.get(row.integer(1))) else { return };
        let (pid, tid) = super::build::place(global);
        let trace = &mut builder.trace;
        if let Some(thread) = trace.threads.iter_mut().find(|thread| (thread.pid, thread.tid) == (pid, tid)) {
            thread.name = trace.names.intern(name);
        }
    });
    builder.ended(end);
}
