//! The agent's parts together, without the program.
#![allow(clippy::print_stdout, reason = "figures that are measured are shown")]

// The damage is that of the readers' tests.
#[path = "../../../whyidle-readers/tests/it/damage.rs"]
mod damage;
pub(crate) mod http;
#[cfg(target_os = "linux")]
mod replayed;
mod serve;
