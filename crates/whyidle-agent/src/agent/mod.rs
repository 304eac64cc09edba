//! The agent itself: takes rounds of samples in, judges windows of them, writes what is known.
//!
//! Intervals are measured on the steady clock; when the clock of the day jumps, a new recording begins, since one
//! recording has one time. Each [`SLOT`] one run is in focus, whose step time is estimated at its end; each [`WINDOW`]
//! every run is judged.

mod judging;
mod writing;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use whyidle_diagnosis::Message;
use whyidle_observe::gpu::Card;
use whyidle_observe::node::Round;

use crate::change::Change;
use crate::judge;
use crate::ring::{Ring, Segment};
use crate::source::{Moment, Source};
use crate::state::{CardState, State};
use crate::web::Desk;

/// How long one run is in focus.
pub(crate) const SLOT: Duration = Duration::from_secs(20);
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
}
