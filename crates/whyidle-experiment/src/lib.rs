//! Experiments: a baseline of an unmodified program, two programs compared in pairs, and their history.
//!
//! * [`stats`] – warm-up, steady step time, paired comparison, losses: pure functions.
//! * [`progress`] – the series of step times, from whatever tells it best.
//! * [`result`], [`comparison`] – what a run gave, and what pairs of runs say.
//! * [`history`] – where both are kept; [`judged`] – so are verdicts; [`job`] – what all that is known of a job comes to.
//! * [`gate`] – whether new runs are worse than a baseline; [`documents`], [`lookup`] – where a baseline comes from.
//! * [`substitute`] – one setting of a command, changed.
//! * [`differential`] – a program fed in four ways: what its data costs.
//! * [`fix`] – remedies tried, proven, kept or rolled back.
//! * [`tries`] – changes that the start-up hook makes while the program runs.
//! * [`sweep`] – one program with several values of a setting, and which of them pays.
//! * [`written`] – losses that a program writes into files while it runs.
//! * [`measure`], [`compare`] – run programs; on Linux only, through `whyidle-observe`.

#[cfg(target_os = "linux")]
pub mod compare;
pub mod comparison;
pub mod differential;
pub mod documents;
pub mod fix;
#[cfg(target_os = "linux")]
mod follow;
pub mod gate;
pub mod history;
pub mod job;
pub mod judged;
pub mod lookup;
#[cfg(target_os = "linux")]
pub mod measure;
pub mod progress;
pub mod result;
pub mod stats;
pub mod substitute;
pub mod sweep;
pub mod tries;
pub mod written;
