//! CUDA memory snapshots (`torch.cuda.memory._dump_snapshot`): what was in use at the end, and the most that was in use
//! in the history it holds.
//!
//! The peak is followed backwards from the end: an allocation takes its size away, a free gives it back. Sizes are
//! rounded up to 512 bytes, as the caching allocator rounds them (`CUDACachingAllocator.cpp`, `kMinBlockSize`). A history
//! that was cut off by its own limit may begin after the peak.

use std::fs;
use std::path::Path;

use crate::error::{Found, ReadError};
use crate::pickle::{Node, Pickle};

/// Blocks are multiples of this, bytes.
const BLOCK: u64 = 512;

/// A device's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Number of the device, as the program counts.
    pub device: i64,
    /// In use by tensors when the snapshot was taken, bytes.
    pub allocated: u64,
    /// Held by the caching allocator then, bytes.
    pub reserved: u64,
    /// Most in use by tensors in the history, bytes; at least `allocated`.
    pub peak_allocated: u64,
    /// Allocations and frees in the history.
    pub events: u64,
}

/// Reads the snapshot in a file; one entry per device that holds memory or has a history.
///
/// # Errors
/// Where the file cannot be read, is no pickle of plain data, or no snapshot.
pub fn read(path: &Path) -> Result<Vec<DeviceMemory>, ReadError> {
    let bytes = fs::read(path).map_err(|error| ReadError::io(path, error))?;
    let pickle = Pickle::read(&bytes)
        .map_err(|broken| ReadError::Unreadable { path: path.to_owned(), byte: broken.byte as u64 })?;
    devices(&pickle).ok_or_else(|| ReadError::NotATrace { path: path.to_owned(), found: Found::Pickle })
}

fn devices(pickle: &Pickle<'_>) -> Option<Vec<DeviceMemory>> {
    let root = pickle.root();
    let segments = pickle.get(root, "segments")?;
    let traces = pickle.get(root, "device_traces")?;
    let mut devices: Vec<DeviceMemory> = Vec::new();
    for segment in pickle.list(segments) {
        let number = pickle.int(segment, "device").unwrap_or(0);
        let device = of_number(&mut devices, number);
        device.reserved = device.reserved.saturating_add(bytes(pickle, segment, "total_size"));
        let blocks = pickle.get(segment, "blocks");
        for block in blocks.into_iter().flat_map(|blocks| pickle.list(blocks)) {
            let state = pickle.get(block, "state").and_then(|state| pickle.text(state));
            if state == Some("active_allocated") {
                device.allocated = device.allocated.saturating_add(bytes(pickle, block, "size"));
            }
        }
    }
    for (number, trace) in pickle.list(traces).enumerate() {
        let events: Vec<&Node> = pickle.list(trace).collect();
        if events.is_empty() {
            continue;
        }
        let device = of_number(&mut devices, number as i64);
        let (mut now, mut peak) = (device.allocated, device.allocated);
        for event in events.iter().rev() {
            let size = bytes(pickle, event, "size").div_ceil(BLOCK).saturating_mul(BLOCK);
            match pickle.get(event, "action").and_then(|action| pickle.text(action)) {
                Some("alloc") => now = now.saturating_sub(size),
                Some("free_requested") => now = now.saturating_add(size),
                _ => continue,
            }
            device.events += 1;
            peak = peak.max(now);
        }
        device.peak_allocated = peak;
    }
    for device in &mut devices {
        device.peak_allocated = device.peak_allocated.max(device.allocated);
    }
    devices.sort_by_key(|device| device.device);
    Some(devices)
}

fn of_number(devices: &mut Vec<DeviceMemory>, number: i64) -> &mut DeviceMemory {
    let at = devices.iter().position(|device| device.device == number).unwrap_or_else(|| {
        devices.push(DeviceMemory { device: number, ..DeviceMemory::default() });
        devices.len() - 1
    });
    &mut devices[at]
}

fn bytes(pickle: &Pickle<'_>, of: &Node, key: &str) -> u64 {
    pickle.int(of, key).and_then(|value| u64::try_from(value).ok()).unwrap_or(0)
}
