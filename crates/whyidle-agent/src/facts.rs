//! What was so of a run in a stretch of time, and what is different in another: what a change of its step time is
//! explained with. A difference is named only where it is larger than the error of both.

use std::collections::{BTreeMap, BTreeSet};

use whyidle_analysis::signals::share_error;
use whyidle_diagnosis::{Arg, CAUSES, Message};

/// What was so in a stretch of time. Means, each with the samples behind it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Samples of the main thread.
    pub samples: u32,
    /// Shares of them, by who was waited for.
    pub waiting: BTreeMap<&'static str, f64>,
    /// Busy share of its GPU, by samples.
    pub busy: Vec<f64>,
    /// Clock of its GPU's multiprocessors, MHz, by samples.
    pub sm_mhz: Vec<f64>,
    /// Share of the samples in which the clock was held down, and their number.
    pub throttled: (f64, u32),
    /// Share of the machine's cores in use by anybody, by samples.
    pub cores: Vec<f64>,
    /// Loader workers.
    pub workers: Option<usize>,
    /// Other processes on its GPUs.
    pub others: BTreeSet<u32>,
}

/// Samples that are kept of each figure.
const MOST: usize = 64;
/// Differences that are named at most.
const MOST_NAMED: usize = 5;
/// Errors apart: one in 370 without any difference.
const APART: f64 = 3.0;

impl Facts {
    /// All of them as one.
    fn together<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let mut out = Self::default();
        for one in all {
            let (before, own) = (f64::from(out.samples), f64::from(one.samples));
            let causes: BTreeSet<&'static str> =
                out.waiting.keys().chain(one.waiting.keys()).copied().collect();
            for cause in causes {
                let share = |facts: &Self| facts.waiting.get(cause).copied().unwrap_or(0.0);
                let mean = (share(&out) * before + share(one) * own) / (before + own).max(1.0);
                out.waiting.insert(cause, mean);
            }
            out.samples += one.samples;
            out.busy.extend(one.busy.iter().take(MOST));
            out.sm_mhz.extend(one.sm_mhz.iter().take(MOST));
            out.cores.extend(one.cores.iter().take(MOST));
            let count = f64::from(out.throttled.1 + one.throttled.1).max(1.0);
            let held =
                out.throttled.0 * f64::from(out.throttled.1) + one.throttled.0 * f64::from(one.throttled.1);
            out.throttled = (held / count, out.throttled.1 + one.throttled.1);
            out.workers = one.workers.or(out.workers);
            out.others.extend(&one.others);
        }
        out
    }
}

/// What differs between the facts of before and after, the largest first; a message each.
#[must_use]
pub fn differences<'a>(
    before: impl Iterator<Item = &'a Facts>,
    after: impl Iterator<Item = &'a Facts>,
) -> Vec<Message> {
    let (before, after) = (Facts::together(before), Facts::together(after));
    let mut found: Vec<(f64, Message)> = Vec::new();
    let causes: BTreeSet<&'static str> = before.waiting.keys().chain(after.waiting.keys()).copied().collect();
    for cause in causes {
        let share = |facts: &Facts| facts.waiting.get(cause).copied().unwrap_or(0.0);
        let (was, is) = (share(&before), share(&after));
        let error = share_error(was, before.samples) + share_error(is, after.samples);
        if (is - was).abs() > error {
            let text = Message::new("agent-change-waiting")
                .with("cause", said(cause))
                .share("before", was)
                .share("after", is);
            found.push(((is - was).abs(), text));
        }
    }
    let held = share_error(before.throttled.0, before.throttled.1)
        + share_error(after.throttled.0, after.throttled.1);
    if (after.throttled.0 - before.throttled.0).abs() > held {
        let text = Message::new("agent-change-throttled")
            .share("before", before.throttled.0)
            .share("after", after.throttled.0);
        found.push(((after.throttled.0 - before.throttled.0).abs(), text));
    }
    if let Some((was, is)) = apart(&before.sm_mhz, &after.sm_mhz) {
        let mhz = |value: f64| Arg::Number(value, 0);
        let text = Message::new("agent-change-clock").with("before", mhz(was)).with("after", mhz(is));
        found.push(((is / was.max(1.0) - 1.0).abs(), text));
    }
    if let Some((was, is)) = apart(&before.cores, &after.cores) {
        found.push((
            (is - was).abs(),
            Message::new("agent-change-cores").share("before", was).share("after", is),
        ));
    }
    if let Some((was, is)) = apart(&before.busy, &after.busy) {
        found.push((
            (is - was).abs(),
            Message::new("agent-change-busy").share("before", was).share("after", is),
        ));
    }
    if let (Some(was), Some(is)) = (before.workers, after.workers)
        && was != is
    {
        found.push((1.0, Message::new("agent-change-workers").count("before", was).count("after", is)));
    }
    let came = after.others.difference(&before.others);
    for pid in came.take(MOST_NAMED) {
        found.push((2.0, Message::new("agent-change-neighbour").name("pid", pid.to_string())));
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.truncate(MOST_NAMED);
    found.into_iter().map(|(_, text)| text).collect()
}

/// For whom: the words of a cause.
fn said(cause: &'static str) -> Arg {
    let known = CAUSES.iter().find(|known| known.id == cause);
    known.map_or_else(
        || Arg::Name(cause.to_owned()),
        |known| Arg::Message(Box::new(Message::new(known.because))),
    )
}

/// The means of both, where they differ by more than chance.
fn apart(before: &[f64], after: &[f64]) -> Option<(f64, f64)> {
    const FEWEST: usize = 4;
    if before.len() < FEWEST || after.len() < FEWEST {
        return None;
    }
    let moments = |values: &[f64]| {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, variance / n)
    };
    let ((was, error_was), (is, error_is)) = (moments(before), moments(after));
    // Values that never vary differ once they do by more than they are read to.
    let error = (error_was + error_is).sqrt().max(1e-3 * was.abs());
    ((is - was).abs() > APART * error).then_some((was, is))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(waits: f64, mhz: f64, others: &[u32]) -> Facts {
        Facts {
            samples: 100,
            waiting: [("data.workers", waits)].into(),
            busy: vec![0.5, 0.52, 0.48, 0.5],
            sm_mhz: (0..10).map(|at| mhz + f64::from(at % 3)).collect(),
            throttled: (0.0, 20),
            cores: vec![0.3; 5],
            workers: Some(2),
            others: others.iter().copied().collect(),
        }
    }

    fn ids(before: &[Facts], after: &[Facts]) -> Vec<&'static str> {
        differences(before.iter(), after.iter()).iter().map(|text| text.id).collect()
    }

    #[test]
    fn what_differs_is_named_and_what_does_not_is_not() {
        let before = [facts(0.1, 1_900.0, &[]), facts(0.12, 1_900.0, &[])];
        assert_eq!(ids(&before, &[facts(0.14, 1_900.0, &[])]), [""; 0]);
        assert_eq!(ids(&before, &[facts(0.6, 1_900.0, &[])]), ["agent-change-waiting"]);
        assert_eq!(ids(&before, &[facts(0.1, 1_200.0, &[])]), ["agent-change-clock"]);
        assert_eq!(ids(&before, &[facts(0.1, 1_900.0, &[77])]), ["agent-change-neighbour"]);
        let held = Facts { throttled: (0.9, 20), workers: Some(1), ..facts(0.1, 1_900.0, &[]) };
        assert_eq!(ids(&before, &[held]), ["agent-change-workers", "agent-change-throttled"]);
        assert_eq!(ids(&[], &[facts(0.1, 1_900.0, &[])]), [""; 0], "nothing is known of before");
    }
}
