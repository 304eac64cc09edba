//! Everything that is known, as plain data: updated from samples, read by the exposition. Its size is bounded by the
//! cards and programs that are there now.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use whyidle_observe::node::Run;

use crate::change::Detector;
use crate::facts::Facts;

/// Facts of a run that are kept: what a change is compared with.
pub(crate) const MOST_FACTS: usize = 16;
/// Time between two samples of a card that is counted at most: nobody knows what was in a longer gap.
pub(crate) const LONGEST_GAP: Duration = Duration::from_secs(30);

/// The reasons by which a clock is held down, as bits of NVML. (The software power cap is the normal state of a busy
/// card and no reason.)
pub(crate) const THROTTLES: [(&str, u64); 3] = [("thermal", 0x20 | 0x40), ("power", 0x80), ("other", 0x08)];

/// A card.
#[derive(Clone, Debug, Default)]
pub struct CardState {
    /// Unique id.
    pub uuid: String,
    /// Product name.
    pub model: String,
    /// Share of the last interval with a kernel running.
    pub busy: Option<f64>,
    /// Bytes in use.
    pub memory_used: Option<f64>,
    /// Bytes.
    pub memory_total: Option<f64>,
    /// Watts.
    pub power_w: Option<f64>,
    /// Degrees Celsius.
    pub temperature_c: Option<f64>,
    /// Clock of the multiprocessors, MHz.
    pub sm_mhz: Option<f64>,
    /// Share of the last window held down, by reason.
    pub throttled: Option<[f64; 3]>,
    /// Seconds with a kernel running.
    pub busy_s: f64,
    /// Seconds without one while a process held memory.
    pub idle_held_s: f64,
    /// When it was sampled last.
    pub sampled: Option<Duration>,
    /// Up to when its busy time is counted.
    pub counted: Option<Duration>,
}

impl CardState {
    /// What was measured no longer holds; what was counted stays.
    pub fn forget(&mut self) {
        let (uuid, model) = (std::mem::take(&mut self.uuid), std::mem::take(&mut self.model));
        *self = Self { uuid, model, busy_s: self.busy_s, idle_held_s: self.idle_held_s, ..Self::default() };
    }
}

/// A training program.
#[derive(Clone, Debug, Default)]
pub struct RunState {
    /// What it is.
    pub run: Run,
    /// The job that it is a rank of.
    pub job: String,
    /// Cards held × time, seconds. Where several hold a card, each is given an equal part.
    pub gpu_s: f64,
    /// That time with nothing running, by who was waited for, seconds.
    pub idle_s: BTreeMap<&'static str, f64>,
    /// Mean busy share of its cards in the last window.
    pub busy: Option<f64>,
    /// Shares of the last window's samples of its main thread, by who was waited for.
    pub waiting: Vec<(&'static str, f64)>,
    /// Time of a step, ns, and when it was estimated.
    pub step: Option<(i64, Duration)>,
    /// How far its busy share is behind the median of its job's ranks here, relative to that.
    pub behind: Option<f64>,
    /// Changes of its step time.
    pub changes: u64,
    /// Watches for them.
    pub detector: Detector,
    /// The last facts, for what a change is compared with.
    pub facts: VecDeque<Facts>,
    /// GPU seconds, and those with nothing running, that this window has not charged to anybody yet.
    pub uncharged: (f64, f64),
}

/// The agent itself.
#[derive(Clone, Debug, Default)]
pub struct OwnState {
    /// Series of the last exposition, and those that its limit kept out so far.
    pub series: usize,
    /// Series that the limit kept out, counted when a run is first left out.
    pub dropped: u64,
    /// Bytes of the recordings.
    pub ring_bytes: u64,
    /// Failures by kind.
    pub errors: BTreeMap<&'static str, u64>,
    /// Unix time of the last sample, ns.
    pub sampled_ns: Option<i64>,
    /// CPU time used, s.
    pub cpu_s: f64,
    /// Resident memory, bytes.
    pub resident: Option<u64>,
}

/// Everything that is known.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Version of the driver.
    pub driver: String,
    /// Cards by number.
    pub cards: BTreeMap<u32, CardState>,
    /// Programs by number and start.
    pub runs: BTreeMap<(u32, u64), RunState>,
    /// The agent itself.
    pub own: OwnState,
    /// Runs that the limit of series keeps out.
    pub left_out: BTreeSet<(u32, u64)>,
}

/// Numbers of one row of a card's samples; what a row lacks is absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct CardRow {
    /// Physical number.
    pub gpu: u32,
    /// Share of the time since the row before with a kernel running.
    pub busy: Option<f64>,
    /// Bytes in use.
    pub memory_used: Option<f64>,
    /// Bytes.
    pub memory_total: Option<f64>,
    /// Watts.
    pub power_w: Option<f64>,
    /// Degrees Celsius.
    pub temperature_c: Option<f64>,
    /// MHz.
    pub sm_mhz: Option<f64>,
}

impl State {
    /// Takes in the programs that are there; forgets those that are not.
    pub fn meet(&mut self, runs: Vec<Run>) {
        let keys: BTreeSet<(u32, u64)> = runs.iter().map(|run| (run.pid, run.started)).collect();
        self.runs.retain(|key, _| keys.contains(key));
        self.left_out.retain(|key| keys.contains(key));
        for run in runs {
            let state = self.runs.entry((run.pid, run.started)).or_default();
            if state.job.is_empty() {
                state.job = job(&run);
            }
            state.run = run;
        }
    }

    /// Takes in a row of a card at `now`.
    pub(crate) fn card_row(&mut self, row: CardRow, now: Duration) {
        let holders: Vec<(u32, u64)> = self.holders(row.gpu);
        let card = self.cards.entry(row.gpu).or_default();
        let newer = |old: &mut Option<f64>, new: Option<f64>| *old = new.or(*old);
        newer(&mut card.memory_used, row.memory_used);
        newer(&mut card.memory_total, row.memory_total);
        newer(&mut card.power_w, row.power_w);
        newer(&mut card.temperature_c, row.temperature_c);
        newer(&mut card.sm_mhz, row.sm_mhz);
        card.sampled = Some(now);
        let Some(busy) = row.busy else { return };
        let since = card.counted.map(|before| now.saturating_sub(before)).filter(|gap| *gap <= LONGEST_GAP);
        card.counted = Some(now);
        card.busy = Some(busy);
        let Some(seconds) = since.map(|gap| gap.as_secs_f64()) else { return };
        let idle = (1.0 - busy) * seconds;
        card.busy_s += busy * seconds;
        if holders.is_empty() {
            return;
        }
        card.idle_held_s += idle;
        let part = 1.0 / holders.len() as f64;
        for key in holders {
            if let Some(run) = self.runs.get_mut(&key) {
                run.gpu_s += part * seconds;
                run.uncharged.0 += part * seconds;
                run.uncharged.1 += part * idle;
            }
        }
    }

    /// The programs that hold memory of a card.
    #[must_use]
    pub fn holders(&self, gpu: u32) -> Vec<(u32, u64)> {
        let holds = |run: &RunState| run.run.gpus.iter().any(|(held, _)| *held == gpu);
        self.runs.iter().filter(|(_, run)| holds(run)).map(|(key, _)| *key).collect()
    }

    /// The cards are gone or new: what was measured of them no longer holds.
    pub(crate) fn cards_changed(&mut self) {
        self.cards.values_mut().for_each(CardState::forget);
    }

    /// Counts a failure.
    pub fn failed(&mut self, kind: &'static str) {
        *self.own.errors.entry(kind).or_default() += 1;
    }
}

/// The job that a program is a rank of: Slurm's, else its pod, else the number of the process that stands for it – of
/// its launcher where several ranks have one, as `torchrun`'s.
fn job(run: &Run) -> String {
    let place = &run.place;
    place.slurm_job.clone().or_else(|| place.pod.clone()).unwrap_or_else(|| {
        let launched = place.rank.is_some() && run.parent > 1;
        format!("pid:{}", if launched { run.parent } else { run.pid })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(pid: u32, gpus: &[u32]) -> Run {
        Run { pid, started: 1, gpus: gpus.iter().map(|gpu| (*gpu, None)).collect(), ..Run::default() }
    }

    fn row(gpu: u32, busy: f64) -> CardRow {
        CardRow { gpu, busy: Some(busy), ..CardRow::default() }
    }

    #[test]
    fn time_is_counted_once_however_many_hold_a_card() {
        let mut state = State::default();
        state.meet(vec![run(1, &[0]), run(2, &[0])]);
        let s = Duration::from_secs;
        for at in 0..=10 {
            state.card_row(row(0, 0.25), s(at));
            state.card_row(row(1, 0.5), s(at));
        }
        // A gap that nobody saw counts for nothing.
        state.card_row(row(0, 1.0), s(1_000));
        let card = &state.cards[&0];
        assert!((card.busy_s - 2.5).abs() < 1e-9 && (card.idle_held_s - 7.5).abs() < 1e-9, "{card:?}");
        assert!(state.cards[&1].idle_held_s < 1e-9, "nobody holds it");
        for run in state.runs.values() {
            assert!((run.gpu_s - 5.0).abs() < 1e-9 && (run.uncharged.1 - 3.75).abs() < 1e-9);
        }
    }

    #[test]
    fn ten_thousand_programs_come_and_go_and_none_stays() {
        let mut state = State::default();
        for at in 0..10_000_u32 {
            state.meet(vec![run(at % 500, &[0]), Run { started: u64::from(at), ..run(at, &[1]) }]);
            state.card_row(row(1, 0.5), Duration::from_secs(u64::from(at)));
            assert!(state.runs.len() <= 2);
        }
        state.meet(Vec::new());
        assert!(state.runs.is_empty() && state.left_out.is_empty());
    }

    #[test]
    fn jobs_are_named_by_the_scheduler_or_the_launcher() {
        let mut one = run(7, &[]);
        assert_eq!(job(&one), "pid:7");
        one.parent = 3;
        one.place.rank = Some(1);
        assert_eq!(job(&one), "pid:3");
        one.place.pod = Some("train-0".to_owned());
        assert_eq!(job(&one), "train-0");
        one.place.slurm_job = Some("88".to_owned());
        assert_eq!(job(&one), "88");
    }
}
