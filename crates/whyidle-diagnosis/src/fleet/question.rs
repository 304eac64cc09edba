//! What Prometheus is asked.

use std::time::Duration;

/// The metrics that are asked for, and the labels of each that are.
pub const METRICS: [(&str, &[&str]); 7] = [
    ("whyidle_run_gpu_seconds_total", &["job_id", "user", "namespace"]),
    ("whyidle_run_idle_gpu_seconds_total", &["job_id", "user", "namespace", "waiting_for"]),
    ("whyidle_run_info", &["job_id", "user", "namespace", "command"]),
    ("whyidle_run_changes_total", &["job_id", "user", "namespace"]),
    ("whyidle_gpu_info", &["uuid"]),
    ("whyidle_gpu_busy_seconds_total", &[]),
    ("whyidle_gpu_idle_held_seconds_total", &[]),
];

/// One question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// GPU time that each job held on each node, s.
    Held,
    /// GPU time of it with nothing running, by whom was waited for, s.
    Idle,
    /// What each job runs.
    Commands,
    /// How often its step time changed for good.
    Changes,
    /// Cards that were seen.
    Cards,
    /// Time that cards were busy, s.
    Busy,
    /// Time that cards were idle while held, s.
    IdleHeld,
}

impl Question {
    /// Every question, in order. The first fixes the time that the others are asked for.
    pub const ALL: [Self; 7] =
        [Self::Held, Self::Idle, Self::Commands, Self::Changes, Self::Cards, Self::Busy, Self::IdleHeld];

    /// The query, over the last `since`, of series that match `matching` (`namespace="ml"`).
    ///
    /// Counters are asked for by `increase`, which takes a counter that starts anew for what it is, and extrapolates by
    /// up to one scrape at either end. Process ids repeat on every node and job ids in every
    /// cluster: jobs are told by both. `instance` is set by Prometheus, `cluster` by whoever joins several of them.
    #[must_use]
    pub fn query(self, since: Duration, matching: Option<&str>) -> String {
        let (metric, labels) = METRICS[self as usize];
        let selector = matching.map(|matching| format!("{{{matching}}}")).unwrap_or_default();
        let over = format!("({metric}{selector}[{}s])", since.as_secs());
        let by = labels.join(", ");
        match self {
            Self::Held | Self::Idle | Self::Changes => {
                format!("sum by (cluster, instance, {by}) (increase{over}) > 0")
            }
            Self::Commands => format!("count by (cluster, instance, {by}) (last_over_time{over})"),
            Self::Cards => format!("count(count by (cluster, instance, {by}) (last_over_time{over}))"),
            Self::Busy | Self::IdleHeld => format!("sum(increase{over})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEEK: Duration = Duration::from_secs(7 * 86_400);

    #[test]
    fn questions_are_asked_of_the_metric_they_name() {
        assert_eq!(
            Question::Held.query(WEEK, None),
            "sum by (cluster, instance, job_id, user, namespace) (increase(whyidle_run_gpu_seconds_total[604800s])) > 0"
        );
        assert_eq!(
            Question::Busy.query(WEEK, Some("namespace=\"ml\"")),
            "sum(increase(whyidle_gpu_busy_seconds_total{namespace=\"ml\"}[604800s]))"
        );
        for (at, question) in Question::ALL.into_iter().enumerate() {
            assert_eq!(question as usize, at);
            assert!(question.query(WEEK, None).contains(METRICS[at].0));
        }
    }

    /// What is asked for is what the agent exports.
    #[test]
    fn every_metric_and_label_is_in_the_contract() {
        let contract = include_str!("../../../../deploy/metrics.toml");
        for (metric, labels) in METRICS {
            let entry = contract.split("[[metric]]").find(|entry| entry.contains(&format!("\"{metric}\"")));
            let entry = entry.unwrap_or_else(|| panic!("{metric} is not exported"));
            for label in labels {
                assert!(entry.contains(&format!("\"{label}\"")), "{metric} has no {label}");
            }
        }
    }
}
