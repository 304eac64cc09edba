//! Experiments in words: a run, a comparison, the history.
//!
//! [`words`] has the sentences, [`tries`] those of changes; `run`, `comparison`, `differential`, `fix` and `history` have
//! a page each, `json` their schemas, `sweep` all of a sweep, `benchmark` the table that is appended to a file,
//! `gate` the verdict for pipelines, `job` all that is known of a job.

mod benchmark;
pub(crate) mod comparison;
pub(crate) mod differential;
pub(crate) mod fix;
pub(crate) mod gate;
pub(crate) mod history;
pub(crate) mod job;
pub(crate) mod json;
pub(crate) mod run;
pub(crate) mod sweep;
mod tries;
pub(crate) mod words;

pub use benchmark::{benchmark_header, benchmark_row};
pub use differential::feed;
pub use fix::fix_decided;
pub use gate::render_gate_github;
pub(crate) use job::{gpu_time, span};
pub use words::{moment, run_failed};
