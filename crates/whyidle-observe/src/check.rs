//! The quick look: settings of the machine and of a program that are known to cost speed, each with a state.
//!
//! Every check is a fact with an id; the reasons are worded by the report. What cannot be read is left out, never
//! guessed.

use std::fs;
use std::path::Path;

use crate::gpu::{Card, Gpus};
use crate::permission::stack_permission;
use crate::tree::{Member, Role, Tree};

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// As it should be.
    Ok,
    /// Worth a look: it costs speed in some programs.
    Suspect,
    /// Costs speed, or breaks the program.
    Bad,
}

/// A check with what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// `look-<id>` is its sentence; `look-<id>-ok`, where that differs.
    pub id: &'static str,
    /// How it came out.
    pub state: State,
    /// What was found, by the names of the sentence's placeholders.
    pub found: Vec<(&'static str, String)>,
}

impl Check {
    fn new(id: &'static str, state: State, found: &[(&'static str, &dyn ToString)]) -> Self {
        Self { id, state, found: found.iter().map(|(name, value)| (*name, value.to_string())).collect() }
    }
}

/// Below this much room, loader workers that pass tensors on through shared memory fail.
const SMALL_SHM: u64 = 1 << 30;
/// Loader workers hold a file per tensor on its way.
const FEW_FILES: u64 = 4_096;

/// Checks the machine and, where one is given, the program.
#[must_use]
pub fn checks(tree: Option<&Tree>) -> Vec<Check> {
    let mut found = Vec::new();
    let driver = tree.and_then(|tree| tree.drivers().next());
    let cards = match Gpus::open() {
        Ok(gpus) => {
            let (version, cuda) = (gpus.driver().unwrap_or_default(), gpus.cuda().unwrap_or_default());
            found.push(versions(&version, &cuda, driver));
            gpus.cards()
        }
        Err(why) => {
            found.push(Check::new("look-no-driver", State::Bad, &[("reason", &why.code)]));
            Vec::new()
        }
    };
    cards.iter().for_each(|card| found.extend(of_card(card)));
    found.extend(shared_memory());
    found.extend(memory());
    if let (Some(tree), Some(driver)) = (tree, driver) {
        found.extend(of_program(tree, driver));
    }
    found.sort_by_key(|check| std::cmp::Reverse(check.state));
    found
}

fn versions(version: &str, cuda: &str, driver: Option<&Member>) -> Check {
    let built = driver.and_then(|driver| driver.software.cuda.clone());
    let major = |text: &str| text.split('.').next().and_then(|major| major.parse::<u32>().ok());
    match (driver, built) {
        (Some(driver), None) if driver.software.has_torch && !driver.software.has_torch_cuda => Check::new(
            "look-cpu-build",
            State::Bad,
            &[("torch", &driver.software.torch.clone().unwrap_or_default())],
        ),
        (_, Some(built)) if major(&built) > major(cuda) => Check::new(
            "look-cuda-older",
            State::Bad,
            &[("driver", &version), ("cuda", &cuda), ("built", &built)],
        ),
        (_, Some(built)) => {
            Check::new("look-cuda", State::Ok, &[("driver", &version), ("cuda", &cuda), ("built", &built)])
        }
        _ => Check::new("look-driver", State::Ok, &[("driver", &version), ("cuda", &cuda)]),
    }
}

fn of_card(card: &Card) -> Vec<Check> {
    let mut found = Vec::new();
    if let (Some(limit), Some(default)) = (card.power_limit_mw, card.power_default_mw) {
        let state = if limit < default { State::Suspect } else { State::Ok };
        let id = if limit < default { "look-power-limited" } else { "look-power" };
        let watt = |mw: u32| (mw + 500) / 1_000;
        found.push(Check::new(
            id,
            state,
            &[("gpu", &card.index), ("limit", &watt(limit)), ("default", &watt(default))],
        ));
    }
    if let (Some(now), Some(most)) = (card.pcie, card.pcie_most) {
        let text = |(generation, width): (u32, u32)| format!("{generation}.0 x{width}");
        // An idle card may drop its generation; a width below the slot's stays.
        let narrow = now.1 < most.1;
        let id = if narrow { "look-pcie-narrow" } else { "look-pcie" };
        let state = if narrow { State::Suspect } else { State::Ok };
        found.push(Check::new(
            id,
            state,
            &[("gpu", &card.index), ("now", &text(now)), ("most", &text(most))],
        ));
    }
    if card.processes.len() > 1 {
        let pids: Vec<String> = card.processes.iter().map(|(pid, _)| pid.to_string()).collect();
        found.push(Check::new(
            "look-shared-card",
            State::Suspect,
            &[("gpu", &card.index), ("count", &card.processes.len()), ("pids", &pids.join(", "))],
        ));
    }
    found
}

fn shared_memory() -> Option<Check> {
    let room = rustix::fs::statvfs("/dev/shm").ok()?;
    let (all, free) = (room.f_blocks * room.f_frsize, room.f_bavail * room.f_frsize);
    let (id, state) = match (all, free) {
        (all, _) if all < SMALL_SHM => ("look-shm-small", State::Bad),
        (_, free) if free < SMALL_SHM => ("look-shm-full", State::Suspect),
        _ => ("look-shm", State::Ok),
    };
    Some(Check::new(id, state, &[("all", &gib(all)), ("free", &gib(free))]))
}

fn memory() -> Option<Check> {
    let memory = procfs::Current::current().ok().map(|memory: procfs::Meminfo| memory)?;
    let (free, all) = (memory.mem_available?, memory.mem_total);
    let low = free < all / 10;
    let (id, state) = if low { ("look-memory-low", State::Suspect) } else { ("look-memory", State::Ok) };
    Some(Check::new(id, state, &[("free", &gib(free)), ("all", &gib(all))]))
}

fn gib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 30))
}

fn of_program(tree: &Tree, driver: &Member) -> Vec<Check> {
    let mut found = Vec::new();
    let workers = tree.workers(driver.pid).count();
    let ranks = tree.drivers().count().max(1);
    if let Some(cores) = cores(driver.pid) {
        let threads = driver.number("OMP_NUM_THREADS").unwrap_or(1).max(1) as usize;
        let wanted = ranks * (1 + workers * threads);
        let (id, state) =
            if wanted > cores { ("look-cores-few", State::Suspect) } else { ("look-cores", State::Ok) };
        found.push(Check::new(id, state, &[("cores", &cores), ("ranks", &ranks), ("workers", &workers)]));
    }
    if let Some(files) = open_files_limit(driver.pid) {
        let few = files < FEW_FILES;
        let (id, state) = if few { ("look-files-few", State::Suspect) } else { ("look-files", State::Ok) };
        found.push(Check::new(id, state, &[("limit", &files)]));
    }
    if let Some((place, kind)) = storage(driver.pid) {
        let far = ["nfs", "cifs", "smb", "fuse", "9p", "ceph", "lustre", "beegfs", "gpfs"];
        let is_far = far.iter().any(|part| kind.starts_with(part));
        let (id, state) =
            if is_far { ("look-storage-far", State::Suspect) } else { ("look-storage", State::Ok) };
        found.push(Check::new(id, state, &[("place", &place), ("kind", &kind)]));
    }
    found.extend(one_card_each(tree));
    for (name, value) in &driver.environment {
        if let Some((id, state)) = setting(name, value) {
            found.push(Check::new(id, state, &[("name", name), ("value", value)]));
        }
    }
    match stack_permission(driver.pid) {
        None => found.push(Check::new("look-stacks", State::Ok, &[])),
        Some(why) => {
            found.push(Check::new(
                "look-stacks-not",
                State::Suspect,
                &[("reason", &why.code), ("detail", &why.detail)],
            ));
        }
    }
    found
}

/// Settings in the environment that are known to cost speed.
fn setting(name: &str, value: &str) -> Option<(&'static str, State)> {
    let on = !matches!(value.trim(), "" | "0" | "false" | "False");
    match name {
        "CUDA_LAUNCH_BLOCKING" if on => Some(("look-env-blocking", State::Bad)),
        "PYTORCH_NO_CUDA_MEMORY_CACHING" if on => Some(("look-env-no-caching", State::Bad)),
        "CUDA_VISIBLE_DEVICES" if matches!(value.trim(), "" | "-1") => Some(("look-env-no-gpu", State::Bad)),
        "CUDA_DEVICE_MAX_CONNECTIONS" if value.trim() == "1" => {
            Some(("look-env-connections", State::Suspect))
        }
        "NCCL_P2P_DISABLE" | "NCCL_SHM_DISABLE" | "NCCL_IB_DISABLE" if on => {
            Some(("look-env-nccl", State::Suspect))
        }
        "NCCL_DEBUG" if matches!(value.trim(), "INFO" | "TRACE") => {
            Some(("look-env-nccl-debug", State::Suspect))
        }
        _ => None,
    }
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

/// Cores that a process may use.
fn cores(pid: u32) -> Option<usize> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    list.trim()
        .split(',')
        .map(|part| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            Some(to.trim().parse::<usize>().ok()?.checked_sub(from.trim().parse().ok()?)? + 1)
        })
        .sum()
}

fn open_files_limit(pid: u32) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Where the program runs, and the type of the file system there.
fn storage(pid: u32) -> Option<(String, String)> {
    let place = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo")).ok()?;
    let mount = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let point = left.split(' ').nth(4)?.to_owned();
        place
            .starts_with(Path::new(&point))
            .then(|| (point.len(), right.split(' ').next().unwrap_or("").to_owned()))
    };
    let (_, kind) = mounts.lines().filter_map(mount).max_by_key(|(length, _)| *length)?;
    Some((place.display().to_string(), kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_settings_are_judged_by_their_value() {
        assert_eq!(setting("CUDA_LAUNCH_BLOCKING", "1"), Some(("look-env-blocking", State::Bad)));
        assert_eq!(setting("CUDA_LAUNCH_BLOCKING", "0"), None);
        assert_eq!(setting("CUDA_VISIBLE_DEVICES", "0,1"), None);
        assert_eq!(setting("CUDA_VISIBLE_DEVICES", ""), Some(("look-env-no-gpu", State::Bad)));
        assert_eq!(setting("NCCL_P2P_DISABLE", "1"), Some(("look-env-nccl", State::Suspect)));
    }

    #[test]
    fn the_own_process_has_cores_files_and_storage() {
        let own = std::process::id();
        assert!(cores(own).is_some_and(|cores| cores > 0));
        assert!(open_files_limit(own).is_some());
        assert!(storage(own).is_some_and(|(place, kind)| !place.is_empty() && !kind.is_empty()));
        assert!(checks(None).iter().any(|check| check.id.starts_with("look-shm")));
    }

    #[test]
    fn a_card_that_is_held_back_is_suspect() {
        let card = Card {
            power_limit_mw: Some(500_000),
            power_default_mw: Some(700_000),
            pcie: Some((5, 8)),
            pcie_most: Some((5, 16)),
            processes: vec![(1, None), (2, None)],
            ..Card::default()
        };
        let found: Vec<(&str, State)> = of_card(&card).iter().map(|check| (check.id, check.state)).collect();
        let suspect = State::Suspect;
        let expected =
            [("look-power-limited", suspect), ("look-pcie-narrow", suspect), ("look-shared-card", suspect)];
        assert_eq!(found, expected);
    }
}
