//! Memory snapshots and tables of `memory_summary()`, with a trace of the same program if one is given beside them.

use std::path::{Path, PathBuf};

use whyidle_analysis::facts::Facts;
use whyidle_analysis::memory::{DeviceMemory, Sites, facts, in_gaps};
use whyidle_diagnosis::{Message, QualityNote};
use whyidle_model::{AllocatorAction, MemorySnapshot, Severity, Trace};
use whyidle_readers::{Format as FileFormat, ReadError, ReadOptions, memory, read_trace};
use whyidle_report::{Joined, MemoryReport, SnapshotReport};

/// What the snapshots and summaries say; a trace is joined with each snapshot.
///
/// # Errors
/// Where a file cannot be read.
pub(crate) fn read(files: &[(PathBuf, FileFormat)], trace: Option<&Path>) -> Result<MemoryReport, ReadError> {
    let mut report = MemoryReport::default();
    let trace = match trace {
        Some(path) => Some((path, read_trace(path, &ReadOptions::default())?)),
        None => None,
    };
    for (path, format) in files {
        match format {
            FileFormat::MemorySnapshot => {
                let snapshot = memory::read(path)?;
                report.snapshots.push(about(path, &snapshot, trace.as_ref().map(|(at, trace)| (*at, trace))));
            }
            FileFormat::MemorySummary => {
                let name = path.display().to_string();
                let mut last = Vec::new();
                for table in memory::read_summary(path)? {
                    last.retain(|known: &whyidle_model::MemorySummary| known.device != table.device);
                    last.push(table);
                }
                report.summaries.extend(last.into_iter().map(|table| (name.clone(), table)));
            }
            _ => {}
        }
    }
    Ok(report)
}

/// The facts of a snapshot, for the report.
fn about(path: &Path, snapshot: &MemorySnapshot, trace: Option<(&Path, &Trace)>) -> SnapshotReport {
    let sites = Sites::new(snapshot);
    let devices = facts(snapshot, &sites);
    SnapshotReport {
        path: path.display().to_string(),
        settings: snapshot.settings.text.clone(),
        quality: quality(snapshot, &devices),
        trace: trace.map(|(at, trace)| joined(at, trace, snapshot, &devices)),
        devices,
        sites: sites.sites,
    }
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
    let mut found: Vec<QualityNote> = snapshot
        .notes
        .sorted()
        .into_iter()
        .map(|note| QualityNote {
            code: note.code.id(),
            severity: note.code.severity(),
            count: note.count,
            text: Message::new(note.code.message()).count("count", note.count),
        })
        .collect();
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
