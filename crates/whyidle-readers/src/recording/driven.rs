//! Which GPU a process drives, and what a recorder could not have.

use std::collections::BTreeMap;

use serde_json::Value;

/// Physical number of the GPU that process `pid` drives: by the driver's list of processes, else by the
/// environment's numbering, else by the one device file that it holds open.
pub(super) fn gpu_index(value: &Value, pid: Option<u32>) -> Option<u32> {
    let pid = u64::from(pid?);
    let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
    let list = |name: &str| value.get(name).and_then(Value::as_array).into_iter().flatten();
    let uses = |gpu: &&Value| {
        let processes = gpu.get("processes").and_then(Value::as_array).into_iter().flatten();
        processes.filter_map(|process| process.get("pid")?.as_u64()).any(|user| user == pid)
    };
    let using: Vec<u32> = list("gpus").filter(uses).filter_map(|gpu| number(gpu.get("index")?)).collect();
    if let [only] = using[..] {
        return Some(only);
    }
    let process =
        list("processes").find(|process| process.get("pid").and_then(Value::as_u64) == Some(pid))?;
    let local = process.get("local_rank").and_then(number);
    let visible = process.get("environment").and_then(|env| env.get("CUDA_VISIBLE_DEVICES")?.as_str());
    let visible: Option<Vec<u32>> =
        visible.map(|text| text.split(',').filter_map(|part| part.trim().parse().ok()).collect());
    match (visible, local) {
        (Some(visible), local) if !visible.is_empty() => {
            visible.get(local.unwrap_or(0) as usize).or(visible.first()).copied()
        }
        (_, Some(local)) => Some(local),
        _ => {
            let files = process.get("gpu_files").and_then(Value::as_array)?;
            if let [only] = &files[..] { number(only) } else { None }
        }
    }
}

/// The rank of process `pid`, where its environment said.
pub(super) fn rank(value: &Value, pid: u32) -> Option<u32> {
    let list = value.get("processes").and_then(Value::as_array).into_iter().flatten();
    let mut own = list.filter(|process| process.get("pid").and_then(Value::as_u64) == Some(u64::from(pid)));
    u32::try_from(own.next()?.get("rank")?.as_u64()?).ok()
}

/// The job of each process that has one.
pub(super) fn jobs(value: &Value) -> BTreeMap<u32, String> {
    let list = value.get("processes").and_then(Value::as_array).into_iter().flatten();
    let one = |process: &Value| {
        let pid = u32::try_from(process.get("pid")?.as_u64()?).ok()?;
        Some((pid, process.get("job")?.as_str()?.to_owned()))
    };
    list.filter_map(one).collect()
}

/// Processes on the GPUs that are not the program's. Only for GPUs whose list names one of the program too: elsewhere,
/// as in a container, the driver's numbers of processes are not the recorder's.
pub(super) fn others_on_gpu(value: &Value) -> Vec<(u32, u32, Option<u64>)> {
    let list =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let number = |value: &Value, name: &str| u32::try_from(value.get(name)?.as_u64()?).ok();
    let own: Vec<u32> =
        list(value, "processes").iter().filter_map(|process| number(process, "pid")).collect();
    let mut others = Vec::new();
    for gpu in list(value, "gpus") {
        let Some(index) = number(&gpu, "index") else { continue };
        let users = list(&gpu, "processes");
        let of = |user: &Value| Some((number(user, "pid")?, user.get("memory").and_then(Value::as_u64)));
        let users: Vec<(u32, Option<u64>)> = users.iter().filter_map(of).collect();
        if users.iter().any(|(pid, _)| own.contains(pid)) {
            let foreign = users.into_iter().filter(|(pid, _)| !own.contains(pid));
            others.extend(foreign.map(|(pid, memory)| (index, pid, memory)));
        }
    }
    others
}

/// The command lines of processes.
pub(super) fn commands(value: &Value) -> BTreeMap<u32, Vec<String>> {
    let list = value.get("processes").and_then(Value::as_array).into_iter().flatten();
    let one = |process: &Value| {
        let pid = u32::try_from(process.get("pid")?.as_u64()?).ok()?;
        let words = process.get("command")?.as_array()?;
        Some((pid, words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()))
    };
    list.filter_map(one).collect()
}

/// What could not be had: what, why, and the detail.
pub(super) fn missing(value: &Value) -> Vec<(String, String, String)> {
    let list = value.get("missing").and_then(Value::as_array).into_iter().flatten();
    let text = |entry: &Value, name: &str| entry.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
    list.map(|entry| (text(entry, "what"), text(entry, "code"), text(entry, "detail"))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn others_on_a_gpu_are_named_where_numbers_are_the_recorders_own() {
        let recorded = json!({
            "processes": [{"pid": 7}],
            "gpus": [{"index": 0, "processes": [{"pid": 7, "memory": 5}, {"pid": 99, "memory": 6}, {"pid": 98}]},
                     {"index": 1, "processes": [{"pid": 99, "memory": 6}]}],
        });
        assert_eq!(others_on_gpu(&recorded), [(0, 99, Some(6)), (0, 98, None)]);
        assert_eq!(others_on_gpu(&json!({})), []);
    }

    #[test]
    fn a_processes_gpu_is_told_by_driver_environment_or_file() {
        let two = json!({
            "gpus": [{"index": 0, "processes": [{"pid": 7}]}, {"index": 1, "processes": [{"pid": 8}]}],
            "processes": [{"pid": 9, "local_rank": 1, "environment": {"CUDA_VISIBLE_DEVICES": "2,3"}, "gpu_files": [2, 3]},
                          {"pid": 10, "local_rank": 1}, {"pid": 11, "gpu_files": [5]}, {"pid": 12, "gpu_files": [0, 1]}],
        });
        let found: Vec<Option<u32>> = (7..=13).map(|pid| gpu_index(&two, Some(pid))).collect();
        assert_eq!(found, [Some(0), Some(1), Some(3), Some(1), Some(5), None, None]);
        assert_eq!(gpu_index(&json!({}), None), None);
        let ranked = json!({"processes": [{"pid": 7, "rank": null}, {"pid": 8, "rank": 1}]});
        assert_eq!((rank(&ranked, 7), rank(&ranked, 8), rank(&ranked, 9)), (None, Some(1), None));
    }

    #[test]
    fn commands_belong_to_processes() {
        let value =
            json!({"processes": [{"pid": 7, "command": ["python", "a.py"]}, {"pid": 8}, {"command": ["x"]}]});
        assert_eq!(commands(&value), [(7, vec!["python".to_owned(), "a.py".to_owned()])].into());
    }

    #[test]
    fn reasons_are_read_as_they_are() {
        let value = json!({"missing": [{"what": "gpu", "code": "no-nvml"}, {"what": 3}]});
        let text = |what: &str, code: &str| (what.to_owned(), code.to_owned(), String::new());
        assert_eq!(missing(&value), [text("gpu", "no-nvml"), text("", "")]);
    }
}
