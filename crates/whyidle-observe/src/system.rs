//! The machine as a whole: `system.csv`. Never evidence about the program by itself; it says whether
//! there were idle cores, free memory and disk traffic around it.

use procfs::{Current, CurrentSI, LoadAverage, Meminfo};

use crate::clock::{now_ns, seconds};

/// Columns of `system.csv`.
pub(crate) const COLUMNS: &str = "t,cpu_user,cpu_sys,cpu_iowait,cpu_idle,load1,mem_available,mem_total,shm_used,psi_cpu,psi_io,psi_memory,per_cpu";

/// What the last sample read of each core: busy and all seconds.
#[derive(Default)]
pub(crate) struct System {
    cores: Vec<(f64, f64)>,
}

impl System {
    /// A row of `system.csv`.
    pub(crate) fn row(&mut self) -> Option<String> {
        let stat = procfs::KernelStats::current().ok()?;
        let memory = Meminfo::current().ok();
        let ticks = procfs::ticks_per_second().max(1) as f64;
        let total = &stat.total;
        let s = |ticks_used: u64| ticks_used as f64 / ticks;
        let number = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        let mut per_cpu = Vec::new();
        for (at, core) in stat.cpu_time.iter().enumerate() {
            let idle = s(core.idle) + s(core.iowait.unwrap_or(0));
            let busy =
                s(core.user + core.nice + core.system + core.irq.unwrap_or(0) + core.softirq.unwrap_or(0));
            let now = (busy, busy + idle);
            if let Some(before) = self.cores.get(at).filter(|before| now.1 > before.1) {
                per_cpu.push(format!("{:.0}", 100.0 * (now.0 - before.0) / (now.1 - before.1)));
            }
            if at < self.cores.len() {
                self.cores[at] = now;
            } else {
                self.cores.push(now);
            }
        }
        Some(format!(
            "{},{:.2},{:.2},{:.2},{:.2},{},{},{},{},{},{},{},{}",
            seconds(now_ns()),
            s(total.user + total.nice),
            s(total.system),
            s(total.iowait.unwrap_or(0)),
            s(total.idle),
            LoadAverage::current().map_or(String::new(), |load| load.one.to_string()),
            number(memory.as_ref().and_then(|memory| memory.mem_available)),
            number(memory.as_ref().map(|memory| memory.mem_total)),
            number(memory.as_ref().and_then(|memory| memory.shmem)),
            pressure("cpu"),
            pressure("io"),
            pressure("memory"),
            per_cpu.join(" "),
        ))
    }
}

/// Share of the last ten seconds in which some task waited for a resource, in percent; empty where the kernel
/// does not say.
fn pressure(resource: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/pressure/{resource}")).unwrap_or_default();
    let some = text.lines().find(|line| line.starts_with("some"));
    let value = some.and_then(|line| line.split_whitespace().find_map(|word| word.strip_prefix("avg10=")));
    value.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_every_column() {
        let row = System::default().row().unwrap_or_default();
        assert_eq!(row.split(',').count(), COLUMNS.split(',').count(), "{row}");
    }
}
