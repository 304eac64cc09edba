//! What a watch was, as `recording.json` tells it.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Watch;
use crate::clock::{process_cpu, seconds};
use crate::gpu::{Card, Gpus};
use crate::pace::Pace;
use crate::permission::stack_permission;
use crate::tree::{Member, Tree};
use crate::{Missing, redact};

/// What a watch was, once it is over.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The program's processes as last seen.
    pub tree: Tree,
    /// What could not be had.
    pub missing: Vec<Missing>,
    /// CPU time that the watcher used.
    pub cpu: Duration,
    /// How long it watched.
    pub wall: Duration,
    /// The GPUs.
    pub cards: Vec<Card>,
    /// Everything that `recording.json` says of it.
    pub more: Map<String, Value>,
}

impl Watch {
    /// What is known so far, for `recording.json`.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let (cpu, wall) = (process_cpu().saturating_sub(self.started.2), self.started.0.elapsed());
        Summary {
            tree: self.tree.clone(),
            missing: self.all_missing(),
            cpu,
            wall,
            cards: self.cards.clone(),
            more: self.members(cpu, wall),
        }
    }

    fn all_missing(&self) -> Vec<Missing> {
        let mut missing = self.missing.clone();
        let said = |what: &str, missing: &[Missing]| missing.iter().any(|missing| missing.what == what);
        if !self.options.stacks && !said("stacks", &missing) {
            missing.push(Missing::new("stacks", "not-wanted", String::new()));
        } else if self.progress.main_samples == 0 && self.paces.main.samples > 0 && !said("stacks", &missing)
        {
            let driver = self.progress.drivers.first().copied();
            let why = driver.and_then(stack_permission);
            missing.push(why.unwrap_or_else(|| Missing::new("stacks", "unreadable", String::new())));
        }
        missing
    }

    fn members(&self, cpu: Duration, wall: Duration) -> Map<String, Value> {
        let pace = |pace: &Pace| {
            json!({
                "samples": pace.samples,
                "interval_s": rounded(wall.as_secs_f64() / pace.samples.max(1) as f64),
                "cpu_s": rounded(pace.spent.as_secs_f64()),
            })
        };
        let p = &self.paces;
        let process = |member: &Member| {
            json!({
                "pid": member.pid, "ppid": member.ppid, "started": member.started, "name": member.name,
                "command": redact::command(&member.command), "role": member.role.id(), "rank": member.number("RANK"), "local_rank": member.number("LOCAL_RANK"),
                "gpu_files": member.gpu_files, "environment": member.environment,
            })
        };
        let card = |card: &Card| {
            json!({
                "index": card.index, "name": card.name, "uuid": card.uuid, "memory": card.memory,
                "power_limit_mw": card.power_limit_mw, "power_default_mw": card.power_default_mw,
                "sm_most_mhz": card.sm_most_mhz, "gpm": card.has_gpm,
                "processes": card.processes.iter().map(|(pid, bytes)| json!({ "pid": pid, "memory": bytes })).collect::<Vec<_>>(),
            })
        };
        let software = self.tree.drivers().next().map(|driver| driver.software.clone()).unwrap_or_default();
        let first = self.tree.drivers().next();
        let value = json!({
            "started": seconds(self.started.1).parse::<f64>().ok(),
            "seconds": rounded(wall.as_secs_f64()),
            "cpus": std::thread::available_parallelism().map(usize::from).ok(),
            "torch": software.torch,
            "cuda": software.cuda,
            "python": software.python,
            "driver": self.gpus.as_ref().and_then(Gpus::driver),
            "rank": first.and_then(|driver| driver.number("RANK")),
            "world": first.and_then(|driver| driver.number("WORLD_SIZE")),
            "open_files_limit": first.and_then(|driver| self.watched.get(&driver.pid)?.most_files()),
            "shm_bytes": first.and_then(|driver| shm_bytes(driver.pid)),
            "gpus": self.cards.iter().map(card).collect::<Vec<_>>(),
            "processes": self.tree.members.iter().map(process).collect::<Vec<_>>(),
            "sampled": {
                "gpu": pace(&p.gpu), "processes": pace(&p.process), "threads": pace(&p.thread),
                "system": pace(&p.system), "main_stacks": pace(&p.main), "worker_stacks": pace(&p.worker),
            },
            "watcher": { "cpu_s": rounded(cpu.as_secs_f64()), "wall_s": rounded(wall.as_secs_f64()) },
        });
        value.as_object().cloned().unwrap_or_default()
    }
}

/// Size of `/dev/shm` as process `pid` sees it: loader workers hand their batches over through it.
fn shm_bytes(pid: u32) -> Option<u64> {
    let about = rustix::fs::statvfs(format!("/proc/{pid}/root/dev/shm")).ok()?;
    about.f_blocks.checked_mul(about.f_frsize)
}

fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
