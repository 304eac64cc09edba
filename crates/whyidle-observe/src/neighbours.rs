//! Who else used the machine's cores while a program was measured. Estimated: the machine's busy time less that of the
//! program and of the watcher, and the names of the processes that used most of it and still live.

use std::collections::{BTreeMap, HashMap};

use procfs::CurrentSI;
use procfs::process::{Stat, all_processes};

use crate::clock::process_cpu;

/// Names that are given at most.
const MOST_NAMES: usize = 3;
/// A process that used less than this share of a core is not named.
const WORTH_A_NAME: f64 = 0.1;

/// What others used between two looks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Neighbours {
    /// Cores that others kept busy, on average.
    pub cores: f64,
    /// Names of the processes that used most, with the cores of all processes of that name.
    pub names: Vec<(String, f64)>,
}

/// A look at the machine.
#[derive(Clone, Debug)]
pub struct Look {
    at: std::time::Instant,
    /// Seconds in which any core was busy.
    busy: f64,
    own: f64,
    /// CPU seconds by process and start, with its name and group.
    processes: HashMap<(i32, u64), (f64, String, i32)>,
}

impl Look {
    /// Looks at the machine now.
    #[must_use]
    pub fn now() -> Option<Self> {
        let ticks = procfs::ticks_per_second().max(1) as f64;
        let total = procfs::KernelStats::current().ok()?.total;
        let busy =
            total.user + total.nice + total.system + total.irq.unwrap_or(0) + total.softirq.unwrap_or(0);
        let of = |stat: Stat| {
            let children = i64::max(0, stat.cutime) as u64 + i64::max(0, stat.cstime) as u64;
            let cpu = (stat.utime + stat.stime + children) as f64 / ticks;
            ((stat.pid, stat.starttime), (cpu, stat.comm, stat.pgrp))
        };
        let processes =
            all_processes().ok()?.flatten().filter_map(|process| process.stat().ok()).map(of).collect();
        let own = process_cpu().as_secs_f64();
        Some(Self { at: std::time::Instant::now(), busy: busy as f64 / ticks, own, processes })
    }

    /// What others used from `before` until this look. `group`: the program's process group, alive at either look.
    #[must_use]
    pub fn since(&self, before: &Self, group: u32) -> Neighbours {
        let seconds = self.at.duration_since(before.at).as_secs_f64().max(1e-3);
        let group = i32::try_from(group).unwrap_or(0);
        let own_pid = i32::try_from(std::process::id()).unwrap_or(0);
        let grown = |(key, (cpu, ..)): (&(i32, u64), &(f64, String, i32))| {
            (cpu - before.processes.get(key).map_or(0.0, |(before, ..)| *before)).max(0.0)
        };
        let mut program = 0.0;
        let mut by_name: BTreeMap<&str, f64> = BTreeMap::new();
        for entry in &self.processes {
            let (key, (_, name, its_group)) = entry;
            if *its_group == group {
                program += grown(entry);
            // A parent is given its children's time once they have ended: not counted twice for the watcher.
            } else if key.0 != own_pid {
                *by_name.entry(name).or_default() += grown(entry);
            }
        }
        let own = self.own - before.own;
        let cores = ((self.busy - before.busy - program - own) / seconds).max(0.0);
        let mut names: Vec<(String, f64)> =
            by_name.into_iter().map(|(name, cpu)| (name.to_owned(), (cpu / seconds).min(cores))).collect();
        names.retain(|(_, cores)| *cores >= WORTH_A_NAME);
        names.sort_by(|a, b| b.1.total_cmp(&a.1));
        names.truncate(MOST_NAMES);
        Neighbours { cores, names }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(after: std::time::Duration, base: std::time::Instant, busy: f64, cpu: [f64; 2]) -> Look {
        let processes =
            [((70, 1), (cpu[0], "python".to_owned(), 70)), ((80, 1), (cpu[1], "rustc".to_owned(), 9))];
        Look { at: base + after, busy, own: busy / 100.0, processes: processes.into_iter().collect() }
    }

    #[test]
    fn what_others_used_is_told_apart_from_the_programs() {
        let (base, second) = (std::time::Instant::now(), std::time::Duration::from_secs(1));
        let (before, after) =
            (look(second, base, 100.0, [5.0, 0.0]), look(11 * second, base, 120.0, [14.0, 8.0]));
        let found = after.since(&before, 70);
        // 20 busy seconds in ten: 9 of the program's, 0.2 of the watcher's.
        assert!((found.cores - 1.08).abs() < 1e-9, "{found:?}");
        assert_eq!(found.names.len(), 1);
        assert!(found.names[0].0 == "rustc" && (found.names[0].1 - 0.8).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn the_machine_can_be_looked_at() {
        let (Some(a), Some(b)) = (Look::now(), Look::now()) else { panic!("/proc is there") };
        assert!(a.processes.len() > 1 && b.since(&a, 1).cores >= 0.0);
    }
}
