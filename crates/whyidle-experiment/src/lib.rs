//! Experiments: a baseline of an unmodified program, two programs compared in pairs, and their history.
//!
//! * [`stats`] – warm-up, steady step time, paired comparison, losses: pure functions.
//! * [`progress`] – the series of step times, from whatever tells it best.
//! * [`result`], [`comparison`] – what a run gave, and what pairs of runs say.
//! * [`history`] – where both are kept.
//! * [`substitute`] – one setting of a command, changed.
//! * [`sweep`] – one program with several values of a setting, and which of them pays.
//! * [`measure`], [`compare`] – run programs; on Linux only, through `whyidle-observe`.

#[cfg(target_os = "linux")]
pub mod compare;
pub mod comparison;
pub mod history;
#[cfg(target_os = "linux")]
pub mod measure;
pub mod progress;
pub mod result;
pub mod stats;
pub mod substitute;
pub mod sweep;
