//! Counters of processes and threads from `/proc`. A process is held by its open directory, so that its
//! number, given to another one later, is never mistaken for it.

use procfs::process::Process;

use crate::clock::{now_ns, seconds};
use crate::tree::Role;

/// Columns of `proc.csv`.
pub(crate) const COLUMNS: &str = "t,pid,ppid,cmd,status,user_s,sys_s,threads,rss,read_bytes,write_bytes,rchar,wchar,\
    vctx,ivctx,minflt,majflt,wchan,role,open_files";
/// Columns of `threads.csv`.
pub(crate) const THREAD_COLUMNS: &str = "t,pid,tid,name,state,user_s,sys_s";

/// A process under observation.
pub(crate) struct Watched {
    pub(crate) pid: u32,
    pub(crate) role: Role,
    process: Process,
    started: u64,
    /// File descriptors are counted now and then only.
    open_files: Option<usize>,
    visits: u32,
}

/// Visits between counts of open files.
const COUNT_FILES_EVERY: u32 = 20;

impl Watched {
    pub(crate) fn new(pid: u32, role: Role) -> Option<Self> {
        let process = Process::new(i32::try_from(pid).ok()?).ok()?;
        let started = process.stat().ok()?.starttime;
        Some(Self { pid, role, process, started, open_files: None, visits: 0 })
    }

    /// It is the process that started then, ticks since boot; a number may have gone to another one.
    pub(crate) fn started_at(&self, started: u64) -> bool {
        self.started == started
    }

    /// When it started, ticks since boot.
    pub(crate) fn start(&self) -> u64 {
        self.started
    }

    /// Still the same process, and not yet dead.
    pub(crate) fn is_alive(&self) -> bool {
        self.process.stat().is_ok_and(|stat| stat.starttime == self.started && stat.state != 'Z')
    }

    /// A row of `proc.csv`; `None` once the process is gone.
    pub(crate) fn row(&mut self) -> Option<String> {
        let t = now_ns();
        let stat =
            self.process.stat().ok().filter(|stat| stat.starttime == self.started && stat.state != 'Z')?;
        let io = self.process.io().ok();
        let status = self.process.status().ok();
        let wchan = self.process.wchan().unwrap_or_default();
        if self.visits.is_multiple_of(COUNT_FILES_EVERY) {
            self.open_files = self.process.fd_count().ok();
        }
        self.visits += 1;
        let ticks = procfs::ticks_per_second().max(1) as f64;
        let number = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        Some(format!(
            "{},{},{},{},{},{:.2},{:.2},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            seconds(t),
            self.pid,
            stat.ppid,
            quoted(&stat.comm),
            state_word(stat.state),
            stat.utime as f64 / ticks,
            stat.stime as f64 / ticks,
            stat.num_threads,
            stat.rss * procfs::page_size(),
            number(io.as_ref().map(|io| io.read_bytes)),
            number(io.as_ref().map(|io| io.write_bytes)),
            number(io.as_ref().map(|io| io.rchar)),
            number(io.as_ref().map(|io| io.wchar)),
            number(status.as_ref().and_then(|status| status.voluntary_ctxt_switches)),
            number(status.as_ref().and_then(|status| status.nonvoluntary_ctxt_switches)),
            stat.minflt,
            stat.majflt,
            quoted(&wchan),
            self.role.id(),
            number(self.open_files.and_then(|count| u64::try_from(count).ok())),
        ))
    }

    /// Rows of `threads.csv`; empty once the process is gone.
    pub(crate) fn threads(&self) -> Vec<String> {
        if !self.is_alive() {
            return Vec::new();
        }
        let Ok(tasks) = self.process.tasks() else { return Vec::new() };
        let ticks = procfs::ticks_per_second().max(1) as f64;
        let row = |task: procfs::process::Task| {
            let stat = task.stat().ok()?;
            Some(format!(
                "{},{},{},{},{},{:.2},{:.2}",
                seconds(now_ns()),
                self.pid,
                task.tid,
                quoted(&stat.comm),
                stat.state,
                stat.utime as f64 / ticks,
                stat.stime as f64 / ticks
            ))
        };
        tasks.flatten().filter_map(row).collect()
    }

    /// How many files it may open.
    pub(crate) fn most_files(&self) -> Option<u64> {
        match self.process.limits().ok()?.max_open_files.soft_limit {
            procfs::process::LimitValue::Value(most) => Some(most),
            procfs::process::LimitValue::Unlimited => None,
        }
    }

    /// State of the main thread.
    pub(crate) fn state(&self) -> char {
        self.process.stat().map_or(' ', |stat| stat.state)
    }
}

/// When process `pid` started, ticks since boot; `None` once it is gone.
pub(crate) fn started(pid: u32) -> Option<u64> {
    Some(Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?.starttime)
}

/// The process that started `pid`; 0 once it is gone.
pub(crate) fn parent(pid: u32) -> u32 {
    let process = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok());
    let parent = process.and_then(|process| process.stat().ok()).map(|stat| stat.ppid);
    parent.and_then(|parent| u32::try_from(parent).ok()).unwrap_or(0)
}

/// The process has ended, and its parent has not asked for its status yet.
#[must_use]
pub fn is_zombie(pid: u32) -> bool {
    let process = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok());
    process.is_some_and(|process| process.stat().is_ok_and(|stat| stat.state == 'Z'))
}

fn state_word(state: char) -> &'static str {
    match state {
        'R' => "running",
        'S' => "sleeping",
        'D' => "disk-sleep",
        'T' | 't' => "stopped",
        'Z' => "zombie",
        'I' => "idle",
        _ => "other",
    }
}

/// A field that may hold commas or quotes.
pub(crate) fn quoted(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_has_a_row_with_every_column() {
        let mut own = Watched::new(std::process::id(), Role::Driver).unwrap_or_else(|| panic!("no /proc"));
        let row = own.row().unwrap_or_default();
        assert_eq!(row.split(',').count(), COLUMNS.split(',').count(), "{row}");
        assert!(own.is_alive());
        let threads = own.threads();
        assert!(!threads.is_empty() && threads[0].split(',').count() == THREAD_COLUMNS.split(',').count());
    }

    #[test]
    fn a_process_that_is_gone_has_no_row() -> std::io::Result<()> {
        let mut child = std::process::Command::new("true").spawn()?;
        let watched = Watched::new(child.id(), Role::Other);
        child.wait()?;
        if let Some(mut watched) = watched {
            assert!(watched.row().is_none() && !watched.is_alive() && watched.threads().is_empty());
        }
        Ok(())
    }

    #[test]
    fn a_number_that_went_to_another_process_is_not_the_one_that_was_watched() {
        let mut own = Watched::new(std::process::id(), Role::Driver).unwrap_or_else(|| panic!("no /proc"));
        assert!(own.started_at(own.started) && started(std::process::id()) == Some(own.started));
        // As if another process had had this number before.
        own.started -= 1;
        assert!(!own.is_alive() && own.row().is_none() && own.threads().is_empty());
    }

    #[test]
    fn names_with_commas_are_quoted() {
        assert_eq!(quoted("a,\"b\"\n"), "\"a,\"\"b\"\" \"");
        assert_eq!(quoted("python3"), "python3");
    }
}
