//! May this process read another's memory, as Python stacks need? If not, what exactly is in the way.

use std::fs;

use procfs::process::Process;

use crate::Missing;

/// Bit of `CAP_SYS_PTRACE` in a capability set.
const SYS_PTRACE: u64 = 1 << 19;

/// What stands in the way of reading the stacks of `pid`; `None` if nothing known does.
#[must_use]
pub fn stack_permission(pid: u32) -> Option<Missing> {
    let missing = |code, detail: String| Some(Missing::new("stacks", code, detail));
    let Ok(target) = i32::try_from(pid).map_err(drop).and_then(|pid| Process::new(pid).map_err(drop)) else {
        return missing("no-process", pid.to_string());
    };
    let own = Process::myself().and_then(|own| own.status()).ok()?;
    if own.capeff & SYS_PTRACE != 0 {
        return None;
    }
    let status = target.status().ok()?;
    if status.ruid != own.euid || status.euid != own.euid {
        return missing("other-user", status.ruid.to_string());
    }
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match scope.trim() {
        "1" if !descends_from_here(pid) => missing("ptrace-scope", "1".to_owned()),
        scope @ ("2" | "3") => missing("ptrace-scope", scope.to_owned()),
        _ => None,
    }
}

/// Whether this process is an ancestor of `pid`: then `ptrace_scope` 1 allows it.
fn descends_from_here(pid: u32) -> bool {
    let own = std::process::id();
    let mut at = pid;
    for _ in 0..64 {
        if at == own {
            return true;
        }
        let parent = i32::try_from(at).ok().and_then(|pid| Process::new(pid).ok()?.stat().ok());
        match parent.and_then(|stat| u32::try_from(stat.ppid).ok()) {
            Some(parent) if parent > 1 => at = parent,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_memory_may_be_read_and_a_process_that_is_gone_is_named() {
        assert!(descends_from_here(std::process::id()));
        let gone = stack_permission(u32::MAX);
        assert_eq!(gone.map(|missing| missing.code), Some("no-process"));
    }
}
