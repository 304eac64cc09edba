//! Which process of an export is read. A file holds every process that ran under Nsight Systems, and correlation ids
//! are each process's own; a [`Trace`](whyidle_model::Trace) is one process's.

use rustc_hash::FxHashMap;

use super::build::device_number;
use super::database::Database;
use super::gpu::TABLES;

/// The process whose rows are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Process {
    /// All rows: no GPU activity says whose it is.
    Any,
    /// Rows of the process with this `globalPid` (or `globalTid`) above bit 24.
    Only(i64),
}

impl Process {
    pub(super) fn has(self, global: Option<i64>) -> bool {
        match (self, global) {
            (Self::Only(process), Some(global)) => global >> 24 == process,
            (Self::Only(_), None) => false,
            (Self::Any, _) => true,
        }
    }
}

/// The process that used `device` and kept GPUs busy longest (any device where it is `None`, or where no process used
/// it), and how many others used GPUs.
pub(super) fn choose(database: &Database, device: Option<i32>) -> (Process, u64) {
    #[derive(Default)]
    struct Work {
        on_device: bool,
        busy: i64,
    }
    let mut found: FxHashMap<i64, Work> = FxHashMap::default();
    for table in TABLES {
        if !database.has_column(table, "globalPid") {
            continue;
        }
        // What ends badly here does so again when it is read, and is noted then.
        database.each(table, ["start", "end", "globalPid", "deviceId"], |row| {
            let Some(global) = row.integer(2) else { return };
            let work = found.entry(global >> 24).or_default();
            let dur = row.integer(1).unwrap_or(0).saturating_sub(row.integer(0).unwrap_or(0));
            work.busy = work.busy.saturating_add(dur.max(0));
            work.on_device |= device.is_some_and(|device| device == device_number(row.integer(3)));
        });
    }
    let chosen =
        found.iter().max_by_key(|(process, work)| (work.on_device, work.busy, std::cmp::Reverse(**process)));
    let others = found.len().saturating_sub(1) as u64;
    (chosen.map_or(Process::Any, |(&process, _)| Process::Only(process)), others)
}
