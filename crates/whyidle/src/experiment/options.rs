//! The command lines of `bench`, `compare`, `fix` and `history`.

use std::path::PathBuf;
use std::time::Duration;

use whyidle_diagnosis::Message;
use whyidle_experiment::tries::{KNOWN, NotUnderstood, Takes, Try};

use crate::args::{Reporting, Showing};
use crate::values::{Unfit, duration, whole};

/// How long and how a program is measured.
#[derive(Debug, clap::Args)]
pub(crate) struct Measuring {
    /// End it after so many steady steps, 10 or more [default: 200, and 10 s of them]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(10..=1_000_000))]
    pub(crate) steps: Option<u32>,
    /// End it this long after its first step at the latest
    #[arg(long = "for", value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) for_: Duration,
    /// What the program prints right before a loss [default: usual forms]
    #[arg(long = "loss-prefix", value_name = "TEXT", hide_short_help = true)]
    pub(crate) loss: Option<String>,
    /// Where it writes losses: a file or folder with TensorBoard's events, JSON or CSV; repeatable
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub(crate) losses: Vec<PathBuf>,
    /// What it prints right before the number of a step [default: usual forms]
    #[arg(long = "step-prefix", value_name = "TEXT", hide_short_help = true)]
    pub(crate) step: Option<String>,
    /// Put no start-up hook before it: steps are told from its output
    #[arg(long, hide_short_help = true)]
    pub(crate) no_hook: bool,
}

/// Changes to try in the running program.
#[derive(Debug, clap::Args)]
pub(crate) struct Trying {
    /// Change this in the running program, as workers=8 or bf16; repeatable
    #[arg(long = "try", value_name = "CHANGE", value_parser = change, conflicts_with = "no_hook")]
    pub(crate) tries: Vec<Try>,
}

/// What counts as an effect, and as learning alike.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Judging {
    /// The smallest effect that counts
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = small_share)]
    pub(crate) counts: f64,
    /// How far the losses may be apart
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = small_share, hide_short_help = true)]
    pub(crate) loss_tolerance: f64,
}

/// Where the history is.
#[derive(Debug, clap::Args)]
pub(crate) struct Kept {
    /// The history [default: ~/.local/share/whyidle/history.db]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) db: Option<PathBuf>,
}

/// Options of `bench`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  whyidle bench -- python train.py\n  whyidle bench --differential -- python train.py\n  whyidle bench --steps 500 --append BENCHMARK.md -- torchrun --nproc-per-node 2 train.py\n\n\
    Exit status: the program's own where it ended by itself, else 0; 1 where nothing was measured."
)]
pub(crate) struct BenchOptions {
    #[command(flatten)]
    pub(crate) measuring: Measuring,
    #[command(flatten)]
    pub(crate) trying: Trying,
    /// Feed it in four ways and say whether computing, preparing or reading data is the limit
    #[arg(long, conflicts_with_all = ["append", "tries", "no_hook"])]
    pub(crate) differential: bool,
    /// Runs with each feed
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = whole::<u32>(1..=100), hide_short_help = true, requires = "differential")]
    pub(crate) rounds: u32,
    /// Add a row to this table
    #[arg(long, value_name = "FILE")]
    pub(crate) append: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) kept: Kept,
    #[command(flatten)]
    pub(crate) showing: Showing,
    #[command(flatten)]
    pub(crate) page: Reporting,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Options of `compare`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  whyidle compare 'python train.py --workers 2' 'python train.py --workers 8'\n  \
    whyidle compare --set --workers=8 -- python train.py --workers 2\n  \
    whyidle compare --try pin_memory --try workers=8 -- python train.py\n  \
    whyidle compare --self-test -- python train.py\n  whyidle compare 12 15\n\n\
    Exit status: 0 a result, also that there is no clear difference; 1 none; 2 bad usage or no such program."
)]
pub(crate) struct CompareOptions {
    /// Two commands, each as one text for the shell; or two numbers of the history, or recordings
    #[arg(value_name = "A|B", num_args = 0..=2)]
    pub(crate) what: Vec<String>,
    /// B is the command with this changed; repeatable
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true, conflicts_with_all = ["what", "self_test"], requires = "command")]
    pub(crate) set: Vec<String>,
    /// B is the command with this changed while it runs, as workers=8 or bf16; repeatable
    #[arg(long = "try", value_name = "CHANGE", value_parser = change, conflicts_with_all = ["what", "self_test", "no_hook"], requires = "command")]
    pub(crate) tries: Vec<Try>,
    /// B is A: what is judged is the machine
    #[arg(long, conflicts_with = "what", requires = "command")]
    pub(crate) self_test: bool,
    /// Pairs of runs at most, 6 or more
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<u32>(6..=1_000))]
    pub(crate) pairs: u32,
    #[command(flatten)]
    pub(crate) judging: Judging,
    #[command(flatten)]
    pub(crate) measuring: Measuring,
    #[command(flatten)]
    pub(crate) kept: Kept,
    #[command(flatten)]
    pub(crate) showing: Showing,
    #[command(flatten)]
    pub(crate) page: Reporting,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "what")]
    pub(crate) command: Vec<String>,
}

/// Options of `fix`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  whyidle fix -- python train.py\n  \
    whyidle fix --try workers=8 --try bf16 --patch fix.patch -- python train.py\n\n\
    Nothing of the program is written.\n\
    Exit status: 0 a result, also that nothing helps; 1 none; 2 bad usage or no such program.")]
pub(crate) struct FixOptions {
    /// Try this and nothing else; repeatable [default: what the verdict asks for]
    #[arg(long = "try", value_name = "CHANGE", value_parser = change, conflicts_with = "no_hook")]
    pub(crate) tries: Vec<Try>,
    /// Write what was kept as a patch to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Option<PathBuf>,
    /// Pairs of runs for a proof at most, 6 or more
    #[arg(long, value_name = "N", default_value_t = 13, value_parser = whole::<u32>(6..=1_000))]
    pub(crate) pairs: u32,
    #[command(flatten)]
    pub(crate) judging: Judging,
    #[command(flatten)]
    pub(crate) measuring: Measuring,
    #[command(flatten)]
    pub(crate) kept: Kept,
    #[command(flatten)]
    pub(crate) showing: Showing,
    #[command(flatten)]
    pub(crate) page: Reporting,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Options of `history`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  whyidle history\n  whyidle history show 12 -v\n  \
    whyidle history --job $SLURM_JOB_ID\n\n\
    Exit status: 0 shown, 2 bad usage, no such entry or job, or no readable history.")]
pub(crate) struct HistoryOptions {
    #[command(subcommand)]
    pub(crate) command: Option<HistoryCommand>,
    /// Show so many entries, the newest first
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<u32>(1..=1_000_000))]
    pub(crate) limit: u32,
    /// Report on this job: what all that is known of it comes to
    #[arg(long, value_name = "ID")]
    pub(crate) job: Option<String>,
    #[command(flatten)]
    pub(crate) kept: Kept,
    #[command(flatten)]
    pub(crate) showing: Showing,
    #[command(flatten)]
    pub(crate) page: Reporting,
}

/// What to do with the history.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum HistoryCommand {
    /// Show a verdict, a run, or a comparison with its runs
    #[command(
        after_help = "Examples:\n  whyidle history show 12\n  whyidle history show 12 -v --format json"
    )]
    Show {
        /// Its number
        #[arg(value_name = "N", value_parser = whole::<i64>(1..=i64::MAX))]
        id: i64,
        #[command(flatten)]
        kept: Kept,
        #[command(flatten)]
        showing: Showing,
        #[command(flatten)]
        page: Reporting,
    },
}

/// A change to try, `workers=8`.
fn change(text: &str) -> Result<Try, Unfit> {
    Try::parse(text).map_err(|why| match why {
        NotUnderstood::Unknown => {
            let names: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
            Unfit(Message::new("cli-try-unknown").name("names", names.join(", ")))
        }
        NotUnderstood::Value(Takes::Flag(_)) => Unfit::new("cli-try-flag"),
        NotUnderstood::Value(Takes::Count(least, most, _)) => {
            Unfit(Message::new("cli-try-count").count("least", least).count("most", most))
        }
        NotUnderstood::Value(Takes::Megabytes) => Unfit::new("cli-try-megabytes"),
        NotUnderstood::Value(Takes::Garbage) => Unfit::new("cli-try-garbage"),
    })
}

/// A share below a half, `2%` or `0.02`.
pub(super) fn small_share(text: &str) -> Result<f64, Unfit> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.trim().parse::<f64>(),
    };
    value.ok().filter(|share| (0.0..0.5).contains(share)).ok_or_else(|| Unfit::new("cli-value-share"))
}

#[cfg(test)]
mod tests {
    use super::small_share;

    #[test]
    fn shares_are_percent_or_fractions() {
        assert_eq!((small_share("2%"), small_share("0.02"), small_share("0")), (Ok(0.02), Ok(0.02), Ok(0.0)));
        assert!(small_share("60%").is_err() && small_share("-1%").is_err() && small_share("x").is_err());
    }
}
