//! The command line.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

use crate::experiment::gate::options::GateOptions;
use crate::experiment::options::{BenchOptions, CompareOptions, FixOptions, HistoryOptions};
use crate::experiment::sweep_options::SweepOptions;
use crate::values::{duration, step_ms, step_range, whole};

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

/// Options of `trace`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  whyidle trace trace.json.gz --step-ms 188\n  \
    whyidle trace runs/42/ --format json\n  whyidle trace runs/42/ --what-if data.workers=12 --critical-path\n  \
    whyidle trace runs/42/ -o report.html --open\n\n\
    Exit status: 0 a verdict was reached, 1 the evidence cannot carry one, 2 bad usage or unreadable input.")]
pub(crate) struct TraceOptions {
    /// Traces (.json, .json.gz; .sqlite of Nsight Systems), directories with traces, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The true step time in milliseconds, measured without a profiler
    #[arg(long, value_name = "MS", value_parser = step_ms)]
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
    #[arg(long, value_name = "N", value_parser = whole::<u32>(NUMBERS))]
    pub(crate) rank: Option<u32>,
    /// Analyse this GPU, by the number the program gives it [default: the busiest]
    #[arg(long, value_name = "N", value_parser = whole::<i32>(NUMBERS))]
    pub(crate) device: Option<i32>,
    #[command(flatten)]
    pub(crate) page: Reporting,
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

/// Options of `digest`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  whyidle digest trace_rank7.json.gz -o rank7.digest.gz\n  \
    whyidle digest runs/42/ -o runs/42.digest.gz\n\n\
    Exit status: 0 a digest was written, 1 the evidence cannot carry one, 2 bad usage or unreadable input.")]
pub(crate) struct DigestOptions {
    /// Traces (.json, .json.gz), directories with traces, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Where to write the digests, all into one file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// The true step time in milliseconds, measured without a profiler
    #[arg(long, value_name = "MS", value_parser = step_ms)]
    pub(crate) step_ms: Option<f64>,
    /// Read what a trace's directory says of the run, as when the directory is given
    #[arg(long)]
    pub(crate) recorded: bool,
    /// What to call the trace, where it was fetched from elsewhere
    #[arg(long, value_name = "PATH")]
    pub(crate) name: Option<String>,
}

/// Options of `merge`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  whyidle merge digests/\n  whyidle merge rank*.digest.gz -o job.digest.gz\n\n\
    Exit status: 0 a verdict was reached, 1 the evidence cannot carry one, 2 bad usage or unreadable input."
)]
pub(crate) struct MergeOptions {
    /// Files of digests, or directories with such
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Write the digests, joined, instead of giving the verdict
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Show this rank at the top [default: the one the others wait for]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(NUMBERS))]
    pub(crate) rank: Option<u32>,
    #[command(flatten)]
    pub(crate) showing: Showing,
    #[command(flatten)]
    pub(crate) page: ReportingToo,
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

/// Options of `diagnose`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  whyidle diagnose whyidle-recording/\n  whyidle diagnose runs/42/ -v --format json\n  \
    whyidle diagnose trace.json.gz memory_snapshot.pickle\n\n\
    Exit status: 0 a verdict was reached, 1 the evidence cannot carry one, 2 bad usage or unreadable input."
)]
pub(crate) struct DiagnoseOptions {
    /// A recording, or any directory or files with evidence: told by content, not by name
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The true step time in milliseconds, measured without a profiler
    #[arg(long, value_name = "MS", value_parser = step_ms)]
    pub(crate) step_ms: Option<f64>,
    #[command(flatten)]
    pub(crate) showing: Showing,
    #[command(flatten)]
    pub(crate) page: Reporting,
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

/// Options of `diff`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  whyidle diff before.json.gz after.json.gz\n  whyidle diff runs/41/ runs/42/ -v\n  \
    whyidle diff runs/41/ runs/42/ --format json\n\n\
    Exit status: 0 compared, 1 a side carries no verdict, 2 bad usage or unreadable input."
)]
pub(crate) struct DiffOptions {
    /// What was: a trace, an export of Nsight Systems, a recording, a directory with traces
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// What is, likewise
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,
    /// Compare this rank [default: of A the one the others wait for, and the same of B]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(NUMBERS))]
    pub(crate) rank: Option<u32>,
    #[command(flatten)]
    pub(crate) showing: Showing,
    #[command(flatten)]
    pub(crate) page: Reporting,
}

/// How the answer to a query is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SheetFormat {
    /// Aligned columns, long texts cut
    Text,
    /// A list of objects
    Json,
    /// RFC 4180
    Csv,
}

/// Options of `sql`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  whyidle sql trace.json.gz \"select line, sum(traced_ns) from ledger group by line\"\n  \
    whyidle sql runs/42/ .schema\n  whyidle sql runs/42/ \".schema kernels\"\n\n\
    The tables and ten worked queries: docs/sql.md\n\
    Exit status: 0 an answer, 1 the query took too long, 2 a faulty query or unreadable input."
)]
pub(crate) struct SqlOptions {
    /// Traces, exports of Nsight Systems, recordings, directories with traces, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// One statement that reads; .schema [TABLE] or .tables shows what there is
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: String,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t = SheetFormat::Text, value_name = "FORMAT")]
    pub(crate) format: SheetFormat,
    /// Stop the query after this time
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) timeout: Duration,
}

/// What `export` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// Chrome's trace format, with the ledger, gaps and findings as tracks; whyidle reads it back
    Perfetto,
    /// The tables of `whyidle sql` as a database
    Sqlite,
    /// The same tables as a directory of CSV files
    Csv,
    /// Stacks for speedscope.app
    Speedscope,
    /// Stacks as folded lines
    Folded,
}

/// Options of `export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  whyidle export trace.json.gz --to perfetto -o explained.json.gz\n  \
    whyidle export runs/42/ --to sqlite -o run.sqlite\n  whyidle export runs/42/ --to folded -o - | flamegraph.pl\n\n\
    Exit status: 0 written, 1 there is nothing to write, 2 bad usage or unreadable input.")]
pub(crate) struct ExportOptions {
    /// Traces, exports of Nsight Systems, recordings, directories with traces, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// What to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Target,
    /// Where to write it; of perfetto, speedscope and folded also - for standard output, or a name in .gz
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace what is there
    #[arg(long)]
    pub(crate) force: bool,
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
