//! A training program: which GPUs it sees, cores and limits, storage, settings.

use std::fs;
use std::path::Path;

use super::limits::{cores, limit};
use super::settings::{of_source, setting};
use super::{Check, State, gib};
use crate::permission::stack_permission;
use crate::tree::{Member, Role, Tree};

/// Loader workers hold a file per tensor on its way.
const FEW_FILES: u64 = 4_096;
/// Every worker and every thread of a pool counts against this limit.
const FEW_PROCESSES: u64 = 4_096;
/// RDMA pins buffers of this size and more.
const FEW_LOCKED: u64 = 64 << 20;
/// File systems that are reached over a network.
const FAR: [&str; 9] = ["nfs", "cifs", "smb", "fuse", "9p", "ceph", "lustre", "beegfs", "gpfs"];

/// `cards`: how many GPUs the machine has, where known.
pub(super) fn of_program(tree: &Tree, driver: &Member, cards: Option<usize>) -> Vec<Check> {
    let mut found = Vec::new();
    found.extend(visible(driver, cards));
    found.extend(of_cores(tree, driver));
    if let Some(files) = limit(driver.pid, "Max open files") {
        found.push(Check::suspect_if(
            files < FEW_FILES,
            ["look-files-few", "look-files"],
            &[("limit", &files)],
        ));
    }
    if let Some(processes) = limit(driver.pid, "Max processes").filter(|&processes| processes < FEW_PROCESSES)
    {
        found.push(Check::new("look-processes-few", State::Suspect, &[("limit", &processes)]));
    }
    let rdma = Path::new("/sys/class/infiniband").exists();
    if let Some(locked) = limit(driver.pid, "Max locked memory").filter(|&locked| rdma && locked < FEW_LOCKED)
    {
        found.push(Check::new("look-locked-few", State::Suspect, &[("limit", &(locked >> 10))]));
    }
    found.extend(of_storage(driver.pid));
    found.extend(one_card_each(tree));
    for (name, value) in &driver.environment {
        if let Some((id, state)) = setting(name, value) {
            found.push(Check::new(id, state, &[("name", name), ("value", value)]));
        }
    }
    found.extend(of_source(driver));
    match stack_permission(driver.pid) {
        None => found.push(Check::new("look-stacks", State::Ok, &[])),
        Some(why) => {
            let values: [(&'static str, &dyn ToString); 2] = [("reason", &why.code), ("detail", &why.detail)];
            found.push(Check::new("look-stacks-not", State::Suspect, &values));
        }
    }
    found
}

/// `CUDA_VISIBLE_DEVICES` against the cards that are there: the first number that is not ends the list for CUDA.
fn visible(driver: &Member, cards: Option<usize>) -> Option<Check> {
    let value = driver.environment.get("CUDA_VISIBLE_DEVICES")?.trim();
    let numbers: Vec<u32> = value.split(',').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
    let cards = cards?;
    let missing = numbers.iter().find(|&&number| number as usize >= cards);
    let values: [(&'static str, &dyn ToString); 3] =
        [("value", &value), ("count", &cards), ("first", &missing.or(numbers.first())?)];
    Some(match missing {
        Some(_) => Check::new("look-visible-missing", State::Bad, &values),
        None => Check::new("look-visible", State::Ok, &values),
    })
}

/// Cores against ranks, workers and threads.
fn of_cores(tree: &Tree, driver: &Member) -> Vec<Check> {
    let Some(cores) = cores(driver.pid) else { return Vec::new() };
    let workers = tree.workers(driver.pid).count();
    let ranks = tree.drivers().count().max(driver.number("LOCAL_WORLD_SIZE").unwrap_or(1) as usize);
    // A loader worker runs one thread, whatever the variable says: PyTorch sees to that.
    let values: [(&'static str, &dyn ToString); 3] =
        [("cores", &cores), ("ranks", &ranks), ("workers", &workers)];
    let mut found =
        vec![Check::suspect_if(ranks * (1 + workers) > cores, ["look-cores-few", "look-cores"], &values)];
    let threads = driver.number("OMP_NUM_THREADS").map(|threads| threads as usize);
    match threads {
        Some(threads) if ranks * threads > cores => {
            let values: [(&'static str, &dyn ToString); 3] =
                [("threads", &threads), ("ranks", &ranks), ("cores", &cores)];
            found.push(Check::new("look-threads-many", State::Suspect, &values));
        }
        // Without it every rank starts as many threads as there are cores.
        None if ranks > 1 => {
            let values: [(&'static str, &dyn ToString); 2] = [("ranks", &ranks), ("cores", &cores)];
            found.push(Check::new("look-threads-unset", State::Suspect, &values));
        }
        _ => {}
    }
    found
}

/// Ranks of one host that drive the same card.
fn one_card_each(tree: &Tree) -> Option<Check> {
    let cards: Vec<u32> = tree
        .members
        .iter()
        .filter(|member| member.role == Role::Driver)
        .filter_map(|member| match &member.gpu_files[..] {
            [only] => Some(*only),
            _ => None,
        })
        .collect();
    let mut distinct = cards.clone();
    distinct.sort_unstable();
    distinct.dedup();
    (distinct.len() < cards.len()).then(|| {
        Check::new("look-ranks-share", State::Bad, &[("ranks", &cards.len()), ("cards", &distinct.len())])
    })
}

/// A mounted file system.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    kind: String,
    /// Numbers of its device, `8:1`.
    device: String,
}

/// Where the program runs: type of the file system, whether a disk turns there, what room is left.
fn of_storage(pid: u32) -> Vec<Check> {
    let Ok(place) = fs::read_link(format!("/proc/{pid}/cwd")) else { return Vec::new() };
    let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
    let Some(mount) = mount_of(&mounts, &place) else { return Vec::new() };
    let shown = place.display().to_string();
    let values: [(&'static str, &dyn ToString); 2] = [("place", &shown), ("kind", &mount.kind)];
    let mut found = vec![match () {
        () if FAR.iter().any(|part| mount.kind.starts_with(part)) => {
            Check::new("look-storage-far", State::Suspect, &values)
        }
        () if turns(&mount.device) => Check::new("look-storage-turns", State::Suspect, &values),
        () => Check::new("look-storage", State::Ok, &values),
    }];
    if let Ok(room) = rustix::fs::statvfs(format!("/proc/{pid}/cwd").as_str()) {
        let (all, free) = (room.f_blocks * room.f_frsize, room.f_bavail * room.f_frsize);
        if free < all / 20 && all > 0 {
            found.push(Check::new(
                "look-storage-full",
                State::Suspect,
                &[("place", &shown), ("free", &gib(free))],
            ));
        }
    }
    found
}

/// The innermost mount that holds `place`.
fn mount_of(mounts: &str, place: &Path) -> Option<Mount> {
    let mount = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let mut fields = left.split(' ').skip(2);
        let device = fields.next()?.to_owned();
        let point = fields.nth(1)?.to_owned();
        place
            .starts_with(Path::new(&point))
            .then(|| (point.len(), Mount { kind: right.split(' ').next().unwrap_or("").to_owned(), device }))
    };
    mounts.lines().filter_map(mount).max_by_key(|(length, _)| *length).map(|(_, mount)| mount)
}

/// A real disk with moving parts: virtual machines call any disk of theirs one that turns.
fn turns(device: &str) -> bool {
    let block = format!("/sys/dev/block/{device}");
    let is_virtual = fs::read_link(&block).is_ok_and(|path| path.to_string_lossy().contains("virtio"));
    // A partition's disk is the folder above.
    let says = |path: String| fs::read_to_string(path).is_ok_and(|text| text.trim() == "1");
    !is_virtual && (says(format!("{block}/queue/rotational")) || says(format!("{block}/../queue/rotational")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::torch::Software;

    fn member(environment: &[(&str, &str)]) -> Member {
        Member {
            pid: std::process::id(),
            ppid: 1,
            started: 0,
            name: "python3".to_owned(),
            command: Vec::new(),
            software: Software::default(),
            gpu_files: Vec::new(),
            environment: environment
                .iter()
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
                .collect::<BTreeMap<_, _>>(),
            cpu_s: 0.0,
            awaits_child: false,
            role: Role::Driver,
        }
    }

    #[test]
    fn visible_devices_must_be_there() {
        let id =
            |value, cards| visible(&member(&[("CUDA_VISIBLE_DEVICES", value)]), cards).map(|check| check.id);
        assert_eq!(id("0,1", Some(2)), Some("look-visible"));
        assert_eq!(id("0,2", Some(2)), Some("look-visible-missing"));
        assert_eq!((id("GPU-1234", Some(2)), id("0", None), id("", Some(2))), (None, None, None));
    }

    #[test]
    fn threads_of_many_ranks_are_counted() {
        let ids = |environment: &[(&str, &str)]| {
            let driver = member(environment);
            let tree = Tree { members: vec![driver.clone()] };
            of_cores(&tree, &driver).iter().map(|check| check.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&[("OMP_NUM_THREADS", "1")]), ["look-cores"]);
        assert_eq!(ids(&[("OMP_NUM_THREADS", "100000")]), ["look-cores", "look-threads-many"]);
        assert_eq!(ids(&[("LOCAL_WORLD_SIZE", "100000")]), ["look-cores-few", "look-threads-unset"]);
    }

    #[test]
    fn the_innermost_mount_holds_a_place() {
        let mounts =
            "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n22 21 0:40 / /data rw,nosuid shared:1 - nfs4 srv:/x rw\n";
        let kind = |place: &str| mount_of(mounts, Path::new(place)).map(|mount| (mount.kind, mount.device));
        assert_eq!(kind("/data/imagenet"), Some(("nfs4".to_owned(), "0:40".to_owned())));
        assert_eq!(kind("/home/user"), Some(("ext4".to_owned(), "8:1".to_owned())));
        assert_eq!(mount_of("", Path::new("/")), None);
    }
}
