//! The one clock: Unix time in nanoseconds, and the watcher's own CPU time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Now, ns of Unix time.
#[must_use]
pub fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// A time as seconds with six decimals, as the files of a recording have it.
#[must_use]
pub fn seconds(ns: i64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000)
}

/// CPU time that this thread has used.
#[must_use]
pub(crate) fn thread_cpu() -> Duration {
    cpu(ClockId::ThreadCPUTime)
}

/// CPU time that this process has used.
#[must_use]
pub fn process_cpu() -> Duration {
    cpu(ClockId::ProcessCPUTime)
}

/// Memory that this process has resident, bytes; `None` where the system does not say.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    let stat = procfs::process::Process::myself().ok()?.stat().ok()?;
    stat.rss.checked_mul(procfs::page_size())
}

fn cpu(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let (s, ns) = (u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0));
    Duration::new(s, ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_full() {
        assert_eq!(seconds(1_795_971_809_036_800_999), "1795971809.036800");
        assert_eq!(seconds(5_000_001_000), "5.000001");
    }
}
