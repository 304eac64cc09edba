//! Commands that are run by another program – the Python package – which takes what they print.

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Parser;

use crate::args::{Args, When};
use crate::output::Output;
use crate::{UNREADABLE, usage};

/// What a command said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Its exit status: 0 reached, 1 refused, 2 bad usage or unreadable input.
    pub status: u8,
    /// Its data.
    pub out: String,
    /// What is wrong, where something is.
    pub error: Option<String>,
    /// What can be done about it.
    pub hint: Option<String>,
}

/// Where an [`Output`] puts what it says, instead of the process's own streams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place(Arc<Mutex<Captured>>);

impl Place {
    fn with<T>(&self, then: impl FnOnce(&mut Captured) -> T) -> T {
        // Text that is appended is sound at any moment.
        then(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What was said so far, and no longer here.
    pub(crate) fn taken(&self) -> Captured {
        self.with(std::mem::take)
    }

    pub(crate) fn data(&self, text: &str) {
        self.with(|captured| captured.out.push_str(text));
    }

    /// The first error is the reason; what is said later follows from it.
    pub(crate) fn error(&self, error: String, hint: Option<String>) {
        self.with(|captured| {
            if captured.error.is_none() {
                (captured.error, captured.hint) = (Some(error), hint);
            }
        });
    }
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Tables are written in whole rows; what is cut within a character is no text of theirs.
        self.data(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a command of those that only read: its arguments without the program's name. It has threads of its own, so that
/// it runs in a process that was forked too.
#[must_use]
pub fn captured(arguments: impl IntoIterator<Item = OsString>) -> Captured {
    let place = Place::default();
    let arguments: Vec<OsString> = std::iter::once("whyidle".into()).chain(arguments).collect();
    let status = match Args::try_parse_from(&arguments) {
        Ok(mut args) => {
            (args.color, args.progress) = (When::Never, When::Never);
            let output = Output::new(&args).into_place(place.clone());
            let run = || {
                let command = args.command.as_ref();
                command.and_then(|command| crate::read_only(command, &output)).unwrap_or(UNREADABLE)
            };
            match rayon::ThreadPoolBuilder::new().build() {
                Ok(threads) => threads.install(run),
                Err(_) => run(),
            }
        }
        Err(error) => {
            let text = arguments.iter().map(|argument| argument.to_string_lossy().into_owned());
            let output = Output::plain(usage::asked_language(text).as_deref()).into_place(place.clone());
            usage::complain(&error, &output)
        }
    };
    Captured { status, ..place.taken() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(arguments: &[&str]) -> Captured {
        captured(arguments.iter().map(OsString::from))
    }

    #[test]
    fn what_a_command_says_is_taken() {
        let explained = run(&["explain", "data.workers", "--lang", "en"]);
        assert_eq!((explained.status, explained.error), (0, None));
        assert!(explained.out.contains("data.workers"));
        let missing = run(&["diagnose", "/no/such/file", "--lang", "en"]);
        assert_eq!((missing.status, missing.out.as_str()), (2, ""));
        assert!(missing.error.expect("an error").contains("/no/such/file") && missing.hint.is_some());
        let wrong = run(&["diagnose", "--nonsense", "--lang", "en"]);
        assert!(wrong.status == 2 && wrong.error.expect("an error").contains("--nonsense"));
        assert_eq!(run(&["completions", "bash"]).status, 2, "only what reads is run");
        assert_eq!(run(&[]).status, 2);
    }
}
