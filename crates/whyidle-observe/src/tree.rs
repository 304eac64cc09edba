//! A program's processes: which one drives a GPU, which ones load data for it, which one only launched
//! it. And the training programs of this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use procfs::process::Process;

use crate::torch::{Software, software};

/// No program has more processes than are looked at here.
const MOST: usize = 4_096;

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

/// What a process does in its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Runs the training loop.
    Driver,
    /// Prepares data for a driver.
    Worker,
    /// Started the ranks, as `torchrun` does.
    Launcher,
    /// Anything else: shells, compilers, resource trackers.
    Other,
}

impl Role {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Driver => "driver",
            Self::Worker => "worker",
            Self::Launcher => "launcher",
            Self::Other => "other",
        }
    }
}

/// A process of the program.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its id.
    pub pid: u32,
    /// Its parent.
    pub ppid: u32,
    /// When it started, in ticks since boot: with the id it names one process for good.
    pub started: u64,
    /// Short name, as the system has it.
    pub name: String,
    /// Command line.
    pub command: Vec<String>,
    /// What it has loaded.
    pub software: Software,
    /// Physical numbers of the GPUs whose device files it holds open.
    pub gpu_files: Vec<u32>,
    /// The part of its environment that bears on speed.
    pub environment: BTreeMap<String, String>,
    /// CPU seconds used so far.
    pub cpu_s: f64,
    /// Its main thread waits for a child to end.
    pub awaits_child: bool,
    /// What it does.
    pub role: Role,
}

impl Member {
    /// A number in its environment, as `RANK`.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u32> {
        self.environment.get(name)?.trim().parse().ok()
    }
}

/// What stacks have shown of processes. It outweighs what follows from names, files and CPU time. A process is named
/// by its id and its start.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Seen in the loop of a loader worker.
    pub loads: BTreeSet<(u32, u64)>,
    /// Seen in a backward pass or an optimizer.
    pub trains: BTreeSet<(u32, u64)>,
}

impl Shown {
    fn loads(&self, member: &Member) -> bool {
        is_loader_by_name(member) || self.loads.contains(&(member.pid, member.started))
    }

    fn trains(&self, member: &Member) -> bool {
        self.trains.contains(&(member.pid, member.started))
    }
}

/// The processes of a program, the one asked for first.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Its processes, parents before their children.
    pub members: Vec<Member>,
}

impl Tree {
    /// The program below and including the given processes.
    #[must_use]
    pub fn of(roots: &[u32]) -> Self {
        Self::with(roots, &Shown::default())
    }

    /// As [`Tree::of`], with what stacks have shown so far.
    #[must_use]
    pub fn with(roots: &[u32], shown: &Shown) -> Self {
        let mut members = Vec::new();
        let mut queue: Vec<u32> = roots.to_vec();
        let mut known: BTreeSet<u32> = BTreeSet::new();
        let own = std::process::id();
        let mut at = 0;
        while at < queue.len() && members.len() < MOST {
            let pid = queue[at];
            at += 1;
            if pid == own || !known.insert(pid) {
                continue;
            }
            if let Some(member) = member(pid) {
                queue.extend(children(pid));
                members.push(member);
            }
        }
        Self::judged(members, shown)
    }

    /// These processes, with the role of each.
    pub(crate) fn judged(members: Vec<Member>, shown: &Shown) -> Self {
        let mut tree = Self { members };
        tree.assign_roles(shown);
        tree
    }

    /// The processes that run a training loop.
    pub fn drivers(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.role == Role::Driver)
    }

    /// The processes that load data for `driver`.
    pub fn workers(&self, driver: u32) -> impl Iterator<Item = &Member> {
        self.members
            .iter()
            .filter(move |member| member.role == Role::Worker && self.ancestry(member.pid).contains(&driver))
    }

    /// The parents of `pid` inside the program, the nearest first.
    #[must_use]
    pub fn ancestry(&self, pid: u32) -> Vec<u32> {
        let mut found = Vec::new();
        let mut at = pid;
        while let Some(member) = self.members.iter().find(|member| member.pid == at) {
            if found.contains(&member.ppid) || !self.members.iter().any(|m| m.pid == member.ppid) {
                break;
            }
            found.push(member.ppid);
            at = member.ppid;
        }
        found
    }

    fn assign_roles(&mut self, shown: &Shown) {
        let drivers: BTreeSet<u32> = choose_drivers(self, shown);
        let launches: Vec<u32> = self
            .members
            .iter()
            .filter(|member| !drivers.contains(&member.pid))
            .filter(|member| drivers.iter().any(|driver| self.ancestry(*driver).contains(&member.pid)))
            .map(|member| member.pid)
            .collect();
        let below: BTreeSet<u32> = self
            .members
            .iter()
            .filter(|member| self.ancestry(member.pid).iter().any(|parent| drivers.contains(parent)))
            .map(|member| member.pid)
            .collect();
        for member in &mut self.members {
            member.role = if drivers.contains(&member.pid) {
                Role::Driver
            } else if below.contains(&member.pid) && member.software.is_python && !is_helper(member) {
                Role::Worker
            } else if launches.contains(&member.pid) && member.software.has_torch {
                Role::Launcher
            } else {
                Role::Other
            };
        }
    }
}

/// Python processes beside a training loop that neither train nor load data.
fn is_helper(member: &Member) -> bool {
    let line = member.command.join(" ");
    ["resource_tracker", "semaphore_tracker", "compile_worker", "forkserver"]
        .iter()
        .any(|word| line.contains(word))
}

/// A driver holds a GPU, or on a machine without one has PyTorch loaded. Processes that fork from each other without
/// a new program are a family with one driver: those that stacks have shown to train; else, with a GPU, the topmost,
/// whose loaders inherit its files; else the topmost that does not merely wait for another of them. A loader worker
/// never is one, however much CPU time it uses: it has its driver's command line, and a name of its own only a while
/// after its birth, if at all.
fn choose_drivers(tree: &Tree, shown: &Shown) -> BTreeSet<u32> {
    let candidates: Vec<&Member> =
        tree.members.iter().filter(|m| m.software.has_torch && !shown.loads(m) && !is_helper(m)).collect();
    let any_gpu = candidates.iter().any(|member| !member.gpu_files.is_empty());
    let any_rank = candidates.iter().any(|member| member.number("RANK").is_some());
    let eligible: Vec<&Member> = candidates
        .into_iter()
        .filter(|member| !any_gpu || !member.gpu_files.is_empty())
        .filter(|member| !any_rank || member.number("RANK").is_some())
        .collect();
    let mut families: BTreeMap<u32, Vec<&Member>> = BTreeMap::new();
    for member in &eligible {
        let mut head = member.pid;
        for parent in tree.ancestry(member.pid) {
            let same = eligible.iter().any(|other| other.pid == parent && other.command == member.command);
            if !same {
                break;
            }
            head = parent;
        }
        families.entry(head).or_default().push(member);
    }
    let mut chosen = BTreeSet::new();
    for (head, family) in families {
        let trains: Vec<u32> = family.iter().filter(|m| shown.trains(m)).map(|m| m.pid).collect();
        if !trains.is_empty() {
            chosen.extend(trains);
        } else if any_gpu {
            chosen.insert(head);
        } else {
            chosen.insert(at_work(tree, &family, head, shown));
        }
    }
    chosen
}

/// Who of a family without a GPU trains: from its head downwards, past whoever waits for a child to end and whoever
/// has a child with loaders of its own.
fn at_work(tree: &Tree, family: &[&Member], head: u32, shown: &Shown) -> u32 {
    let has_loaders = |pid: u32| tree.members.iter().any(|m| m.ppid == pid && shown.loads(m));
    let mut at = head;
    loop {
        let waits = family.iter().any(|member| member.pid == at && member.awaits_child);
        let children = family.iter().filter(|member| member.ppid == at && member.pid != at);
        let below = children.filter(|child| waits || (!has_loaders(at) && has_loaders(child.pid)));
        match below.max_by_key(|child| (!child.awaits_child, (child.cpu_s * 100.0) as u64)) {
            Some(child) => at = child.pid,
            None => return at,
        }
    }
}

/// The place in the kernel where a process waits for a child to end. Others end alike: `futex_do_wait` is a lock.
fn is_wait_for_child(place: &str) -> bool {
    place.split('.').next() == Some("do_wait")
}

fn is_loader_by_name(member: &Member) -> bool {
    member.name.starts_with("pt_data_worker") || member.name.starts_with("pt_data_pin")
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

/// The training programs of this machine, one entry per driver, with the processes above it that belong to it.
#[must_use]
pub fn training_programs() -> Vec<Member> {
    let Ok(processes) = procfs::process::all_processes() else { return Vec::new() };
    let own = std::process::id();
    let pids: Vec<u32> = processes
        .flatten()
        .filter_map(|process| u32::try_from(process.pid).ok())
        .filter(|&pid| pid != own && maps_torch(pid))
        .collect();
    let tree = Tree::judged(pids.into_iter().filter_map(member).collect(), &Shown::default());
    tree.members.into_iter().filter(|member| member.role == Role::Driver).collect()
}

pub(crate) fn maps_torch(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains("/libtorch_cpu.so"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, ppid: u32, name: &str, command: &str, gpus: &[u32], cpu_s: f64) -> Member {
        let software = Software { is_python: true, has_torch: true, ..Software::default() };
        let command = command.split(' ').map(str::to_owned).collect();
        let environment = BTreeMap::new();
        let (gpu_files, name) = (gpus.to_vec(), name.to_owned());
        Member {
            pid,
            ppid,
            started: 0,
            name,
            command,
            software,
            gpu_files,
            environment,
            cpu_s,
            awaits_child: false,
            role: Role::Other,
        }
    }

    fn roles(members: Vec<Member>) -> Vec<(u32, &'static str)> {
        roles_shown(members, &Shown::default())
    }

    fn roles_shown(mut members: Vec<Member>, shown: &Shown) -> Vec<(u32, &'static str)> {
        members.sort_by_key(|member| member.pid);
        let mut tree = Tree { members };
        tree.assign_roles(shown);
        tree.members.iter().map(|member| (member.pid, member.role.id())).collect()
    }

    #[test]
    fn loaders_inherit_their_drivers_files() {
        let found = roles(vec![
            process(1, 0, "python3", "python3 train.py", &[0], 40.0),
            process(2, 1, "pt_data_worker", "python3 train.py", &[0], 90.0),
            process(3, 1, "python3", "python3 train.py", &[0], 80.0),
            process(
                4,
                1,
                "python3",
                "python3 -c from multiprocessing.resource_tracker import main",
                &[],
                0.0,
            ),
        ]);
        assert_eq!(found, [(1, "driver"), (2, "worker"), (3, "worker"), (4, "other")]);
    }

    #[test]
    fn a_launcher_drives_nothing() {
        let mut ranks = vec![
            process(1, 0, "torchrun", "python3 torchrun train.py", &[], 3.0),
            process(2, 1, "python3", "python3 train.py", &[0, 1], 9.0),
            process(3, 1, "python3", "python3 train.py", &[0, 1], 9.0),
            process(4, 3, "pt_data_worker", "python3 train.py", &[0, 1], 9.0),
        ];
        for (at, rank) in [(1, "0"), (2, "1"), (3, "1")] {
            ranks[at].environment.insert("RANK".to_owned(), rank.to_owned());
        }
        assert_eq!(roles(ranks), [(1, "launcher"), (2, "driver"), (3, "driver"), (4, "worker")]);
    }

    #[test]
    fn a_fork_that_holds_the_gpu_drives_it() {
        let found = roles(vec![
            process(1, 0, "python3", "python3 train.py", &[], 3.0),
            process(2, 1, "python3", "python3 train.py", &[0], 9.0),
        ]);
        assert_eq!(found, [(1, "launcher"), (2, "driver")]);
        let without_gpu = roles(vec![
            process(1, 0, "python3", "python3 train.py", &[], 3.0),
            process(2, 1, "python3", "python3 train.py", &[], 9.0),
            process(3, 2, "pt_data_worker", "python3 train.py", &[], 20.0),
        ]);
        assert_eq!(without_gpu, [(1, "launcher"), (2, "driver"), (3, "worker")]);
        let mut prepared_long = vec![
            process(1, 0, "python3", "python3 train.py", &[], 90.0),
            process(2, 1, "python3", "python3 train.py", &[], 9.0),
        ];
        prepared_long[0].awaits_child = true;
        assert_eq!(roles(prepared_long), [(1, "launcher"), (2, "driver")]);
    }

    #[test]
    fn a_fresh_fork_of_the_driver_is_no_driver_while_it_has_no_name_yet() {
        // The driver starts the thread that feeds its workers: its main thread waits for a lock.
        assert!(is_wait_for_child("do_wait") && is_wait_for_child("do_wait.constprop.0"));
        assert!(!is_wait_for_child("futex_do_wait") && !is_wait_for_child("do_wait_intr_irq"));
        let fresh = |cpu_s| {
            vec![
                process(1, 0, "python", "python train.py", &[], 3.0),
                process(2, 1, "python", "python train.py", &[], cpu_s),
                process(3, 1, "python", "python train.py", &[], cpu_s),
            ]
        };
        let wanted = [(1, "driver"), (2, "worker"), (3, "worker")];
        assert_eq!(roles(fresh(0.0)), wanted);
        // Loaders of older versions stay without a name, and work more than their driver.
        assert_eq!(roles(fresh(90.0)), wanted);
    }

    #[test]
    fn what_stacks_have_shown_decides() {
        let family = |awaits_child| {
            let mut all = vec![
                process(1, 0, "python", "python train.py", &[], 3.0),
                process(2, 1, "python", "python train.py", &[], 9.0),
            ];
            all[0].awaits_child = awaits_child;
            all
        };
        let loads = Shown { loads: [(2, 0)].into(), ..Shown::default() };
        assert_eq!(roles_shown(family(true), &loads), [(1, "driver"), (2, "worker")]);
        let trains = Shown { trains: [(2, 0)].into(), ..Shown::default() };
        assert_eq!(roles_shown(family(false), &trains), [(1, "launcher"), (2, "driver")]);
        // The number may have gone to another process.
        let before = Shown { trains: [(2, 7)].into(), ..Shown::default() };
        assert_eq!(roles_shown(family(false), &before), [(1, "driver"), (2, "worker")]);
    }

    #[test]
    fn two_ranks_on_one_card_are_two_drivers() {
        let found = roles(vec![
            process(1, 0, "bash", "bash run.sh", &[], 0.0),
            process(2, 1, "python3", "python3 a.py", &[0], 9.0),
            process(3, 1, "python3", "python3 b.py", &[0], 9.0),
        ]);
        assert_eq!(found[1..], [(2, "driver"), (3, "driver")]);
    }
}
