//! The agent over recordings that are played by a clock of their own: what it says against what was recorded, a day in
//! moments, changes, clocks that jump, disks that are full.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use whyidle_agent::agent::{Agent, News};
use whyidle_agent::exposition::Format;
use whyidle_agent::ring::{self, Ring};
use whyidle_agent::settings::RingSettings;
use whyidle_agent::source::{Moment, Own, Replay, Source};
use whyidle_agent::web::Desk;
use whyidle_observe::gpu::Card;
use whyidle_observe::node::{Round, Run, StackRow};
use whyidle_observe::stacks::{Sighting, ThreadStack};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const BEGAN: i64 = 1_795_000_000_000_000_000;

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../whyidle/tests/recordings").join(name)
}

fn replay(names: &[&str], length: Duration) -> Result<Replay> {
    let dirs: Vec<PathBuf> = names.iter().map(|name| recorded(name)).collect();
    let dirs: Vec<&Path> = dirs.iter().map(AsRef::as_ref).collect();
    Ok(Replay::open(&dirs, BEGAN, None, Some(length))?)
}

fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

/// Plays to the end.
fn play<S: Source>(agent: &mut Agent<S>) {
    while !agent.is_over() {
        agent.turn();
        agent.rest();
    }
    agent.end();
}

fn values(desk: &Desk) -> BTreeMap<String, f64> {
    let text = desk.text(Format::Prometheus);
    let value = |line: &str| {
        let (name, value) = line.rsplit_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(value).collect()
}

fn of(values: &BTreeMap<String, f64>, parts: &[&str]) -> Option<f64> {
    values.iter().find(|(name, _)| parts.iter().all(|part| name.contains(part))).map(|(_, value)| *value)
}

#[test]
fn what_a_starved_program_waits_for_is_told_and_a_day_costs_no_memory() -> Result {
    let (dir, desk) = (tempfile::tempdir()?, Desk::default());
    let settings = RingSettings { megabytes: 3, ..RingSettings::default() };
    let ring = Ring::open(dir.path(), settings.clone())?;
    let names = ["attached_workers", "attached_gc", "attached_two_ranks"];
    let mut agent = Agent::new(replay(&names, minutes(24 * 60))?, Some(ring), 1_000, desk.clone(), "t");
    let (mut sizes, mut hours, mut most_disk, mut most_series) = (Vec::new(), 0, 0, 0);
    while !agent.is_over() {
        agent.turn();
        if agent.source().now().steady >= hours * minutes(60) {
            hours += 1;
            sizes.push(whyidle_observe::clock::resident_bytes().ok_or("resident")?);
            let bytes = fs_bytes(dir.path())?;
            most_disk = most_disk.max(bytes);
            most_series = most_series.max(agent.state().own.series);
        }
        agent.rest();
    }
    agent.end();
    let grown = sizes.last().ok_or("sizes")?.saturating_sub(sizes[2]);
    println!(
        "24 h: resident {} MB, grown by {} KB since hour 2, disk at most {} KB, {} series",
        sizes.last().ok_or("sizes")? >> 20,
        grown >> 10,
        most_disk >> 10,
        most_series
    );
    assert!(sizes.iter().all(|size| *size < 60 << 20), "{sizes:?}");
    assert!(grown < 4 << 20, "{sizes:?}");
    assert!(most_disk < 3_000_000 && most_disk > 1_000_000, "{most_disk}");
    assert!(most_series < 200, "{most_series}");

    let values = values(&desk);
    let day = 86_400.0;
    let busy = of(&values, &["gpu_busy_seconds_total{gpu=\"0\""]).ok_or("busy")?;
    let idle = of(&values, &["idle_held_seconds_total{gpu=\"0\""]).ok_or("idle")?;
    assert!((busy + idle - day).abs() < 0.02 * day, "{busy} {idle}");
    let held = of(&values, &["run_gpu_seconds_total", "pid=\"1000\""]).ok_or("held")?;
    assert!((held - day).abs() < 0.02 * day, "{held}");
    let charged: f64 = values
        .iter()
        .filter(|(name, _)| {
            name.starts_with("whyidle_run_idle_gpu_seconds_total") && name.contains("pid=\"1000\"")
        })
        .map(|(_, value)| value)
        .sum();
    assert!((charged - idle).abs() < 0.01 * day, "{charged} of {idle}");
    let data = of(&values, &["run_idle_gpu_seconds_total", "pid=\"1000\"", "data.workers"]).ok_or("data")?;
    assert!(data > 0.5 * charged, "{data} of {charged}: {values:#?}");
    let collects = of(&values, &["run_idle_gpu_seconds_total", "pid=\"1001\"", "host.gc"]).unwrap_or(0.0);
    assert!(collects > 0.0, "{values:#?}");
    Ok(())
}

fn fs_bytes(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() { fs_bytes(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}

/// A machine with one program that can be made to do anything.
struct Made {
    at: Duration,
    /// Added to the clock of the day, ns.
    jump: i64,
    until: Duration,
    /// Milliseconds of a step at a time.
    step_ms: fn(Duration) -> f64,
    /// Programs that are there.
    runs: Vec<Run>,
    looked: Option<Duration>,
    /// Batches that its two workers have delivered, until when.
    batches: f64,
    counted: Duration,
    fails: Vec<&'static str>,
}

impl Made {
    fn new(until: Duration, step_ms: fn(Duration) -> f64) -> Self {
        let run = Run {
            pid: 7,
            started: 1,
            gpus: vec![(0, None)],
            command: vec!["python".to_owned()],
            ..Run::default()
        };
        Self {
            at: Duration::ZERO,
            jump: 0,
            until,
            step_ms,
            runs: vec![run],
            looked: None,
            batches: 0.0,
            counted: Duration::ZERO,
            fails: Vec::new(),
        }
    }

    fn waits(&self) -> bool {
        (self.step_ms)(self.at) > 60.0
    }
}

/// From sample to sample, on average. As a node samples, it is never in step with a program.
const TICK: Duration = Duration::from_millis(250);

fn tick(at: Duration) -> Duration {
    TICK.mul_f64(0.5 + (at.as_secs_f64() * 97.0 * 0.618_034).fract())
}

fn stack(frames: &[(&str, &str)]) -> Vec<Sighting> {
    let frames =
        frames.iter().map(|(function, file)| ((*function).to_owned(), (*file).to_owned(), 1)).collect();
    vec![Sighting { stack: ThreadStack { thread: "MainThread".to_owned(), frames }, gil: true }]
}

impl Source for Made {
    fn now(&self) -> Moment {
        let unix_ns = BEGAN + self.jump + i64::try_from(self.at.as_nanos()).unwrap_or(0);
        Moment { steady: self.at, unix_ns }
    }

    fn round(&mut self) -> Round {
        let now = self.now();
        let t = whyidle_observe::clock::seconds(now.unix_ns);
        let mut round = Round { failed: std::mem::take(&mut self.fails), ..Round::default() };
        if self.looked.is_none() {
            round.cards =
                Some(vec![Card { name: "GPU".to_owned(), uuid: "GPU-1".to_owned(), ..Card::default() }]);
        }
        if self.looked.is_none_or(|looked| self.at - looked >= Duration::from_secs(5)) {
            self.looked = Some(self.at);
            round.runs = Some(self.runs.clone());
        }
        let busy = if self.waits() { 30 } else { 95 };
        round.gpu.push(format!("{t},0,{busy},5,300000,,1900,2600,1000,2000,50,0,700000{}", ",".repeat(14)));
        self.batches += (self.at - self.counted).as_secs_f64() * 1e3 / (self.step_ms)(self.at);
        self.counted = self.at;
        let each = (self.batches / 2.0).floor();
        for (pid, role) in [(7, "driver"), (8, "worker"), (9, "worker")] {
            let own = if pid == 9 { (self.batches / 2.0 + 0.5).floor() } else { each };
            let (cpu, written) = (self.at.as_secs_f64() * 0.8, 668.0 * own);
            let parent = if pid == 7 { 1 } else { 7 };
            round.process.push(format!(
                "{t},{pid},{parent},python,running,{cpu:.2},0.1,4,1000,0,0,0,{written},1,1,1,1,,{role},9"
            ));
        }
        let loader = ("_MultiProcessingDataLoaderIter._try_get_data", "torch/utils/data/dataloader.py");
        let module = ("<module>", "/w/train.py");
        // Three in four samples wait, or none does.
        let is_waiting = self.waits() && !(self.at.as_millis() / 250).is_multiple_of(4);
        let stacks = if is_waiting {
            stack(&[module, ("_BaseDataLoaderIter.__next__", "torch/utils/data/dataloader.py"), loader])
        } else {
            stack(&[module, ("Linear.forward", "torch/nn/modules/linear.py")])
        };
        round.stacks.push(StackRow { t: now.unix_ns, pid: 7, state: 'S', stacks });
        round
    }

    fn focus(&mut self, _: Option<u32>, _: bool) {}

    fn rest(&mut self) {
        self.at += tick(self.at);
    }

    fn own(&self) -> Own {
        Own::default()
    }

    fn is_over(&self) -> bool {
        self.at >= self.until
    }
}

#[test]
fn a_slower_loader_is_found_named_and_kept() -> Result {
    let (dir, desk) = (tempfile::tempdir()?, Desk::default());
    let ring = Ring::open(dir.path(), RingSettings { minutes: 2, ..RingSettings::default() })?;
    let slows: fn(Duration) -> f64 = |at| if at < Duration::from_secs(1_200) { 50.0 } else { 80.0 };
    let mut agent = Agent::new(Made::new(minutes(30), slows), Some(ring), 500, desk.clone(), "t");
    play(&mut agent);
    let changed: Vec<News> = agent.news();
    let [News::Changed { pid: 7, change, what, .. }] = &changed[..] else {
        return Err(format!("{changed:?}").into());
    };
    assert!((change.before_ns as f64 / 50e6 - 1.0).abs() < 0.05, "{change:?}");
    assert!((change.after_ns as f64 / 80e6 - 1.0).abs() < 0.1, "{change:?}");
    assert!(what.iter().any(|text| text.id == "agent-change-waiting"), "{what:?}");
    let found = values(&desk);
    assert_eq!(of(&found, &["run_changes_total"]), Some(1.0));
    let step = of(&found, &["run_step_seconds"]).ok_or("a step")?;
    assert!((step / 0.08 - 1.0).abs() < 0.05, "{step}");
    assert!(of(&found, &["run_waiting_ratio", "data.workers"]).ok_or("waiting")? > 0.6);

    drop(agent);
    let entries = ring::list(dir.path())?;
    let marked: Vec<_> = entries.iter().filter(|entry| !entry.changes.is_empty()).collect();
    let [entry] = &marked[..] else { return Err("one recording tells of it".into()) };
    let told = &entry.changes[0];
    assert!(told.pid == 7 && told.what == *what && (told.before_ms - 50.0).abs() < 3.0, "{told:?}");
    let moment = (told.t * 1e9) as i64;
    assert_eq!(ring::at(&entries, moment).map(|at| &at.path), Some(&entry.path));
    // It is a recording like any other.
    let samples = whyidle_readers::samples::read(&entry.path)?;
    assert!(samples.dropped == 0 && samples.samples.gpu.len() > 100 && entry.recorded.pids == [7]);
    Ok(())
}

#[test]
fn steady_steps_and_stalls_now_and_then_are_no_change() -> Result {
    let desk = Desk::default();
    let stalls: fn(Duration) -> f64 = |at| if at.as_secs() % 700 < 15 { 400.0 } else { 50.0 };
    let mut agent = Agent::new(Made::new(minutes(100), stalls), None, 500, desk.clone(), "t");
    play(&mut agent);
    assert_eq!(agent.news(), []);
    assert_eq!(of(&values(&desk), &["run_changes_total"]), Some(0.0));
    Ok(())
}

#[test]
fn a_clock_that_jumps_begins_a_recording_and_breaks_no_interval() -> Result {
    let (dir, desk) = (tempfile::tempdir()?, Desk::default());
    let ring = Ring::open(dir.path(), RingSettings::default())?;
    let mut agent = Agent::new(Made::new(minutes(12), |_| 50.0), Some(ring), 500, desk.clone(), "t");
    let mut jumps = [(180, -3_600_000_000_000_i64), (360, 7_200_000_000_000)].into_iter().peekable();
    while !agent.is_over() {
        if let Some((_, by)) = jumps.next_if(|(at, _)| agent.source().at >= Duration::from_secs(*at)) {
            agent.source().jump += by;
        }
        agent.turn();
        agent.rest();
    }
    agent.end();
    let jumped: Vec<News> = agent.news();
    assert_eq!(jumped, [News::ClockJumped(-3_600_000_000_000), News::ClockJumped(7_200_000_000_000)]);
    let found = values(&desk);
    assert_eq!(of(&found, &["errors_total", "clock"]), Some(2.0));
    let counted = of(&found, &["gpu_busy_seconds_total"]).ok_or("busy")?;
    assert!((counted - 0.95 * 715.0).abs() < 15.0, "{counted}");
    for entry in ring::list(dir.path())? {
        let read = whyidle_readers::samples::read(&entry.path)?.samples;
        assert!(read.gpu.t.is_sorted(), "{}", entry.path.display());
    }
    Ok(())
}

#[test]
fn a_disk_that_takes_no_more_stops_the_ring_and_nothing_else() -> Result {
    let (dir, desk) = (tempfile::tempdir()?, Desk::default());
    let ring = Ring::open(&dir.path().join("ring"), RingSettings { minutes: 1, ..RingSettings::default() })?;
    let mut agent = Agent::new(Made::new(minutes(30), |_| 50.0), Some(ring), 500, desk.clone(), "t");
    let mut news = Vec::new();
    let mut step = |agent: &mut Agent<Made>, until: Duration| {
        while agent.source().at < until {
            agent.turn();
            agent.rest();
            news.extend(agent.news());
        }
    };
    step(&mut agent, minutes(5));
    // The folder is gone, and a file is in its place: nothing can be made there.
    fs::rename(dir.path().join("ring"), dir.path().join("away"))?;
    fs::write(dir.path().join("ring"), "")?;
    step(&mut agent, minutes(10));
    fs::remove_file(dir.path().join("ring"))?;
    fs::rename(dir.path().join("away"), dir.path().join("ring"))?;
    step(&mut agent, minutes(15));
    agent.end();
    assert!(matches!(news[..], [News::RingFailed(_), News::RingRecovered]), "{news:?}");
    let found = values(&desk);
    assert!(of(&found, &["errors_total", "ring"]).ok_or("counted")? >= 1.0);
    let counted = of(&found, &["gpu_busy_seconds_total"]).ok_or("busy")?;
    assert!((counted - 0.95 * 900.0).abs() < 20.0, "metrics go on: {counted}");
    assert!(ring::list(&dir.path().join("ring"))?.len() >= 8);
    Ok(())
}

#[test]
fn ten_thousand_programs_leave_no_series_behind() -> Result {
    let desk = Desk::default();
    let mut agent = Agent::new(Made::new(minutes(600), |_| 50.0), None, 400, desk.clone(), "t");
    let mut next = 100;
    let mut most = 0;
    while next < 10_100 {
        let run = |pid: u32| Run {
            pid,
            started: u64::from(pid),
            command: vec![format!("python {pid}")],
            ..Run::default()
        };
        agent.source().runs = (next..next + 50).map(run).collect();
        agent.source().looked = Some(Duration::ZERO);
        next += 50;
        for _ in 0..24 {
            agent.turn();
            agent.rest();
        }
        most = most.max(values(&desk).len());
        assert!(agent.state().runs.len() <= 50);
    }
    assert!(most <= 400, "{most} series");
    agent.source().runs.clear();
    for _ in 0..48 {
        agent.turn();
        agent.rest();
    }
    let text = desk.text(Format::OpenMetrics);
    assert!(!text.contains("whyidle_run_"), "{text}");
    assert!(text.contains("whyidle_agent_runs 0\n"));
    Ok(())
}

#[test]
fn an_agent_that_is_killed_leaves_what_can_be_read() -> Result {
    let (dir, desk) = (tempfile::tempdir()?, Desk::default());
    let ring = Ring::open(dir.path(), RingSettings { minutes: 1, ..RingSettings::default() })?;
    let mut agent = Agent::new(Made::new(minutes(30), |_| 50.0), Some(ring), 500, desk, "t");
    while agent.source().at < Duration::from_secs(150) {
        agent.turn();
        agent.rest();
    }
    // As if killed: nothing is ended.
    std::mem::forget(agent);
    let entries = ring::list(dir.path())?;
    assert_eq!(entries.len(), 3);
    for entry in &entries {
        let read = whyidle_readers::samples::read(&entry.path)?;
        assert_eq!((read.dropped, &entry.recorded.pids[..]), (0, &[7][..]));
        assert!(read.samples.gpu.len() > 90);
    }
    Ok(())
}
