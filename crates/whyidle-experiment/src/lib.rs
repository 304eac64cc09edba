//! Experiments: a baseline of an unmodified program, two programs compared in pairs, and their history.
//!
//! * [`stats`] – warm-up, steady step time, paired comparison, losses: pure functions.

pub mod stats;
