//! `iostat` (sysstat): reports of `avg-cpu` and devices, with `-x` or without, with times (`-t`) in any locale's form, in
//! MB or kB, with decimal points or commas; and `-o JSON`.
//!
//! Figures are rates since the report before; the first report is the mean since the machine started and is left out
//! where there is another. They are added up to counters, as a recording has them: CPU seconds of all cores, bytes.
//!
//! Sources: manual page iostat(1); prints of sysstat 12 that tests read.

use serde_json::Value;
use whyidle_model::NoteCode;

use crate::budget::Guard;
use crate::logs::{Clock, Log, Rows, SECOND};
use crate::plain::{Decimal, local_time};

pub(crate) fn is_print(head: &str) -> bool {
    head.lines().any(|line| line.starts_with("avg-cpu:") || is_devices(line)) || is_json(head)
}

fn is_json(head: &str) -> bool {
    head.trim_start().starts_with('{') && head.contains("\"sysstat\"") && head.contains("\"avg-cpu\"")
}

fn is_devices(line: &str) -> bool {
    line.starts_with("Device")
        && (line.contains("kB_read/s")
            || line.contains("MB_read/s")
            || line.contains("rkB/s")
            || line.contains("rMB/s"))
}

/// One report.
#[derive(Clone, Copy, Debug, Default)]
struct Report {
    t: Option<i64>,
    /// Percent of all cores: user, system, waiting for a disk, idle.
    cpu: Option<[f64; 4]>,
    /// Bytes per second over all disks, read and written.
    disk: Option<[f64; 2]>,
    /// Busiest disk, percent of the time.
    busy: Option<f64>,
}

pub(crate) fn parse(text: &str, guard: &mut Guard) -> Log {
    let mut log = Log::default();
    let (cores, reports) =
        if is_json(text) { of_json(text, guard, &mut log) } else { of_text(text, guard, &mut log) };
    // Without times, reports are a second apart; without `-y` the first one is about another time.
    let skip = usize::from(reports.len() > 1);
    let timed = reports.iter().all(|report| report.t.is_some()) && !reports.is_empty();
    let (mut rows, mut cpu, mut disk) = (Rows::default(), [0.0; 4], [0.0; 2]);
    for (at, report) in reports.iter().enumerate().skip(skip) {
        let t = if timed { report.t.unwrap_or(0) } else { (at as i64 + 1) * SECOND };
        let before = if timed && at > 0 { reports[at - 1].t.unwrap_or(t) } else { t - SECOND };
        let seconds = (t - before).max(0) as f64 / SECOND as f64;
        let mut numbers = Vec::new();
        if let Some(shares) = report.cpu {
            cpu.iter_mut().zip(shares).for_each(|(all, share)| *all += share / 100.0 * cores * seconds);
            numbers.extend(["cpu_user", "cpu_sys", "cpu_iowait", "cpu_idle"].into_iter().zip(cpu));
        }
        if let Some(rates) = report.disk {
            disk.iter_mut().zip(rates).for_each(|(all, rate)| *all += rate * seconds);
            numbers.extend(["disk_read", "disk_write"].into_iter().zip(disk));
        }
        numbers.extend(report.busy.map(|busy| ("disk_busy", busy)));
        rows.push(t, &numbers, &[]);
    }
    log.samples.system = rows.finish(&mut log.notes);
    log.rows = log.samples.system.len() as u64;
    log.clock = if timed { Clock::Local } else { Clock::None };
    log
}

fn of_text(text: &str, guard: &mut Guard, log: &mut Log) -> (f64, Vec<Report>) {
    let values = text.lines().take(4_096).flat_map(str::split_whitespace);
    let decimal = Decimal::of(values.filter(|word| {
        word.as_bytes().first().is_some_and(u8::is_ascii_digit) && !word.contains(['/', ':'])
    }));
    let (mut cores, mut reports, mut current) = (1.0, Vec::<Report>::new(), Report::default());
    let (mut cpu_next, mut devices): (Option<Vec<&str>>, Option<Vec<&str>>) = (None, None);
    for line in guard.lines(text) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.starts_with("Linux ") {
            // `(2 CPU)`; a restart within one file begins anew.
            let count = line
                .rsplit_once('(')
                .and_then(|(_, rest)| rest.split_whitespace().next()?.parse::<f64>().ok());
            cores = count.filter(|count| (1.0..1e5).contains(count)).unwrap_or(cores);
        } else if words.is_empty() {
            devices = None;
        } else if let Some(t) = words
            .first()
            .filter(|word| word.as_bytes()[0].is_ascii_digit() && word.contains(['/', '-', '.', ':']))
            .and_then(|_| local_time(line.trim()))
        {
            close(&mut current, &mut reports);
            current.t = Some(t);
        } else if words[0] == "avg-cpu:" {
            if current.cpu.is_some() || current.disk.is_some() {
                close(&mut current, &mut reports);
            }
            cpu_next = Some(words[1..].to_vec());
        } else if is_devices(line) {
            if current.disk.is_some() {
                close(&mut current, &mut reports);
            }
            current.disk = Some([0.0; 2]);
            devices = Some(words);
        } else if let Some(names) = cpu_next.take() {
            let of = |wanted: &str| {
                names.iter().position(|name| *name == wanted).and_then(|at| decimal.number(words.get(at)?))
            };
            let all = [("%user", "%nice"), ("%system", "%steal"), ("%iowait", ""), ("%idle", "")]
                .map(|(a, b)| of(a).map(|value| value + of(b).unwrap_or(0.0)));
            match all {
                [Some(user), Some(system), Some(wait), Some(idle)] => {
                    current.cpu = Some([user, system, wait, idle])
                }
                _ => log.notes.add(NoteCode::MalformedEvent, None),
            }
        } else if let Some(names) = &devices {
            if words.len() == names.len() {
                let of = |wanted: [&str; 2]| {
                    let (at, scale) =
                        wanted.iter().zip([1_024.0, 1_048_576.0]).find_map(|(name, scale)| {
                            Some((names.iter().position(|known| known == name)?, scale))
                        })?;
                    decimal.number(words[at]).map(|value| value * scale)
                };
                let busy =
                    names.iter().position(|name| *name == "%util").and_then(|at| decimal.number(words[at]));
                device(
                    words[0],
                    of(["rkB/s", "rMB/s"]).or_else(|| of(["kB_read/s", "MB_read/s"])),
                    of(["wkB/s", "wMB/s"]).or_else(|| of(["kB_wrtn/s", "MB_wrtn/s"])),
                    busy,
                    &mut current,
                );
            } else {
                log.notes.add(NoteCode::MalformedEvent, None);
            }
        }
    }
    close(&mut current, &mut reports);
    (cores, reports)
}

/// Adds a device; what lies on others (`dm-`, `md`, `loop`) counts there.
fn device(name: &str, read: Option<f64>, written: Option<f64>, busy: Option<f64>, report: &mut Report) {
    if ["dm-", "md", "loop", "zram", "ram"].iter().any(|prefix| name.starts_with(prefix)) {
        return;
    }
    let disk = report.disk.get_or_insert([0.0; 2]);
    disk[0] += read.unwrap_or(0.0);
    disk[1] += written.unwrap_or(0.0);
    report.busy = match (report.busy, busy) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    };
}

fn close(current: &mut Report, reports: &mut Vec<Report>) {
    let done = std::mem::take(current);
    if done.cpu.is_some() || done.disk.is_some() {
        reports.push(done);
    }
}

fn of_json(text: &str, guard: &mut Guard, log: &mut Log) -> (f64, Vec<Report>) {
    if !guard.pays(text.len() as u64) {
        return (1.0, Vec::new());
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        log.notes.add(NoteCode::Truncated, None);
        return (1.0, Vec::new());
    };
    let host = &value["sysstat"]["hosts"][0];
    let cores = host["number-of-cpus"].as_f64().filter(|count| (1.0..1e5).contains(count)).unwrap_or(1.0);
    let entries = host["statistics"].as_array().into_iter().flatten().take_while(|_| guard.pays(0));
    let reports = entries.map(|entry| {
        let cpu = &entry["avg-cpu"];
        let of = |a: &str, b: &str| Some(cpu[a].as_f64()? + cpu[b].as_f64().unwrap_or(0.0));
        let mut report = Report {
            t: entry["timestamp"].as_str().and_then(local_time),
            cpu: (|| Some([of("user", "nice")?, of("system", "steal")?, of("iowait", "")?, of("idle", "")?]))(
            ),
            ..Report::default()
        };
        for disk in entry["disk"].as_array().into_iter().flatten() {
            let rate = |names: [(&str, f64); 4]| {
                names.iter().find_map(|(name, scale)| Some(disk[*name].as_f64()? * scale))
            };
            let read = rate([
                ("rkB/s", 1_024.0),
                ("rMB/s", 1_048_576.0),
                ("kB_read/s", 1_024.0),
                ("MB_read/s", 1_048_576.0),
            ]);
            let written = rate([
                ("wkB/s", 1_024.0),
                ("wMB/s", 1_048_576.0),
                ("kB_wrtn/s", 1_024.0),
                ("MB_wrtn/s", 1_048_576.0),
            ]);
            device(
                disk["disk_device"].as_str().unwrap_or(""),
                read,
                written,
                disk["util"].as_f64(),
                &mut report,
            );
        }
        report
    });
    (cores, reports.filter(|report| report.cpu.is_some() || report.disk.is_some()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GERMAN: &str = "Linux 6.1 (host) \t30.11.2026 \t_x86_64_\t(4 CPU)\n\n30.11.2026 08:51:18\n\
        avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n          1,00    0,00    0,50    2,00    0,00   96,50\n\n\
        Device            r/s     rkB/s   %util\nsda   1,00 10,00 6,10\n\n\n30.11.2026 08:51:20\n\
        avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n          25,50    0,00    10,00    14,50    0,00   50,00\n\n\
        Device            r/s     rkB/s   %util\nsda   1,00 1024,00 81,50\nloop0  1,00 900,00 99,00\n";

    #[test]
    fn rates_are_added_up_and_german_commas_are_decimals() {
        let log = parse(GERMAN, &mut Guard::default());
        assert_eq!((log.rows, log.clock), (1, Clock::Local), "the mean since the start is left out");
        let system = &log.samples.system;
        let near = |column: &str, wanted: f64| {
            assert!((system.number(column, 0).unwrap_or(f64::NAN) - wanted).abs() < 1e-6, "{column}")
        };
        near("cpu_user", 0.255 * 4.0 * 2.0);
        near("cpu_iowait", 0.145 * 8.0);
        near("disk_read", 2.0 * 1_048_576.0);
        near("disk_busy", 81.5);
    }
}
