//! Which process of a program does what.

use std::collections::{BTreeMap, BTreeSet};

use super::{Member, Tree};

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

impl Tree {
    pub(super) fn assign_roles(&mut self, shown: &Shown) {
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

fn is_loader_by_name(member: &Member) -> bool {
    member.name.starts_with("pt_data_worker") || member.name.starts_with("pt_data_pin")
}
