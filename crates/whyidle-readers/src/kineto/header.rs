//! What stands beside the events: the machine, the job, versions, what was recorded.
//! It may come before or after them, and any part may be missing.

use serde_json::Value;
use whyidle_model::{DeviceProperties, Distributed, Meta};

use super::number;

/// Takes the member `key` of the outermost object, if it is one that is used.
pub(crate) fn member(meta: &mut Meta, key: &str, raw: &[u8]) {
    match key {
        "deviceProperties" => meta.devices = devices(&parsed(raw)),
        "distributedInfo" => meta.distributed = distributed(&parsed(raw)).or(meta.distributed.take()),
        "baseTimeNanoseconds" => meta.base_unix_ns = number::integer(raw).unwrap_or(0),
        "host_name" => meta.host_name = parsed(raw).as_str().map(str::to_owned),
        "record_shapes" => meta.record_shapes = truthy(raw),
        "with_stack" => meta.with_stack = truthy(raw),
        "with_modules" => meta.with_modules = truthy(raw),
        "profile_memory" => meta.profile_memory = truthy(raw),
        _ if key.ends_with("_version") && raw.len() < 256 => {
            let version = match parsed(raw) {
                Value::String(text) => text,
                _ => String::from_utf8_lossy(raw).into_owned(),
            };
            meta.versions.push((key.to_owned(), version));
        }
        _ => {}
    }
}

fn parsed(raw: &[u8]) -> Value {
    serde_json::from_slice(raw).unwrap_or_default()
}

fn truthy(raw: &[u8]) -> bool {
    raw == b"true" || raw == b"\"true\"" || number::integer(raw).is_ok_and(|n| n != 0)
}

fn devices(value: &Value) -> Vec<DeviceProperties> {
    let list = value.as_array().map_or(&[][..], Vec::as_slice);
    list.iter().filter(|device| device.is_object()).map(device).collect()
}

fn device(value: &Value) -> DeviceProperties {
    DeviceProperties {
        id: narrow(&value["id"]),
        name: value["name"].as_str().unwrap_or_default().to_owned(),
        memory_bytes: value["totalGlobalMem"].as_u64().unwrap_or(0),
        compute_capability: (narrow(&value["computeMajor"]), narrow(&value["computeMinor"])),
        multiprocessors: narrow(&value["numSms"]),
    }
}

fn distributed(value: &Value) -> Option<Distributed> {
    let info = value.as_object()?;
    // Some versions write the list of groups as text.
    let config = match info.get("pg_config") {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(value) => value.clone(),
        None => Value::Null,
    };
    let groups = config.as_array().map_or(&[][..], Vec::as_slice);
    Some(Distributed {
        backend: text(&value["backend"]),
        rank: narrow(&value["rank"]),
        world_size: narrow(&value["world_size"]),
        library_version: text(&value["nccl_version"]),
        groups: groups.iter().map(group).collect(),
    })
}

fn group(value: &Value) -> (String, String, Vec<u32>) {
    let ranks = value["ranks"].as_array().map_or(&[][..], Vec::as_slice);
    (text(&value["pg_name"]), text(&value["pg_desc"]), ranks.iter().map(narrow).collect())
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A number, also in quotes, as the narrow type of its column; 0 where it does not fit.
fn narrow<T: TryFrom<i64> + Default>(value: &Value) -> T {
    let number = match value {
        Value::String(text) => number::integer(text.as_bytes()).ok(),
        other => other.as_i64(),
    };
    number.and_then(|n| T::try_from(n).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_may_be_missing() {
        let mut meta = Meta::default();
        member(&mut meta, "distributedInfo", br#"{"rank": 3}"#);
        member(&mut meta, "deviceProperties", br#"[{"id": 1, "name": "GPU"}, 7]"#);
        member(&mut meta, "roctracer_version", b"4.1");
        member(&mut meta, "with_stack", b"1");
        member(&mut meta, "baseTimeNanoseconds", b"1790857026000000000");
        assert_eq!(meta.distributed.as_ref().map(|d| (d.rank, d.world_size)), Some((3, 0)));
        assert_eq!(meta.devices.len(), 1);
        assert_eq!(meta.versions, [("roctracer_version".to_owned(), "4.1".to_owned())]);
        assert!(meta.with_stack && !meta.with_modules);
        assert_eq!(meta.base_unix_ns, 1_790_857_026_000_000_000);
        member(&mut meta, "distributedInfo", b"null");
        assert!(meta.distributed.is_some());
    }
}
