//! What an export says of the machine and of itself.

use whyidle_model::{DeviceProperties, NoteCode, Recorder};

use super::build::{Builder, device_number};
use super::database::{Database, Values};

/// Fills the trace's header.
pub(super) fn read(database: &Database, builder: &mut Builder) {
    builder.trace.meta.recorder = Recorder::NsightSystems;
    start(database, builder);
    devices(database, builder);
    let versions = [
        ("META_DATA_EXPORT", "EXPORT_PRODUCT_VERSION", "nsys_version"),
        ("META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION", "nsys_schema_version"),
        ("TARGET_INFO_SYSTEM_ENV", "CudaDriverVersion", "cuda_driver_version"),
    ];
    for (table, name, version) in versions {
        if let Some(value) = setting(database, table, name) {
            builder.trace.meta.versions.push((version.to_owned(), value));
        }
    }
    builder.trace.meta.host_name = setting(database, "TARGET_INFO_SYSTEM_ENV", "Hostname");
}

/// `severity` of a warning and of an error, in `ENUM_DIAGNOSTIC_SEVERITY_LEVEL`.
const GRAVE: [i64; 2] = [2, 3];

/// What Nsight Systems noticed while it recorded: events lost, symbols missing. Counted; the texts are its own.
pub(super) fn diagnostics(database: &Database, builder: &mut Builder) {
    let end = database.each("DIAGNOSTIC_EVENT", ["severity"], |row| {
        if row.integer(0).is_some_and(|severity| GRAVE.contains(&severity)) {
            builder.note(NoteCode::TracerWarning);
        }
    });
    builder.ended(end);
}

/// Unix time of the trace's time 0. Times count from the start of the session, or go on from where the system's clock
/// stood then; `startTime` says which.
fn start(database: &Database, builder: &mut Builder) {
    builder.trace.meta.base_unix_ns = base_unix_ns(database);
}

/// As the trace's header has it; 0 where the export does not say.
pub(super) fn base_unix_ns(database: &Database) -> i64 {
    let mut unix = None;
    database.each("TARGET_INFO_SESSION_START_TIME", ["utcEpochNs"], |row| unix = unix.or(row.integer(0)));
    let mut zero = None;
    database.each("ANALYSIS_DETAILS", ["startTime"], |row| zero = zero.or(row.integer(0)));
    let base = unix.and_then(|unix: i64| unix.checked_sub(zero.unwrap_or(0)));
    // A quarter of what fits, so that sums with any time of the trace fit too.
    base.filter(|base| base.abs() < i64::MAX / 4).unwrap_or(0)
}

fn devices(database: &Database, builder: &mut Builder) {
    let columns = [
        "id",
        "cuDevice",
        "name",
        "totalMemory",
        "computeMajor",
        "computeMinor",
        "smCount",
        "smMajor",
        "smMinor",
    ];
    let meta = &mut builder.trace.meta;
    database.each("TARGET_INFO_GPU", columns, |row| {
        let either = |first: usize, second: usize| {
            row.integer(first).map_or_else(|| row.small(second), |_| row.small(first))
        };
        meta.devices.push(DeviceProperties {
            id: device_number(row.integer(1).or(row.integer(0))),
            name: owned(row, 2).unwrap_or_default(),
            memory_bytes: row.integer(3).and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0),
            compute_capability: (either(4, 7), either(5, 8)),
            multiprocessors: row.small(6),
        });
    });
    meta.devices.truncate(MOST_DEVICES);
}

/// No machine has more GPUs.
const MOST_DEVICES: usize = 1024;

/// The value of a setting in a table of names and values.
fn setting(database: &Database, table: &str, name: &str) -> Option<String> {
    let mut found = None;
    database.each(table, ["name", "value"], |row| {
        if found.is_none() && row.text(0) == Some(name.as_bytes()) {
            found = owned(row, 1);
        }
    });
    found
}

fn owned(row: &Values<'_>, index: usize) -> Option<String> {
    row.text(index).map(|text| String::from_utf8_lossy(super::texts::shortened(text)).into_owned())
}
