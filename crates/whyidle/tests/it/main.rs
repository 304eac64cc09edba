//! The program as a person meets it, on the traces that ship with the repository, and the rules of the house.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

mod bad_input;
mod help;
mod layering;
mod licences;
mod plan;
mod readme;
mod screens;
mod support;
mod terminal;
mod verdicts;
mod what_if;
