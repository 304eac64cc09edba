//! Watches a node for months: the training programs on it as they come and go, as metrics and as recordings of the
//! moments that matter.
//!
//! A [`source`] (this machine, or recordings that are played) gives rounds of samples; they go into a recording of the
//! [`ring`], which is read along; [`judge`] says of each window what its samples show; the [`state`] is plain data, and
//! [`exposition`] a pure function of it. [`change`] finds when a run's step time changes for good, and [`facts`] what
//! else is different since.
//!
//! * [`http`] – the server that answers, for every page and metric that whyidle serves. It runs on every system; the
//!   rest watches Linux.
//! * [`serve`] – pages of recordings, the history, and programs while they run.
//!
//! Everything is bounded: programs ([`whyidle_observe::node::MOST_RUNS`]), series and recordings by settings, samples in
//! memory by the window and by the stacks of a recording. One thread samples, one answers.

pub mod http;

#[cfg(target_os = "linux")]
pub mod agent;
#[cfg(target_os = "linux")]
pub mod change;
#[cfg(target_os = "linux")]
pub mod exposition;
#[cfg(target_os = "linux")]
pub mod facts;
#[cfg(target_os = "linux")]
pub mod judge;
#[cfg(target_os = "linux")]
pub mod ring;
pub mod serve;
#[cfg(target_os = "linux")]
pub mod settings;
#[cfg(target_os = "linux")]
pub mod source;
#[cfg(target_os = "linux")]
pub mod state;
pub mod time;
#[cfg(target_os = "linux")]
pub mod web;
