//! `vmstat` (procps), with times (`-t`) or without: shares of all cores and blocks of disks.
//!
//! Figures are of the time since the line before; the first line is the mean since the machine started and only begins the
//! series. Shares are added up to CPU seconds of one core – how many there are it does not say –, blocks of 1,024 bytes per
//! second to bytes, as a recording has them. Memory is left out: its unit (`-S`) is not printed.
//!
//! Sources: manual page vmstat(8); a print of procps-ng 4 that tests read.

use whyidle_model::NoteCode;

use crate::budget::Guard;
use crate::logs::{Clock, Log, Rows, SECOND};
use crate::plain::local_time;

pub(crate) fn is_print(head: &str) -> bool {
    head.lines().any(|line| line.starts_with("procs -") && line.contains("-memory-") && line.contains("cpu-"))
}

pub(crate) fn parse(text: &str, guard: &mut Guard) -> Log {
    let (mut log, mut rows) = (Log::default(), Rows::default());
    let (mut names, mut is_timed): (Vec<&str>, bool) = (Vec::new(), true);
    let (mut before, mut cpu, mut disk) = (None, [0.0; 4], [0.0; 2]);
    for line in guard.lines(text).filter(|line| !line.trim().is_empty() && !line.starts_with("procs -")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        // Headers come again every so many lines; behind the figures the zone is named, and then date and time stand.
        if words.starts_with(&["r", "b"]) {
            names = words;
            continue;
        }
        let of = |wanted: &str| -> Option<f64> {
            words.get(names.iter().position(|name| *name == wanted)?)?.parse().ok()
        };
        let sum = |a: &str, b: &str| Some(of(a)? + of(b).unwrap_or(0.0));
        let shares = (|| Some([of("us")?, sum("sy", "st")?, of("wa").unwrap_or(0.0), of("id")?]))();
        let Some(shares) = shares.filter(|shares| shares.iter().all(|share| (0.0..=100.0).contains(share)))
        else {
            log.notes.add(NoteCode::MalformedEvent, None);
            continue;
        };
        let t = words.len().checked_sub(2).and_then(|at| local_time(&words[at..].join(" ")));
        is_timed &= t.is_some();
        let t = t.unwrap_or_else(|| before.unwrap_or(0) + SECOND);
        let seconds = before.map_or(0, |before| (t - before).max(0)) as f64 / SECOND as f64;
        before = Some(t);
        let blocks = [of("bi").unwrap_or(0.0), of("bo").unwrap_or(0.0)];
        cpu.iter_mut().zip(shares).for_each(|(all, share)| *all += share / 100.0 * seconds);
        disk.iter_mut().zip(blocks).for_each(|(all, blocks)| *all += blocks * 1_024.0 * seconds);
        let cpu = ["cpu_user", "cpu_sys", "cpu_iowait", "cpu_idle"].into_iter().zip(cpu);
        let disk = ["disk_read", "disk_write"].into_iter().zip(disk);
        rows.push(t, &cpu.chain(disk).collect::<Vec<_>>(), &[]);
    }
    log.samples.system = rows.finish(&mut log.notes);
    log.rows = log.samples.system.len() as u64;
    log.clock = if is_timed && log.rows > 0 { Clock::Local } else { Clock::None };
    log
}
