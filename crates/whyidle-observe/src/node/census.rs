//! Which processes of the machine train, found by themselves as they come and go, without looking at every process
//! every time: a process is looked into when it is new, a few times while it is young – programs load PyTorch after
//! they have started – and rarely later. What is gone is forgotten at once: memory is bounded by what lives.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::place::{may_look_at_others, owner};
use crate::process::started;
use crate::tree::{Member, Shown, Tree, maps_torch, member};

/// Processes that are looked into in one scan at most; the others have their turn in the next.
const MOST_LOOKS: usize = 64;
/// A young process is looked at again after this long, then after three times as long, and so on.
const FIRST_LOOK: Duration = Duration::from_secs(5);
/// An old one is looked at again this often: its number may have gone to another between two scans.
const LAST_LOOK: Duration = Duration::from_secs(600);
/// What is known of a PyTorch process is read anew while it is this young: it opens its GPU later.
const YOUNG: Duration = Duration::from_secs(600);
/// Processes that are known at most.
const MOST: usize = 65_536;

struct Seen {
    since: Instant,
    next: Instant,
    wait: Duration,
    /// What is known of it, if it has loaded PyTorch.
    torch: Option<Member>,
}

/// The processes of the machine, as far as they matter.
pub(crate) struct Census {
    known: HashMap<u32, Seen>,
    own_user: Option<u32>,
    sees_all: bool,
}

impl Census {
    pub(crate) fn new() -> Self {
        Self { known: HashMap::new(), own_user: owner(std::process::id()), sees_all: may_look_at_others() }
    }

    /// This process may be told about: it is this user's, or the system lets this user look at others'.
    pub(crate) fn may_tell(&self, pid: u32) -> bool {
        self.sees_all || owner(pid).is_some_and(|owner| Some(owner) == self.own_user)
    }

    /// The PyTorch processes that run a training loop, as far as names, files and parents tell.
    pub(crate) fn drivers(&mut self, now: Instant) -> Vec<u32> {
        self.scan(now);
        let members: Vec<Member> = self.known.values().filter_map(|seen| seen.torch.clone()).collect();
        if members.is_empty() {
            return Vec::new();
        }
        Tree::judged(members, &Shown::default()).drivers().map(|driver| driver.pid).collect()
    }

    fn scan(&mut self, now: Instant) {
        let living = living();
        self.known.retain(|pid, _| living.contains(pid));
        let own = std::process::id();
        for &pid in &living {
            if pid != own && self.known.len() < MOST {
                self.known.entry(pid).or_insert(Seen {
                    since: now,
                    next: now,
                    wait: FIRST_LOOK,
                    torch: None,
                });
            }
        }
        let mut due: Vec<(Instant, u32)> = self
            .known
            .iter()
            .filter(|(_, seen)| seen.next <= now)
            .map(|(pid, seen)| (seen.next, *pid))
            .collect();
        due.sort_unstable();
        for (_, pid) in due.into_iter().take(MOST_LOOKS) {
            let may_tell = self.may_tell(pid);
            let Some(seen) = self.known.get_mut(&pid) else { continue };
            seen.next = now + seen.wait;
            seen.wait = (3 * seen.wait).min(LAST_LOOK);
            if seen.torch.as_ref().is_some_and(|member| started(pid) != Some(member.started)) {
                seen.torch = None;
                seen.since = now;
            }
            let is_young = now.saturating_duration_since(seen.since) < YOUNG;
            if may_tell && (seen.torch.is_none() || is_young) && maps_torch(pid) {
                seen.torch = member(pid);
            }
        }
    }

    /// Processes that are known.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }
}

/// The numbers of all processes.
fn living() -> HashSet<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return HashSet::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hundreds_of_processes_come_and_go_and_none_is_kept() -> std::io::Result<()> {
        let mut census = Census::new();
        let start = Instant::now();
        let mut seen_some = false;
        for round in 0..10_u32 {
            let mut children = Vec::new();
            for _ in 0..30 {
                children.push(std::process::Command::new("sleep").arg("60").spawn()?);
            }
            census.drivers(start + Duration::from_secs(u64::from(round)));
            seen_some |= children.iter().all(|child| census.known.contains_key(&child.id()));
            for child in &mut children {
                child.kill()?;
                child.wait()?;
            }
            census.drivers(start + Duration::from_secs(u64::from(round)));
            assert!(children.iter().all(|child| !census.known.contains_key(&child.id())));
        }
        assert!(seen_some && census.may_tell(std::process::id()));
        assert!(census.len() <= living().len() + 200, "only what lives is known");
        Ok(())
    }
}
