//! The command line of `sweep`.

use super::options::{Judging, Kept, Measuring};
use crate::args::{Reporting, Showing};
use crate::values::whole;

/// Options of `sweep`.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("steps", |steps| steps.help("End a run after so many steady steps, 10 or more [default: 50, and 3 s of them]")),
    after_help = "NAME is {NAME} or NAME= in the command, an --option, env:VARIABLE, file:PATH:NAME.IN.IT.\n\
    Values that end in ... double for as long as it pays; so they do where none are given.\n\n\
    Examples:\n  whyidle sweep --vary num_workers -- python train.py --num-workers 2\n  \
    whyidle sweep --vary --batch=8,16,... --vary env:OMP_NUM_THREADS=1,4 -- python train.py\n  \
    whyidle sweep --vary file:conf.yaml:data.workers=0,4,8 -- python train.py --config conf.yaml\n\n\
    Exit status: 0 a result, also that it does not matter; 1 none; 2 bad usage or no such program."
)]
pub(crate) struct SweepOptions {
    /// What to vary; of several, what pays is kept for the next
    #[arg(long, required = true, value_name = "NAME[=V,V...]", allow_hyphen_values = true)]
    pub(crate) vary: Vec<String>,
    /// Rounds of runs at most, 2 or more
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = whole::<u32>(2..=100), hide_short_help = true)]
    pub(crate) rounds: u32,
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
