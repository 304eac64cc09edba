//! Experiments: `bench`, `compare`, `fix`, `sweep`, `history`. What they share: the history, and how results are printed.

#[cfg(target_os = "linux")]
mod bench;
#[cfg(target_os = "linux")]
mod compare;
#[cfg(target_os = "linux")]
mod differential;
#[cfg(target_os = "linux")]
mod fix;
mod history;
pub(crate) mod options;
#[cfg(target_os = "linux")]
mod running;
#[cfg(target_os = "linux")]
mod sweep;
pub(crate) mod sweep_options;
mod sweep_page;

use std::path::PathBuf;

use whyidle_diagnosis::Message;
use whyidle_experiment::history::{History, HistoryError, data_folder};

use crate::UNREADABLE;
use crate::args::Command;
use crate::output::Output;
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
        Command::History(options) => Some(history::run(options, output)),
        _ => None,
    }
}

/// Where the history is, and the folder for the output of programs; else the exit status, once the reason is said.
fn places(kept: &Kept, output: &Output) -> Result<(PathBuf, PathBuf), u8> {
    let folder = data_folder(|name| std::env::var(name).ok());
    let path = kept.db.clone().or_else(|| folder.map(|folder| folder.join("history.db")));
    let Some(path) = path else {
        output.error(&Message::new("cli-history-no-home"), Some(&Message::new("cli-history-no-home-hint")));
        return Err(UNREADABLE);
    };
    let beside = path.parent().map(|folder| folder.join("output")).unwrap_or_default();
    Ok((path, beside))
}

/// The history; else the exit status, once the reason is said.
fn open(path: &std::path::Path, output: &Output) -> Result<History, u8> {
    History::open(path).map_err(|error| unusable(&error, output))
}

/// Says why the history does not serve.
fn unusable(error: &HistoryError, output: &Output) -> u8 {
    let named = |id, path: &std::path::Path| Message::new(id).name("path", path.display().to_string());
    let message = match error {
        HistoryError::Database { path, source } => {
            named("cli-history-unusable", path).name("reason", source.to_string())
        }
        HistoryError::Folder { path, source } => {
            named("cli-history-unusable", path).name("reason", source.to_string())
        }
        HistoryError::Newer { path } => named("cli-history-newer", path),
        HistoryError::Damaged { id } => Message::new("cli-history-damaged").name("id", id.to_string()),
    };
    output.error(&message, None);
    UNREADABLE
}
