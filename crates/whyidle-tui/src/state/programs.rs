//! The programs that are watched, and the lines of the table.

use whyidle_analysis::signals::Signals;
use whyidle_analysis::signals::process::process;
use whyidle_model::Samples;
use whyidle_readers::recording::{Driver, Recording};

use super::{Gauge, Row};

/// A process without a row for this long is gone, ns: the slowest pace of sampling, twice.
const GONE_NS: i64 = 12_000_000_000;
/// Counters are compared over this long, ns.
const LATELY_NS: i64 = 10_000_000_000;

/// A process that trains.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Its id, where known.
    pub pid: Option<u32>,
    /// Its rank.
    pub rank: Option<u32>,
    /// The physical number of its GPU.
    pub gpu: Option<u32>,
    /// Its command; may be empty.
    pub command: String,
    /// Its loader workers.
    pub workers: usize,
    /// Cores it uses.
    pub cores: Option<f64>,
    /// It is gone.
    pub ended: bool,
}

impl Program {
    /// Fills in what the recording did not say and the samples showed.
    pub(super) fn complete(&mut self, signals: Option<&Signals>) {
        let Some(signals) = signals else { return };
        self.pid = self.pid.or(signals.driver);
        self.gpu = self.gpu.or(signals.gpu.as_ref().map(|gpu| gpu.index));
        if self.workers == 0 {
            self.workers = signals.workers.as_ref().map_or(0, |workers| workers.pids.len());
        }
    }
}

/// The programs of a recording, as they were at `now`.
pub(super) fn programs(samples: &Samples, recorded: &Recording, now: i64) -> Vec<Program> {
    let drivers = match &recorded.drivers[..] {
        [] => vec![None],
        some => some.iter().copied().map(Some).collect(),
    };
    let alone = drivers.len() == 1;
    drivers.into_iter().map(|driver| program(samples, recorded, driver, alone, now)).collect()
}

fn program(
    samples: &Samples,
    recorded: &Recording,
    driver: Option<Driver>,
    alone: bool,
    now: i64,
) -> Program {
    let table = &samples.process;
    let pid = driver.map(|driver| driver.pid);
    let command = pid.and_then(|pid| recorded.commands.get(&pid)).unwrap_or(&recorded.command);
    let cards = samples.gpu.keys("gpu");
    let gpu = driver.and_then(|driver| driver.gpu);
    // A program that is alone on a machine with one card has it.
    let gpu = gpu.or_else(|| cards.first().copied().filter(|_| alone && cards.len() == 1));
    let lately = table.between(now.saturating_sub(LATELY_NS), now);
    let last = pid.and_then(|pid| {
        let rows = table.rows_of("pid", f64::from(pid)).map(|row| table.t[row]);
        rows.filter(|&t| t <= now).last()
    });
    let children = lately.rows_of("ppid", pid.map_or(-1.0, f64::from));
    let mut workers: Vec<u32> = children
        .filter(|&row| {
            lately.word("role", row) == "worker" || lately.word("cmd", row).starts_with("pt_data_w")
        })
        .filter_map(|row| lately.number("pid", row))
        .map(|pid| pid as u32)
        .collect();
    workers.sort_unstable();
    workers.dedup();
    Program {
        pid,
        rank: driver.and_then(|driver| driver.rank).or(recorded.rank.filter(|_| alone)),
        gpu,
        command: printable(&command.join(" ")),
        workers: workers.len(),
        cores: pid.and_then(|pid| process(&lately, pid)).map(|process| process.user + process.system),
        ended: last.is_some_and(|last| now - last > GONE_NS),
    }
}

/// A text of somebody else's, without characters that steer a terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if whyidle_model::is_hidden(c) { ' ' } else { c }).collect()
}

/// Every GPU with each of its programs, then the programs without one.
pub(super) fn rows(gauges: &[Gauge], programs: &[Program]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, gauge) in gauges.iter().enumerate() {
        let on: Vec<usize> = (0..programs.len()).filter(|&p| programs[p].gpu == Some(gauge.gpu)).collect();
        rows.extend(on.iter().map(|&program| Row { gauge: Some(at), program: Some(program) }));
        if on.is_empty() {
            rows.push(Row { gauge: Some(at), program: None });
        }
    }
    let without = |program: &Program| gauges.iter().all(|gauge| program.gpu != Some(gauge.gpu));
    let left = (0..programs.len()).filter(|&at| without(&programs[at]));
    rows.extend(left.map(|program| Row { gauge: None, program: Some(program) }));
    // A card with a program comes before the cards that nobody watched uses.
    rows.sort_by_key(|row| row.program.is_none());
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gpu_and_every_program_has_a_line() {
        let gauge = |gpu| Gauge {
            gpu,
            busy: None,
            counted: false,
            sm: None,
            tensor: None,
            dram: None,
            memory: None,
            power: None,
            limit: None,
            clock: None,
            throttle: None,
        };
        let program = |gpu| Program {
            pid: None,
            rank: None,
            gpu,
            command: String::new(),
            workers: 0,
            cores: None,
            ended: false,
        };
        let found = rows(&[gauge(0), gauge(1)], &[program(Some(1)), program(Some(1)), program(None)]);
        let pairs: Vec<_> = found.iter().map(|row| (row.gauge, row.program)).collect();
        assert_eq!(pairs, [(Some(1), Some(0)), (Some(1), Some(1)), (None, Some(2)), (Some(0), None)]);
    }

    #[test]
    fn nothing_of_a_command_steers_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\nc"), "a [2Jb c");
    }
}
