//! The program as a person meets it, on the traces that ship with the repository, and the rules of the house.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

#[cfg(feature = "agent")]
mod agent;
mod bad_input;
mod docs;
#[cfg(all(feature = "agent", feature = "feed", feature = "serve", target_os = "linux"))]
mod doors;
mod evidence;
mod experiments;
#[cfg(all(feature = "agent", target_os = "linux"))]
mod fleet;
mod gate;
mod help;
mod instruments;
mod layering;
mod licences;
mod logs;
mod memory;
mod packages;
mod pages;
mod plan;
mod quick_look;
mod ranks;
mod readme;
mod recordings;
mod screens;
#[cfg(target_os = "linux")]
mod secrets;
#[cfg(feature = "serve")]
mod serve;
#[cfg(target_os = "linux")]
mod slurm;
mod support;
mod sweeps;
mod tables;
mod terminal;
mod together;
mod top;
mod torch;
mod trying;
mod verdicts;
mod walk;
mod watching;
mod what_if;
mod written;
