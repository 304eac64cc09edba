//! Options of the commands that read what was recorded.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use super::{Format, NUMBERS, Reporting, ReportingToo, Showing};
use crate::values::{duration, step_ms, step_range, whole};

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
