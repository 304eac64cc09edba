//! Every training program of this machine, sampled lightly for months.
//!
//! One loop, no thread for each process: each source of samples has a share of a core ([`Pace`]), and the programs
//! take turns. One of them at a time is in *focus*: it, its loader workers and its GPUs are sampled densely for a
//! while, so that the time of its steps shows.
//!
//! What comes is a [`Round`]: rows in the words of a recording ([`Recorder::round`] writes them), and the programs that
//! are there. Limits: [`MOST_RUNS`] programs, [`MOST_WORKERS`] workers of the one in focus.

mod census;

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use whyidle_model::harmless;

use crate::clock::{now_ns, thread_cpu};
use crate::gpu::{Card, Gpus};
use crate::pace::Pace;
use crate::place::{Place, place};
use crate::process::{Watched, parent, started};
use crate::redact;
use crate::stacks::{PySpy, Sighting, StackSource, source_line};
use crate::system::System;
use crate::tree::{Role, children};
use census::Census;

/// Programs that are sampled at most.
pub const MOST_RUNS: usize = 256;
/// Loader workers of the program in focus that are sampled at most.
pub const MOST_WORKERS: usize = 16;
/// Arguments and characters of each that are kept of a command line.
const MOST_ARGUMENTS: usize = 64;
const LONGEST_ARGUMENT: usize = 256;
/// Source lines that are remembered at most.
const MOST_LINES: usize = 1_000;
/// No program's stacks are taken more often than this, out of focus.
const SELDOM: Duration = Duration::from_millis(900);
/// After a failure stacks of a program are left alone for this long, then twice as long, and so on.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LAST_PAUSE: Duration = Duration::from_secs(3_600);
/// A driver that was unloaded is looked for again after this long, then after twice as long, and so on.
const FIRST_OPEN: Duration = Duration::from_secs(4);

/// A training program: the process that holds GPU memory or runs the training loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Its number.
    pub pid: u32,
    /// When it started, in ticks since boot: with the number it names one process for good.
    pub started: u64,
    /// The process that started it.
    pub parent: u32,
    /// Where it runs.
    pub place: Place,
    /// Its command line without secrets, cut.
    pub command: Vec<String>,
    /// GPUs that it holds memory of, with the bytes where known.
    pub gpus: Vec<(u32, Option<u64>)>,
}

/// Stacks of one process at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct StackRow {
    /// When, ns of Unix time.
    pub t: i64,
    /// The process.
    pub pid: u32,
    /// State of its main thread.
    pub state: char,
    /// Its main thread, and whoever else held the interpreter's lock.
    pub stacks: Vec<Sighting>,
}

/// What one round of sampling gave.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// Rows of `nvml.csv`.
    pub gpu: Vec<String>,
    /// Rows of `proc.csv`.
    pub process: Vec<String>,
    /// A row of `system.csv`.
    pub system: Option<String>,
    /// Stacks.
    pub stacks: Vec<StackRow>,
    /// Texts of the source lines that the stacks stand at, by file and line.
    pub source: Vec<(String, u32, String)>,
    /// The programs that are there, where they were looked for.
    pub runs: Option<Vec<Run>>,
    /// The GPUs, where they were looked at.
    pub cards: Option<Vec<Card>>,
    /// Version of the driver, along with `cards`.
    pub driver: Option<String>,
    /// What failed, by kind: `nvml`, `stacks`.
    pub failed: Vec<&'static str>,
}

/// A program whose stacks are taken in turn.
struct Turn {
    run: Run,
    taken: Option<Instant>,
    pause: Duration,
    not_before: Instant,
}

struct Focus {
    pid: u32,
    workers: Vec<Watched>,
    rows: Pace,
    stacks: Pace,
    gpus: Pace,
}

/// The machine's training programs.
pub struct Node {
    gpus: Option<Gpus>,
    reopen: (Instant, Duration),
    census: Census,
    turns: Vec<Turn>,
    next: usize,
    watched: HashMap<u32, Watched>,
    system: System,
    stacks: Box<dyn StackSource>,
    focus: Option<Focus>,
    /// Source lines by program, file and line, as far as they could be read.
    lines: HashMap<(u32, String, u32), Option<String>>,
    gpu: Pace,
    process: Pace,
    machine: Pace,
    main: Pace,
    looks: Pace,
}

/// Shares of a core, 0.3 % together. The one in focus has 0.08 % of it.
const GPU_SHARE: f64 = 0.000_6;
const PROCESS_SHARE: f64 = 0.000_2;
const SYSTEM_SHARE: f64 = 0.000_1;
const STACK_SHARE: f64 = 0.000_8;
const LOOK_SHARE: f64 = 0.000_5;
const FOCUS_SHARES: [f64; 3] = [0.000_3, 0.000_3, 0.000_2];

impl Default for Node {
    fn default() -> Self {
        Self::with_source(Box::new(PySpy::default()))
    }
}

impl Node {
    /// With another source of stacks.
    #[must_use]
    pub(crate) fn with_source(stacks: Box<dyn StackSource>) -> Self {
        let s = Duration::from_secs;
        Self {
            gpus: None,
            reopen: (Instant::now(), FIRST_OPEN),
            census: Census::new(),
            turns: Vec::new(),
            next: 0,
            watched: HashMap::new(),
            system: System::default(),
            stacks,
            focus: None,
            lines: HashMap::new(),
            gpu: Pace::new(GPU_SHARE, s(2), s(10)),
            process: Pace::new(PROCESS_SHARE, s(10), s(60)),
            machine: Pace::new(SYSTEM_SHARE, s(5), s(60)),
            main: Pace::new(STACK_SHARE, Duration::from_millis(200), s(2)),
            looks: Pace::new(LOOK_SHARE, s(5), s(15)),
        }
    }

    /// Puts a program into focus, or none; `closely` at ten times the share of a core, for what must be seen well.
    pub fn focus(&mut self, pid: Option<u32>, closely: bool) {
        let ms = Duration::from_millis;
        let [rows, stacks, gpus] = FOCUS_SHARES.map(|share| if closely { 10.0 * share } else { share });
        self.focus = pid.map(|pid| Focus {
            pid,
            workers: workers(pid),
            rows: Pace::new(rows, ms(200), ms(5_000)).uneven(),
            stacks: Pace::new(stacks, ms(100), ms(5_000)),
            gpus: Pace::new(gpus, ms(250), ms(5_000)),
        });
    }

    /// Samples what is due.
    pub fn round(&mut self) -> Round {
        let now = Instant::now();
        let mut round = Round::default();
        self.open(now, &mut round);
        if self.looks.is_due(now) {
            let before = thread_cpu();
            round.runs = Some(self.look(now));
            self.looks.book(thread_cpu().saturating_sub(before), Instant::now());
        }
        if self.gpu.is_due(now) {
            self.sample_gpus(&[], &mut round);
        }
        if self.process.is_due(now) {
            let watched = &mut self.watched;
            round.process = self.process.take(|| watched.values_mut().filter_map(Watched::row).collect());
        }
        if self.machine.is_due(now) {
            round.system = self.machine.take(|| self.system.row());
        }
        if self.main.is_due(now) {
            let before = thread_cpu();
            self.take_next(now, &mut round);
            self.main.book(thread_cpu().saturating_sub(before), Instant::now());
        }
        self.sample_focus(now, &mut round);
        round
    }

    /// How long until something is due.
    #[must_use]
    pub fn pause(&self) -> Duration {
        const LONGEST: Duration = Duration::from_secs(1);
        const SHORTEST: Duration = Duration::from_millis(5);
        let own = [&self.gpu, &self.process, &self.machine, &self.main, &self.looks];
        let focus = self.focus.iter().flat_map(|focus| [&focus.rows, &focus.stacks, &focus.gpus]);
        let next = own.into_iter().chain(focus).map(Pace::due).min().unwrap_or_else(Instant::now);
        next.saturating_duration_since(Instant::now()).clamp(SHORTEST, LONGEST)
    }

    /// Processes of the machine that are remembered.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.census.len()
    }

    fn open(&mut self, now: Instant, round: &mut Round) {
        if self.gpus.is_some() || now < self.reopen.0 {
            return;
        }
        match Gpus::open() {
            Ok(gpus) => {
                round.cards = Some(gpus.cards());
                round.driver = gpus.driver();
                self.gpus = Some(gpus);
            }
            Err(why) => {
                // A machine without a GPU has nothing that fails.
                if !matches!(why.code, "no-nvml" | "no-gpu") {
                    round.failed.push("nvml");
                }
                self.reopen = (now + self.reopen.1, (2 * self.reopen.1).min(LAST_PAUSE));
            }
        }
    }

    fn sample_gpus(&mut self, wanted: &[u32], round: &mut Round) {
        let Some(gpus) = self.gpus.as_mut() else {
            self.gpu.take(|| ());
            return;
        };
        let rows = if wanted.is_empty() { self.gpu.take(|| gpus.rows(&[])) } else { gpus.rows(wanted) };
        if gpus.is_silent() {
            round.failed.push("nvml");
            round.cards = Some(Vec::new());
            self.gpus = None;
            self.reopen = (Instant::now() + self.reopen.1, (2 * self.reopen.1).min(LAST_PAUSE));
            return;
        }
        // It answers: the next failure is one of its own.
        if rows.iter().any(|row| answers(row)) {
            self.reopen.1 = FIRST_OPEN;
        }
        round.gpu.extend(rows);
    }

    /// Looks for the programs that are there.
    fn look(&mut self, now: Instant) -> Vec<Run> {
        // By process: GPUs, and bytes on each.
        let mut held: HashMap<u32, Vec<(u32, Option<u64>)>> = HashMap::new();
        let holders = self.gpus.as_ref().map(Gpus::holders).unwrap_or_default();
        for (gpu, holders) in holders.into_iter().enumerate() {
            for (pid, bytes) in holders.into_iter().flatten() {
                held.entry(pid).or_default().push((gpu as u32, bytes));
            }
        }
        let drivers = self.census.drivers(now);
        let all: BTreeSet<u32> = held.keys().copied().chain(drivers).collect();
        let mut before: HashMap<u32, Turn> = self.turns.drain(..).map(|turn| (turn.run.pid, turn)).collect();
        for pid in all {
            let Some(start) = started(pid).filter(|_| self.turns.len() < MOST_RUNS) else { continue };
            let mut turn = match before.remove(&pid) {
                Some(turn) if turn.run.started == start => turn,
                _ if !self.census.may_tell(pid) => continue,
                _ => Turn {
                    run: Run {
                        pid,
                        started: start,
                        parent: parent(pid),
                        place: place(pid),
                        command: command(pid),
                        gpus: Vec::new(),
                    },
                    taken: None,
                    pause: FIRST_PAUSE,
                    not_before: now,
                },
            };
            turn.run.gpus = held.remove(&pid).unwrap_or_default();
            self.turns.push(turn);
        }
        let stays = |pid: &u32, start: u64| {
            self.turns.iter().any(|turn| turn.run.pid == *pid && turn.run.started == start)
        };
        let gone: Vec<u32> = self
            .watched
            .iter()
            .filter(|(pid, watched)| !stays(pid, watched.start()))
            .map(|(pid, _)| *pid)
            .collect();
        for pid in gone {
            self.watched.remove(&pid);
        }
        self.lines.retain(|(pid, ..), _| !before.contains_key(pid));
        for pid in before.keys() {
            self.stacks.forget(*pid);
        }
        for turn in &self.turns {
            let pid = turn.run.pid;
            if !self.watched.contains_key(&pid)
                && let Some(watched) = Watched::new(pid, Role::Driver)
            {
                self.stacks.forget(pid);
                self.watched.insert(pid, watched);
            }
        }
        if let Some(focus) = self.focus.take_if(|focus| !self.watched.contains_key(&focus.pid)) {
            drop(focus);
        }
        self.turns.iter().map(|turn| turn.run.clone()).collect()
    }

    /// Takes the stacks of the next program whose turn it is.
    fn take_next(&mut self, now: Instant, round: &mut Round) {
        let count = self.turns.len();
        let may = |turn: &Turn| {
            now >= turn.not_before
                && turn.taken.is_none_or(|taken| now.saturating_duration_since(taken) >= SELDOM)
        };
        let Some(at) = (0..count).map(|step| (self.next + step) % count).find(|&at| may(&self.turns[at]))
        else {
            return;
        };
        self.next = (at + 1) % count;
        self.take(at, now, round);
    }

    fn take(&mut self, at: usize, now: Instant, round: &mut Round) {
        let turn = &mut self.turns[at];
        let pid = turn.run.pid;
        turn.taken = Some(now);
        let (t, state) = (now_ns(), self.watched.get(&pid).map_or(' ', Watched::state));
        // What is read is another process's memory: whatever it makes the reader do, the others are sampled on.
        let reader = &mut self.stacks;
        let taken = catch_unwind(AssertUnwindSafe(|| reader.stacks(pid, None)));
        let taken = taken.unwrap_or_else(|_| {
            self.stacks.forget(pid);
            Err(String::new())
        });
        match taken {
            Ok(stacks) => {
                turn.pause = FIRST_PAUSE;
                let matters = |seen: &Sighting| seen.gil || seen.stack.thread == "MainThread";
                let stacks: Vec<Sighting> = stacks.into_iter().filter(matters).collect();
                for seen in &stacks {
                    round.source.extend(source(&mut self.lines, pid, seen));
                }
                if !stacks.is_empty() {
                    round.stacks.push(StackRow { t, pid, state, stacks });
                }
            }
            Err(_) => {
                round.failed.push("stacks");
                turn.not_before = now + turn.pause;
                turn.pause = (2 * turn.pause).min(LAST_PAUSE);
            }
        }
    }

    fn sample_focus(&mut self, now: Instant, round: &mut Round) {
        let Some(mut focus) = self.focus.take() else { return };
        if focus.rows.is_due(now) {
            let driver = self.watched.get_mut(&focus.pid);
            let all = driver.into_iter().chain(&mut focus.workers);
            round.process.extend(focus.rows.take(|| all.filter_map(Watched::row).collect::<Vec<_>>()));
        }
        let at = self.turns.iter().position(|turn| turn.run.pid == focus.pid && now >= turn.not_before);
        if focus.stacks.is_due(now)
            && let Some(at) = at
        {
            let before = thread_cpu();
            self.take(at, now, round);
            focus.stacks.book(thread_cpu().saturating_sub(before), Instant::now());
        }
        if focus.gpus.is_due(now) {
            let held = at.map(|at| self.turns[at].run.gpus.iter().map(|(gpu, _)| *gpu).collect::<Vec<_>>());
            let before = thread_cpu();
            if let Some(held) = held.filter(|held| !held.is_empty()) {
                self.sample_gpus(&held, round);
            }
            focus.gpus.book(thread_cpu().saturating_sub(before), Instant::now());
        }
        self.focus = Some(focus);
    }
}

/// The text of the line that a stack stands at in the user's own code.
fn source(
    lines: &mut HashMap<(u32, String, u32), Option<String>>,
    pid: u32,
    seen: &Sighting,
) -> Option<(String, u32, String)> {
    let own = |file: &str| !file.contains("/site-packages/") && !file.contains("/lib/python");
    let (_, file, line) = seen.stack.frames.iter().rev().find(|(_, file, _)| own(file))?;
    if lines.len() >= MOST_LINES {
        lines.clear();
    }
    let text = lines
        .entry((pid, file.clone(), *line))
        .or_insert_with(|| Some(redact::text(&source_line(pid, file, *line)?)));
    Some((file.clone(), *line, text.clone()?))
}

/// A row of a card that says how busy it was.
fn answers(row: &str) -> bool {
    row.split(',').nth(2).is_some_and(|busy| !busy.is_empty())
}

/// The loader workers of a program, by their name or because they have its command line.
fn workers(pid: u32) -> Vec<Watched> {
    let own = command(pid);
    let loads = |child: &u32| {
        let name = std::fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
        name.starts_with("pt_data_worker") || (!own.is_empty() && command(*child) == own)
    };
    let all = children(pid).into_iter().filter(loads).take(MOST_WORKERS);
    all.filter_map(|child| Watched::new(child, Role::Worker)).collect()
}

/// The command line of a process without secrets, cut.
fn command(pid: u32) -> Vec<String> {
    use std::io::Read;

    const MOST_BYTES: u64 = 64 << 10;
    let mut bytes = Vec::new();
    // A process that is gone has no command line.
    let _ = std::fs::File::open(format!("/proc/{pid}/cmdline"))
        .and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    let arguments: Vec<String> =
        text.split_terminator('\0').take(MOST_ARGUMENTS).map(str::to_owned).collect();
    let cut = |argument: String| argument.chars().take(LONGEST_ARGUMENT).collect::<String>();
    // Cut last: half a secret must not look like something else.
    redact::command(&arguments).into_iter().map(cut).map(|argument| harmless(&argument)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoStacks;

    impl StackSource for NoStacks {
        fn stacks(&mut self, _: u32, _: Option<u32>) -> Result<Vec<Sighting>, String> {
            Err("none".to_owned())
        }

        fn forget(&mut self, _: u32) {}
    }

    #[test]
    fn a_machine_is_sampled_and_commands_lose_their_secrets() -> std::io::Result<()> {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sleep 60; : $0", "--api-key=hunter2-hunter2"])
            .spawn()?;
        let mut found = Vec::new();
        for _ in 0..1_000 {
            found = command(child.id());
            if found.first().is_some_and(|first| first == "sh") {
                break;
            }
            std::thread::yield_now();
        }
        child.kill()?;
        child.wait()?;
        assert_eq!(found, ["sh", "-c", "sleep 60; : $0", "--api-key=[redacted]"]);
        let mut node = Node::with_source(Box::new(NoStacks));
        let round = node.round();
        assert!(round.runs.is_some() && round.system.is_some());
        assert!(node.remembered() > 1 && node.pause() <= Duration::from_secs(1));
        Ok(())
    }
}
