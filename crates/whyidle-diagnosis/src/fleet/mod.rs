//! A cluster: which jobs waste most GPU time, and whom they wait for.
//!
//! [`Question`] says what a store of metrics is asked, [`rank`] what the answers come to. The metrics are those of
//! `deploy/metrics.toml`. Waste is an estimate: GPU time that a job holds while nothing runs on its cards, from samples.

mod question;
mod rank;

pub use question::{METRICS, Question};
pub use rank::{Answers, Cards, Fleet, FleetJob, FleetWait, rank};
