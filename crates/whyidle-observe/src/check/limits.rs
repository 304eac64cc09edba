//! What a process may use: cores, files, processes, memory – of its own limits and of its container's.

use std::fs;
use std::path::PathBuf;

/// Cores that a process may use: those that it may run on, or fewer where its container has a quota.
pub(super) fn cores(pid: u32) -> Option<usize> {
    let allowed = allowed_cores(pid)?;
    Some(quota(pid).map_or(allowed, |quota| allowed.min(quota)))
}

fn allowed_cores(pid: u32) -> Option<usize> {
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

/// The cores that a container's quota amounts to, at least one.
fn quota(pid: u32) -> Option<usize> {
    groups(pid).iter().filter_map(|group| quota_of(&fs::read_to_string(group.join("cpu.max")).ok()?)).min()
}

/// `200000 100000` is two cores.
fn quota_of(text: &str) -> Option<usize> {
    let mut words = text.split_whitespace();
    let (quota, period) = (words.next()?.parse::<f64>().ok()?, words.next()?.parse::<f64>().ok()?);
    (period > 0.0).then(|| ((quota / period).round() as usize).max(1))
}

/// Bytes in use and the limit of the container that a process runs in, page cache that can be given back not
/// counted.
pub(super) fn memory_limit(pid: u32) -> Option<(u64, u64)> {
    let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let of = |group: &PathBuf| {
        let limit = number(group.join("memory.max"))?;
        let used = number(group.join("memory.current"))?;
        let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let cache = stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.parse::<u64>().ok());
        Some((used.saturating_sub(cache.unwrap_or(0)), limit))
    };
    groups(pid).iter().filter_map(of).min_by_key(|(_, limit)| *limit)
}

/// The folders of a process's control group and of those above it.
fn groups(pid: u32) -> Vec<PathBuf> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let Some(path) = text.lines().find_map(|line| line.strip_prefix("0::")) else { return Vec::new() };
    let root = PathBuf::from("/sys/fs/cgroup");
    let own = root.join(path.trim_start_matches('/'));
    own.ancestors().take_while(|folder| folder.starts_with(&root)).map(PathBuf::from).collect()
}

/// A limit by its name in `/proc/PID/limits`; `None` where it is unlimited or cannot be read.
pub(super) fn limit(pid: u32, name: &str) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_has_cores_and_limits() {
        let own = std::process::id();
        assert!(cores(own).is_some_and(|cores| cores > 0));
        assert!(limit(own, "Max open files").is_some());
        assert!(limit(own, "Max nonsense").is_none());
    }

    #[test]
    fn quotas_are_read_as_cores() {
        assert_eq!(quota_of("200000 100000\n"), Some(2));
        assert_eq!(quota_of("50000 100000"), Some(1));
        assert_eq!(quota_of("max 100000"), None);
        assert_eq!(quota_of(""), None);
    }
}
