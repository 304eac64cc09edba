//! Jobs by what they waste.
//!
//! GPU time is in whole milliseconds: the nanoseconds of ten thousand cards over a month do not fit 64 bits.

use std::collections::{BTreeMap, BTreeSet};

use whyidle_model::MetricSample;

use super::Question;
use crate::ruling::HEALTHY;

/// Jobs that have no id from a scheduler are called by a process id.
const BY_PID: &str = "pid:";

/// What a job waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetWait {
    /// Id of a ledger line or a cause, or `unknown`.
    pub waiting_for: String,
    /// GPU time held with nothing running, ms; estimated from samples.
    pub gpu_ms: i64,
    /// As a share of all GPU time that the job held.
    pub share: f64,
}

/// A job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetJob {
    /// Its id; of a process without a scheduler `pid:N@node`.
    pub id: String,
    /// Its owner; empty where unknown.
    pub user: String,
    /// Its namespace; empty outside Kubernetes.
    pub namespace: String,
    /// Its cluster; empty where Prometheus knows only one.
    pub cluster: String,
    /// Nodes on which it held a GPU.
    pub nodes: usize,
    /// GPU time that it held: cards on which one of its processes has memory × time, ms. A card that
    /// several processes hold counts once, in parts.
    pub held_gpu_ms: i64,
    /// GPU time of that with nothing running, ms; estimated from samples, and at most what was held.
    pub idle_gpu_ms: i64,
    /// What it waited for, the longest first.
    pub waits: Vec<FleetWait>,
    /// What it runs, secrets removed by the agent; the first by name where there are several.
    pub command: Option<String>,
    /// How often its step time changed for good, over all of its processes.
    pub step_changes: u64,
}

impl FleetJob {
    /// Share of the held GPU time with nothing running.
    #[must_use]
    pub fn idle_share(&self) -> f64 {
        share(self.idle_gpu_ms, self.held_gpu_ms)
    }

    /// Too little is idle to call for a change: the verdict's own threshold.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.idle_share() < HEALTHY
    }
}

/// What the cards say themselves: counted by the driver, not estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cards {
    /// Cards that were seen.
    pub count: u64,
    /// Time with a kernel running, summed over cards, ms.
    pub busy_gpu_ms: i64,
    /// Time without one while some process held memory, ms.
    pub idle_held_gpu_ms: i64,
}

/// A cluster over a span of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    /// The end of the span, Unix time, ns.
    pub at: i64,
    /// Jobs, the most wasteful first.
    pub jobs: Vec<FleetJob>,
    /// GPU time that jobs held, ms.
    pub held_gpu_ms: i64,
    /// GPU time of that with nothing running, ms; estimated.
    pub idle_gpu_ms: i64,
    /// What the cards say themselves; `None` where they are not asked for, or gave no answer.
    pub cards: Option<Cards>,
    /// Figures without a usable number, left out.
    pub unusable: u64,
}

impl Fleet {
    /// Share of the held GPU time with nothing running.
    #[must_use]
    pub fn idle_share(&self) -> f64 {
        share(self.idle_gpu_ms, self.held_gpu_ms)
    }
}

/// The answers to [`Question::ALL`], in order.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// Figures by question.
    pub samples: [Vec<MetricSample>; 7],
    /// Figures without a usable number.
    pub unusable: u64,
}

impl Answers {
    /// The answer to a question.
    #[must_use]
    pub fn to(&self, question: Question) -> &[MetricSample] {
        &self.samples[question as usize]
    }
}

fn share(part: i64, whole: i64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 } else { 0.0 }
}

/// Seconds as whole milliseconds, from 0 to what fits.
fn ms(seconds: f64) -> i64 {
    (seconds.max(0.0) * 1e3).round() as i64
}

/// What tells a job from others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    id: String,
    user: String,
    namespace: String,
    cluster: String,
}

impl Key {
    fn of(sample: &MetricSample) -> Self {
        let [id, user, namespace, cluster, node] =
            ["job_id", "user", "namespace", "cluster", "instance"].map(|name| sample.label(name).to_owned());
        // Prometheus may have added the node already.
        let alone = id.starts_with(BY_PID) && !id.contains('@') && !node.is_empty();
        Self { id: if alone { format!("{id}@{node}") } else { id }, user, namespace, cluster }
    }
}

#[derive(Default)]
struct Sums {
    held: f64,
    nodes: BTreeSet<String>,
    waits: BTreeMap<String, f64>,
    commands: BTreeSet<String>,
    changes: f64,
}

/// Jobs by what they waste, the most wasteful first; jobs alike by name.
#[must_use]
pub fn rank(answers: &Answers) -> Fleet {
    let mut jobs: BTreeMap<Key, Sums> = BTreeMap::new();
    for sample in answers.to(Question::Held) {
        let job = jobs.entry(Key::of(sample)).or_default();
        job.held += sample.value.max(0.0);
        job.nodes.insert(sample.label("instance").to_owned());
    }
    // A job that holds no GPU wastes none: what else is said of it is left out.
    for sample in answers.to(Question::Idle) {
        if let Some(job) = jobs.get_mut(&Key::of(sample)) {
            let waiting_for = match sample.label("waiting_for") {
                "" => "unknown",
                id => id,
            };
            *job.waits.entry(waiting_for.to_owned()).or_default() += sample.value.max(0.0);
        }
    }
    for sample in answers.to(Question::Commands) {
        if let Some(job) = jobs.get_mut(&Key::of(sample)) {
            job.commands.insert(sample.label("command").to_owned());
        }
    }
    for sample in answers.to(Question::Changes) {
        if let Some(job) = jobs.get_mut(&Key::of(sample)) {
            job.changes += sample.value.max(0.0);
        }
    }
    let mut ranked: Vec<FleetJob> = jobs.into_iter().map(|(key, sums)| job(key, sums)).collect();
    ranked.sort_by_key(|job| std::cmp::Reverse(job.idle_gpu_ms));
    let sum = |of: fn(&FleetJob) -> i64| ranked.iter().map(of).fold(0, i64::saturating_add);
    Fleet {
        at: answers.to(Question::Held).first().map_or(0, |sample| sample.at),
        held_gpu_ms: sum(|job| job.held_gpu_ms),
        idle_gpu_ms: sum(|job| job.idle_gpu_ms),
        cards: cards(answers),
        unusable: answers.unusable,
        jobs: ranked,
    }
}

fn job(key: Key, sums: Sums) -> FleetJob {
    let held_gpu_ms = ms(sums.held);
    let wait = |(waiting_for, seconds): (String, f64)| FleetWait {
        waiting_for,
        gpu_ms: ms(seconds),
        share: share(ms(seconds), held_gpu_ms),
    };
    let mut waits: Vec<FleetWait> = sums.waits.into_iter().map(wait).filter(|wait| wait.gpu_ms > 0).collect();
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.gpu_ms));
    let idle = waits.iter().map(|wait| wait.gpu_ms).fold(0, i64::saturating_add);
    FleetJob {
        id: key.id,
        user: key.user,
        namespace: key.namespace,
        cluster: key.cluster,
        nodes: sums.nodes.len(),
        held_gpu_ms,
        // Either is extrapolated by itself, so that a job that only waits may seem to wait a little longer than it is.
        idle_gpu_ms: idle.min(held_gpu_ms),
        waits,
        command: sums.commands.into_iter().find(|command| !command.is_empty()),
        step_changes: sums.changes.round() as u64,
    }
}

fn cards(answers: &Answers) -> Option<Cards> {
    let only = |question| answers.to(question).first().map(|sample| sample.value.max(0.0));
    let count = only(Question::Cards)?;
    let [busy, idle_held] = [Question::Busy, Question::IdleHeld].map(|question| only(question).map_or(0, ms));
    Some(Cards { count: count.round() as u64, busy_gpu_ms: busy, idle_held_gpu_ms: idle_held })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(labels: &[(&str, &str)], value: f64) -> MetricSample {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        MetricSample { labels, at: 5, value }
    }

    fn of(job: &str, node: &str, more: &[(&str, &str)], value: f64) -> MetricSample {
        sample(&[&[("job_id", job), ("user", "ada"), ("instance", node)], more].concat(), value)
    }

    fn answers(given: &[(Question, Vec<MetricSample>)]) -> Answers {
        let mut answers = Answers::default();
        for (question, samples) in given {
            answers.samples[*question as usize] = samples.clone();
        }
        answers
    }

    #[test]
    fn jobs_are_summed_over_nodes_and_ranked_by_waste() {
        let fleet = rank(&answers(&[
            (
                Question::Held,
                vec![of("1", "a", &[], 3_600.0), of("1", "b", &[], 3_600.0), of("2", "a", &[], 9e3)],
            ),
            (
                Question::Idle,
                vec![
                    of("1", "a", &[("waiting_for", "data.workers")], 1_800.0),
                    of("1", "b", &[("waiting_for", "data.workers")], 1_000.0),
                    of("1", "b", &[("waiting_for", "host.sync")], 80.0),
                    of("2", "a", &[], 900.0),
                    of("none held", "a", &[("waiting_for", "data.workers")], 1e9),
                ],
            ),
            (
                Question::Commands,
                vec![of("1", "a", &[("command", "python b.py")], 1.0), of("1", "b", &[("command", "")], 1.0)],
            ),
            (Question::Changes, vec![of("1", "a", &[], 1.0), of("1", "b", &[], 2.04)]),
            (Question::Cards, vec![sample(&[], 16.0)]),
            (Question::Busy, vec![sample(&[], 10.0)]),
        ]));
        assert_eq!(fleet.at, 5);
        let [first, second] = &fleet.jobs[..] else { panic!("{fleet:?}") };
        assert_eq!((first.id.as_str(), first.nodes, first.step_changes), ("1", 2, 3));
        assert_eq!((first.held_gpu_ms, first.idle_gpu_ms), (7_200_000, 2_880_000));
        assert_eq!((first.waits[0].waiting_for.as_str(), first.waits[0].gpu_ms), ("data.workers", 2_800_000));
        assert!((first.idle_share() - 0.4).abs() < 1e-12);
        assert_eq!(first.command.as_deref(), Some("python b.py"));
        assert_eq!((second.id.as_str(), second.waits[0].waiting_for.as_str()), ("2", "unknown"));
        assert_eq!((fleet.held_gpu_ms, fleet.idle_gpu_ms), (16_200_000, 3_780_000));
        let cards = Cards { count: 16, busy_gpu_ms: 10_000, idle_held_gpu_ms: 0 };
        assert_eq!(fleet.cards, Some(cards));
    }

    #[test]
    fn ids_that_repeat_are_told_apart() {
        let fleet = rank(&answers(&[
            (
                Question::Held,
                vec![of("pid:7", "a", &[], 60.0), of("pid:7", "b", &[], 60.0), of("pid:7@c", "c", &[], 60.0)],
            ),
            (Question::Idle, vec![of("pid:7", "b", &[("waiting_for", "host.launch")], 30.0)]),
        ]));
        let ids: Vec<(&str, i64)> = fleet.jobs.iter().map(|job| (&*job.id, job.idle_gpu_ms)).collect();
        assert_eq!(ids, [("pid:7@b", 30_000), ("pid:7@a", 0), ("pid:7@c", 0)]);
        let clusters = ["", "north"].map(|cluster| of("1", "a", &[("cluster", cluster)], 60.0));
        let fleet = rank(&answers(&[(Question::Held, clusters.to_vec())]));
        let known: Vec<(&str, &str)> = fleet.jobs.iter().map(|job| (&*job.id, &*job.cluster)).collect();
        assert_eq!(known, [("1", ""), ("1", "north")]);
    }

    #[test]
    fn nothing_is_wasted_beyond_what_is_held_and_nothing_overflows() {
        let fleet = rank(&answers(&[
            (
                Question::Held,
                vec![of("1", "a", &[], 100.0), of("2", "a", &[], f64::MAX), of("3", "a", &[], f64::MAX)],
            ),
            (
                Question::Idle,
                vec![
                    of("1", "a", &[("waiting_for", "data")], 101.0),
                    of("2", "a", &[("waiting_for", "x")], f64::MAX),
                    of("2", "a", &[("waiting_for", "y")], f64::MAX),
                ],
            ),
        ]));
        let first = fleet.jobs.iter().find(|job| job.id == "1").expect("the job");
        assert_eq!((first.idle_gpu_ms, first.idle_share()), (100_000, 1.0));
        assert_eq!(fleet.held_gpu_ms, i64::MAX);
        assert_eq!(rank(&Answers::default()), Fleet::default());
    }
}
