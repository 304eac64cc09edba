//! Verdicts, ledgers and predictions held against measured truth, on every recording that is there.
//!
//! `WHYIDLE_LAB` (default `../shared/lab`) holds recordings with one planted fault each and `truth.json`;
//! `WHYIDLE_PUBLIC` (default `../shared/public-traces`) real traces of other people. Where a folder is
//! absent its tests say so and pass; the shipped `testdata/` is always there.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail by panicking and say what they skip"
)]

mod ascend;
mod calibration;
mod gains;
mod give_back;
mod hostile;
mod lab;
mod ledgers;
mod public;
mod ranks;
mod rocm;
mod support;
