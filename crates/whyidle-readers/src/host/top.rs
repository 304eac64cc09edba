//! `top -b` (procps): a summary and a table of processes per iteration. It prints the time of day without a date.
//!
//! Shares of the summary are added up to CPU seconds of all cores, as a recording has them; how many cores there are it
//! does not say, so they are those of one. A process's `TIME+` is its CPU time, of its own code and the kernel's together.
//!
//! Sources: manual page top(1); prints of procps-ng 4 that tests read.

use whyidle_model::NoteCode;

use crate::budget::Guard;
use crate::logs::{Clock, Log, Rows, SECOND};
use crate::plain::{Decimal, time_of_day};

pub(crate) fn is_print(head: &str) -> bool {
    head.lines().any(is_first) && head.contains("PID")
}

fn is_first(line: &str) -> bool {
    line.starts_with("top - ") && line.contains(" up ")
}

const DAY: i64 = 86_400 * SECOND;

pub(crate) fn parse(text: &str, guard: &mut Guard) -> Log {
    let mut log = Log::default();
    let words = text.lines().take(4_096).flat_map(str::split_whitespace);
    let decimal = Decimal::of(
        words
            .filter(|word| word.as_bytes().first().is_some_and(u8::is_ascii_digit) && !word.contains(':'))
            .map(|word| word.trim_end_matches([',', '.'])),
    );
    let (mut system, mut process) = (Rows::default(), Rows::default());
    let (mut t, mut days, mut before): (Option<i64>, i64, Option<i64>) = (None, 0, None);
    let mut columns: Option<Vec<String>> = None;
    let mut summary = Summary::default();
    let (mut cpu, mut iterations) = ([0.0; 4], 0_u32);
    for line in guard.lines(text) {
        if is_first(line) {
            columns = None;
            let time = line.split_whitespace().nth(2).and_then(time_of_day);
            t = time.map(|time| {
                // Midnight.
                if before.is_some_and(|before| time + days < before - DAY / 2) {
                    days += DAY;
                }
                time + days
            });
            iterations += 1;
            summary = Summary { since: t.zip(before).map(|(t, before)| t - before), ..Summary::default() };
            before = t.or(before);
        } else if line.starts_with("%Cpu") || line.starts_with("Cpu(s)") {
            summary.cpu(line, decimal);
        } else if line.contains("Mem :") || line.starts_with("Mem:") {
            summary.memory(line, decimal);
        } else if line.contains("Swap") && line.contains("avail Mem") {
            summary.available(line, decimal);
            if let Some(t) = t {
                summary.row(t, &mut cpu, &mut system);
            }
        } else if line.split_whitespace().next() == Some("PID") {
            columns = Some(line.split_whitespace().map(str::to_owned).collect());
        } else if let (Some(columns), Some(t)) = (&columns, t)
            && !line.trim().is_empty()
            && !one(line, columns, t, &mut process)
        {
            log.notes.add(NoteCode::MalformedEvent, None);
        }
    }
    log.samples.system = system.finish(&mut log.notes);
    log.samples.process = process.finish(&mut log.notes);
    log.rows = u64::from(iterations);
    log.clock = Clock::Day;
    log
}

#[derive(Default)]
struct Summary {
    since: Option<i64>,
    shares: Option<[f64; 4]>,
    total: Option<f64>,
    avail: Option<f64>,
}

impl Summary {
    /// `%Cpu(s):  0.0 us,100.0 sy,  0.0 ni,  0.0 id,  0.0 wa, …`.
    fn cpu(&mut self, line: &str, decimal: Decimal) {
        let line = line.split_once(':').map_or("", |(_, rest)| rest);
        let of = |wanted: &str| before(line, wanted).and_then(|text| decimal.number(text));
        let share = |a: &str, b: &str| Some(of(a)? + of(b).unwrap_or(0.0));
        self.shares =
            (|| Some([share(" us", " ni")?, share(" sy", " st")?, of(" wa").unwrap_or(0.0), of(" id")?]))();
    }

    fn memory(&mut self, line: &str, decimal: Decimal) {
        let scale = scale(line);
        let rest = line.split_once(':').map_or("", |(_, rest)| rest);
        self.total = before(rest, " total").and_then(|text| decimal.number(text)).map(|value| value * scale);
    }

    fn available(&mut self, line: &str, decimal: Decimal) {
        self.avail =
            before(line, " avail Mem").and_then(|text| decimal.number(text)).map(|value| value * scale(line));
    }

    fn row(&self, t: i64, cpu: &mut [f64; 4], system: &mut Rows) {
        let mut numbers = Vec::new();
        if let Some(shares) = self.shares {
            // The first iteration is the mean since the machine started.
            let seconds = self.since.unwrap_or(0).max(0) as f64 / SECOND as f64;
            cpu.iter_mut().zip(shares).for_each(|(all, share)| *all += share / 100.0 * seconds);
            numbers.extend(["cpu_user", "cpu_sys", "cpu_iowait", "cpu_idle"].into_iter().zip(*cpu));
        }
        numbers.extend(self.total.map(|total| ("mem_total", total)));
        numbers.extend(self.avail.map(|avail| ("mem_available", avail)));
        system.push(t, &numbers, &[]);
    }
}

fn scale(line: &str) -> f64 {
    match line.split_whitespace().next() {
        Some("KiB") => 1_024.0,
        Some("GiB") => 1_073_741_824.0,
        Some("TiB") => 1_099_511_627_776.0,
        _ => 1_048_576.0,
    }
}

/// The number before a word: ` 0.0 us`, `,100.0 sy`.
fn before<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let at = line.find(word)?;
    let is_mark = |c: char| !c.is_ascii_digit() && !".,".contains(c);
    let start =
        line[..at].char_indices().rfind(|(_, c)| is_mark(*c)).map_or(0, |(start, c)| start + c.len_utf8());
    Some(line[start..at].trim_start_matches([',', '.']).trim()).filter(|text| !text.is_empty())
}

/// One line of the table; `false` where it makes no sense.
fn one(line: &str, columns: &[String], t: i64, process: &mut Rows) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = |wanted: &str| columns.iter().position(|column| column == wanted);
    // The command comes last and may hold spaces.
    let get = |wanted: &str| at(wanted).and_then(|at| words.get(at)).copied();
    let Some(pid) =
        get("PID").and_then(|pid| pid.parse::<u32>().ok()).filter(|_| words.len() >= columns.len())
    else {
        return false;
    };
    let command = at("COMMAND").and_then(|at| words.get(at..)).unwrap_or_default().join(" ");
    let mut numbers = vec![("pid", f64::from(pid))];
    numbers.extend(get("TIME+").and_then(seconds).map(|time| ("user_s", time)));
    numbers.extend(get("TIME+").map(|_| ("sys_s", 0.0)));
    numbers.extend(get("RES").and_then(memory).map(|bytes| ("rss", bytes)));
    numbers.extend(get("PPID").and_then(|pid| pid.parse::<u32>().ok()).map(|pid| ("ppid", f64::from(pid))));
    let status = match get("S") {
        Some("R") => "running",
        Some("D") => "disk-sleep",
        Some("Z") => "zombie",
        Some("T" | "t") => "stopped",
        Some("S" | "I") => "sleeping",
        _ => "",
    };
    process.push(t, &numbers, &[("cmd", &command), ("status", status)]);
    true
}

/// `0:12.92`, `12:03.5`, `1,02:03`: minutes and seconds, in which hours and days may hide.
fn seconds(text: &str) -> Option<f64> {
    let (minutes, seconds) = text.rsplit_once(':')?;
    let minutes = minutes.rsplit_once(':').map_or_else(
        || minutes.parse::<f64>().ok(),
        |(hours, minutes)| Some(hours.parse::<f64>().ok()? * 60.0 + minutes.parse::<f64>().ok()?),
    )?;
    Some(minutes * 60.0 + seconds.replace(',', ".").parse::<f64>().ok()?)
        .filter(|time| (0.0..1e12).contains(time))
}

/// KiB, or with a letter: `1.2g`, `313364`.
fn memory(text: &str) -> Option<f64> {
    let (number, scale) = match text.as_bytes().last()? {
        b'm' => (&text[..text.len() - 1], 1_048_576.0),
        b'g' => (&text[..text.len() - 1], 1_073_741_824.0),
        b't' => (&text[..text.len() - 1], 1_099_511_627_776.0),
        _ => (text, 1_024.0),
    };
    number.replace(',', ".").parse::<f64>().ok().map(|value| value * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_of_processes() {
        assert_eq!((seconds("0:12.92"), seconds("61:03"), seconds("x")), (Some(12.92), Some(3_663.0), None));
        assert_eq!(
            (memory("313364"), memory("1.5g"), memory("0,5m")),
            (Some(320_884_736.0), Some(1_610_612_736.0), Some(524_288.0))
        );
        assert_eq!(
            (before(" 0.0 us,100.0 sy", " sy"), before(" 57,5 us, 2,0 sy", " sy"), before("x", " sy")),
            (Some("100.0"), Some("2,0"), None)
        );
    }
}
