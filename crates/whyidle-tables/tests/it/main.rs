//! The tables and exports on real traces: those in `testdata/`, and other people's where `WHYIDLE_PUBLIC` (default
//! `../shared/public-traces`) has them.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail by panicking and say what they skip"
)]

mod chrome;
mod docs;
mod flame;
mod queries;
mod support;
mod tables;
