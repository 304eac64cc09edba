//! Options of the commands that look at running programs.

use std::path::PathBuf;
use std::time::Duration;

use super::{Format, NUMBERS, PIDS, ReportingToo, Showing};
use crate::values::{duration, step_ms, whole};

/// What `attach` and `run` share.
#[derive(Debug, clap::Args)]
pub(crate) struct LiveOptions {
    /// How long to watch
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) for_: Duration,
    /// Keep the recording in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Do not read Python stacks
    #[arg(long)]
    pub(crate) no_stacks: bool,
    /// Do not keep the verdict in the history
    #[arg(long)]
    pub(crate) no_history: bool,
    /// The true step time in milliseconds, if the program prints it
    #[arg(long, value_name = "MS", value_parser = step_ms)]
    pub(crate) step_ms: Option<f64>,
    #[command(flatten)]
    pub(crate) showing: Showing,
    #[command(flatten)]
    pub(crate) page: ReportingToo,
}

/// Options of `attach`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  whyidle attach 4711\n  whyidle attach 4711 --for 60s --out recording/\n\n\
    Exit status: 0 a verdict was reached, 1 the evidence cannot carry one, 2 bad usage or no such process."
)]
pub(crate) struct AttachOptions {
    /// The program: its training process, or whatever started it
    #[arg(value_name = "PID", required_unless_present = "more_pids", value_parser = whole::<u32>(PIDS))]
    pub(crate) pids: Vec<u32>,
    /// Another process to watch; repeatable
    #[arg(long = "pid", value_name = "PID", value_parser = whole::<u32>(PIDS))]
    pub(crate) more_pids: Vec<u32>,
    /// Sample these GPUs only, by their physical number; repeatable
    #[arg(long, value_name = "N", value_parser = whole::<u32>(NUMBERS))]
    pub(crate) gpu: Vec<u32>,
    /// Record only, beside what the program itself records in the same directory; for the Python package
    #[arg(long, hide = true, requires = "out")]
    pub(crate) part: bool,
    #[command(flatten)]
    pub(crate) live: LiveOptions,
}

/// Options of `run`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  whyidle run -- python train.py\n  whyidle run --stop -- torchrun --nproc-per-node 2 train.py\n\n\
    Exit status: the program's own; with --verdict-exit or --stop that of the verdict."
)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) live: LiveOptions,
    /// Sample these GPUs only, by their physical number; repeatable
    #[arg(long, value_name = "N", value_parser = whole::<u32>(NUMBERS))]
    pub(crate) gpu: Vec<u32>,
    /// Do not ask the program for a trace
    #[arg(long)]
    pub(crate) no_trace: bool,
    /// Steps to trace
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<u32>(1..=100))]
    pub(crate) trace_steps: u32,
    /// Trace with Python stacks: names functions, and slows the traced steps more
    #[arg(long = "trace-stacks")]
    pub(crate) stacks: bool,
    /// End the program once the verdict is reached
    #[arg(long)]
    pub(crate) stop: bool,
    /// Exit with the verdict's status instead of the program's
    #[arg(long)]
    pub(crate) verdict_exit: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Options of `top`.
#[cfg(feature = "tui")]
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  whyidle top                      all training programs of this machine\n  \
    whyidle top 4711\n  whyidle top --replay whyidle-recording/\n  whyidle top --once | less\n\n\
    Exit status: 0 ended by a key or one picture printed, 1 nothing to show, 2 bad usage or no terminal."
)]
pub(crate) struct TopOptions {
    /// Training programs, or whatever started them [default: all of this machine]
    #[arg(value_name = "PID", value_parser = whole::<u32>(PIDS))]
    pub(crate) pids: Vec<u32>,
    /// Play a recording instead
    #[arg(long, value_name = "DIR", conflicts_with_all = ["pids", "gpu", "no_stacks", "for_"])]
    pub(crate) replay: Option<PathBuf>,
    /// Begin this long after the recording's first sample [default: 10s; with --once: its end]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "replay")]
    pub(crate) at: Option<Duration>,
    /// Sample these GPUs only, by their physical number; repeatable
    #[arg(long, value_name = "N", value_parser = whole::<u32>(NUMBERS))]
    pub(crate) gpu: Vec<u32>,
    /// Do not read Python stacks
    #[arg(long)]
    pub(crate) no_stacks: bool,
    /// Print one picture as text
    #[arg(long)]
    pub(crate) once: bool,
    /// With --once: how long to watch before [default: 10s]
    #[arg(long = "for", value_name = "TIME", value_parser = duration, requires = "once")]
    pub(crate) for_: Option<Duration>,
}

/// Options of `check`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  whyidle check                    the machine\n  whyidle check 4711               and a program, watched for 10 s\n  \
    whyidle check 4711 --for 60s\n  whyidle check whyidle-recording/ the symptoms of a recording\n\n\
    Exit status: 0 checked, whatever was found, 1 nothing to check, 2 bad usage or unreadable input."
)]
pub(crate) struct CheckOptions {
    /// A training program, or whatever started it; or the directory of a recording
    #[arg(value_name = "PID|DIR")]
    pub(crate) what: Option<PathBuf>,
    /// How long to watch the program
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) for_: Duration,
    /// Check settings only
    #[arg(long)]
    pub(crate) no_watch: bool,
    /// How to print what was found
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// Options of `serve`.
#[cfg(feature = "serve")]
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  whyidle serve runs/\n  \
    whyidle serve runs/ --listen 0.0.0.0:7321 --token-file token --tls-cert cert.pem --tls-key key.pem\n\n\
    Exit status: 0 it was ended, 2 bad usage, no such folder, or the address is taken.")]
pub(crate) struct ServeOptions {
    /// A folder with recordings and traces
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) listening: crate::listening::Listening,
    /// Open it in the browser
    #[arg(long)]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) kept: crate::experiment::options::Kept,
}
