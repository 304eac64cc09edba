//! Rows on their way into the model: times checked, threads and streams looked up.

use whyidle_model::{NoteCode, Stream, StreamId, Sym, Thread, ThreadId, Trace};

use super::process::Process;
use crate::limits::{MAX_LENGTH, MAX_TIME};
use crate::places::Places;

/// Fills a [`Trace`] with the rows of one process.
pub(super) struct Builder {
    pub(super) trace: Trace,
    process: Process,
    threads: Places<i64, ThreadId>,
    streams: Places<i32, StreamId>,
}

impl Builder {
    pub(super) fn new(process: Process) -> Self {
        Self { trace: Trace::default(), process, threads: Places::default(), streams: Places::default() }
    }

    pub(super) fn note(&mut self, code: NoteCode) {
        self.trace.notes.add(code, None);
    }

    /// Counts a row if it is this process's, whose process or thread is `global`.
    pub(super) fn takes(&mut self, global: Option<i64>) -> bool {
        let takes = self.process.has(global);
        self.trace.events += u64::from(takes);
        takes
    }

    /// Start and length; `None` (and a note) where a row cannot be placed in time.
    pub(super) fn times(&mut self, start: Option<i64>, end: Option<i64>) -> Option<(i64, i64)> {
        let code = match (start, end) {
            (None, _) => NoteCode::NoStart,
            (Some(start), _) if start.saturating_abs() > MAX_TIME => NoteCode::AbsurdTime,
            (Some(start), None) => {
                self.note(NoteCode::NoDuration);
                return Some((start, 0));
            }
            (Some(start), Some(end)) => match end.checked_sub(start) {
                Some(dur) if dur < 0 => {
                    self.note(NoteCode::NegativeDuration);
                    return Some((start, 0));
                }
                Some(dur) if dur <= MAX_LENGTH => return Some((start, dur)),
                _ => NoteCode::AbsurdTime,
            },
        };
        self.note(code);
        None
    }

    /// The thread that a `globalTid` stands for.
    pub(super) fn thread(&mut self, global: Option<i64>) -> ThreadId {
        let (pid, tid) = global.map_or((-1, -1), place);
        let threads = &mut self.trace.threads;
        self.threads.get(pid, tid, || {
            threads.push(Thread { pid, tid, name: Sym::EMPTY });
            ThreadId::from_index(threads.len() - 1)
        })
    }

    pub(super) fn stream(&mut self, device: Option<i64>, number: Option<i64>) -> StreamId {
        let (device, number) = (device_number(device), number.unwrap_or(-1));
        let streams = &mut self.trace.streams;
        self.streams.get(device, number, || {
            streams.push(Stream { device, number });
            StreamId::from_index(streams.len() - 1)
        })
    }
}

/// The GPU in a column; −1 where there is none.
pub(super) fn device_number(device: Option<i64>) -> i32 {
    device.and_then(|device| i32::try_from(device).ok()).unwrap_or(-1)
}

/// Process and thread of a `globalTid`: the process in bits 24 to 47, the thread below.
pub(super) fn place(global: i64) -> (i64, i64) {
    ((global >> 24) & 0xff_ffff, global & 0xff_ffff)
}
