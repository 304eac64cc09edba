//! The program: arguments, dispatch, progress, exit codes. No logic.
//!
//! * [`main`] – the program itself.
//! * [`captured`] – a command that another program runs, and takes what it prints.

#[cfg(all(feature = "agent", target_os = "linux"))]
mod agent;
mod args;
#[cfg(target_os = "linux")]
mod attach;
mod captured;
#[cfg(target_os = "linux")]
mod check;
mod diagnose;
mod diff;
mod digest;
mod document;
mod drawn;
mod evidence;
mod experiment;
mod explain;
mod export;
#[cfg(all(feature = "agent", target_os = "linux"))]
mod fleet;
mod generate;
mod help;
#[cfg(target_os = "linux")]
mod list;
#[cfg(any(feature = "serve", all(feature = "agent", target_os = "linux")))]
mod listening;
#[cfg(target_os = "linux")]
mod live;
mod near;
mod output;
mod page;
mod plan;
mod progress;
mod ranks;
#[cfg(target_os = "linux")]
mod run;
#[cfg(feature = "serve")]
mod serve;
mod show;
mod sql;
mod tables;
#[cfg(feature = "feed")]
mod tokenize;
#[cfg(feature = "tui")]
mod top;
mod trace;
#[cfg(target_os = "linux")]
mod triage;
mod usage;
mod values;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
pub use crate::captured::{Captured, captured};
use crate::output::Output;

/// A verdict was reached.
const REACHED: u8 = 0;
/// Refused: the evidence cannot carry a verdict.
const REFUSED: u8 = 1;
/// Bad usage or unreadable input.
const UNREADABLE: u8 = 2;

/// Runs the command that the process was started with.
#[must_use]
pub fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return ExitCode::from(usage::report(&error)),
    };
    let output = Output::new(&args);
    start_threads();
    let code = match args.command.as_ref().and_then(|command| read_only(command, &output)) {
        Some(code) => code,
        None => other(args.command.as_ref(), &output),
    };
    ExitCode::from(code)
}

/// Commands that read what was recorded; `None` for others.
pub(crate) fn read_only(command: &Command, output: &Output) -> Option<u8> {
    Some(match command {
        Command::Trace(options) => trace::run(options, output),
        Command::Diagnose(options) => evidence::run(options, output),
        Command::Merge(options) => digest::merge(options, output),
        Command::Plan(options) => plan::run(options, output),
        Command::Ranks(options) => ranks::run(options, output),
        Command::Diff(options) => diff::run(options, output),
        Command::Sql(options) => sql::run(options, output),
        Command::Explain { cause } => explain::run(cause.as_deref(), output),
        _ => return None,
    })
}

/// The other commands.
fn other(command: Option<&Command>, output: &Output) -> u8 {
    match command {
        Some(Command::Digest(options)) => digest::digest(options, output),
        Some(Command::Export(options)) => export::run(options, output),
        #[cfg(feature = "feed")]
        Some(Command::Tokenize(options)) => tokenize::run(options, output),
        #[cfg(feature = "tui")]
        Some(Command::Top(options)) => top::run(options, output),
        #[cfg(feature = "serve")]
        Some(Command::Serve(options)) => serve::run(options, output),
        #[cfg(all(feature = "agent", target_os = "linux"))]
        Some(Command::Fleet(options)) => fleet::run(options, output),
        #[cfg(all(feature = "agent", target_os = "linux"))]
        Some(Command::Agent(options)) => agent::run(options, output),
        Some(Command::Completions { shell }) => generate::completions(*shell, output),
        Some(Command::Man) => generate::man(output),
        Some(
            command @ (Command::Bench(_)
            | Command::Compare(_)
            | Command::Fix(_)
            | Command::Sweep(_)
            | Command::Gate(_)
            | Command::History(_)),
        ) => experiment::run(command, output).unwrap_or_else(|| live_command(Some(command), output)),
        command => live_command(command, output),
    }
}

/// What looks at running programs.
#[cfg(target_os = "linux")]
fn live_command(command: Option<&Command>, output: &Output) -> u8 {
    match command {
        Some(Command::Check(options)) => check::run(options, output),
        Some(Command::Run(options)) => run::run(options, output),
        Some(Command::Attach(options)) => attach::run(options, output),
        _ => list::run(output),
    }
}

/// Elsewhere, recordings are read but not made.
#[cfg(not(target_os = "linux"))]
fn live_command(_: Option<&Command>, output: &Output) -> u8 {
    output.error(&whyidle_diagnosis::Message::new("cli-live-only-linux"), None);
    UNREADABLE
}

/// Starts the worker threads; where the system allows none, everything runs on this one.
fn start_threads() {
    if rayon::ThreadPoolBuilder::new().build_global().is_err() {
        // A second failure leaves rayon to report for itself.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
    }
}
