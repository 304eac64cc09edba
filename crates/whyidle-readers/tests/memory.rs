//! Memory snapshots: a shipped one whose peak was measured, and what is no snapshot.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::Path;

use whyidle_readers::ReadError;
use whyidle_readers::memory::read;

/// `torch.cuda.max_memory_allocated()` of the run that wrote the shipped snapshot, bytes.
const MEASURED_PEAK: f64 = 16_710_967_296.0;
/// `torch.cuda.max_memory_reserved()` of it.
const MEASURED_RESERVED: u64 = 19_214_106_624;

fn shipped() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/memory_snapshot.pickle")
}

#[test]
fn the_peak_of_a_snapshot_is_the_measured_one() {
    let devices = read(&shipped()).unwrap();
    assert_eq!(devices.len(), 1);
    let peak = devices[0].peak_allocated as f64;
    assert!((peak / MEASURED_PEAK - 1.0).abs() < 0.001, "{peak}");
    assert_eq!((devices[0].reserved, devices[0].events), (MEASURED_RESERVED, 3_680));
    assert!(devices[0].allocated < devices[0].peak_allocated / 4);
}

#[test]
fn other_pickles_and_damaged_ones_are_errors() {
    let folder = std::env::temp_dir().join(format!("whyidle-memory-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("memory_snapshot.pickle");
    // {} is no snapshot.
    std::fs::write(&path, b"\x80\x04}.").unwrap();
    assert!(matches!(read(&path), Err(ReadError::NotATrace { .. })));
    let bytes = std::fs::read(shipped()).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(matches!(read(&path), Err(ReadError::Unreadable { .. })));
    assert!(matches!(read(&folder.join("nothing")), Err(ReadError::Io { .. })));
    std::fs::remove_dir_all(&folder).unwrap();
}
