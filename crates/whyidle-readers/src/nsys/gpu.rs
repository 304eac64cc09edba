//! What the GPUs did: kernels, copies, memsets, CUDA graphs recorded whole, synchronisations.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use whyidle_model::{GpuActivity, GpuKind, NoteCode, Sym, SyncRecord};

use super::build::{Builder, device_number};
use super::database::{Database, Values};
use super::names;
use super::texts::{Symbols, Texts};
use crate::limits::MAX_ROWS;

const KERNELS: &str = "CUPTI_ACTIVITY_KIND_KERNEL";
const COPIES: &str = "CUPTI_ACTIVITY_KIND_MEMCPY";
const MEMSETS: &str = "CUPTI_ACTIVITY_KIND_MEMSET";
const GRAPHS: &str = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
const SYNCS: &str = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
const EVENTS: &str = "CUPTI_ACTIVITY_KIND_CUDA_EVENT";

/// Tables of GPU activities.
pub(super) const TABLES: [&str; 4] = [KERNELS, COPIES, MEMSETS, GRAPHS];

/// Reads all of it.
pub(super) fn read(database: &Database, texts: &Texts, builder: &mut Builder) {
    kernels(database, texts, builder);
    copies(database, builder);
    memsets(database, builder);
    graphs(database, builder);
    synchronisations(database, builder);
}

/// What all tables of activities have, in this order, before their own columns.
macro_rules! columns {
    ($($own:literal),*) => {
        ["start", "end", "deviceId", "streamId", "correlationId", "globalPid", $($own),*]
    };
}

/// Columns before a table's own.
const OWN: usize = 6;

/// An activity from the columns that all tables have; `None` where it is another process's, or cannot be placed.
fn activity(row: &Values<'_>, kind: GpuKind, builder: &mut Builder) -> Option<GpuActivity> {
    if !builder.takes(row.integer(5)) {
        return None;
    }
    let (start, dur) = builder.times(row.integer(0), row.integer(1))?;
    if start == 0 && dur == 0 {
        builder.note(NoteCode::ZeroTime);
        return None;
    }
    if builder.trace.gpu.len() >= MAX_ROWS {
        builder.note(NoteCode::TableFull);
        return None;
    }
    let stream = builder.stream(row.integer(2), row.integer(3));
    let correlation = row.small(4);
    let (name, external, bytes, blocks, threads) = (Sym::EMPTY, 0, 0, 0, 0);
    Some(GpuActivity { start, dur, name, kind, stream, correlation, external, bytes, blocks, threads })
}

/// Kernels; those of a CUDA graph that was recorded node by node share the correlation id of its launch.
fn kernels(database: &Database, texts: &Texts, builder: &mut Builder) {
    let mut symbols = Symbols::new(texts, |name| Cow::Borrowed(name));
    let columns = columns![
        "demangledName",
        "mangledName",
        "shortName",
        "gridX",
        "gridY",
        "gridZ",
        "blockX",
        "blockY",
        "blockZ"
    ];
    let end = database.each(KERNELS, columns, |row| {
        let Some(mut kernel) = activity(row, GpuKind::Kernel, builder) else { return };
        let names = [0, 1, 2].map(|at| row.integer(OWN + at));
        kernel.name = symbols.first(&mut builder.trace.names, &names);
        let product = |from: usize| (from..from + 3).map(|at| row.small(at)).fold(1, u32::saturating_mul);
        (kernel.blocks, kernel.threads) = (product(OWN + 3), product(OWN + 6));
        builder.trace.gpu.push(kernel);
    });
    builder.ended(end);
}

fn copies(database: &Database, builder: &mut Builder) {
    let mut known: FxHashMap<[Option<i64>; 3], Sym> = FxHashMap::default();
    let end = database.each(COPIES, columns!["bytes", "copyKind", "srcKind", "dstKind"], |row| {
        let Some(mut copy) = activity(row, GpuKind::Memcpy, builder) else { return };
        let kinds = [1, 2, 3].map(|at| row.integer(OWN + at));
        let names = &mut builder.trace.names;
        copy.name =
            *known.entry(kinds).or_insert_with(|| names.intern(&names::copy(kinds[0], kinds[1], kinds[2])));
        copy.bytes = row.integer(OWN).and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
        builder.trace.gpu.push(copy);
    });
    builder.ended(end);
}

fn memsets(database: &Database, builder: &mut Builder) {
    let end = database.each(MEMSETS, columns!["bytes", "memKind"], |row| {
        let Some(mut memset) = activity(row, GpuKind::Memset, builder) else { return };
        memset.name = builder.trace.names.intern(&names::memset(row.integer(OWN + 1)));
        memset.bytes = row.integer(OWN).and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
        builder.trace.gpu.push(memset);
    });
    builder.ended(end);
}

/// CUDA graphs of which only the whole was recorded (`--cuda-graph-trace=graph`, the default): one activity each.
fn graphs(database: &Database, builder: &mut Builder) {
    let end = database.each(GRAPHS, columns!["graphId"], |row| {
        let Some(mut graph) = activity(row, GpuKind::Kernel, builder) else { return };
        builder.note(NoteCode::GraphsWhole);
        let id = row.integer(OWN).unwrap_or(0);
        graph.name = builder.trace.names.intern(&format!("CUDA graph {id}"));
        builder.trace.gpu.push(graph);
    });
    builder.ended(end);
}

/// Synchronisations, with the call that recorded the event they wait for: handles of events are used again, so the two
/// are joined by the number that each recording gets.
fn synchronisations(database: &Database, builder: &mut Builder) {
    let mut recorded: FxHashMap<i64, (i64, u32)> = FxHashMap::default();
    let end = database.each(EVENTS, ["eventSyncId", "streamId", "correlationId", "globalPid"], |row| {
        if let (true, Some(id)) = (builder.takes(row.integer(3)), row.integer(0)) {
            recorded.insert(id, (row.integer(1).unwrap_or(-1), row.small(2)));
        }
    });
    builder.ended(end);
    let columns = columns!["syncType", "eventSyncId"];
    let end = database.each(SYNCS, columns, |row| {
        if !builder.takes(row.integer(5)) {
            return;
        }
        let Some((start, dur)) = builder.times(row.integer(0), row.integer(1)) else { return };
        let event = row.integer(OWN + 1).and_then(|id| recorded.get(&id).copied());
        let record = SyncRecord {
            start,
            dur,
            kind: builder.trace.names.intern(names::synchronisation(row.integer(OWN))),
            device: device_number(row.integer(2)),
            stream: row.integer(3).unwrap_or(-1),
            correlation: row.small(4),
            wait_on_stream: event.map(|(stream, _)| stream),
            wait_on_record: event.map(|(_, correlation)| correlation).filter(|&id| id != 0),
        };
        builder.trace.syncs.push(record);
    });
    builder.ended(end);
}
