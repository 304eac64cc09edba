//! The agent itself: takes rounds of samples in, judges windows of them, writes what is known.
//!
//! Intervals are measured on the steady clock; when the clock of the day jumps, a new recording begins, since one
//! recording has one time. Each [`SLOT`] one run is in focus, whose step time is estimated at its end; each [`WINDOW`]
//! every run is judged.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Map, Value, json};
use whyidle_diagnosis::Message;
use whyidle_observe::clock::seconds;
use whyidle_observe::gpu::Card;
use whyidle_observe::node::Round;

use crate::change::Change;
use crate::exposition::{Format, Terms, admit, text};
use crate::facts::{Facts, differences};
use crate::judge;
use crate::ring::{CHANGED, Ring, Segment};
use crate::source::{Moment, Source};
use crate::state::{CardState, MOST_FACTS, State};
use crate::web::Desk;

/// How long one run is in focus.
pub const SLOT: Duration = Duration::from_secs(20);
/// How long the windows are that runs are judged by.
pub const WINDOW: Duration = Duration::from_secs(60);
/// After a change, the run stays in focus for so many slots, closely.
const CLOSE_SLOTS: u32 = 3;
/// How often texts are written anew.
const WRITE_EVERY: Duration = Duration::from_secs(5);
/// The clocks may drift apart by this much between two rounds.
const JUMP_NS: i64 = 1_000_000_000;
/// Changes that one recording tells.
const MOST_CHANGES: usize = 64;
/// A step time is told until it is this old.
const OLD: Duration = Duration::from_secs(3_600);

/// What the agent has to say to whoever started it.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// Recordings can no longer be written; metrics go on.
    RingFailed(std::io::ErrorKind),
    /// They can again.
    RingRecovered,
    /// The clock of the day jumped by so many ns.
    ClockJumped(i64),
    /// A run's step time changed.
    Changed {
        /// Its job.
        job: String,
        /// Its number.
        pid: u32,
        /// Before and since.
        change: Change,
        /// What else is different.
        what: Vec<Message>,
    },
}

/// The agent.
pub struct Agent<S> {
    source: S,
    state: State,
    ring: Option<Ring>,
    segment: Option<Segment>,
    desk: Desk,
    series: usize,
    version: &'static str,
    last: Option<Moment>,
    written: Option<Duration>,
    /// The run in focus, since when, and slots that it is still to be seen closely for.
    focus: Option<((u32, u64), Moment, u32)>,
    focused_last: Option<(u32, u64)>,
    window: Option<Moment>,
    changes: Vec<Value>,
    cards: Vec<Card>,
    last_row: i64,
    ring_failed: bool,
    news: Vec<News>,
}

impl<S: Source> Agent<S> {
    /// An agent over a source.
    #[must_use]
    pub fn new(source: S, ring: Option<Ring>, series: usize, desk: Desk, version: &'static str) -> Self {
        Self {
            source,
            state: State::default(),
            ring,
            segment: None,
            desk,
            series,
            version,
            last: None,
            written: None,
            focus: None,
            focused_last: None,
            window: None,
            changes: Vec::new(),
            cards: Vec::new(),
            last_row: i64::MIN,
            ring_failed: false,
            news: Vec::new(),
        }
    }

    /// Everything that is known.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The source.
    pub fn source(&mut self) -> &mut S {
        &mut self.source
    }

    /// The ring, where there is one.
    pub fn ring(&mut self) -> Option<&mut Ring> {
        self.ring.as_mut()
    }

    /// Other limits hold from now on.
    pub fn limit(&mut self, series: usize) {
        self.series = series;
    }

    /// What there is to say, once.
    pub fn news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// Counts a failure of whoever runs the agent.
    pub fn failed(&mut self, kind: &'static str) {
        self.state.failed(kind);
    }

    /// Takes in what has come, and judges what is due.
    pub fn turn(&mut self) {
        let now = self.source.now();
        self.look_at_clocks(now);
        let round = self.source.round();
        self.take_in(round, now);
        if self.focus.is_none_or(|(_, since, _)| now.steady.saturating_sub(since.steady) >= SLOT) {
            self.end_slot(now);
        }
        if self.window.is_none_or(|window| now.steady.saturating_sub(window.steady) >= WINDOW) {
            self.end_window(now);
        }
        self.roll(now);
        if self.written.is_none_or(|written| now.steady.saturating_sub(written) >= WRITE_EVERY) {
            self.written = Some(now.steady);
            self.write(now);
        }
        self.last = Some(now);
    }

    /// Lets time pass until something is due.
    pub fn rest(&mut self) {
        self.source.rest();
    }

    /// There is nothing more to come.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.source.is_over()
    }

    /// Ends the recording that is being written.
    pub fn end(&mut self) {
        let now = self.source.now();
        self.end_segment(now);
    }

    fn look_at_clocks(&mut self, now: Moment) {
        let Some(last) = self.last else { return };
        let steady = i64::try_from(now.steady.saturating_sub(last.steady).as_nanos()).unwrap_or(i64::MAX);
        let jump = now.unix_ns.saturating_sub(last.unix_ns).saturating_sub(steady);
        if jump.abs() > JUMP_NS {
            self.state.failed("clock");
            self.news.push(News::ClockJumped(jump));
            self.end_segment(now);
            self.focus = None;
            self.window = Some(now);
        }
    }

    fn take_in(&mut self, mut round: Round, now: Moment) {
        for kind in round.failed.drain(..) {
            self.state.failed(kind);
        }
        if let Some(driver) = round.driver.take() {
            self.state.driver = driver;
        }
        if let Some(cards) = round.cards.take() {
            self.meet_cards(cards);
        }
        if let Some(runs) = round.runs.take() {
            self.state.meet(runs);
        }
        if self.segment.is_none() {
            self.begin_segment(now);
        }
        let Some(segment) = self.segment.as_mut() else { return };
        let has_gpu = !round.gpu.is_empty();
        let has_any = has_gpu || !round.process.is_empty() || !round.stacks.is_empty();
        segment.feed(round);
        if has_any {
            self.state.own.sampled_ns = Some(now.unix_ns);
        }
        if has_gpu {
            let table = &segment.samples().gpu;
            for row in judge::card_rows(table, self.last_row) {
                self.state.card_row(row, now.steady);
            }
            self.last_row = table.t.last().copied().unwrap_or(self.last_row);
        }
        if let Some(kind) = segment.failure() {
            self.state.failed("ring");
            self.ring_failed = true;
            self.news.push(News::RingFailed(kind));
        }
    }

    fn meet_cards(&mut self, cards: Vec<Card>) {
        self.state.cards_changed();
        let there: BTreeSet<u32> = cards.iter().map(|card| card.index).collect();
        // While the driver is away, counters stay: they are to grow, not to begin anew.
        if !there.is_empty() {
            self.state.cards.retain(|index, _| there.contains(index));
        }
        for card in &cards {
            let known = self.state.cards.entry(card.index).or_default();
            if known.uuid != card.uuid {
                *known = CardState { uuid: card.uuid.clone(), ..CardState::default() };
            }
            known.model.clone_from(&card.name);
            known.memory_total = (card.memory > 0).then_some(card.memory as f64);
        }
        self.cards = cards;
    }

    /// The run that was in focus is judged; the next one comes into focus.
    fn end_slot(&mut self, now: Moment) {
        let mut again = 0;
        if let Some((key, since, close)) = self.focus.take() {
            let changed = self.judge_focus(key, since, now);
            again = if changed { CLOSE_SLOTS } else { close.saturating_sub(1) };
            if again > 0 && self.state.runs.contains_key(&key) {
                self.source.focus(Some(key.0), true);
                self.focus = Some((key, now, again));
                return;
            }
        }
        let last = self.focused_last;
        let next = |key: &&(u32, u64)| last.is_none_or(|last| **key > last);
        let keys = || self.state.runs.keys();
        let Some(key) = keys().find(next).or_else(|| keys().next()).copied() else {
            self.source.focus(None, false);
            return;
        };
        self.focused_last = Some(key);
        self.source.focus(Some(key.0), false);
        self.focus = Some((key, now, again));
    }

    /// Estimates the step time of the run that was in focus since `since`. True where it changed.
    fn judge_focus(&mut self, key: (u32, u64), since: Moment, now: Moment) -> bool {
        let (Some(segment), Some(one)) = (self.segment.as_ref(), self.state.runs.get(&key)) else {
            return false;
        };
        let samples = segment.samples().between(since.unix_ns, now.unix_ns);
        let signals = judge::signals(&samples, &one.run, None);
        let own: Vec<u32> = one.run.gpus.iter().map(|(gpu, _)| *gpu).collect();
        let on_own = |gpu: &u32| self.state.holders(*gpu).into_iter().map(|(pid, _)| pid);
        let others: BTreeSet<u32> = own.iter().flat_map(on_own).filter(|pid| *pid != key.0).collect();
        let facts = judge::facts(&samples, &signals, others);
        let found = judge::step(&samples, &signals);
        let Some(one) = self.state.runs.get_mut(&key) else { return false };
        one.facts.push_back(facts);
        while one.facts.len() > MOST_FACTS {
            one.facts.pop_front();
        }
        let Some((step_ns, error)) = found else { return false };
        one.step = Some((step_ns, now.steady));
        let Some(change) = one.detector.next(step_ns, error) else { return false };
        one.changes += 1;
        let border = one.facts.len().saturating_sub(change.values.min(MOST_FACTS / 2));
        let (before, after): (Vec<&Facts>, Vec<&Facts>) =
            (one.facts.iter().take(border).collect(), one.facts.iter().skip(border).collect());
        let mut what = differences(before.into_iter(), after.into_iter());
        if what.is_empty() {
            what.push(Message::new("agent-change-nothing"));
        }
        let ms = |ns: i64| (ns as f64 / 1e4).round() / 1e2;
        let told = json!({
            "t": seconds(now.unix_ns).parse::<f64>().ok(),
            "pid": key.0,
            "job": one.job,
            "before_ms": ms(change.before_ns),
            "after_ms": ms(change.after_ns),
            "what": what,
        });
        let news = News::Changed { job: one.job.clone(), pid: key.0, change, what };
        if self.changes.len() < MOST_CHANGES {
            self.changes.push(told);
        }
        self.news.push(news);
        if let Some(dir) = self.segment.as_ref().and_then(Segment::dir) {
            // That it cannot be marked costs it its place at the end of the queue, nothing else.
            let _ = std::fs::write(dir.join(CHANGED), "");
        }
        self.describe(now);
        true
    }

    /// Every run is judged by the window that ends now.
    fn end_window(&mut self, now: Moment) {
        let began = self.window.replace(now);
        let (Some(segment), Some(began)) = (self.segment.as_mut(), began) else { return };
        segment.forget_before(began.unix_ns);
        let samples = segment.samples();
        for (index, card) in &mut self.state.cards {
            card.throttled = judge::throttled(&samples.gpu, *index);
        }
        for one in self.state.runs.values_mut() {
            let (held, idle) = std::mem::take(&mut one.uncharged);
            one.busy = (held > 0.0).then(|| (1.0 - idle / held).clamp(0.0, 1.0));
            let signals = judge::signals(samples, &one.run, one.busy);
            let waited = judge::waited(&signals);
            one.waiting = waited.shares;
            if idle > 0.0 {
                for (cause, part) in waited.parts {
                    *one.idle_s.entry(cause).or_default() += part * idle;
                }
            }
            if one.step.is_some_and(|(_, at)| now.steady.saturating_sub(at) > OLD) {
                one.step = None;
            }
        }
        self.compare_ranks();
        self.describe(now);
    }

    /// How far each rank is behind the median of its job.
    fn compare_ranks(&mut self) {
        let mut jobs: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for one in self.state.runs.values().filter(|one| one.run.place.rank.is_some()) {
            jobs.entry(one.job.clone()).or_default().extend(one.busy);
        }
        for one in self.state.runs.values_mut() {
            one.behind = None;
            let Some(all) = jobs.get_mut(&one.job).filter(|all| all.len() > 1) else { continue };
            all.sort_by(f64::total_cmp);
            let middle = all.len() / 2;
            let median =
                if all.len() % 2 == 1 { all[middle] } else { f64::midpoint(all[middle - 1], all[middle]) };
            if let Some(busy) = one.busy.filter(|_| median > 0.0 && one.run.place.rank.is_some()) {
                one.behind = Some(((median - busy) / median).max(0.0));
            }
        }
    }

    fn begin_segment(&mut self, now: Moment) {
        let dir = self.ring.as_ref().map(|ring| ring.begin(now.unix_ns));
        let dir = match dir {
            Some(Ok(dir)) => {
                if std::mem::take(&mut self.ring_failed) {
                    self.news.push(News::RingRecovered);
                }
                Some(dir)
            }
            Some(Err(error)) => {
                if !std::mem::replace(&mut self.ring_failed, true) {
                    self.news.push(News::RingFailed(error.kind()));
                }
                self.state.failed("ring");
                None
            }
            None => None,
        };
        self.segment = Segment::begin(dir, now);
        self.last_row = i64::MIN;
        self.describe(now);
    }

    fn end_segment(&mut self, now: Moment) {
        self.describe(now);
        self.changes.clear();
        if let (Some(dir), Some(ring)) = (self.segment.take().and_then(Segment::end), self.ring.as_mut()) {
            ring.end(dir);
        }
        self.trim(now, 0);
    }

    /// Begins the next recording where this one is long, large or full enough.
    fn roll(&mut self, now: Moment) {
        let Some(segment) = self.segment.as_ref() else { return };
        let held = segment.held();
        let age = now.steady.saturating_sub(segment.began.steady);
        let (length, most) = self
            .ring
            .as_ref()
            .map_or((10 * WINDOW, u64::MAX), |ring| (ring.settings().length(), ring.settings().bytes() / 8));
        let between = self.window.is_some_and(|window| window.steady == now.steady);
        // Between two windows nothing is lost.
        if held.is_full || held.bytes > most || (between && age >= length) {
            self.end_segment(now);
            self.begin_segment(now);
        } else if between {
            self.trim(now, held.bytes);
        }
    }

    fn trim(&mut self, now: Moment, writing: u64) {
        let Some(ring) = self.ring.as_mut() else { return };
        for _ in 0..ring.trim(now.unix_ns, writing) {
            self.state.failed("ring");
        }
    }

    /// Writes what is known of the recording that is being written.
    fn describe(&mut self, now: Moment) {
        let Some(segment) = self.segment.as_mut() else { return };
        let runs: Vec<&crate::state::RunState> = self.state.runs.values().collect();
        let process = |one: &&crate::state::RunState| {
            let place = &one.run.place;
            json!({
                "pid": one.run.pid, "ppid": one.run.parent, "started": one.run.started, "command": one.run.command,
                "role": "driver", "rank": place.rank, "job": one.job, "user": place.user, "namespace": place.namespace,
                "pod": place.pod, "container": place.container,
            })
        };
        let card = |card: &Card| {
            let users = runs.iter().flat_map(|one| {
                let held = one.run.gpus.iter().filter(|(gpu, _)| *gpu == card.index);
                held.map(|(_, bytes)| json!({ "pid": one.run.pid, "memory": bytes }))
            });
            json!({
                "index": card.index, "name": card.name, "uuid": card.uuid, "memory": card.memory,
                "power_limit_mw": card.power_limit_mw, "power_default_mw": card.power_default_mw,
                "sm_most_mhz": card.sm_most_mhz, "gpm": card.has_gpm, "processes": users.collect::<Vec<_>>(),
            })
        };
        let mut more = Map::new();
        let mut put = |name: &str, value: Value| _ = more.insert(name.to_owned(), value);
        put("started", json!(seconds(segment.began.unix_ns).parse::<f64>().ok()));
        put("seconds", json!(now.steady.saturating_sub(segment.began.steady).as_secs_f64().round()));
        put("driver", json!(self.state.driver));
        put("agent", json!(self.version));
        put("cpus", json!(std::thread::available_parallelism().map(usize::from).ok()));
        put("gpus", self.cards.iter().map(card).collect());
        put("processes", runs.iter().map(process).collect());
        put("changes", Value::Array(self.changes.clone()));
        let command = runs.first().map(|one| one.run.command.clone()).unwrap_or_default();
        let pids = runs.iter().map(|one| one.run.pid).collect();
        segment.describe(command, pids, more);
    }

    /// Writes the texts anew.
    fn write(&mut self, now: Moment) {
        let own = self.source.own();
        self.state.own.cpu_s = own.cpu.as_secs_f64();
        self.state.own.resident = own.resident;
        let writing = self.segment.as_ref().map_or(0, |segment| segment.held().bytes);
        self.state.own.ring_bytes = self.ring.as_ref().map_or(0, |ring| ring.bytes() + writing);
        self.forget_old(now);
        let ring = self.ring.as_ref().map(|ring| ring.settings().bytes());
        let terms = Terms { series: self.series, ring, version: self.version };
        admit(&mut self.state, &terms);
        let of = |format| text(&self.state, &terms, format);
        self.desk.put(&of(Format::Prometheus), &of(Format::OpenMetrics));
    }

    /// A card that has not answered for a while is not told as it was.
    fn forget_old(&mut self, now: Moment) {
        for card in self.state.cards.values_mut() {
            if card.sampled.is_some_and(|at| now.steady.saturating_sub(at) > WINDOW) {
                card.forget();
            }
        }
    }
}
