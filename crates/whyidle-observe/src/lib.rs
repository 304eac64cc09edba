//! Watches a running program from outside and writes what it saw as a recording: the only crate that
//! touches the live system or starts programs.
//!
//! * [`Watch`] – samples GPUs, processes and Python stacks until told to stop; a [`Recorder`] writes the
//!   rows as they come, so that a watcher that is killed leaves a readable recording.
//! * [`tree`] – which process drives which GPU, and which are its loader workers.
//! * [`ondemand`] – asks a running PyTorch for a trace, over the socket that its profiler polls.
//! * [`tracing`] – brings what they then write into a recording.
//! * [`launch`] – starts a program in a process group of its own.
//! * [`node`] – every training program of this machine, sampled lightly for months; [`place`] says where each runs,
//!   [`redact`] keeps secrets out of what is told of it.
//! * [`captured`] – starts a program to measure it: its output is kept, and it is ended as Ctrl-C would.
//! * [`hook`] – has PyTorch programs write a line at each step.
//! * `prometheus` – asks a Prometheus for what agents exported; a feature.
//! * [`surroundings`], [`neighbours`], [`turn`] – what a measurement is made on, who disturbs it, and that no other is
//!   made at the same time.
//!
//! Everything is optional. What could not be had is a [`Missing`] with a code, and reaches the verdict.
//! Times are Unix time: one clock for every sample, and for the traces of PyTorch too.
#![cfg(target_os = "linux")]

pub mod captured;
pub mod check;
pub mod clock;
pub mod ending;
pub mod gpu;
pub mod hook;
mod jobs;
pub mod launch;
pub mod links;
mod missing;
pub mod neighbours;
pub mod node;
pub mod ondemand;
mod pace;
mod permission;
pub mod place;
pub mod process;
#[cfg(feature = "prometheus")]
pub mod prometheus;
pub mod recorder;
pub mod redact;
mod rooted;
mod scratch;
pub mod stacks;
pub mod surroundings;
mod system;
pub mod torch;
pub mod tracing;
pub mod tree;
pub mod turn;
mod watch;

pub use missing::Missing;
pub use permission::stack_permission;
#[cfg(unix)]
pub use recorder::Private;
pub use recorder::{About, Recorder, Shelf};
pub use scratch::Scratch;
pub use watch::{Flow, Options, Progress, Summary, Watch};
