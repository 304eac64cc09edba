//! Memory snapshots and tables of `memory_summary()`, with a trace of the same program if one is given beside them.

use std::path::{Path, PathBuf};

use whyidle_analysis::device::devices;
use whyidle_analysis::facts::Facts;
use whyidle_analysis::memory::{DeviceMemory, Sites, facts, in_gaps};
use whyidle_diagnosis::{Message, QualityNote};
use whyidle_model::{AllocatorAction, MemorySnapshot, MemorySummary, Severity, Trace};
use whyidle_readers::{Format as FileFormat, ReadError, memory};
use whyidle_report::{Joined, MemoryReport, SnapshotReport};

/// A snapshot, with its facts.
struct Taken {
    path: PathBuf,
    snapshot: MemorySnapshot,
    sites: Sites,
    devices: Vec<DeviceMemory>,
}

/// Snapshots and summaries that were read.
#[derive(Default)]
pub(crate) struct Memory {
    taken: Vec<Taken>,
    summaries: Vec<(String, MemorySummary)>,
}

impl Memory {
    /// Reads them; with the files that cannot be read, and why.
    pub(crate) fn read(files: &[(PathBuf, FileFormat)]) -> (Self, Vec<(PathBuf, ReadError)>) {
        let (mut found, mut unread) = (Self::default(), Vec::new());
        for (path, format) in files {
            if let Err(error) = found.add(path, *format) {
                unread.push((path.clone(), error));
            }
        }
        (found, unread)
    }

    fn add(&mut self, path: &Path, format: FileFormat) -> Result<(), ReadError> {
        if format == FileFormat::MemorySnapshot {
            let snapshot = memory::read(path)?;
            let sites = Sites::new(&snapshot);
            let devices = facts(&snapshot, &sites);
            self.taken.push(Taken { path: path.to_owned(), snapshot, sites, devices });
            return Ok(());
        }
        let name = path.display().to_string();
        let mut last = Vec::new();
        for table in memory::read_summary(path)? {
            last.retain(|known: &MemorySummary| known.device != table.device);
            last.push(table);
        }
        self.summaries.extend(last.into_iter().map(|table| (name.clone(), table)));
        Ok(())
    }

    /// The peaks that they show, by device: exact ones of histories, and those that summaries print.
    pub(crate) fn peaks(&self) -> Vec<Peak> {
        let snapshots = self.taken.iter().flat_map(|taken| &taken.devices);
        let of_snapshots =
            snapshots.filter(|memory| memory.span.is_some() && memory.exact).map(|memory| Peak {
                device: memory.device,
                allocated: memory.peak.totals.allocated,
                reserved: Some(memory.peak_reserved),
                span: memory.span,
            });
        let of_summaries = self.summaries.iter().filter_map(|(_, table)| {
            let reserved = table.reserved.map(|row| row.peak);
            Some(Peak { device: table.device, allocated: table.allocated?.peak, reserved, span: None })
        });
        of_snapshots.chain(of_summaries).collect()
    }

    /// A snapshot is among them, which a trace can be joined with.
    pub(crate) fn has_snapshots(&self) -> bool {
        !self.taken.is_empty()
    }

    /// What they say; a trace is joined with each snapshot.
    pub(crate) fn report(self, trace: Option<(&Path, &Trace)>) -> MemoryReport {
        let joined =
            |taken: &Taken| trace.map(|(at, trace)| joined(at, trace, &taken.snapshot, &taken.devices));
        let about = |taken: Taken| SnapshotReport {
            path: taken.path.display().to_string(),
            settings: taken.snapshot.settings.text.clone(),
            quality: quality(&taken.snapshot, &taken.devices),
            trace: joined(&taken),
            devices: taken.devices,
            sites: taken.sites.sites,
        };
        let snapshots = self.taken.into_iter().map(about).collect();
        MemoryReport { snapshots, summaries: self.summaries }
    }
}

/// The most that a program had allocated on a device, bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peak {
    /// Number of the device, as the program counts.
    pub(crate) device: u32,
    /// In tensors.
    pub(crate) allocated: u64,
    /// From the driver.
    pub(crate) reserved: Option<u64>,
    /// First and last time of the history that shows it, ns of Unix time.
    pub(crate) span: Option<(i64, i64)>,
}

/// Whoever gives a trace and a snapshot says that they are of one run; clocks that are so far apart say that they are not.
const ANOTHER_RUN: i64 = 24 * 3_600 * 1_000_000_000;
/// Times before this are no Unix times.
const YEAR_2000_NS: i64 = 946_684_800_000_000_000;

/// The peak on the trace's devices.
pub(crate) fn peak_of(peaks: &[Peak], trace: &Trace) -> Option<Peak> {
    let devices = devices(trace);
    let base = trace.meta.base_unix_ns;
    let (first, last) = (trace.gpu.start.iter().min()?, trace.gpu.start.iter().max()?);
    let (from, until) = (first.saturating_add(base), last.saturating_add(base));
    let is_of_it = |peak: &&Peak| {
        let is_near = |(first, last): (i64, i64)| {
            from < YEAR_2000_NS || from - last <= ANOTHER_RUN && first - until <= ANOTHER_RUN
        };
        i32::try_from(peak.device).is_ok_and(|device| devices.contains(&device))
            && peak.span.is_none_or(is_near)
    };
    peaks.iter().filter(is_of_it).max_by_key(|peak| peak.allocated).copied()
}

/// What a trace adds: the GPU's memory, and what the allocator did in its gaps.
fn joined(path: &Path, trace: &Trace, snapshot: &MemorySnapshot, devices: &[DeviceMemory]) -> Joined {
    let of_trace = Facts::new(trace);
    let number = |memory: &DeviceMemory| i32::try_from(memory.device).unwrap_or(-1);
    let capacity = devices.iter().filter_map(|memory| {
        let properties = trace.meta.devices.iter().find(|properties| properties.id == number(memory))?;
        (properties.memory_bytes > 0).then_some((memory.device, properties.memory_bytes))
    });
    let gaps = devices.iter().map(|memory| {
        let device = of_trace.device(trace, number(memory), |_| true);
        (memory.device, in_gaps(&device.ledger.gaps, trace.meta.base_unix_ns, snapshot, memory.device))
    });
    Joined { path: path.display().to_string(), capacity: capacity.collect(), gaps: gaps.collect() }
}

/// What is to be said of the evidence.
fn quality(snapshot: &MemorySnapshot, devices: &[DeviceMemory]) -> Vec<QualityNote> {
    let mut found = QualityNote::all_of(&snapshot.notes);
    let mut add = |code, severity, count: u64, text: Message| {
        if count > 0 {
            found.push(QualityNote { code, severity, count, text: text.count("count", count) });
        }
    };
    let has_history = devices.iter().any(|memory| memory.span.is_some());
    let estimated = devices.iter().filter(|memory| memory.span.is_some() && !memory.exact).count() as u64;
    add("memory-estimated", Severity::Suspect, estimated, Message::new("note-memory-estimated"));
    let without = u64::from(!has_history && !devices.is_empty());
    add("memory-no-history", Severity::Suspect, without, Message::new("note-memory-no-history"));
    let events = &snapshot.events;
    let bare = (0..events.len())
        .filter(|&row| events.action[row] == AllocatorAction::Alloc && events.stack[row] == 0)
        .count() as u64;
    add("memory-no-stacks", Severity::Info, bare, Message::new("note-memory-no-stacks"));
    found
}
