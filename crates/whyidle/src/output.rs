//! Where output goes: data to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};

use whyidle_diagnosis::Message;
use whyidle_model::is_hidden;
use whyidle_readers::ReadError;
use whyidle_report::{Catalog, Lang, TextOptions};

use crate::UNREADABLE;
use crate::args::{Args, When};
use crate::captured::Place;

/// The catalogue, and how to print.
pub(crate) struct Output {
    /// Wording.
    pub(crate) catalog: Catalog,
    /// Use colours.
    pub(crate) colour: bool,
    /// Show progress.
    pub(crate) progress: bool,
    /// Progress was asked for, not only allowed.
    pub(crate) progress_always: bool,
    /// Where everything goes, if not to the process's own streams.
    place: Option<Place>,
}

/// Columns and lines where no terminal says how many there are.
const DEFAULT_WIDTH: usize = 80;
#[cfg(feature = "tui")]
const DEFAULT_LINES: usize = 24;

impl Output {
    pub(crate) fn new(args: &Args) -> Self {
        let lang = language(args.lang.as_deref());
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colour = match args.color {
            When::Always => true,
            When::Never => false,
            When::Auto => std::io::stdout().is_terminal() && !no_colour,
        };
        let progress = match args.progress {
            When::Always => true,
            When::Never => false,
            When::Auto => std::io::stderr().is_terminal(),
        };
        Self {
            catalog: Catalog::new(lang),
            colour,
            progress,
            progress_always: args.progress == When::Always,
            place: None,
        }
    }

    /// For what is said before the arguments are understood; `lang` is the language asked for.
    pub(crate) fn plain(lang: Option<&str>) -> Self {
        let catalog = Catalog::new(language(lang));
        Self { catalog, colour: false, progress: false, progress_always: false, place: None }
    }

    /// The same, into `place`.
    pub(crate) fn into_place(self, place: Place) -> Self {
        Self { place: Some(place), ..self }
    }

    /// Lines of the terminal.
    #[cfg(feature = "tui")]
    pub(crate) fn lines() -> usize {
        let lines = std::env::var("LINES").ok().and_then(|lines| lines.parse().ok());
        let terminal = || terminal_size::terminal_size().map(|(_, height)| usize::from(height.0));
        lines.or_else(terminal).filter(|&lines| lines > 0).unwrap_or(DEFAULT_LINES)
    }

    /// How text is set on this terminal.
    pub(crate) fn text_options(&self, verbose: bool) -> TextOptions {
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = columns.or_else(terminal).filter(|&width| width > 0).unwrap_or(DEFAULT_WIDTH);
        TextOptions { width, colour: self.colour, verbose }
    }

    /// Prints data and returns `status`, or [`UNREADABLE`] if it could not be written. A reader that goes away is
    /// no error: nobody is left to tell.
    pub(crate) fn data(&self, text: &str, status: u8) -> u8 {
        if let Some(place) = &self.place {
            place.data(text);
            return status;
        }
        let mut out = anstream::AutoStream::new(
            std::io::stdout().lock(),
            if self.colour { anstream::ColorChoice::AlwaysAnsi } else { anstream::ColorChoice::Never },
        );
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                self.error(&Message::new("cli-output").name("reason", error.to_string()), None);
                UNREADABLE
            }
            _ => status,
        }
    }

    /// Standard output, for data that is written as it is made.
    pub(crate) fn sink(&self) -> Box<dyn Write> {
        match &self.place {
            Some(place) => Box::new(std::io::BufWriter::new(place.clone())),
            None => Box::new(std::io::BufWriter::new(std::io::stdout().lock())),
        }
    }

    /// Says something beside the data.
    pub(crate) fn say(&self, message: &Message) {
        if self.place.is_some() {
            return;
        }
        let text = harmless(&format!("whyidle: {}\n", self.catalog.message(message)));
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    /// Says what goes on, where somebody looks.
    #[cfg(target_os = "linux")]
    pub(crate) fn hint(&self, message: &Message) {
        if self.progress {
            self.say(message);
        }
    }

    /// Prints an error with its hint.
    pub(crate) fn error(&self, error: &Message, hint: Option<&Message>) {
        if let Some(place) = &self.place {
            place.error(self.catalog.message(error), hint.map(|hint| self.catalog.message(hint)));
            return;
        }
        self.complain(&self.error_text(error, hint));
    }

    /// Prints what is wrong with the command line, how the command is used, and where to read on.
    pub(crate) fn usage_error(&self, error: &Message, hint: Option<&Message>, usage: &[String]) {
        if self.place.is_some() {
            return self.error(error, hint);
        }
        let word = |id| self.catalog.message(&Message::new(id));
        let mut text = self.error_text(error, hint);
        if !usage.is_empty() {
            text.push_str(&format!("\n{}\n  {}\n", word("cli-usage"), usage.join("\n  ")));
        }
        text.push_str(&format!("\n{}\n", word("cli-usage-help")));
        self.complain(&text);
    }

    fn error_text(&self, error: &Message, hint: Option<&Message>) -> String {
        let label = self.catalog.message(&Message::new("cli-error"));
        let mut text = format!("{label}{}\n", self.catalog.message(error));
        if let Some(hint) = hint {
            let label = self.catalog.message(&Message::new("cli-hint"));
            text.push_str(&format!("\n{label}{}\n", self.catalog.message(hint)));
        }
        text
    }

    fn complain(&self, text: &str) {
        let _ = std::io::stderr().lock().write_all(harmless(text).as_bytes());
    }

    /// Prints a reader's error.
    pub(crate) fn read_error(&self, error: &ReadError) {
        let hint = error.hint().map(|hint| Message::new(hint.message()));
        self.error(&in_words(error), hint.as_ref());
    }
}

/// Text that commands no terminal: names of files may hold anything.
fn harmless(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// What the system says of a file, in words of the catalogue where it is one of the usual things.
pub(crate) fn io_reason(error: &io::Error) -> Message {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::NotFound => Message::new("io-not-found"),
        Kind::PermissionDenied => Message::new("io-not-permitted"),
        Kind::IsADirectory => Message::new("io-is-a-directory"),
        Kind::NotADirectory | Kind::AlreadyExists => Message::new("io-not-a-directory"),
        Kind::StorageFull | Kind::QuotaExceeded => Message::new("io-full"),
        Kind::ReadOnlyFilesystem => Message::new("io-read-only"),
        _ => Message::new("io-other").name("reason", error.to_string()),
    }
}

/// What a reader's error says.
pub(crate) fn in_words(error: &ReadError) -> Message {
    if let ReadError::Io { path, source } = error {
        let message = Message::new(error.id()).name("path", path.display().to_string());
        return message.message("reason", io_reason(source));
    }
    error.args().into_iter().fold(Message::new(error.id()), |message, (name, value)| match error.found() {
        Some(found) if name == "found" => message.message("found", Message::new(found.message())),
        _ => message.name(name, value),
    })
}

/// The language asked for, or that of the environment.
fn language(asked: Option<&str>) -> Lang {
    asked.and_then(Lang::parse).unwrap_or_else(|| Lang::detect(|name| std::env::var(name).ok()))
}
