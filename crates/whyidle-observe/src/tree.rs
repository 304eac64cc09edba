//! A program's processes: which one drives a GPU, which ones load data for it, which one only launched
//! it. And the training programs of this machine.

mod read;
mod roles;

use std::collections::{BTreeMap, BTreeSet};

use crate::torch::Software;

pub use read::variables_of;
pub(crate) use read::{children, environment, maps_torch, member};
pub use roles::{Role, Shown};

/// No program has more processes than are looked at here.
const MOST: usize = 4_096;

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

#[cfg(test)]
mod tests;
