//! Files in, model out: the only crate that parses.
//!
//! * [`read_trace`], [`read_trace_from`] – one trace of PyTorch's profiler (or of `torch_npu`'s), plain or gzipped,
//!   or one process of an export of Nsight Systems, as a [`Trace`]. Reading goes on for as long as there is anything to read: what was
//!   dropped, mended or doubted on the way is counted in [`Trace::notes`].
//! * [`find_traces`] – the traces that a path stands for.
//! * [`recording`] – what a directory says of the run beside its traces.
//! * [`digest`] – what one rank says to the others, written and read.
//! * [`flight`] – dumps of PyTorch's flight recorder.
//! * [`nccl`] – what NCCL logs of itself.
//! * [`memory`] – CUDA memory snapshots, and the table of `torch.cuda.memory_summary()`.
//! * [`ncu`] – what Nsight Compute prints of single kernels.
//! * [`read_log`] – what `nvidia-smi`, DCGM, `iostat`, `top` and samplers of stacks print.
//! * [`samples`] – what was sampled of a run from outside.
//! * [`written`] – files that are written, whole or not at all.
//! * [`progress`] – steps and losses, as a program prints them or the start-up hook writes them.
//! * [`prometheus`] – what Prometheus answers to a query.
//! * [`settings`] – one value in a program's settings file, changed in its text.
//! * `documents` – documents of text for tokenising; with the feature `documents`.
//! * [`ReadError`] – why nothing could be read; ids and arguments, no wording.

mod ascend;
mod budget;
mod check;
mod dcgm;
pub mod digest;
#[cfg(feature = "documents")]
pub mod documents;
mod error;
mod find;
pub mod flight;
mod host;
mod kineto;
mod limits;
mod logs;
pub mod memory;
pub mod nccl;
pub mod ncu;
mod nsys;
mod pickle;
mod places;
mod plain;
pub mod progress;
pub mod prometheus;
pub mod recording;
pub mod samples;
pub mod settings;
mod smi;
mod sniff;
mod source;
mod stacks;
mod window;
pub mod written;

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use whyidle_model::{Table, Trace};

pub use budget::Budget;
pub use error::{Found, Hint, ReadError, Snapshot};
pub use find::{find_dumps, find_evidence, find_logs, find_traces, other_runs};
pub use logs::{Clock, Log, log_of, read_log};
pub use sniff::{Format, format_of, sniff};

/// How to read.
#[derive(Clone, Copy, Default)]
pub struct ReadOptions<'a> {
    /// Called from another thread with the number of bytes of the file read so far.
    pub progress: Option<&'a (dyn Fn(u64) + Sync)>,
    /// Which parser to use.
    pub parser: ParserChoice,
    /// Of a file with several processes: the one that used this GPU. `None`, or where none
    /// did: the one whose GPUs were busy longest.
    pub device: Option<i32>,
    /// What it may cost.
    pub budget: Budget,
}

/// Which parser reads the events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParserChoice {
    /// The fast one, and the reference for what it does not understand.
    #[default]
    Auto,
    /// The reference for everything: for comparison.
    Reference,
}

/// Reads the trace in a file, whatever its name: plain or gzipped, or an export of Nsight Systems.
///
/// # Errors
/// Where the file cannot be opened, is no trace, or is broken before its first event.
pub fn read_trace(path: &Path, options: &ReadOptions<'_>) -> Result<Trace, ReadError> {
    let failed = |error| ReadError::io(path, error);
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_file() {
        let mut head = Vec::new();
        (&mut file).take(nsys::MAGIC.len() as u64).read_to_end(&mut head).map_err(failed)?;
        if head == nsys::MAGIC {
            let trace = nsys::read(path, options)?;
            if let Some(progress) = options.progress {
                progress(metadata.len());
            }
            return Ok(trace);
        }
        file.rewind().map_err(failed)?;
    }
    read(file, path, options)
}

/// The counters of GPUs that were recorded into the trace at `path` itself, as samples; none of most traces.
#[must_use]
pub fn read_gpu_metrics(path: &Path) -> Table {
    let mut head = [0; nsys::MAGIC.len()];
    // What is no regular file can be read only once.
    let is_database = path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok()
        && head == *nsys::MAGIC;
    if is_database { nsys::read_metrics(path) } else { Table::default() }
}

/// Reads a trace from a stream, plain or gzipped. Errors call it `-`.
///
/// # Errors
/// As [`read_trace`].
pub fn read_trace_from(reader: impl Read + Send, options: &ReadOptions<'_>) -> Result<Trace, ReadError> {
    read(reader, Path::new("-"), options)
}

fn read(reader: impl Read + Send, path: &Path, options: &ReadOptions<'_>) -> Result<Trace, ReadError> {
    window::with_window(reader, options.progress, |window| {
        window.extend();
        if let Some(found) = sniff::no_json(window.rest(), path) {
            return match window.take_failure() {
                Some(error) => Err(ReadError::io(path, error)),
                None if window.is_damaged() => Err(ReadError::Damaged { path: path.to_owned(), byte: 0 }),
                None => Err(ReadError::NotATrace { path: path.to_owned(), found }),
            };
        }
        let format = sniff::sniff(window.rest());
        let result = kineto::read(window, options.parser, options.budget);
        if let Some(error) = window.take_failure() {
            return Err(ReadError::io(path, error));
        }
        result.map_err(|failure| match failure {
            kineto::Failure::NoEvents => ReadError::NotATrace {
                path: path.to_owned(),
                found: match format {
                    Some(Format::Recording) => Found::Recording,
                    Some(Format::Digest) => Found::Digest,
                    _ => Found::Json,
                },
            },
            kineto::Failure::Unreadable(byte) if window.is_damaged() => {
                ReadError::Damaged { path: path.to_owned(), byte }
            }
            kineto::Failure::Unreadable(byte) => ReadError::Unreadable { path: path.to_owned(), byte },
        })
    })
    .map_err(|error| ReadError::io(path, error))?
}
