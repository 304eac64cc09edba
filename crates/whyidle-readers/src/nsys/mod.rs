//! Exports of Nsight Systems as SQLite (`nsys export --type sqlite`).
//!
//! Tables exist only where something was recorded, and columns differ between versions, so both are looked up; a missing
//! column reads as if it were empty. One process's rows make one trace: a file that holds several is read for the process
//! whose GPUs were busy longest, or for the one that used [`ReadOptions::device`](crate::ReadOptions::device), and the
//! others are counted.
//!
//! * `database` – the file, within a budget; `texts` – its strings.
//! * `process` – whose rows; `gpu`, `host`, `os`, `nccl`, `machine` – what they say; `metrics` – counters of the GPUs.
//! * `range`, `names` – names as PyTorch's profiler writes them, which is what everything else reads.
//! * `build` – columns.

mod build;
mod database;
mod gpu;
mod host;
mod machine;
mod metrics;
mod names;
mod nccl;
mod os;
mod process;
mod range;
mod texts;

use std::path::Path;

use whyidle_model::{NoteCode, Trace};

use crate::ReadOptions;
use crate::error::{Found, ReadError};
use build::Builder;
pub(crate) use metrics::read as read_metrics;

use database::Database;
use texts::Texts;

/// How every SQLite database begins.
pub(crate) const MAGIC: &[u8] = b"SQLite format 3\0";

/// Whether the database at `path` is an export.
pub(crate) fn is_export(path: &Path) -> bool {
    Database::open(path).is_ok_and(|database| has_export(&database))
}

fn has_export(database: &Database) -> bool {
    let any =
        ["META_DATA_EXPORT", "ANALYSIS_DETAILS", "NVTX_EVENTS", "OSRT_API", "CUPTI_ACTIVITY_KIND_RUNTIME"];
    database.has("StringIds") && any.iter().chain(&gpu::TABLES).any(|table| database.has(table))
}

/// Reads the export at `path`: of its processes the one that used the GPU asked for, or the busiest.
pub(crate) fn read(path: &Path, options: &ReadOptions<'_>) -> Result<Trace, ReadError> {
    let broken =
        |error: rusqlite::Error| ReadError::Database { path: path.to_owned(), reason: error.to_string() };
    let database = Database::open(path).map_err(broken)?.within(options.budget);
    if !has_export(&database) {
        return Err(ReadError::NotATrace { path: path.to_owned(), found: Found::Sqlite });
    }
    let (process, others) = process::choose(&database, options.device);
    let mut builder = Builder::new(process);
    builder.trace.notes.add_many(NoteCode::OtherProcesses, others, None);
    let texts = Texts::read(&database, &mut builder);
    machine::read(&database, &mut builder);
    machine::diagnostics(&database, &mut builder);
    gpu::read(&database, &texts, &mut builder);
    let payloads = host::read(&database, &texts, &mut builder);
    let mut trace = builder.trace;
    payloads.describe(&mut trace);
    crate::check::check(&mut trace);
    Ok(trace)
}
