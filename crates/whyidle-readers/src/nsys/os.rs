//! What the operating system says of the program's threads: calls into its libraries, the scheduler, samples of the
//! processor (Nsight Systems User Guide, "SQLite Schema Reference": `OSRT_API`, `SCHED_EVENTS`, `COMPOSITE_EVENTS`).

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use whyidle_model::{NoteCode, Sym, ThreadId};

use super::build::Builder;
use super::database::Database;
use super::host::placed;
use super::names;
use super::texts::{Symbols, Texts};
use crate::limits::{MAX_LENGTH, MAX_ROWS, MAX_TIME};

/// Reads all of it.
pub(super) fn read(database: &Database, texts: &Texts, builder: &mut Builder) {
    calls(database, texts, builder);
    switches(database, builder);
    samples(database, texts, builder);
}

fn calls(database: &Database, texts: &Texts, builder: &mut Builder) {
    let mut symbols = Symbols::new(texts, |name| Cow::Borrowed(names::call(name)));
    let end = database.each("OSRT_API", ["start", "end", "globalTid", "nameId"], |row| {
        let Some((start, dur)) = placed(row, builder) else { return };
        if builder.trace.os.calls.start.len() >= MAX_ROWS {
            return builder.note(NoteCode::TableFull);
        }
        let name = symbols.first(&mut builder.trace.names, &[row.integer(3)]);
        let thread = builder.thread(row.integer(2));
        let calls = &mut builder.trace.os.calls;
        calls.start.push(start);
        calls.dur.push(dur);
        calls.name.push(name);
        calls.thread.push(thread);
    });
    builder.ended(end);
}

/// A thread is off its core from the row that switches it out to the next that switches it in. Rows of one thread come
/// in the order of time; what is switched out when the recording begins or ends has no length.
fn switches(database: &Database, builder: &mut Builder) {
    let mut out: FxHashMap<ThreadId, i64> = FxHashMap::default();
    let end = database.each("SCHED_EVENTS", ["start", "isSchedIn", "globalTid"], |row| {
        if !builder.takes(row.integer(2)) {
            return;
        }
        let Some(t) = time(row.integer(0), builder) else { return };
        let thread = builder.thread(row.integer(2));
        if row.integer(1) == Some(0) {
            out.insert(thread, t);
        } else if let Some(since) = out.remove(&thread) {
            let dur = t.saturating_sub(since);
            if !(0..=MAX_LENGTH).contains(&dur) || builder.trace.os.off_core.start.len() >= MAX_ROWS {
                return builder.note(NoteCode::AbsurdTime);
            }
            let off_core = &mut builder.trace.os.off_core;
            off_core.start.push(since);
            off_core.dur.push(dur);
            off_core.thread.push(thread);
        }
    });
    builder.ended(end);
}

/// Samples of the processor with their innermost function.
fn samples(database: &Database, texts: &Texts, builder: &mut Builder) {
    let mut innermost: FxHashMap<i64, Sym> = FxHashMap::default();
    if database.has("COMPOSITE_EVENTS") {
        let mut symbols = Symbols::new(texts, |name| Cow::Borrowed(name));
        let columns = ["id", "symbol", "stackDepth", "unresolved"];
        let end = database.each("SAMPLING_CALLCHAINS", columns, |row| {
            let (Some(id), Some(0)) = (row.integer(0), row.integer(2)) else { return };
            let named = row.integer(3) != Some(1);
            let name =
                if named { symbols.first(&mut builder.trace.names, &[row.integer(1)]) } else { Sym::EMPTY };
            innermost.entry(id).or_insert(name);
        });
        builder.ended(end);
    }
    let end = database.each("COMPOSITE_EVENTS", ["id", "start", "globalTid"], |row| {
        if !builder.takes(row.integer(2)) {
            return;
        }
        let Some(t) = time(row.integer(1), builder) else { return };
        if builder.trace.os.samples.t.len() >= MAX_ROWS {
            return builder.note(NoteCode::TableFull);
        }
        let function = row.integer(0).and_then(|id| innermost.get(&id)).copied().unwrap_or(Sym::EMPTY);
        let thread = builder.thread(row.integer(2));
        let samples = &mut builder.trace.os.samples;
        samples.t.push(t);
        samples.thread.push(thread);
        samples.function.push(function);
    });
    builder.ended(end);
}

fn time(t: Option<i64>, builder: &mut Builder) -> Option<i64> {
    let code = match t {
        None => NoteCode::NoStart,
        Some(t) if t.saturating_abs() > MAX_TIME => NoteCode::AbsurdTime,
        Some(t) => return Some(t),
    };
    builder.note(code);
    None
}
