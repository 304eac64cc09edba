//! Experiments: `bench`, `compare`, `fix`, `sweep`, `gate`, `history`. What they share: the history, and how results are printed.

#[cfg(target_os = "linux")]
mod bench;
#[cfg(target_os = "linux")]
mod compare;
#[cfg(target_os = "linux")]
mod differential;
#[cfg(target_os = "linux")]
mod fix;
pub(crate) mod gate;
mod history;
pub(crate) mod options;
#[cfg(target_os = "linux")]
mod running;
#[cfg(target_os = "linux")]
mod sweep;
pub(crate) mod sweep_options;
pub(crate) mod verdicts;

#[cfg(feature = "serve")]
pub(crate) use history::{entry_page, runs_of};

use std::path::PathBuf;

use whyidle_diagnosis::Message;
use whyidle_experiment::history::{History, HistoryError, data_folder};
use whyidle_experiment::job::job_id;

use crate::UNREADABLE;
use crate::args::Command;
use crate::output::{Output, io_reason};
use options::Kept;

/// Runs the command, if it is one of these.
pub(crate) fn run(command: &Command, output: &Output) -> Option<u8> {
    match command {
        #[cfg(target_os = "linux")]
        Command::Bench(options) => Some(bench::run(options, output)),
        #[cfg(target_os = "linux")]
        Command::Compare(options) => Some(compare::run(options, output)),
        #[cfg(target_os = "linux")]
        Command::Fix(options) => Some(fix::run(options, output)),
        #[cfg(target_os = "linux")]
        Command::Sweep(options) => Some(sweep::run(options, output)),
        #[cfg(target_os = "linux")]
        Command::Gate(options) => Some(gate::run(options, output)),
        Command::History(options) => Some(history::run(options, output)),
        _ => None,
    }
}

/// Where the history is unless told otherwise.
fn default_path() -> Option<PathBuf> {
    data_folder(|name| std::env::var(name).ok()).map(|folder| folder.join("history.db"))
}

/// Where the history is, and the folder for the output of programs; else the exit status, once the reason is said.
pub(crate) fn places(kept: &Kept, output: &Output) -> Result<(PathBuf, PathBuf), u8> {
    let Some(path) = kept.db.clone().or_else(default_path) else {
        output.error(&Message::new("cli-history-no-home"), Some(&Message::new("cli-history-no-home-hint")));
        return Err(UNREADABLE);
    };
    let beside = path.parent().map(|folder| folder.join("output")).unwrap_or_default();
    Ok((path, beside))
}

/// The history; else the exit status, once the reason is said.
fn open(path: &std::path::Path, output: &Output) -> Result<History, u8> {
    let job = job_id(|name| std::env::var(name).ok());
    History::open(path).map(|history| history.of(job)).map_err(|error| unusable(&error, output))
}

/// The same to look at it only: also where it may not be written.
fn open_to_read(path: &std::path::Path, output: &Output) -> Result<History, u8> {
    History::open_to_read(path).map_err(|error| unusable(&error, output))
}

/// Says why the history does not serve.
fn unusable(error: &HistoryError, output: &Output) -> u8 {
    output.error(&reason_of(error), None);
    UNREADABLE
}

/// Why the history does not serve.
pub(crate) fn reason_of(error: &HistoryError) -> Message {
    let named = |id, path: &std::path::Path| Message::new(id).name("path", path.display().to_string());
    match error {
        HistoryError::Database { path, source } => {
            named("cli-history-unusable", path).name("reason", source.to_string())
        }
        HistoryError::Folder { path, source } => {
            named("cli-history-unusable", path).message("reason", io_reason(source))
        }
        HistoryError::Foreign { path } => named("cli-history-foreign", path),
        HistoryError::Newer { path } => named("cli-history-newer", path),
        HistoryError::Damaged { id } => Message::new("cli-history-damaged").name("id", id.to_string()),
    }
}
