//! The command line.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Who is the GPU waiting for, what does it cost, and which change proves to fix it?
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, disable_help_subcommand = true)]
#[command(after_help = "Example:\n  whyidle trace trace.json.gz --step-ms 188")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
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
    /// Schema whyidle.verdict/1, of a plan whyidle.plan/1
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

/// No step is shorter than a kernel's launch.
const SHORTEST_STEP_MS: f64 = 0.01;
/// An hour.
const LONGEST_STEP_MS: f64 = 3_600_000.0;

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
