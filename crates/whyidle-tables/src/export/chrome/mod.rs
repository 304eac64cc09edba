//! Chrome's trace event format, as PyTorch's profiler writes it: Perfetto opens it, and whyidle reads it back with the same
//! ledger, to the nanosecond.
//!
//! A trace's events come first, as they were: host events, GPU activities, synchronisations, allocations, with every
//! argument that whyidle keeps. Then come tracks of whyidle's own, in a process of their own, in categories that the
//! reader leaves alone. Of several traces the first is the one that is read back: the categories of the others carry
//! their number.

mod events;
mod header;
mod json;
mod tracks;

use std::io::Write;

use rustc_hash::FxHashSet;
use whyidle_model::Trace;

use crate::column::Stop;
use crate::source::Traced;

pub use tracks::Explained;

/// The first process number of whyidle's own tracks that is tried: no system has so many processes.
const OWN_PROCESSES: i64 = 1_900_000_000;

/// A file that is being written.
pub struct Writer<W> {
    out: W,
    /// Process numbers that are taken.
    pids: FxHashSet<i64>,
    traces: usize,
    any: bool,
}

impl<W: Write> Writer<W> {
    /// Writes what stands before the events; `first` is the trace that is added first.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn new(mut out: W, first: &Trace) -> Result<Self, Stop> {
        header::write(&mut out, &first.meta)?;
        Ok(Self { out, pids: FxHashSet::default(), traces: 0, any: false })
    }

    /// Adds a trace with whyidle's tracks; `explained` says which of the ledger's stretches each cause explains.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn add(&mut self, from: &Traced<'_>, explained: &[Explained]) -> Result<(), Stop> {
        let trace = from.trace;
        let numbers = trace.threads.iter().map(|thread| thread.pid);
        let numbers: FxHashSet<i64> =
            numbers.chain(trace.streams.iter().map(|stream| i64::from(stream.device))).collect();
        let mut place = Place { number: self.traces, moved: rustc_hash::FxHashMap::default(), own: 0 };
        let mut sorted: Vec<i64> = numbers.into_iter().collect();
        sorted.sort_unstable();
        for number in sorted {
            let pid = self.free(number);
            place.moved.insert(number, pid);
        }
        place.own = self.free(OWN_PROCESSES);
        self.traces += 1;
        events::write(self, from, &place)?;
        tracks::write(self, from, &place, explained)
    }

    /// Writes what stands after the events.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(mut self) -> Result<W, Stop> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// `wanted`, or the next process number that is free.
    fn free(&mut self, wanted: i64) -> i64 {
        let mut pid = wanted;
        if self.pids.contains(&pid) {
            pid = pid.max(OWN_PROCESSES);
        }
        while !self.pids.insert(pid) {
            pid += 1;
        }
        pid
    }

    /// Begins an event.
    fn next(&mut self) -> std::io::Result<&mut W> {
        self.out.write_all(if self.any { b",\n" } else { b"\n" })?;
        self.any = true;
        Ok(&mut self.out)
    }
}

/// Where a trace's events go in the file.
struct Place {
    /// Number of the trace in the file.
    number: usize,
    /// Process numbers of the trace, and those that they have in the file.
    moved: rustc_hash::FxHashMap<i64, i64>,
    /// The process of whyidle's own tracks.
    own: i64,
}

impl Place {
    /// A process's number in the file.
    fn pid(&self, number: i64) -> i64 {
        self.moved.get(&number).copied().unwrap_or(number)
    }

    /// A category of the trace: only those of the first trace are read back.
    fn category(&self, name: &str) -> String {
        if self.number == 0 { name.to_owned() } else { format!("{}/{name}", self.number) }
    }

    /// What process names begin with, where there are several traces.
    fn label(&self, trace: &Trace) -> String {
        match trace.meta.distributed.as_ref() {
            Some(job) if job.world_size > 1 => format!("rank {} ", job.rank),
            _ if self.number > 0 => format!("{} ", self.number),
            _ => String::new(),
        }
    }
}
