//! The machine or the container: access to GPUs, shared memory, memory.

use std::path::Path;

use super::limits::memory_limit;
use super::{Check, State, gib};
use crate::Missing;

/// Below this much room, loader workers that pass tensors on through shared memory fail.
const SMALL_SHM: u64 = 1 << 30;

/// Why no GPU can be used: there is none, or the container was not given one.
pub(super) fn no_gpus(why: &Missing) -> Check {
    let module = Path::new("/proc/driver/nvidia/version").exists();
    let devices = Path::new("/dev/nvidiactl").exists();
    let (id, state) = match (module, devices, is_container()) {
        // The kernel's driver is seen from inside, the devices are not.
        (true, false, _) => ("look-gpu-not-given", State::Bad),
        (true, true, _) => ("look-no-library", State::Bad),
        (false, _, true) => ("look-no-driver-container", State::Bad),
        (false, _, false) => ("look-no-driver", State::Bad),
    };
    Check::new(id, state, &[("reason", &why.code)])
}

fn is_container() -> bool {
    ["/.dockerenv", "/run/.containerenv"].iter().any(|path| Path::new(path).exists())
        || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
}

pub(super) fn shared_memory() -> Option<Check> {
    let room = rustix::fs::statvfs("/dev/shm").ok()?;
    let (all, free) = (room.f_blocks * room.f_frsize, room.f_bavail * room.f_frsize);
    let (id, state) = match (all, free) {
        (all, _) if all < SMALL_SHM => ("look-shm-small", State::Bad),
        (_, free) if free < SMALL_SHM => ("look-shm-full", State::Suspect),
        _ => ("look-shm", State::Ok),
    };
    Some(Check::new(id, state, &[("all", &gib(all)), ("free", &gib(free))]))
}

/// Memory of the machine or, where that is less, of the container that `pid` runs in.
pub(super) fn memory(pid: Option<u32>) -> Option<Check> {
    let memory = procfs::Current::current().ok().map(|memory: procfs::Meminfo| memory)?;
    let (mut free, mut all) = (memory.mem_available?, memory.mem_total);
    if let Some((used, limit)) =
        memory_limit(pid.unwrap_or_else(std::process::id)).filter(|(_, limit)| *limit < all)
    {
        (free, all) = (limit.saturating_sub(used).min(free), limit);
    }
    let values: [(&'static str, &dyn ToString); 2] = [("free", &gib(free)), ("all", &gib(all))];
    Some(Check::suspect_if(free < all / 10, ["look-memory-low", "look-memory"], &values))
}
