//! What the agent writes: recordings, one after the other, and the texts that are answered.

use serde_json::{Map, Value, json};
use whyidle_observe::clock::seconds;
use whyidle_observe::gpu::Card;

use super::{Agent, News, WINDOW};
use crate::exposition::{Format, Terms, admit, text};
use crate::ring::Segment;
use crate::source::{Moment, Source};
use crate::state::RunState;

impl<S: Source> Agent<S> {
    pub(super) fn begin_segment(&mut self, now: Moment) {
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

    pub(super) fn end_segment(&mut self, now: Moment) {
        self.describe(now);
        self.changes.clear();
        if let (Some(dir), Some(ring)) = (self.segment.take().and_then(Segment::end), self.ring.as_mut()) {
            ring.end(dir);
        }
        self.trim(now, 0);
    }

    /// Begins the next recording where this one is long, large or full enough.
    pub(super) fn roll(&mut self, now: Moment) {
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
    pub(super) fn describe(&mut self, now: Moment) {
        let Some(segment) = self.segment.as_mut() else { return };
        let runs: Vec<&RunState> = self.state.runs.values().collect();
        let process = |one: &&RunState| {
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
        // Programs of one node are not ranks of one job, unless they say so.
        let ranks = runs.iter().filter(|one| one.run.place.rank.is_some()).count();
        put("world", if ranks > 1 { Value::Null } else { json!(1) });
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
    pub(super) fn write(&mut self, now: Moment) {
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
