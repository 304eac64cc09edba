//! The watch itself: one loop that samples every source at its own pace, until told to stop or until the
//! program is gone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::clock::{now_ns, process_cpu, seconds};
use crate::gpu::{Card, Gpus};
use crate::pace::Pace;
use crate::permission::stack_permission;
use crate::process::{self, Watched};
use crate::stacks::{PySpy, Sighting, StackSource, ThreadStack, source_line};
use crate::system::System;
use crate::tree::{Member, Role, Shown, Tree, children};
use crate::{About, Missing, Recorder, redact};

/// Processes sampled at most; a program with more of them is watched in part.
const MOST_WATCHED: usize = 256;
/// Failures in a row, without any success, after which stacks of a process are given up.
const GIVE_UP: u32 = 25;
/// Processes are looked at anew after this long, even if none came or went.
const LOOK_AGAIN: Duration = Duration::from_secs(20);
/// Source lines read at most.
const MOST_LINES: usize = 400;

/// What to watch, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Physical GPUs; those of the program where empty.
    pub gpus: Vec<u32>,
    /// Take Python stacks.
    pub stacks: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { gpus: Vec::new(), stacks: true }
    }
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Stop.
    Stop,
}

/// How far the watch has come.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Since the watch began.
    pub elapsed: Duration,
    /// Processes that drive GPUs.
    pub drivers: Vec<u32>,
    /// Samples of the drivers' main threads.
    pub main_samples: u64,
    /// Those in a backward pass or an optimizer: the program trains.
    pub training_samples: u64,
    /// Time since the first of them.
    pub training_for: Duration,
    /// Samples in a loader: the program waits for its data, or prepares it.
    pub loader_samples: u64,
    /// Time since the first of them.
    pub loader_for: Duration,
    /// Rows of GPU samples.
    pub gpu_samples: u64,
}

/// What a watch was, once it is over.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The program's processes as last seen.
    pub tree: Tree,
    /// What could not be had.
    pub missing: Vec<Missing>,
    /// CPU time that the watcher used.
    pub cpu: Duration,
    /// How long it watched.
    pub wall: Duration,
    /// The GPUs.
    pub cards: Vec<Card>,
    /// Everything that `recording.json` says of it.
    pub more: Map<String, Value>,
}

struct Paces {
    gpu: Pace,
    process: Pace,
    thread: Pace,
    system: Pace,
    main: Pace,
    worker: Pace,
    tree: Pace,
}

/// Shares of a core: 0.7 % together; opening everything costs about as much again as two seconds of that.
fn paces() -> Paces {
    let ms = Duration::from_millis;
    Paces {
        // The card's own counters integrate: what lies between two samples is not lost.
        gpu: Pace::new(0.002, ms(250), ms(3_000)),
        process: Pace::new(0.001, ms(200), ms(5_000)).uneven(),
        thread: Pace::new(0.000_3, ms(500), ms(10_000)),
        system: Pace::new(0.000_3, ms(500), ms(5_000)),
        main: Pace::new(0.002_5, ms(150), ms(5_000)),
        worker: Pace::new(0.000_7, ms(250), ms(10_000)),
        tree: Pace::new(0.000_3, ms(1_000), ms(10_000)),
    }
}

/// A watch over one program.
pub struct Watch {
    /// What was asked for: process and start.
    roots: Vec<(u32, Option<u64>)>,
    options: Options,
    recorder: Recorder,
    tree: Tree,
    shown: Shown,
    pids: HashSet<u32>,
    watched: BTreeMap<u32, Watched>,
    gpus: Option<Gpus>,
    cards: Vec<Card>,
    system: System,
    stacks: Option<Box<dyn StackSource>>,
    stack_failures: HashMap<u32, (u32, bool)>,
    next_worker: usize,
    missing: Vec<Missing>,
    paces: Paces,
    lines: HashSet<(String, u32)>,
    started: (Instant, i64, Duration),
    first_training: Option<Instant>,
    first_loader: Option<Instant>,
    looked: Instant,
    progress: Progress,
}

impl Watch {
    /// Begins a watch over the programs of `roots`.
    #[must_use]
    pub fn new(roots: &[u32], recorder: Recorder, options: Options) -> Self {
        let stacks: Box<dyn StackSource> = Box::new(PySpy::default());
        Self::with_source(roots, recorder, options, stacks)
    }

    /// As [`Watch::new`], with another source of stacks.
    #[must_use]
    pub fn with_source(
        roots: &[u32],
        recorder: Recorder,
        options: Options,
        stacks: Box<dyn StackSource>,
    ) -> Self {
        let started = (Instant::now(), now_ns(), process_cpu());
        let mut missing = Vec::new();
        let gpus = Gpus::open().map_err(|why| missing.push(why)).ok();
        let cards = gpus.as_ref().map(Gpus::cards).unwrap_or_default();
        if !cards.is_empty() && cards.iter().all(|card| !card.has_gpm) {
            missing.push(Missing::new("gpm", "no-gpm", cards[0].name.clone()));
        }
        let stacks = options.stacks.then_some(stacks);
        let mut watch = Self {
            roots: roots.iter().map(|&pid| (pid, process::started(pid))).collect(),
            options,
            recorder,
            tree: Tree::default(),
            shown: Shown::default(),
            pids: HashSet::new(),
            watched: BTreeMap::new(),
            gpus,
            cards,
            system: System::default(),
            stacks,
            stack_failures: HashMap::new(),
            next_worker: 0,
            missing,
            paces: paces(),
            lines: HashSet::new(),
            started,
            first_training: None,
            first_loader: None,
            looked: Instant::now(),
            progress: Progress::default(),
        };
        watch.look_again();
        watch
    }

    /// The program's processes as last seen.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// How long it has been watching.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.started.0.elapsed()
    }

    /// Samples until `until` says stop, asked ten times a second, or the program is gone.
    pub fn run(&mut self, until: &mut dyn FnMut(&Progress) -> Flow) {
        loop {
            let pause = self.turn();
            if until(&self.progress) == Flow::Stop {
                return;
            }
            match pause {
                Some(pause) => std::thread::sleep(pause),
                None => return,
            }
        }
    }

    /// Samples what is due. How long to pause until the next turn; `None` once the program is gone.
    pub fn turn(&mut self) -> Option<Duration> {
        const LONGEST_PAUSE: Duration = Duration::from_millis(100);
        let now = Instant::now();
        self.sample(now);
        self.recorder.tick();
        self.progress.elapsed = self.started.0.elapsed();
        self.progress.training_for = self.first_training.map_or(Duration::ZERO, |first| first.elapsed());
        self.progress.loader_for = self.first_loader.map_or(Duration::ZERO, |first| first.elapsed());
        if !self.is_alive() {
            return None;
        }
        let p = &self.paces;
        let next = [&p.gpu, &p.process, &p.main, &p.worker].map(Pace::due).into_iter().min().unwrap_or(now);
        let pause = next.saturating_duration_since(Instant::now()).min(LONGEST_PAUSE);
        Some(pause.max(Duration::from_millis(1)))
    }

    /// Writes what is known so far as `recording.json`, while the watch goes on.
    ///
    /// # Errors
    /// Where it could not be written.
    pub fn describe(&mut self, command: Vec<String>) -> io::Result<()> {
        let summary = self.summary();
        let pids = summary.tree.drivers().map(|driver| driver.pid).collect();
        self.recorder.describe(&About { command, pids, missing: summary.missing, more: summary.more })
    }

    fn is_alive(&self) -> bool {
        self.roots.iter().any(|(root, _)| self.watched.get(root).is_some_and(Watched::is_alive))
            || self.tree.drivers().any(|driver| self.watched.get(&driver.pid).is_some_and(Watched::is_alive))
    }

    fn sample(&mut self, now: Instant) {
        if self.paces.tree.is_due(now) {
            let roots = self.living_roots();
            let pids = self.paces.tree.take(|| descendants(&roots));
            // What a process is shows only once it has loaded its libraries and opened its GPU.
            let young = self.tree.drivers().next().is_none() || self.looked.elapsed() > LOOK_AGAIN;
            if pids != self.pids || young {
                self.look_again();
            }
        }
        if self.paces.gpu.is_due(now) {
            self.sample_gpus();
        }
        if self.paces.process.is_due(now) {
            let rows: Vec<String> = {
                let watched = &mut self.watched;
                self.paces.process.take(|| watched.values_mut().filter_map(Watched::row).collect())
            };
            self.recorder.process_rows(&rows);
        }
        if self.paces.thread.is_due(now) {
            let drivers: Vec<&Watched> =
                self.watched.values().filter(|watched| watched.role == Role::Driver).collect();
            let rows: Vec<String> =
                self.paces.thread.take(|| drivers.into_iter().flat_map(Watched::threads).collect());
            self.recorder.thread_rows(&rows);
        }
        if self.paces.system.is_due(now)
            && let Some(row) = self.paces.system.take(|| self.system.row())
        {
            self.recorder.system_row(row);
        }
        if self.stacks.is_some() && self.paces.main.is_due(now) {
            let drivers: Vec<u32> = self.tree.drivers().map(|driver| driver.pid).collect();
            let before = crate::clock::thread_cpu();
            for driver in drivers {
                self.sample_stacks(driver);
            }
            let spent = crate::clock::thread_cpu().saturating_sub(before);
            self.paces.main.book(spent, Instant::now());
        }
        if self.stacks.is_some() && self.paces.worker.is_due(now) {
            let workers: Vec<u32> =
                self.tree.members.iter().filter(|m| m.role == Role::Worker).map(|m| m.pid).collect();
            let before = crate::clock::thread_cpu();
            if !workers.is_empty() {
                self.next_worker = (self.next_worker + 1) % workers.len();
                self.sample_stacks(workers[self.next_worker]);
            }
            let spent = crate::clock::thread_cpu().saturating_sub(before);
            self.paces.worker.book(spent, Instant::now());
        }
    }

    fn sample_gpus(&mut self) {
        let wanted = self.options.gpus.clone();
        let Some(gpus) = self.gpus.as_mut() else {
            self.paces.gpu.take(|| ());
            return;
        };
        let rows = self.paces.gpu.take(|| gpus.rows(&wanted));
        if gpus.is_gone() {
            self.missing.push(Missing::new("gpu", "nvml-vanished", String::new()));
            self.gpus = None;
        }
        self.progress.gpu_samples += rows.len() as u64;
        self.recorder.gpu_rows(&rows);
    }

    /// The roots whose numbers have not gone to other processes.
    fn living_roots(&self) -> Vec<u32> {
        let same =
            |(pid, started): &&(u32, Option<u64>)| started.is_none() || process::started(*pid) == *started;
        self.roots.iter().filter(same).map(|(pid, _)| *pid).collect()
    }

    /// Looks at the program's processes anew.
    fn look_again(&mut self) {
        let tree = Tree::with(&self.living_roots(), &self.shown);
        self.looked = Instant::now();
        self.pids = tree.members.iter().map(|member| member.pid).collect();
        // Once the program has ended, what was known of it stays.
        if tree.drivers().next().is_none() && self.tree.drivers().next().is_some() {
            return;
        }
        self.tree = tree;
        let is_same = |(pid, watched): &(&u32, &Watched)| {
            self.tree.members.iter().any(|member| member.pid == **pid && watched.started_at(member.started))
        };
        let gone: Vec<u32> =
            self.watched.iter().filter(|entry| !is_same(entry)).map(|(pid, _)| *pid).collect();
        for pid in gone {
            self.watched.remove(&pid);
            self.stack_failures.remove(&pid);
            if let Some(stacks) = self.stacks.as_mut() {
                stacks.forget(pid);
            }
        }
        for member in &self.tree.members {
            if let Some(watched) = self.watched.get_mut(&member.pid) {
                watched.role = member.role;
            } else if self.watched.len() < MOST_WATCHED
                && let Some(watched) = Watched::new(member.pid, member.role)
            {
                self.watched.insert(member.pid, watched);
            }
        }
        self.progress.drivers = self.tree.drivers().map(|driver| driver.pid).collect();
    }

    fn sample_stacks(&mut self, pid: u32) {
        let (failures, ever) = self.stack_failures.get(&pid).copied().unwrap_or_default();
        if failures >= GIVE_UP && !ever {
            return;
        }
        let Some(source) = self.stacks.as_mut() else { return };
        let parents: Vec<u32> = self.tree.ancestry(pid).into_iter().rev().collect();
        let is_driver = self.tree.members.iter().any(|m| m.pid == pid && m.role == Role::Driver);
        let parent = if is_driver { None } else { parents.last().copied() };
        let t = now_ns();
        let state = self.watched.get(&pid).map_or(' ', Watched::state);
        match source.stacks(pid, parent) {
            Ok(stacks) => {
                self.stack_failures.insert(pid, (0, true));
                if self.learn_role(pid, &stacks) {
                    self.look_again();
                }
                if self.tree.drivers().any(|driver| driver.pid == pid) {
                    self.count_training(&stacks);
                }
                let new = self.recorder.stacks(t, pid, &parents, stacks, state);
                self.read_source(pid, &new);
            }
            Err(words) => {
                self.stack_failures.insert(pid, (failures + 1, ever));
                if is_driver && failures + 1 == GIVE_UP && !ever {
                    let why = stack_permission(pid);
                    self.missing.push(why.unwrap_or_else(|| Missing::new("stacks", "unreadable", words)));
                }
            }
        }
    }

    /// What the stack of a process's main thread shows of its part in the program. True where that is news and not
    /// what was taken for granted.
    fn learn_role(&mut self, pid: u32, stacks: &[Sighting]) -> bool {
        let Some(member) = self.tree.members.iter().find(|member| member.pid == pid) else { return false };
        let (key, role) = ((pid, member.started), member.role);
        match main_thread(stacks) {
            Some(main) if main.frames.iter().any(loads) => {
                self.shown.loads.insert(key) && role != Role::Worker
            }
            Some(main) if main.frames.iter().any(trains) => {
                self.shown.trains.insert(key) && role != Role::Driver
            }
            _ => false,
        }
    }

    fn count_training(&mut self, stacks: &[Sighting]) {
        let Some(main) = main_thread(stacks) else { return };
        self.progress.main_samples += 1;
        if main.frames.iter().any(trains) {
            self.progress.training_samples += 1;
            self.first_training.get_or_insert_with(Instant::now);
        } else if main.frames.iter().any(asks_loader) {
            self.progress.loader_samples += 1;
            self.first_loader.get_or_insert_with(Instant::now);
        }
    }

    /// Reads the source lines of the innermost frames that are the user's own.
    fn read_source(&mut self, pid: u32, new: &[ThreadStack]) {
        let own = |file: &str| !file.contains("/site-packages/") && !file.contains("/lib/python");
        for stack in new {
            for (_, file, line) in stack.frames.iter().rev().filter(|(_, file, _)| own(file)).take(2) {
                if self.lines.len() < MOST_LINES
                    && self.lines.insert((file.clone(), *line))
                    && let Some(text) = source_line(pid, file, *line)
                {
                    self.recorder.source(file, *line, &text);
                }
            }
        }
    }

    /// What is known so far, for `recording.json`.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let (cpu, wall) = (process_cpu().saturating_sub(self.started.2), self.started.0.elapsed());
        Summary {
            tree: self.tree.clone(),
            missing: self.all_missing(),
            cpu,
            wall,
            cards: self.cards.clone(),
            more: self.members(cpu, wall),
        }
    }

    fn all_missing(&self) -> Vec<Missing> {
        let mut missing = self.missing.clone();
        let said = |what: &str, missing: &[Missing]| missing.iter().any(|missing| missing.what == what);
        if !self.options.stacks && !said("stacks", &missing) {
            missing.push(Missing::new("stacks", "not-wanted", String::new()));
        } else if self.progress.main_samples == 0 && self.paces.main.samples > 0 && !said("stacks", &missing)
        {
            let driver = self.progress.drivers.first().copied();
            let why = driver.and_then(stack_permission);
            missing.push(why.unwrap_or_else(|| Missing::new("stacks", "unreadable", String::new())));
        }
        missing
    }

    fn members(&self, cpu: Duration, wall: Duration) -> Map<String, Value> {
        let pace = |pace: &Pace| {
            json!({
                "samples": pace.samples,
                "interval_s": rounded(wall.as_secs_f64() / pace.samples.max(1) as f64),
                "cpu_s": rounded(pace.spent.as_secs_f64()),
            })
        };
        let p = &self.paces;
        let process = |member: &Member| {
            json!({
                "pid": member.pid, "ppid": member.ppid, "started": member.started, "name": member.name,
                "command": redact::command(&member.command), "role": member.role.id(), "rank": member.number("RANK"), "local_rank": member.number("LOCAL_RANK"),
                "gpu_files": member.gpu_files, "environment": member.environment,
            })
        };
        let card = |card: &Card| {
            json!({
                "index": card.index, "name": card.name, "uuid": card.uuid, "memory": card.memory,
                "power_limit_mw": card.power_limit_mw, "power_default_mw": card.power_default_mw,
                "sm_most_mhz": card.sm_most_mhz, "gpm": card.has_gpm,
                "processes": card.processes.iter().map(|(pid, bytes)| json!({ "pid": pid, "memory": bytes })).collect::<Vec<_>>(),
            })
        };
        let software = self.tree.drivers().next().map(|driver| driver.software.clone()).unwrap_or_default();
        let first = self.tree.drivers().next();
        let value = json!({
            "started": seconds(self.started.1).parse::<f64>().ok(),
            "seconds": rounded(wall.as_secs_f64()),
            "cpus": std::thread::available_parallelism().map(usize::from).ok(),
            "torch": software.torch,
            "cuda": software.cuda,
            "python": software.python,
            "driver": self.gpus.as_ref().and_then(Gpus::driver),
            "rank": first.and_then(|driver| driver.number("RANK")),
            "world": first.and_then(|driver| driver.number("WORLD_SIZE")),
            "open_files_limit": first.and_then(|driver| self.watched.get(&driver.pid)?.most_files()),
            "shm_bytes": first.and_then(|driver| shm_bytes(driver.pid)),
            "gpus": self.cards.iter().map(card).collect::<Vec<_>>(),
            "processes": self.tree.members.iter().map(process).collect::<Vec<_>>(),
            "sampled": {
                "gpu": pace(&p.gpu), "processes": pace(&p.process), "threads": pace(&p.thread),
                "system": pace(&p.system), "main_stacks": pace(&p.main), "worker_stacks": pace(&p.worker),
            },
            "watcher": { "cpu_s": rounded(cpu.as_secs_f64()), "wall_s": rounded(wall.as_secs_f64()) },
        });
        value.as_object().cloned().unwrap_or_default()
    }

    /// Ends the watch and its recording. `more` is added to `recording.json`.
    ///
    /// # Errors
    /// Where the recording could not be written.
    pub fn finish(
        mut self,
        command: Vec<String>,
        missing: Vec<Missing>,
        more: Map<String, Value>,
    ) -> io::Result<Summary> {
        if let Some(gpus) = self.gpus.as_ref() {
            // Who computes on them shows only once the program does.
            let before = std::mem::replace(&mut self.cards, gpus.cards());
            for (card, before) in self.cards.iter_mut().zip(before) {
                if card.processes.is_empty() {
                    card.processes = before.processes;
                }
            }
        }
        let mut summary = self.summary();
        summary.missing.extend(missing);
        summary.more.extend(more);
        let pids = summary.tree.drivers().map(|driver| driver.pid).collect();
        let about = About { command, pids, missing: summary.missing.clone(), more: summary.more.clone() };
        self.recorder.finish(&about)?;
        Ok(summary)
    }
}

fn main_thread(stacks: &[Sighting]) -> Option<&ThreadStack> {
    stacks.iter().map(|seen| &seen.stack).find(|stack| stack.thread == "MainThread")
}

type Frame = (String, String, u32);

/// A backward pass or an optimizer: importing and building an optimizer is no training yet.
fn trains((function, file, _): &Frame) -> bool {
    let name = function.rsplit('.').next().unwrap_or(function);
    name == "_engine_run_backward" || name == "step" && file.contains("torch/optim/")
}

/// Asks a loader for a batch, whether workers prepare it or the process itself.
fn asks_loader((function, file, _): &Frame) -> bool {
    function.rsplit('.').next() == Some("_next_data") && file.ends_with("torch/utils/data/dataloader.py")
}

/// The loop of a loader worker.
fn loads((function, file, _): &Frame) -> bool {
    function == "_worker_loop" && file.ends_with("torch/utils/data/_utils/worker.py")
}

/// Size of `/dev/shm` as process `pid` sees it: loader workers hand their batches over through it.
fn shm_bytes(pid: u32) -> Option<u64> {
    let about = rustix::fs::statvfs(format!("/proc/{pid}/root/dev/shm")).ok()?;
    about.f_blocks.checked_mul(about.f_frsize)
}

fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

fn descendants(roots: &[u32]) -> HashSet<u32> {
    let own = std::process::id();
    let mut found = HashSet::new();
    let mut queue = roots.to_vec();
    while let Some(pid) = queue.pop() {
        if pid != own
            && found.len() < 4_096
            && std::path::Path::new(&format!("/proc/{pid}")).exists()
            && found.insert(pid)
        {
            queue.extend(children(pid));
        }
    }
    found
}
