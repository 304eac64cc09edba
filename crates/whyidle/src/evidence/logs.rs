//! Logs of other tools, brought together: what each contributed, joined in time where clocks allow.
//!
//! Times of `nvidia-smi`, `iostat` and `top` are of the machine's own clock without its zone; among each other they agree.
//! Against Unix times they are moved by whole quarters of an hour (no zone is off by less), where that brings them
//! together. Rows without times are used only where no others say the same, and then by one file alone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use whyidle_analysis::signals::{Hints, Signals, signals};
use whyidle_diagnosis::{Input, Message, QualityNote, Run, Verdict, add_samples, judge_recording};
use whyidle_model::{MachineFacts, NoteCode, Samples, Severity, Table};
use whyidle_readers::{Clock, Format, Log, ReadError, format_of, read_log};
use whyidle_report::Contribution;

use crate::show::NoVerdict;

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;
const QUARTER: i64 = 900 * SECOND;
/// No zone is farther from UTC.
const FARTHEST: i64 = 14 * 3_600 * SECOND;
/// Fewer rows of a card are moments, no series.
const SERIES: usize = 3;
/// Fewer sightings show a moment.
const FEW_STACKS: u64 = 10;

/// What logs hold together.
#[derive(Debug, Default)]
pub(crate) struct Logged {
    /// Series and stacks.
    pub(crate) samples: Samples,
    /// Facts of the machine.
    pub(crate) machine: MachineFacts,
    /// What each gave.
    pub(crate) given: Vec<Contribution>,
}

/// What the logs at `paths` hold together, and those that cannot be read.
pub(crate) fn read(paths: &[&Path]) -> (Logged, Vec<(PathBuf, ReadError)>) {
    let (mut logs, mut unread) = (Vec::new(), Vec::new());
    for path in paths {
        match read_one(path) {
            Ok((format, log)) => logs.push((*path, format, log)),
            Err(error) => unread.push((path.to_path_buf(), error)),
        }
    }
    let mut together = Together::new(&logs);
    let given = logs.into_iter().map(|(path, format, log)| together.add(path, format, log)).collect();
    (Logged { samples: together.samples, machine: together.machine, given }, unread)
}

fn read_one(path: &Path) -> Result<(Format, Log), ReadError> {
    let format = format_of(path)?.filter(|format| Format::LOGS.contains(format)).unwrap_or(Format::Smi);
    Ok((format, read_log(path, format)?))
}

/// What is gathered.
struct Together {
    samples: Samples,
    machine: MachineFacts,
    /// The first Unix time of any log, ns.
    unix: Option<(i64, i64)>,
    /// Midnight of the day that the first log with a date begins in.
    day: Option<i64>,
    /// Tables of which some log has rows with times: GPUs, machine.
    timed: [bool; 2],
    /// Tables for which a log without times was taken.
    untimed: [bool; 2],
}

impl Together {
    fn new(logs: &[(&Path, Format, Log)]) -> Self {
        let span = |clock: Clock| {
            let of =
                logs.iter().filter(|(.., log)| log.clock == clock).filter_map(|(.., log)| span(&log.samples));
            of.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        };
        let is_timed = |log: &Log| log.clock != Clock::None;
        let has = |table: fn(&Samples) -> &Table| {
            logs.iter().any(|(.., log)| is_timed(log) && !table(&log.samples).is_empty())
        };
        let (unix, local) = (span(Clock::Unix), span(Clock::Local));
        Self {
            samples: Samples::default(),
            machine: MachineFacts::default(),
            unix,
            day: local.or(unix).map(|(first, _)| first.div_euclid(DAY) * DAY),
            timed: [has(|samples| &samples.gpu), has(|samples| &samples.system)],
            untimed: [false; 2],
        }
    }

    fn add(&mut self, path: &Path, format: Format, mut log: Log) -> Contribution {
        let mut said: Vec<Message> = Vec::new();
        self.facts(&log, &mut said);
        self.stacks(&log, &mut said);
        let moved = self.moved(&log);
        for table in [&mut log.samples.gpu, &mut log.samples.process, &mut log.samples.system] {
            table.shift(moved.by);
        }
        for (at, is_gpu) in [(0, true), (1, false)] {
            let table = if is_gpu { &log.samples.gpu } else { &log.samples.system };
            if !table.is_empty() {
                let message = self.rows(at, table, log.clock != Clock::None, is_gpu);
                said.push(message);
            }
        }
        if !log.samples.process.is_empty() {
            said.push(
                Message::new("log-gave-processes").count("count", log.samples.process.keys("pid").len()),
            );
            self.samples.process.append(&log.samples.process);
        }
        let has_rows =
            !log.samples.gpu.is_empty() || !log.samples.system.is_empty() || !log.samples.process.is_empty();
        said.extend(moved.said.filter(|_| has_rows));
        let dropped = log.notes.count(NoteCode::MalformedEvent) + log.notes.count(NoteCode::Truncated);
        if said.is_empty() {
            said.push(Message::new("log-nothing"));
        }
        if dropped > 0 {
            said.push(Message::new("log-dropped").count("count", dropped));
        }
        if log.notes.count(NoteCode::OverBudget) > 0 {
            said.push(Message::new(NoteCode::OverBudget.message()));
        }
        let then = |a: Message, b: Message| Message::new("log-then").message("a", a).message("b", b);
        let text = said.into_iter().reduce(then).unwrap_or_else(|| Message::new("log-nothing"));
        Contribution { path: path.display().to_string(), kind: format.id(), rows: log.rows, text }
    }

    fn facts(&mut self, log: &Log, said: &mut Vec<Message>) {
        let machine = &log.machine;
        // A card that is only counted has nothing set.
        let cards = machine
            .cards
            .iter()
            .filter(|card| !card.name.is_empty() || card.limit_w.is_some() || card.throttle.is_some())
            .count();
        let processes = machine.loose_processes.len()
            + machine.cards.iter().map(|card| card.processes.len()).sum::<usize>();
        let told = [
            ("log-gave-cards", cards),
            ("log-gave-links", machine.pairs.len()),
            ("log-gave-card-processes", processes),
        ];
        said.extend(
            told.into_iter()
                .filter(|(_, count)| *count > 0)
                .map(|(id, count)| Message::new(id).count("count", count)),
        );
        self.machine.merge(machine.clone());
    }

    fn stacks(&mut self, log: &Log, said: &mut Vec<Message>) {
        let stacks = &log.samples.stacks;
        if stacks.seen.is_empty() {
            return;
        }
        if log.is_weighted_by_time {
            said.push(Message::new("log-left-out-weighted"));
            return;
        }
        let is_moment = log.rows < FEW_STACKS;
        let message = Message::new(if is_moment { "log-gave-few-stacks" } else { "log-gave-stacks" });
        said.push(message.count("count", log.rows));
        self.samples.stacks.append(stacks);
    }

    /// Adds rows of GPUs or of the machine, or says why not.
    fn rows(&mut self, at: usize, table: &Table, is_timed: bool, is_gpu: bool) -> Message {
        if !is_timed && self.timed[at] {
            return Message::new("log-left-out-untimed");
        }
        if !is_timed && self.untimed[at] {
            return Message::new("log-left-out-second");
        }
        let rows = table.len();
        let gpus = table.keys("gpu").len();
        if is_gpu && rows < SERIES * gpus {
            return Message::new("log-gave-moment").count("rows", rows).count("gpus", gpus);
        }
        self.untimed[at] |= !is_timed;
        if is_gpu {
            self.samples.gpu.append(table);
            let time = table.t.last().zip(table.t.first()).map_or(0, |(last, first)| last - first);
            return if is_timed {
                Message::new("log-gave-gpu").count("rows", rows).count("gpus", gpus).time("time", time)
            } else {
                Message::new("log-gave-gpu-untimed").count("rows", rows).count("gpus", gpus)
            };
        }
        self.samples.system.append(table);
        let message =
            if is_timed { Message::new("log-gave-system") } else { Message::new("log-gave-system-untimed") };
        message.count("rows", rows)
    }

    /// How far a log's times must be moved to be those of the others.
    fn moved(&self, log: &Log) -> Moved {
        let Some((first, last)) = span(&log.samples) else { return Moved::default() };
        match (log.clock, self.day, self.unix) {
            (Clock::Day, Some(day), _) => Moved { by: day, said: Some(Message::new("log-day-of-others")) },
            (Clock::Day, None, _) => Moved { by: 0, said: Some(Message::new("log-day-unknown")) },
            (Clock::Local, _, Some(unix)) => {
                let by = (unix.0 - first + QUARTER / 2).div_euclid(QUARTER) * QUARTER;
                let meets = first + by <= unix.1 && last + by >= unix.0;
                if !meets || by.abs() > FARTHEST {
                    return Moved { by: 0, said: Some(Message::new("log-local")) };
                }
                let hours = whyidle_diagnosis::Arg::Number(by as f64 / 3.6e12, 2);
                Moved { by, said: (by != 0).then(|| Message::new("log-zone").with("hours", hours)) }
            }
            _ => Moved::default(),
        }
    }
}

#[derive(Default)]
struct Moved {
    by: i64,
    said: Option<Message>,
}

/// The first and the last time of rows.
fn span(samples: &Samples) -> Option<(i64, i64)> {
    let times = || samples.gpu.t.iter().chain(&samples.process.t).chain(&samples.system.t);
    times().min().copied().zip(times().max().copied())
}

/// Adds logs to the verdict that a trace came to.
pub(crate) fn beside(mut verdict: Verdict, logged: &Logged) -> Verdict {
    if !logged.samples.is_empty() {
        let signals = signals(&logged.samples, &hints(logged));
        let run = run(logged, &signals);
        add_samples(&mut verdict, &signals, &crate::trace::known(None, None), &run);
        verdict.inputs.extend(inputs(logged));
    }
    verdict
}

/// The verdict that logs carry by themselves.
pub(crate) fn verdict(logged: &Logged, step_ms: Option<f64>) -> Result<Verdict, NoVerdict> {
    let signals = signals(&logged.samples, &hints(logged));
    let known = crate::trace::known(None, step_ms);
    let path = logged.given.first().map_or("", |given| given.path.as_str());
    let mut verdict = judge_recording(&signals, &known, &run(logged, &signals), inputs(logged), path)
        .map_err(NoVerdict::Refused)?;
    verdict.quality.extend(idle_cards(&logged.samples, signals.gpu.as_ref().map(|gpu| gpu.index)));
    Ok(verdict)
}

/// The program is what computes on a card, where a print of processes says so and another one shows the process.
fn hints(logged: &Logged) -> Hints {
    let seen = logged.samples.process.keys("pid");
    let in_stacks = |pid: u32| logged.samples.stacks.stacks.iter().any(|stack| stack.pid == pid);
    let cards = logged.machine.cards.iter().flat_map(|card| &card.processes);
    let computing = cards.chain(&logged.machine.loose_processes).filter(|process| process.computes);
    let mut drivers: Vec<u32> =
        computing.map(|process| process.pid).filter(|pid| seen.contains(pid) || in_stacks(*pid)).collect();
    drivers.sort_unstable();
    drivers.dedup();
    Hints { drivers, ..Hints::default() }
}

/// A card that is busy for less of its samples is idle, %.
const IDLE: f64 = 5.0;

/// Cards beside the one that is judged on which hardly anything ran: the verdict is of one.
fn idle_cards(samples: &Samples, judged: Option<u32>) -> Option<QualityNote> {
    let busy = |gpu: u32| {
        let rows = samples.gpu.rows_of("gpu", f64::from(gpu));
        let seen: Vec<f64> = rows.filter_map(|row| samples.gpu.number("util_gpu", row)).collect();
        (!seen.is_empty()).then(|| seen.iter().sum::<f64>() / seen.len() as f64)
    };
    let others = samples.gpu.keys("gpu").into_iter().filter(|gpu| Some(*gpu) != judged);
    let count = others.filter(|gpu| busy(*gpu).is_some_and(|share| share < IDLE)).count() as u64;
    let text =
        Message::new("note-idle-cards").count("count", count).count("all", samples.gpu.keys("gpu").len());
    (count > 0).then_some(QualityNote { code: "idle-cards", severity: Severity::Suspect, count, text })
}

fn inputs(logged: &Logged) -> Vec<Input> {
    let input = |given: &Contribution| Input {
        path: given.path.clone(),
        kind: given.kind,
        events: given.rows,
        rank: None,
    };
    logged.given.iter().map(input).collect()
}

/// What logs say of their run.
fn run(logged: &Logged, signals: &Signals) -> Run {
    let facts = &logged.machine;
    let driver = signals.driver.filter(|pid| *pid != 0);
    Run {
        world: 1,
        gpu: facts.cards.iter().map(|card| card.name.clone()).find(|name| !name.is_empty()),
        rows: logged.given.iter().map(|given| given.rows).sum(),
        others_on_gpu: driver.map_or_else(Vec::new, |driver| others(facts, &logged.samples, driver)),
        ..Run::default()
    }
}

/// Processes on the card that the program drives and that are not its own. Nothing where the program is not in the list
/// of the card's processes: a container numbers processes in its own way.
fn others(facts: &MachineFacts, samples: &Samples, driver: u32) -> Vec<(u32, u32, Option<u64>)> {
    let own: BTreeSet<u32> = samples
        .stacks
        .stacks
        .iter()
        .flat_map(|stack| stack.parents.iter().copied().chain([stack.pid]))
        .chain([driver])
        .collect();
    let its = |card: &&whyidle_model::CardFacts| card.processes.iter().any(|process| process.pid == driver);
    facts
        .cards
        .iter()
        .filter(its)
        .flat_map(|card| card.processes.iter().map(move |process| (card.index, process)))
        .filter(|(_, process)| process.computes && !own.contains(&process.pid))
        .map(|(index, process)| (index, process.pid, process.memory))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn put(dir: &Path, name: &str, text: &str) -> std::io::Result<std::path::PathBuf> {
        let path = dir.join(name);
        fs::write(&path, text)?;
        Ok(path)
    }

    fn query(from: &str, rows: usize) -> String {
        let row = |at: usize| {
            format!("2026/11/30 {from}:{:02}.000, 0, {} %, 40000 MiB, 81920 MiB\n", at % 60, 20 + at % 3)
        };
        let head =
            "timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n".to_owned();
        head + &(0..rows).map(row).collect::<String>()
    }

    #[test]
    fn local_times_are_moved_to_unix_times_by_a_zone() -> Outcome {
        let dir = tempfile::tempdir()?;
        let smi = put(dir.path(), "a", &query("10:51", 30))?;
        let dcgm = put(
            dir.path(),
            "b",
            "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 97 1796028665000\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 96 1796028670000\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 95 1796028675000\n",
        )?;
        let Logged { samples, given, .. } = read(&[&smi, &dcgm]).0;
        assert_eq!(samples.gpu.len(), 33);
        assert!(samples.gpu.t.is_sorted() && samples.gpu.t[32] - samples.gpu.t[0] < 60 * SECOND);
        assert_eq!(given.iter().map(|given| given.kind).collect::<Vec<_>>(), ["nvidia-smi", "dcgm"]);
        Ok(())
    }

    #[test]
    fn rows_without_times_stand_back() -> Outcome {
        let dir = tempfile::tempdir()?;
        let dmon = "# gpu    pwr     sm\n# Idx      W      %\n    0    150     50\n    0    151     52\n    0    151     52\n";
        let (one, two) = (put(dir.path(), "a", dmon)?, put(dir.path(), "b", dmon)?);
        let timed = put(dir.path(), "c", &query("08:51", 4))?;
        assert_eq!(read(&[&one]).0.samples.gpu.len(), 3);
        assert_eq!(
            read(&[&one, &two]).0.samples.gpu.len(),
            3,
            "two files without times cannot be brought together"
        );
        assert_eq!(read(&[&one, &timed]).0.samples.gpu.len(), 4);
        Ok(())
    }

    #[test]
    fn processes_of_others_are_those_beside_the_program() {
        let process = |pid| whyidle_model::CardProcess { pid, computes: true, ..Default::default() };
        let card = whyidle_model::CardFacts {
            index: 1,
            processes: vec![process(7), process(9)],
            ..Default::default()
        };
        let facts = MachineFacts { cards: vec![card], ..MachineFacts::default() };
        let mut samples = Samples::default();
        samples.stacks.stacks.push(whyidle_model::Stack {
            pid: 7,
            parents: Vec::new(),
            thread: whyidle_model::Sym(0),
            frames: Vec::new(),
        });
        assert_eq!(others(&facts, &samples, 7), [(1, 9, None)]);
        assert!(others(&facts, &samples, 8).is_empty());
    }
}
