//! Experiments: a baseline of an unmodified program, two programs compared in pairs, and their history.
//!
//! * [`stats`] – warm-up, steady step time, paired comparison, losses: pure functions.
//! * [`progress`] – the series of step times, from whatever tells it best.
//! * [`result`], [`comparison`] – what a run gave, and what pairs of runs say.
//! * [`history`] – where both are kept.
//! * [`substitute`] – one setting of a command, changed.
//! * [`differential`] – a program fed in four ways: what its data costs.
//! * [`fix`] – remedies tried, proven, kept or rolled back.
//! * [`tries`] – changes that the start-up hook makes while the program runs.
//! * [`sweep`] – one program with several values of a setting, and which of them pays.
//! * [`measure`], [`compare`] – run programs; on Linux only, through `whyidle-observe`.

#[cfg(target_os = "linux")]
pub mod compare;
pub mod comparison;
pub mod differential;
pub mod fix;
pub mod history;
#[cfg(target_os = "linux")]
pub mod measure;
pub mod progress;
pub mod result;
pub mod stats;
pub mod substitute;
pub mod sweep;
pub mod tries;
