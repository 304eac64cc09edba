//! `--report FILE`: what was reached as a page, written beside what is printed, and opened where that is wanted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use whyidle_diagnosis::{Arg, Message, Refusal, Verdict};
use whyidle_experiment::result::typed;
use whyidle_readers::written::place;
use whyidle_report::{Catalog, Drawn, EvidenceReport, Lang, Reached, render_html};

use crate::UNREADABLE;
use crate::args::Reporting;
use crate::evidence::of_inputs;
use crate::output::{Output, io_reason};
use crate::show::NoVerdict;

/// A page that is to be written.
pub(crate) struct Page {
    path: PathBuf,
    open: bool,
}

impl Page {
    /// The page that is asked for, if any; else the exit status, once the reason is said. It is asked first: nobody
    /// wants to hear after half an hour of measuring that there is no such folder.
    pub(crate) fn asked(asked: &Reporting, output: &Output) -> Result<Option<Self>, u8> {
        let Some(path) = &asked.report else { return Ok(None) };
        let shown = path.display().to_string();
        if path.as_os_str() == "-" {
            let hint = Message::new("cli-report-no-stream-hint");
            output.error(&Message::new("cli-report-no-stream"), Some(&hint));
            return Err(UNREADABLE);
        }
        match fs::symlink_metadata(path) {
            Ok(_) if !asked.force => {
                let error = Message::new("cli-export-there").name("path", shown);
                output.error(&error, Some(&Message::new("cli-export-there-hint")));
                return Err(UNREADABLE);
            }
            // Not what was read, nor anything else that somebody may miss.
            Ok(about) if about.is_file() && about.len() > 0 && !is_page(path) => {
                let error = Message::new("cli-report-no-page-there").name("path", shown);
                output.error(&error, None);
                return Err(UNREADABLE);
            }
            Ok(_) if path.is_dir() => {
                let reason = io::Error::from(io::ErrorKind::IsADirectory);
                return Err(unwritten(path, &reason, output));
            }
            _ => {}
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            // Why, in the system's words, as of every other path.
            let missing = folder.read_dir().err().unwrap_or_else(|| io::ErrorKind::NotADirectory.into());
            return Err(unwritten(path, &missing, output));
        }
        Ok(Some(Self { path: path.clone(), open: asked.open }))
    }

    /// Writes the page of a verdict, or of why there is none. Returns `status`, or [`UNREADABLE`] where it cannot be
    /// written. What could not be read at all has no page.
    pub(crate) fn of_outcome(
        &self,
        reached: &Result<Verdict, NoVerdict>,
        drawn: impl FnOnce(&Verdict) -> Drawn,
        status: u8,
        output: &Output,
    ) -> u8 {
        match reached {
            Ok(verdict) => {
                let evidence = of_inputs(&verdict.inputs);
                self.of(Some(Reached::Verdict(verdict)), &evidence, &drawn(verdict), status, output)
            }
            Err(NoVerdict::Refused(refusal)) => self.of_refusal(refusal, status, output),
            Err(_) => status,
        }
    }

    fn of_refusal(&self, refusal: &Refusal, status: u8, output: &Output) -> u8 {
        let drawn = Drawn { command: command(), ..Drawn::default() };
        self.of(Some(Reached::Refused(refusal)), &EvidenceReport::default(), &drawn, status, output)
    }

    /// The same with the evidence beside it.
    pub(crate) fn of(
        &self,
        reached: Option<Reached<'_>>,
        evidence: &EvidenceReport,
        drawn: &Drawn,
        status: u8,
        output: &Output,
    ) -> u8 {
        self.write(status, output, |catalogs, lang| render_html(reached, evidence, drawn, catalogs, lang))
    }

    /// Writes what `render` makes.
    pub(crate) fn write(
        &self,
        status: u8,
        output: &Output,
        render: impl FnOnce([&Catalog; 2], Lang) -> String,
    ) -> u8 {
        let [en, zh] = Lang::OF_PAGES.map(Catalog::new);
        let html = render([&en, &zh], output.catalog.lang());
        if let Err(error) = place(&self.path, |beside| fs::write(beside, &html)) {
            return unwritten(&self.path, &error, output);
        }
        let bytes = i64::try_from(html.len()).unwrap_or(i64::MAX);
        let written = Message::new("cli-export-written").name("path", self.path.display().to_string());
        output.say(&written.with("bytes", Arg::Bytes(bytes)));
        if self.open {
            open(&self.path.display().to_string(), output);
        }
        status
    }
}

/// Opens a page in the browser; that this cannot be done is worth a word, no more: the page is there.
pub(crate) fn open(shown: &str, output: &Output) {
    let opened = if has_display() { open::that_detached(shown) } else { Err(no_display()) };
    if let Err(error) = opened {
        output.say(
            &Message::new("cli-report-not-opened").name("path", shown).name("reason", error.to_string()),
        );
    }
}

/// The file is a page.
fn is_page(path: &Path) -> bool {
    const BEGINS: &[u8] = b"<!doctype html";
    let mut head = [0; BEGINS.len()];
    let read = fs::File::open(path).and_then(|mut file| io::Read::read_exact(&mut file, &mut head));
    read.is_ok() && head.eq_ignore_ascii_case(BEGINS)
}

/// Where nothing can be shown, `xdg-open` would start, and fail unheard.
fn has_display() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux")
        || ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"].into_iter().any(is_set)
}

fn no_display() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "DISPLAY, WAYLAND_DISPLAY and BROWSER are unset")
}

fn unwritten(path: &Path, error: &io::Error, output: &Output) -> u8 {
    let message = Message::new("cli-not-written").name("path", path.display().to_string());
    output.error(&message.message("reason", io_reason(error)), None);
    UNREADABLE
}

/// The command line of this run, as one would type it.
pub(crate) fn command() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = std::iter::once("whyidle".to_owned()).chain(words).collect();
    // A page is made to be passed on.
    #[cfg(target_os = "linux")]
    let words = whyidle_observe::redact::command(&words);
    typed(&words)
}
