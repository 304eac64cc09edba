//! What the system says of one process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use procfs::process::Process;

use super::{Member, Role};
use crate::torch::software;

/// Environment variables that bear on speed or on a process's place in its job.
const ENVIRONMENT: [&str; 22] = [
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "TOKENIZERS_PARALLELISM",
    "KINETO_USE_DAEMON",
    "KINETO_IPC_SOCKET_DIR",
    "TORCHINDUCTOR_COMPILE_THREADS",
    "LD_PRELOAD",
    "CUBLAS_WORKSPACE_CONFIG",
    "NVIDIA_TF32_OVERRIDE",
    "PYTHONDEVMODE",
    "PYTHONMALLOC",
    "TORCHDYNAMO_DISABLE",
    "TORCH_COMPILE_DISABLE",
    "TORCH_DISTRIBUTED_DEBUG",
];
const ENVIRONMENT_FAMILIES: [&str; 3] = ["NCCL_", "PYTORCH_", "TORCH_NCCL_"];

/// The place in the kernel where a process waits for a child to end. Others end alike: `futex_do_wait` is a lock.
pub(super) fn is_wait_for_child(place: &str) -> bool {
    place.split('.').next() == Some("do_wait")
}

pub(crate) fn member(pid: u32) -> Option<Member> {
    let process = Process::new(i32::try_from(pid).ok()?).ok()?;
    let stat = process.stat().ok()?;
    let ticks = procfs::ticks_per_second().max(1) as f64;
    Some(Member {
        pid,
        ppid: u32::try_from(stat.ppid).unwrap_or(0),
        started: stat.starttime,
        name: stat.comm.clone(),
        command: process.cmdline().unwrap_or_default(),
        software: software(pid),
        gpu_files: gpu_files(pid),
        environment: environment(pid),
        cpu_s: (stat.utime + stat.stime) as f64 / ticks,
        awaits_child: process.wchan().is_ok_and(|place| is_wait_for_child(&place)),
        role: Role::Other,
    })
}

/// The children of a process, by way of its threads.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut found = Vec::new();
    for task in tasks.flatten() {
        let list = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(list.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    found.sort_unstable();
    found
}

fn gpu_files(pid: u32) -> Vec<u32> {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let number = |entry: fs::DirEntry| {
        let target = fs::read_link(entry.path()).ok()?;
        target.to_str()?.strip_prefix("/dev/nvidia")?.parse::<u32>().ok()
    };
    let found: BTreeSet<u32> = files.flatten().filter_map(number).collect();
    found.into_iter().collect()
}

pub(crate) fn environment(pid: u32) -> BTreeMap<String, String> {
    variables_of(pid, |name| {
        ENVIRONMENT.contains(&name) || ENVIRONMENT_FAMILIES.iter().any(|family| name.starts_with(family))
    })
}

/// Those of a process's variables that are `wanted`, as they were when it started; none where it may not be looked into.
pub fn variables_of(pid: u32, wanted: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.split('\0')
        .filter_map(|entry| entry.split_once('='))
        .filter(|(name, _)| wanted(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

pub(crate) fn maps_torch(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains("/libtorch_cpu.so"))
}
