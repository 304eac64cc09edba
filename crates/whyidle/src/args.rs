//! The command line: the commands, and what several of them share.

mod live;
mod recorded;

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::experiment::gate::options::GateOptions;
use crate::experiment::options::{BenchOptions, CompareOptions, FixOptions, HistoryOptions};
use crate::experiment::sweep_options::SweepOptions;

#[cfg(feature = "serve")]
pub(crate) use live::ServeOptions;
#[cfg(feature = "tui")]
pub(crate) use live::TopOptions;
pub(crate) use live::{AttachOptions, CheckOptions, LiveOptions, RunOptions};
pub(crate) use recorded::{
    DiagnoseOptions, DiffOptions, DigestOptions, ExportOptions, MergeOptions, RanksOptions, SheetFormat,
    SqlOptions, Target, TraceOptions,
};

/// Who is the GPU waiting for, what does it cost, and which change fixes it?
#[derive(Debug, Parser)]
#[command(version, disable_help_subcommand = true)]
#[command(
    after_help = "Examples:\n  whyidle                    lists the training programs of this machine\n  \
    whyidle attach 4711\n  whyidle run -- python train.py\n  whyidle trace trace.json.gz --step-ms 188"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Language of the output: en, zh [default: from the locale]
    #[arg(long, global = true, display_order = 900, value_name = "LANG", value_parser = ["en", "zh"], hide_possible_values = true)]
    pub(crate) lang: Option<String>,
    /// When to use colour
    #[arg(long, global = true, display_order = 901, value_name = "WHEN", value_enum, default_value_t = When::Auto, hide_short_help = true)]
    pub(crate) color: When,
    /// When to show progress on standard error
    #[arg(long, global = true, display_order = 902, value_name = "WHEN", value_enum, default_value_t = When::Auto, hide_short_help = true)]
    pub(crate) progress: When,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say from PyTorch traces where each step goes and what to change
    Trace(TraceOptions),
    /// Condense each rank's trace into what it says to the others
    Digest(DigestOptions),
    /// Give the verdict on many ranks from their digests, or join them
    Merge(MergeOptions),
    /// Say before a run whether a model fits, its step time and strategy
    Plan(Box<crate::plan::PlanOptions>),
    /// Start a program, watch it, trace it briefly, give the verdict
    Run(RunOptions),
    /// Watch a running program from outside, and give the verdict
    Attach(AttachOptions),
    /// Show GPUs, whom they wait for, stacks and history on a dashboard
    #[cfg(feature = "tui")]
    Top(TopOptions),
    /// Check the machine and a running program for costly settings
    Check(CheckOptions),
    /// Show recordings, the history and running programs in the browser
    #[cfg(feature = "serve")]
    Serve(ServeOptions),
    /// Watch a node for months: metrics for Prometheus, and recordings
    #[cfg(all(feature = "agent", target_os = "linux"))]
    Agent(crate::agent::AgentOptions),
    /// Give the verdict of a recording, or of files of other tools
    Diagnose(DiagnoseOptions),
    /// Say from flight recorders and NCCL logs which rank hangs where
    Ranks(RanksOptions),
    /// Say what changed from one trace or recording to another
    Diff(DiffOptions),
    /// Ask a trace or recording in SQL
    Sql(SqlOptions),
    /// Write a trace or recording for Perfetto, SQLite, flame graphs
    Export(ExportOptions),
    /// Tokenise documents ahead of training, into files that are mapped
    #[cfg(feature = "feed")]
    Tokenize(crate::tokenize::TokenizeOptions),
    /// Measure the step time of a program, and keep it
    Bench(BenchOptions),
    /// Say which of two programs is faster, from runs in pairs
    Compare(Box<CompareOptions>),
    /// Try remedies, prove them in pairs, and say what to keep
    Fix(Box<FixOptions>),
    /// Say which value of a setting pays, and of several together
    Sweep(Box<SweepOptions>),
    /// Fail where a program became slower than its baseline
    Gate(Box<GateOptions>),
    /// List what was measured
    History(HistoryOptions),
    /// Rank the jobs of a cluster by wasted GPU time, from Prometheus
    #[cfg(all(feature = "agent", target_os = "linux"))]
    Fleet(Box<crate::fleet::FleetOptions>),
    /// Explain a cause: how it is recognised, what cures it, its traps
    #[command(
        after_help = "Examples:\n  whyidle explain                  lists all causes\n  whyidle explain data.workers"
    )]
    Explain {
        /// Id of a cause, as data.workers; without it, all are listed
        cause: Option<String>,
    },
    /// Print a shell's completions
    #[command(
        hide = true,
        after_help = "Examples:\n  whyidle completions bash > ~/.local/share/bash-completion/completions/whyidle\n  \
        whyidle completions zsh > ~/.zfunc/_whyidle\n  \
        whyidle completions fish > ~/.config/fish/completions/whyidle.fish"
    )]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(
        hide = true,
        after_help = "Examples:\n  whyidle man | man -l -\n  whyidle man > ~/.local/share/man/man1/whyidle.1"
    )]
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

/// Numbers of ranks and devices.
const NUMBERS: RangeInclusive<i64> = 0..=1_000_000;
/// Numbers of processes; Linux has none above 2²².
const PIDS: RangeInclusive<i64> = 1..=1 << 22;

/// How a verdict is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For reading in a terminal
    Text,
    /// Schema whyidle.verdict/1; others of plans, ranks, comparisons, experiments and checks
    Json,
    /// Markdown
    Md,
}

/// A page beside what is printed.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Reporting {
    /// Write a page for the browser too: one HTML file, in both languages
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long, requires = "report")]
    pub(crate) open: bool,
    /// Replace what is there
    #[arg(long, requires = "report", hide_short_help = true)]
    pub(crate) force: bool,
}

/// The same for commands whose `--out` is something else: without its short name, which would be taken for theirs.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ReportingToo {
    /// Write a page for the browser too: one HTML file, in both languages
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long, requires = "report")]
    open: bool,
    /// Replace what is there
    #[arg(long, requires = "report", hide_short_help = true)]
    force: bool,
}

impl ReportingToo {
    pub(crate) fn reporting(&self) -> Reporting {
        Reporting { report: self.report.clone(), open: self.open, force: self.force }
    }
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
