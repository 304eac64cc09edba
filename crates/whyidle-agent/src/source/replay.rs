//! Recordings that are played over and over, as if their programs ran on this machine now: for tests, and to see what
//! alerts and dashboards make of a known case. Each recording is one program with its GPU.

use std::path::Path;
use std::time::Duration;

use whyidle_model::{Samples, Table};
use whyidle_observe::clock;
use whyidle_observe::gpu::Card;
use whyidle_observe::node::{Round, Run, StackRow};
use whyidle_observe::place::Place;
use whyidle_observe::recorder::columns;
use whyidle_observe::stacks::{Sighting, ThreadStack};
use whyidle_readers::recording::{self, Recording};
use whyidle_readers::{ReadError, samples};

use super::{Moment, Own, Source};

/// Programs are looked for this often.
const LOOK_EVERY_NS: i64 = 5_000_000_000;
/// No pause is longer.
const LONGEST_NS: i64 = 1_000_000_000;
/// What is said of a card that a recording does not describe, bytes.
const NO_MEMORY: u64 = 0;

/// A recorded program.
struct Tape {
    run: Run,
    gpu: Option<u32>,
    card: Card,
    gpu_rows: Rows,
    process_rows: Rows,
    system_rows: Rows,
    stacks: Vec<(i64, char, Vec<Sighting>)>,
    source: Vec<(String, u32, String)>,
    length: i64,
}

/// Rows of a table as text without their time, with their time since the recording began.
type Rows = Vec<(i64, String)>;

/// Recordings that are played.
pub struct Replay {
    tapes: Vec<Tape>,
    /// Unix time at which play began, ns.
    began: i64,
    /// How far it has come, ns; and before the last rest.
    at: i64,
    played: i64,
    looked: Option<i64>,
    /// How much faster than real time; `None`: as fast as can be, by a clock of its own.
    speed: Option<f64>,
    until: Option<i64>,
    told: bool,
}

impl Replay {
    /// The recordings in `dirs`, played from `began` (ns of Unix time). `speed`: times real time; `None`: without waiting
    /// at all. `length`: how much is played; `None`: for ever. Recordings without samples that carry times are left out.
    ///
    /// # Errors
    /// Where a file cannot be read.
    pub fn open(
        dirs: &[&Path],
        began: i64,
        speed: Option<f64>,
        length: Option<Duration>,
    ) -> Result<Self, ReadError> {
        let mut tapes = Vec::new();
        for dir in dirs {
            let recorded = recording::read_if_sound(dir, None)?.0.unwrap_or_default();
            let found = samples::read(dir)?.samples;
            let at = u32::try_from(tapes.len()).unwrap_or(u32::MAX);
            tapes.extend(tape(at, &found, &recorded));
        }
        let until = length.map(|length| i64::try_from(length.as_nanos()).unwrap_or(i64::MAX));
        Ok(Self { tapes, began, at: 0, played: -1, looked: None, speed, until, told: false })
    }

    /// Programs that are played.
    #[must_use]
    pub fn programs(&self) -> usize {
        self.tapes.len()
    }

    fn due(&self) -> i64 {
        let next = |tape: &Tape| {
            let into = self.at.rem_euclid(tape.length);
            let rows = [&tape.gpu_rows, &tape.process_rows, &tape.system_rows];
            let rows = rows.into_iter().filter_map(|rows| {
                rows.get(rows.partition_point(|(t, _)| *t <= into)).map(|(t, _)| t - into)
            });
            let stacks =
                tape.stacks.get(tape.stacks.partition_point(|(t, ..)| *t <= into)).map(|(t, ..)| t - into);
            rows.chain(stacks).min().unwrap_or(tape.length - into)
        };
        self.tapes.iter().map(next).min().unwrap_or(LONGEST_NS).clamp(1, LONGEST_NS)
    }
}

impl Source for Replay {
    fn now(&self) -> Moment {
        let steady = Duration::from_nanos(u64::try_from(self.at).unwrap_or(0));
        Moment { steady, unix_ns: self.began + self.at }
    }

    fn round(&mut self) -> Round {
        let mut round = Round::default();
        if !self.told {
            self.told = true;
            round.cards = Some(
                self.tapes.iter().filter(|tape| tape.gpu.is_some()).map(|tape| tape.card.clone()).collect(),
            );
            round.driver = Some("replayed".to_owned());
        }
        if self.looked.is_none_or(|looked| self.at - looked >= LOOK_EVERY_NS) {
            self.looked = Some(self.at);
            round.runs = Some(self.tapes.iter().map(|tape| tape.run.clone()).collect());
        }
        for tape in &self.tapes {
            round.source.extend(tape.source.iter().cloned());
            // The tape may have come round since: what lies before and after its end is played.
            let (from, to) = (self.played, self.at);
            let mut turn = from.max(0).div_euclid(tape.length);
            while turn <= to.div_euclid(tape.length) {
                let base = turn * tape.length;
                let is_due = |t: i64| base + t > from && base + t <= to;
                let time = |t: i64| clock::seconds(self.began + base + t);
                let due = |rows: &Rows| -> Vec<String> {
                    let first = rows.partition_point(|(t, _)| base + t <= from);
                    let rows = rows[first..].iter().take_while(|(t, _)| is_due(*t));
                    rows.map(|(t, row)| format!("{}{row}", time(*t))).collect()
                };
                round.gpu.extend(due(&tape.gpu_rows));
                round.process.extend(due(&tape.process_rows));
                // One machine has one of these.
                round.system = due(&tape.system_rows).pop().or(round.system.take());
                let first = tape.stacks.partition_point(|(t, ..)| base + t <= from);
                for (t, state, stacks) in tape.stacks[first..].iter().take_while(|(t, ..)| is_due(*t)) {
                    let (t, pid) = (self.began + base + t, tape.run.pid);
                    round.stacks.push(StackRow { t, pid, state: *state, stacks: stacks.clone() });
                }
                turn += 1;
            }
        }
        self.played = self.at;
        round
    }

    fn focus(&mut self, _: Option<u32>, _: bool) {}

    fn rest(&mut self) {
        let due = self.due();
        if let Some(speed) = self.speed {
            std::thread::sleep(Duration::from_nanos((due as f64 / speed) as u64));
        }
        self.at += due;
    }

    fn own(&self) -> Own {
        Own { cpu: clock::process_cpu(), resident: clock::resident_bytes() }
    }

    fn is_over(&self) -> bool {
        self.tapes.is_empty() || self.until.is_some_and(|until| self.at >= until)
    }
}

/// One recording as a program with number `1000 + at` on GPU `at`.
fn tape(at: u32, samples: &Samples, recorded: &Recording) -> Option<Tape> {
    let driver = recorded.pids.first().copied().or_else(|| {
        let roots = samples.stacks.stacks.iter().find(|stack| stack.parents.is_empty());
        roots.map(|stack| stack.pid)
    })?;
    let seen: Vec<i64> = samples.stacks.seen.iter().filter_map(|seen| seen.t).collect();
    let times = || samples.gpu.t.iter().chain(&samples.process.t).chain(&seen).copied();
    let (first, last) = (times().min()?, times().max()?);
    let gpu = samples.gpu.keys("gpu").first().copied();
    let pid = 1_000 + at;
    let [gpu_columns, process_columns, system_columns] = columns();
    let is_gpu = |row: usize| samples.gpu.number("gpu", row).map(|gpu| gpu as u32) == gpu;
    let gpu_rows = rows(&samples.gpu.keeping(is_gpu), &gpu_columns.1, first, &|name, _| {
        (name == "gpu").then(|| at.to_string())
    });
    // Workers keep a number of their own beside the driver's.
    let renamed = |number: Option<f64>| {
        number.map(|number| {
            let number = number as u32;
            if number == driver { pid } else { 100_000 + at * 1_000 + number % 1_000 }.to_string()
        })
    };
    let process_rows = rows(&samples.process, &process_columns.1, first, &|name, row| match name {
        "pid" | "ppid" => renamed(samples.process.number(name, row)),
        _ => None,
    });
    let system_rows = rows(&samples.system, &system_columns.1, first, &|_, _| None);
    let names = &samples.stacks.names;
    let mut stacks: Vec<(i64, char, Vec<Sighting>)> = Vec::new();
    for seen in &samples.stacks.seen {
        let stack = &samples.stacks.stacks[seen.stack];
        let Some(t) = seen.t.filter(|_| stack.pid == driver) else { continue };
        let frames = stack.frames.iter().map(|frame| {
            (names.get(frame.function).to_owned(), names.get(frame.file).to_owned(), frame.line)
        });
        let stack = ThreadStack { thread: names.get(stack.thread).to_owned(), frames: frames.collect() };
        let sighting = Sighting { stack, gil: seen.gil };
        match stacks.last_mut().filter(|last| last.0 == t - first) {
            Some(last) => last.2.push(sighting),
            None => stacks.push((t - first, seen.state, vec![sighting])),
        }
    }
    let texts = samples.stacks.source.iter();
    let source =
        texts.map(|((file, line), text)| (names.get(*file).to_owned(), *line, text.clone())).collect();
    let bytes = samples.gpu.number("mem_used", 0).map(|bytes| bytes as u64);
    let card = Card {
        index: at,
        name: recorded.gpu.clone().unwrap_or_default(),
        uuid: format!("GPU-replayed-{at}"),
        memory: samples.gpu.number("mem_total", 0).map_or(NO_MEMORY, |bytes| bytes as u64),
        ..Card::default()
    };
    let place = Place { user: Some("replay".to_owned()), rank: recorded.rank, ..Place::default() };
    let run = Run {
        pid,
        started: 1,
        parent: 0,
        place,
        command: recorded.command.clone(),
        gpus: gpu.map(|_| (at, bytes)).into_iter().collect(),
    };
    let length = (last - first).max(1) + LONGEST_NS / 4;
    Some(Tape { run, gpu, card, gpu_rows, process_rows, system_rows, stacks, source, length })
}

/// The rows of a table in the order of `header`, each without its time, which is since `first`.
fn rows(table: &Table, header: &str, first: i64, own: &dyn Fn(&str, usize) -> Option<String>) -> Rows {
    let row = |row: usize| {
        let mut text = String::new();
        for name in header.split(',').skip(1) {
            text.push(',');
            match (own(name, row), table.number(name, row)) {
                (Some(value), _) => text.push_str(&value),
                (None, Some(value)) => text.push_str(&value.to_string()),
                (None, None) => text.push_str(table.word(name, row)),
            }
        }
        ((table.t[row] - first).max(0), text)
    };
    let mut rows: Rows = (0..table.len()).map(row).collect();
    rows.sort_by_key(|(t, _)| *t);
    rows
}
