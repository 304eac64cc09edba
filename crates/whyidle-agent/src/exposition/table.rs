//! Every metric: its name, kind, unit and help. The help is English, as in every exposition: it is part of the format
//! that programs read, not of what whyidle says to its user. (The one exception to the rule that wording is the
//! report's.)

/// How a metric grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// May go up and down.
    Gauge,
    /// Only grows.
    Counter,
    /// Is 1; its labels say something.
    Info,
}

/// A metric.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Name of its series.
    pub name: &'static str,
    /// How it grows.
    pub kind: Kind,
    /// The unit that its name ends with; empty where it is a count.
    pub unit: &'static str,
    /// What it is.
    pub help: &'static str,
}

const fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Metric {
    Metric { name, kind: Kind::Gauge, unit, help }
}

const fn counter(name: &'static str, unit: &'static str, help: &'static str) -> Metric {
    Metric { name, kind: Kind::Counter, unit, help }
}

const fn info(name: &'static str, help: &'static str) -> Metric {
    Metric { name, kind: Kind::Info, unit: "", help }
}

/// Every metric, in the order in which they are written.
pub const METRICS: [Metric; 30] = [
    info("whyidle_gpu_info", "A GPU of this node."),
    gauge("whyidle_gpu_busy_ratio", "ratio", "Share of the last interval with a kernel running."),
    counter("whyidle_gpu_busy_seconds_total", "seconds", "Time with a kernel running."),
    counter(
        "whyidle_gpu_idle_held_seconds_total",
        "seconds",
        "Time without a kernel running while some process held memory of the GPU.",
    ),
    gauge("whyidle_gpu_memory_used_bytes", "bytes", "Memory in use."),
    gauge("whyidle_gpu_memory_total_bytes", "bytes", "All memory."),
    gauge("whyidle_gpu_power_watts", "watts", "Power drawn."),
    gauge("whyidle_gpu_temperature_celsius", "celsius", "Temperature."),
    gauge("whyidle_gpu_sm_clock_hertz", "hertz", "Clock of the multiprocessors."),
    gauge(
        "whyidle_gpu_throttled_ratio",
        "ratio",
        "Share of the last window's samples with the clock held down, by reason; the software power cap is no reason.",
    ),
    info(
        "whyidle_run_info",
        "A training program: the process that holds GPU memory or runs the training loop.",
    ),
    gauge("whyidle_run_gpus", "", "GPUs that the run holds memory of."),
    counter(
        "whyidle_run_gpu_seconds_total",
        "seconds",
        "GPUs held times time; several runs on one GPU share its time equally.",
    ),
    counter(
        "whyidle_run_idle_gpu_seconds_total",
        "seconds",
        "Held GPU time with nothing running, by who was waited for; estimated from samples.",
    ),
    gauge(
        "whyidle_run_busy_ratio",
        "ratio",
        "Mean share of the last window with a kernel running on the run's GPUs.",
    ),
    gauge(
        "whyidle_run_waiting_ratio",
        "ratio",
        "Share of the last window's samples of the main thread, by who was waited for; of host.launch the idle time left to it.",
    ),
    gauge(
        "whyidle_run_step_seconds",
        "seconds",
        "Time of a step, estimated from outside; absent where no period is found.",
    ),
    gauge(
        "whyidle_run_behind_ratio",
        "ratio",
        "How far the run's busy share is behind the median of its job's ranks on this node; whom the others wait for is behind.",
    ),
    counter(
        "whyidle_run_changes_total",
        "",
        "Changes of the step time for good; the recording says what else changed.",
    ),
    info("whyidle_agent_info", "The agent."),
    gauge("whyidle_agent_runs", "", "Runs on this node now."),
    gauge("whyidle_agent_series", "", "Series exported."),
    gauge("whyidle_agent_series_limit", "", "Series exported at most."),
    counter(
        "whyidle_agent_series_dropped_total",
        "",
        "Series that the limit kept out, counted once for each run.",
    ),
    gauge("whyidle_agent_ring_bytes", "bytes", "Bytes of the recordings kept."),
    gauge("whyidle_agent_ring_limit_bytes", "bytes", "Bytes that recordings may take."),
    counter("whyidle_agent_errors_total", "", "Failures, by kind."),
    gauge("whyidle_agent_last_sample_timestamp_seconds", "seconds", "Unix time of the last sample."),
    counter("whyidle_agent_cpu_seconds_total", "seconds", "CPU time used by the agent."),
    gauge("whyidle_agent_resident_memory_bytes", "bytes", "Resident memory of the agent."),
];
