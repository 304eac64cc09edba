//! Files in, model out: the only crate that parses.
//!
//! * [`read_trace`], [`read_trace_from`] – one trace of PyTorch's profiler, plain or gzipped,
//!   or one process of an export of Nsight Systems, as a [`Trace`]. Reading goes on for as long as there is anything to read: what was
//!   dropped, mended or doubted on the way is counted in [`Trace::notes`].
//! * [`find_traces`] – the traces that a path stands for.
//! * [`recording`] – what a directory says of the run beside its traces.
//! * [`digest`] – what one rank says to the others, written and read.
//! * [`flight`] – dumps of PyTorch's flight recorder.
//! * [`nccl`] – what NCCL logs of itself.
//! * [`memory`] – CUDA memory snapshots: what was in use, and the peak.
//! * [`samples`] – what was sampled of a run from outside.
//! * [`progress`] – steps and losses, as a program prints them or the start-up hook writes them.
//! * [`ReadError`] – why nothing could be read; ids and arguments, no wording.

mod check;
pub mod digest;
mod error;
mod find;
pub mod flight;
mod kineto;
mod limits;
pub mod memory;
pub mod nccl;
mod nsys;
mod pickle;
mod places;
pub mod progress;
pub mod recording;
pub mod samples;
mod sniff;
mod source;
mod window;

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use whyidle_model::Trace;

pub use error::{Found, Hint, ReadError};
pub use find::{find_dumps, find_logs, find_traces};
pub use sniff::{Format, sniff};

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
            let trace = nsys::read(path, options.device)?;
            if let Some(progress) = options.progress {
                progress(metadata.len());
            }
            return Ok(trace);
        }
        file.rewind().map_err(failed)?;
    }
    read(file, path, options)
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
        let result = kineto::read(window, options.parser);
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
