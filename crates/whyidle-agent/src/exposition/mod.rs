//! From what is known to the text that Prometheus reads: a pure function. Names, units and help are in [`table`].
//!
//! The number of series is bounded: cards and the agent itself come first, then runs, those with most cards and the
//! oldest first, each wholly or not at all. What is left out is counted.

mod label;
pub mod table;

use std::fmt::Write as _;

use label::{escaped, shortened};
use table::{Kind, METRICS, Metric};

use crate::state::{RunState, State, THROTTLES};

/// A way to write metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus's text, version 0.0.4.
    Prometheus,
    /// OpenMetrics, version 1.0.0.
    OpenMetrics,
}

impl Format {
    /// The content type.
    #[must_use]
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The one that a client asks for.
    #[must_use]
    pub fn wanted(accept: &str) -> Self {
        if accept.contains("application/openmetrics-text") { Self::OpenMetrics } else { Self::Prometheus }
    }
}

/// Limits and facts that are not of the state.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Series at most.
    pub series: usize,
    /// Bytes that recordings may take; `None` without a ring.
    pub ring: Option<u64>,
    /// Version of the agent.
    pub version: &'a str,
}

/// Labels with their values escaped, and the value.
type Point = (&'static str, Vec<(&'static str, String)>, f64);

/// Points by metric.
#[derive(Default)]
struct Points(Vec<Point>);

impl Points {
    fn add(&mut self, name: &'static str, labels: &[(&'static str, &str)], value: impl Into<Option<f64>>) {
        let Some(value) = value.into().filter(|value| value.is_finite()) else { return };
        let labels = labels.iter().map(|(name, text)| (*name, escaped(text))).collect();
        self.0.push((name, labels, value));
    }
}

/// Characters of a command that are exported.
const LONGEST_COMMAND: usize = 160;

/// Decides which runs the limit of series keeps out, and counts.
pub(crate) fn admit(state: &mut State, terms: &Terms<'_>) {
    let mut points = Points::default();
    cards(state, &mut points);
    own(state, terms, &mut points);
    let mut used = points.0.len();
    let mut order: Vec<(u32, u64)> = state.runs.keys().copied().collect();
    order.sort_by_key(|key| (std::cmp::Reverse(state.runs[key].run.gpus.len()), key.1, key.0));
    for key in order {
        let mut points = Points::default();
        run(&state.runs[&key], &mut points);
        let more = points.0.len();
        if used + more <= terms.series {
            used += more;
            state.left_out.remove(&key);
        } else if state.left_out.insert(key) {
            state.own.dropped += more as u64;
        }
    }
    state.own.series = used;
}

/// The text of everything that is known and admitted.
#[must_use]
pub fn text(state: &State, terms: &Terms<'_>, format: Format) -> String {
    let mut points = Points::default();
    cards(state, &mut points);
    for (key, one) in &state.runs {
        if !state.left_out.contains(key) {
            run(one, &mut points);
        }
    }
    own(state, terms, &mut points);
    let mut out = String::new();
    for metric in &METRICS {
        let mut of = points.0.iter().filter(|(name, ..)| *name == metric.name).peekable();
        if of.peek().is_none() {
            continue;
        }
        head(metric, format, &mut out);
        for (_, labels, value) in of {
            line(metric, labels, *value, &mut out);
        }
    }
    if format == Format::OpenMetrics {
        out.push_str("# EOF\n");
    }
    out
}

fn head(metric: &Metric, format: Format, out: &mut String) {
    let (family, kind) = match (format, metric.kind) {
        (Format::Prometheus, Kind::Counter) => (metric.name, "counter"),
        (Format::Prometheus, _) => (metric.name, "gauge"),
        (Format::OpenMetrics, Kind::Counter) => (metric.name.trim_end_matches("_total"), "counter"),
        (Format::OpenMetrics, Kind::Gauge) => (metric.name, "gauge"),
        (Format::OpenMetrics, Kind::Info) => (metric.name.trim_end_matches("_info"), "info"),
    };
    // Writing to a string does not fail.
    let _ = writeln!(out, "# HELP {family} {}", metric.help);
    let _ = writeln!(out, "# TYPE {family} {kind}");
    if format == Format::OpenMetrics && !metric.unit.is_empty() {
        let _ = writeln!(out, "# UNIT {family} {}", metric.unit);
    }
}

fn line(metric: &Metric, labels: &[(&'static str, String)], value: f64, out: &mut String) {
    out.push_str(metric.name);
    for (at, (name, text)) in labels.iter().enumerate() {
        let _ = write!(out, "{}{name}=\"{text}\"", if at == 0 { '{' } else { ',' });
    }
    if !labels.is_empty() {
        out.push('}');
    }
    let _ = writeln!(out, " {value}");
}

fn cards(state: &State, points: &mut Points) {
    for (index, card) in &state.cards {
        let index = index.to_string();
        let labels = [("gpu", &*index), ("uuid", &card.uuid)];
        let info = [labels[0], labels[1], ("model", &card.model), ("driver", &state.driver)];
        points.add("whyidle_gpu_info", &info, 1.0);
        points.add("whyidle_gpu_busy_ratio", &labels, card.busy);
        points.add("whyidle_gpu_busy_seconds_total", &labels, card.busy_s);
        points.add("whyidle_gpu_idle_held_seconds_total", &labels, card.idle_held_s);
        points.add("whyidle_gpu_memory_used_bytes", &labels, card.memory_used);
        points.add("whyidle_gpu_memory_total_bytes", &labels, card.memory_total);
        points.add("whyidle_gpu_power_watts", &labels, card.power_w);
        points.add("whyidle_gpu_temperature_celsius", &labels, card.temperature_c);
        points.add("whyidle_gpu_sm_clock_hertz", &labels, card.sm_mhz.map(|mhz| mhz * 1e6));
        for ((reason, _), share) in THROTTLES.iter().zip(card.throttled.iter().flatten()) {
            let labels = [labels[0], labels[1], ("reason", *reason)];
            points.add("whyidle_gpu_throttled_ratio", &labels, *share);
        }
    }
}

fn run(one: &RunState, points: &mut Points) {
    let place = &one.run.place;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (user, namespace, pod) = (text(&place.user), text(&place.namespace), text(&place.pod));
    let rank = place.rank.map_or(String::new(), |rank| rank.to_string());
    let pid = one.run.pid.to_string();
    let labels = [
        ("job_id", &*one.job),
        ("user", &user),
        ("namespace", &namespace),
        ("pod", &pod),
        ("rank", &rank),
        ("pid", &pid),
    ];
    let with = |name: &'static str, text: &str| -> Vec<(&'static str, String)> {
        labels.iter().copied().chain([(name, text)]).map(|(name, text)| (name, text.to_owned())).collect()
    };
    let mut add = |name: &'static str, labels: Vec<(&'static str, String)>, value: Option<f64>| {
        let labels: Vec<(&'static str, &str)> = labels.iter().map(|(name, text)| (*name, &**text)).collect();
        points.add(name, &labels, value);
    };
    let command = shortened(&one.run.command.join(" "), LONGEST_COMMAND);
    add("whyidle_run_info", with("command", &command), Some(1.0));
    for (cause, seconds) in &one.idle_s {
        add("whyidle_run_idle_gpu_seconds_total", with("waiting_for", cause), Some(*seconds));
    }
    for (cause, share) in &one.waiting {
        add("whyidle_run_waiting_ratio", with("waiting_for", cause), Some(*share));
    }
    points.add("whyidle_run_gpus", &labels, one.run.gpus.len() as f64);
    points.add("whyidle_run_gpu_seconds_total", &labels, one.gpu_s);
    points.add("whyidle_run_busy_ratio", &labels, one.busy);
    points.add("whyidle_run_step_seconds", &labels, one.step.map(|(ns, _)| ns as f64 / 1e9));
    points.add("whyidle_run_behind_ratio", &labels, one.behind);
    points.add("whyidle_run_changes_total", &labels, one.changes as f64);
}

fn own(state: &State, terms: &Terms<'_>, points: &mut Points) {
    let own = &state.own;
    points.add("whyidle_agent_info", &[("version", terms.version)], 1.0);
    points.add("whyidle_agent_runs", &[], state.runs.len() as f64);
    points.add("whyidle_agent_series", &[], own.series as f64);
    points.add("whyidle_agent_series_limit", &[], terms.series as f64);
    points.add("whyidle_agent_series_dropped_total", &[], own.dropped as f64);
    if let Some(limit) = terms.ring {
        points.add("whyidle_agent_ring_bytes", &[], own.ring_bytes as f64);
        points.add("whyidle_agent_ring_limit_bytes", &[], limit as f64);
    }
    for (kind, count) in &own.errors {
        points.add("whyidle_agent_errors_total", &[("kind", kind)], *count as f64);
    }
    points.add("whyidle_agent_last_sample_timestamp_seconds", &[], own.sampled_ns.map(|ns| ns as f64 / 1e9));
    points.add("whyidle_agent_cpu_seconds_total", &[], own.cpu_s);
    points.add("whyidle_agent_resident_memory_bytes", &[], own.resident.map(|bytes| bytes as f64));
}

#[cfg(test)]
mod tests;
