//! The command line of `gate`.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::args::Reporting;
use crate::experiment::options::{Kept, Measuring, small_share};
use crate::values::whole;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MetricName {
    /// Time of a step
    Step,
    /// Samples per second
    Samples,
    /// Tokens per second
    Tokens,
    /// Highest memory of tensors
    PeakMemory,
    /// Energy of the GPU for a step
    Energy,
}

/// How the verdict is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GateFormat {
    /// For reading in a terminal
    Text,
    /// Schema whyidle.gate/1
    Json,
    /// Markdown
    Md,
    /// A command of GitHub's workflows
    Github,
}

/// Options of `gate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  whyidle gate --save baseline.json -- python train.py\n  \
    whyidle gate --baseline baseline.json --max-regression 5% -- python train.py\n  \
    whyidle gate --baseline v1.2 --run last --format github\n\n\
    Exit status: 0 within the limit (or saved), 1 a regression beyond it, 2 bad usage or unreadable input, \
    3 cannot tell: too few runs, another machine, a failed run.")]
pub(crate) struct GateOptions {
    /// A number of the history, a commit, or a file; repeatable
    #[arg(long, value_name = "REF", required_unless_present = "save")]
    pub(crate) baseline: Vec<String>,
    /// How much worse it may be
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = small_share)]
    pub(crate) max_regression: f64,
    /// What is compared
    #[arg(long, value_name = "METRIC", value_enum, default_value_t = MetricName::Step)]
    pub(crate) metric: MetricName,
    // With a baseline of one run the interval is about three times the scatter.
    /// Run the command so many times
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole::<u32>(1..=1_000))]
    pub(crate) runs: u32,
    /// Judge this run of the history instead; repeatable
    #[arg(long, value_name = "N|last", conflicts_with = "command")]
    pub(crate) run: Vec<String>,
    /// Write the new runs there: the next baseline
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Judge also across different machines
    #[arg(long, hide_short_help = true)]
    pub(crate) anyway: bool,
    /// How far the losses may be apart
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = small_share, hide_short_help = true)]
    pub(crate) loss_tolerance: f64,
    #[command(flatten)]
    pub(crate) measuring: Measuring,
    #[command(flatten)]
    pub(crate) kept: Kept,
    /// How to print the verdict
    #[arg(long, value_enum, default_value_t = GateFormat::Text, value_name = "FORMAT")]
    pub(crate) format: GateFormat,
    /// Show every run
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) page: Reporting,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "run")]
    pub(crate) command: Vec<String>,
}
