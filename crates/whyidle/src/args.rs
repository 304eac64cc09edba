//! The command line.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

/// Who is the GPU waiting for, what does it cost, and which change proves to fix it?
#[derive(Debug, Parser)]
#[command(version, disable_help_subcommand = true)]
#[command(
    after_help = "Examples:\n  whyidle                    lists the training programs of this machine\n  \
    whyidle attach 4711\n  whyidle run -- python train.py\n  whyidle trace trace.json.gz --step-ms 188"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Language of the output [default: from the locale]
    #[arg(long, global = true, display_order = 900, value_name = "LANG", value_parser = ["en", "zh"])]
    pub(crate) lang: Option<String>,
    /// When to use colour
    #[arg(long, global = true, display_order = 901, value_name = "WHEN", value_enum, default_value_t = When::Auto)]
    pub(crate) color: When,
    /// When to show progress on standard error
    #[arg(long, global = true, display_order = 902, value_name = "WHEN", value_enum, default_value_t = When::Auto)]
    pub(crate) progress: When,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say from PyTorch profiler traces where each step goes and what to change
    Trace(TraceOptions),
    /// Say before anything runs whether a model fits, what a step takes and which strategy suits
    Plan(Box<crate::plan::PlanOptions>),
    /// Start a program, watch it, ask it for a short trace, and give the verdict
    Run(RunOptions),
    /// Watch a running program from outside, and give the verdict
    Attach(AttachOptions),
    /// Check the machine, and a running program, for settings that cost speed
    Check(CheckOptions),
    /// Give the verdict of a recording, with or without a trace in it
    Diagnose(DiagnoseOptions),
    /// Say from flight recorders and NCCL logs which rank hangs where, and over what ranks talk
    Ranks(RanksOptions),
    /// Explain a cause: what it is, how it is recognised, what cures it, its traps
    Explain {
        /// Id of a cause, as `data.workers`; without it, all are listed
        cause: Option<String>,
    },
    /// Print a shell's completions
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// When to do something that suits a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How a verdict is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For reading in a terminal
    Text,
    /// Schema whyidle.verdict/1; whyidle.plan/1 of a plan, whyidle.ranks/1 of ranks
    Json,
    /// Markdown
    Md,
}

/// Options of `trace`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  whyidle trace trace.json.gz --step-ms 188\n  \
    whyidle trace runs/42/ --format json\n  whyidle trace runs/42/ --what-if data.workers=12 --critical-path\n\n\
    Exit status: 0 a verdict was reached, 1 the evidence cannot carry one, 2 bad usage or unreadable input.")]
pub(crate) struct TraceOptions {
    /// Traces (.json, .json.gz), directories with traces, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The true step time in milliseconds, measured without a profiler
    #[arg(long, value_name = "MS", value_parser = positive_ms)]
    pub(crate) step_ms: Option<f64>,
    /// How to print the verdict
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Show evidence, remedies in full, kernels, operators, gaps
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Analyse only these steps, by their numbers
    #[arg(long, value_name = "A..B", value_parser = step_range)]
    pub(crate) step: Option<RangeInclusive<i64>>,
    /// Replay with a remedy, CAUSE or CAUSE=VALUE; several with +; repeatable
    #[arg(long, value_name = "CAUSE")]
    pub(crate) what_if: Vec<String>,
    /// Show what the length of a step consists of
    #[arg(long)]
    pub(crate) critical_path: bool,
    /// Do not replay: faster, and without any prediction
    #[arg(long, conflicts_with_all = ["what_if", "critical_path"])]
    pub(crate) no_replay: bool,
    /// Show this rank at the top [default: the one the others wait for]
    #[arg(long, value_name = "N")]
    pub(crate) rank: Option<u32>,
    /// Analyse this GPU, by the number the program gives it [default: the busiest]
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<i32>,
}

/// How `attach`, `run` and `diagnose` print their verdict.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Showing {
    /// How to print the verdict
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Show evidence, remedies in full, and what each instrument says
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

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
    /// The true step time in milliseconds, if the program prints it
    #[arg(long, value_name = "MS", value_parser = positive_ms)]
    pub(crate) step_ms: Option<f64>,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

/// Options of `attach`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  whyidle attach 4711\n  whyidle attach 4711 --for 60s --out recording/\n\n\
    Exit status: 0 a verdict was reached, 1 the evidence cannot carry one, 2 bad usage or no such process."
)]
pub(crate) struct AttachOptions {
    /// The program: its training process, or whatever started it
    #[arg(value_name = "PID", required_unless_present = "more_pids")]
    pub(crate) pids: Vec<u32>,
    /// Another process to watch; may be given several times
    #[arg(long = "pid", value_name = "PID")]
    pub(crate) more_pids: Vec<u32>,
    /// Sample these GPUs only, by their physical number; may be given several times
    #[arg(long, value_name = "N")]
    pub(crate) gpu: Vec<u32>,
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
    /// Do not ask the program for a trace
    #[arg(long)]
    pub(crate) no_trace: bool,
    /// Steps to trace
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) trace_steps: u32,
    /// Trace with Python stacks: names functions, and slows the traced steps more
    #[arg(long)]
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

/// Options of `check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  whyidle check\n  whyidle check 4711")]
pub(crate) struct CheckOptions {
    /// A training program, or whatever started it
    #[arg(value_name = "PID")]
    pub(crate) pid: Option<u32>,
}

/// Options of `diagnose`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  whyidle diagnose whyidle-recording/\n  whyidle diagnose runs/42/ -v --format json\n\n\
    Exit status: 0 a verdict was reached, 1 the evidence cannot carry one, 2 bad usage or unreadable input."
)]
pub(crate) struct DiagnoseOptions {
    /// A directory that `attach` or `run` wrote, or any directory with samples or traces
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// The true step time in milliseconds, measured without a profiler
    #[arg(long, value_name = "MS", value_parser = positive_ms)]
    pub(crate) step_ms: Option<f64>,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

/// Options of `ranks`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  whyidle ranks nccl_trace_rank_*\n  whyidle ranks dumps/ --format json\n  whyidle ranks nccl_*.log\n\n\
    Exit status: 0 a result, 1 the evidence cannot carry one, 2 bad usage or unreadable input."
)]
pub(crate) struct RanksOptions {
    /// Dumps of PyTorch's flight recorder, logs of NCCL, or directories with them
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

/// No step is shorter than a kernel's launch.
pub(crate) const SHORTEST_STEP_MS: f64 = 0.01;
/// An hour.
pub(crate) const LONGEST_STEP_MS: f64 = 3_600_000.0;

/// `30s`, `5m`, or seconds alone.
fn duration(text: &str) -> Result<Duration, String> {
    const HINT: &str = "give seconds or minutes, as 30s or 5m";
    let (number, factor) = match text.strip_suffix('m') {
        Some(minutes) => (minutes, 60.0),
        None => (text.strip_suffix('s').unwrap_or(text), 1.0),
    };
    let seconds = number.trim().parse::<f64>().map_err(|_| HINT.to_owned())? * factor;
    if (1.0..=86_400.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("must be between 1 second and a day".to_owned())
    }
}

fn positive_ms(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ms) if (SHORTEST_STEP_MS..=LONGEST_STEP_MS).contains(&ms) => Ok(ms),
        Ok(_) => Err(format!("must be between {SHORTEST_STEP_MS} and {LONGEST_STEP_MS} milliseconds")),
        Err(_) => Err("is no number; give milliseconds, as 188 or 57.4".to_owned()),
    }
}

/// `3..7` or `5`: both ends are included.
fn step_range(text: &str) -> Result<RangeInclusive<i64>, String> {
    const HINT: &str = "give a step or a range, as 5 or 3..7 (both ends are included)";
    let number = |part: &str| part.trim().parse::<i64>().map_err(|_| HINT.to_owned());
    let (from, to) = match text.split_once("..") {
        Some((from, to)) => (number(from)?, number(to.trim_start_matches('='))?),
        None => (number(text)?, number(text)?),
    };
    if from > to { Err("the range is empty".to_owned()) } else { Ok(from..=to) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn durations_are_seconds_or_minutes() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("7"), Ok(Duration::from_secs(7)));
        assert!(duration("0s").is_err() && duration("soon").is_err() && duration("9999m").is_err());
    }

    #[test]
    fn step_ranges_include_both_ends() {
        assert_eq!(step_range("3..7"), Ok(3..=7));
        assert_eq!(step_range("5"), Ok(5..=5));
        assert_eq!(step_range("3..=7"), Ok(3..=7));
        assert!(step_range("7..3").is_err());
        assert!(step_range("a").is_err());
        assert!(positive_ms("-1").is_err());
        assert!(positive_ms("nan").is_err());
    }
}
