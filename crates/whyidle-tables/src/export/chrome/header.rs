//! What stands before the events: the machine, the job, versions, what was recorded.

use std::io::{self, Write};

use serde_json::{Value, json};
use whyidle_model::Meta;

use super::json::Members;

pub(super) fn write(out: &mut impl Write, meta: &Meta) -> io::Result<()> {
    let mut head = Members::open(out)?;
    head.raw("schemaVersion", 1)?;
    head.text("displayTimeUnit", "ms")?;
    head.raw("baseTimeNanoseconds", meta.base_unix_ns)?;
    // No member of a version's name: those are versions of what was recorded.
    head.raw("whyidle", json!({ "export": env!("CARGO_PKG_VERSION") }))?;
    head.raw("deviceProperties", devices(meta))?;
    if let Some(job) = distributed(meta) {
        head.raw("distributedInfo", job)?;
    }
    if let Some(host) = &meta.host_name {
        head.text("host_name", host)?;
    }
    for (key, value) in &meta.versions {
        // The key is of the file that was read, and may hold anything.
        head.raw_key(key)?;
        super::json::text(head.out(), value)?;
    }
    for (key, holds) in [
        ("record_shapes", meta.record_shapes),
        ("with_stack", meta.with_stack),
        ("with_modules", meta.with_modules),
        ("profile_memory", meta.profile_memory),
    ] {
        head.raw(key, u8::from(holds))?;
    }
    head.raw_key("traceEvents")?;
    head.out().write_all(b"[")
}

fn devices(meta: &Meta) -> Value {
    let device = |device: &whyidle_model::DeviceProperties| {
        json!({
            "id": device.id,
            "name": device.name,
            "totalGlobalMem": device.memory_bytes,
            "computeMajor": device.compute_capability.0,
            "computeMinor": device.compute_capability.1,
            "numSms": device.multiprocessors,
        })
    };
    meta.devices.iter().map(device).collect()
}

fn distributed(meta: &Meta) -> Option<Value> {
    let job = meta.distributed.as_ref()?;
    let groups: Vec<Value> = job
        .groups
        .iter()
        .map(|(name, description, ranks)| json!({ "pg_name": name, "pg_desc": description, "ranks": ranks }))
        .collect();
    Some(json!({
        "backend": job.backend,
        "rank": job.rank,
        "world_size": job.world_size,
        "nccl_version": job.library_version,
        "pg_config": groups,
    }))
}
