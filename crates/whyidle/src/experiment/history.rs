//! `whyidle history`: what was run, and one entry in full.

use std::path::{Path, PathBuf};

use whyidle_diagnosis::{Message, Verdict};
use whyidle_experiment::history::{Entry, History, HistoryError, Row};
use whyidle_experiment::job;
use whyidle_report::{
    Beside, Document, Drawn, EvidenceReport, Reached, render_json, render_markdown, render_text,
};
#[cfg(feature = "serve")]
use whyidle_report::{Catalog, Lang, render_html};

use super::options::{HistoryCommand, HistoryOptions, Kept};
use super::{open_to_read, places, unusable};
use crate::args::{Format, Showing};
use crate::output::Output;
use crate::page::{self, Page};
use crate::{REACHED, UNREADABLE, document};

/// Runs of one comparison or sweep that are shown with it at most.
const MOST_RUNS: u32 = 2_000;

pub(crate) fn run(options: &HistoryOptions, output: &Output) -> u8 {
    let asked = match &options.command {
        Some(HistoryCommand::Show { page, .. }) if page.report.is_some() => page,
        _ => &options.page,
    };
    let page = match Page::asked(asked, output) {
        Ok(page) => page,
        Err(status) => return status,
    };
    let page = page.as_ref();
    let result = match &options.command {
        None if options.job.is_some() => of_job(options, page, output),
        None => list(options, page, output),
        Some(HistoryCommand::Show { id, kept, showing, .. }) => {
            // Options may stand on either side of `show`.
            let kept = if kept.db.is_some() { kept } else { &options.kept };
            let showing = Showing {
                format: if showing.format == Format::Text { options.showing.format } else { showing.format },
                verbose: showing.verbose || options.showing.verbose,
            };
            place(kept, output)
                .and_then(|path| open_to_show(&path, *id, output))
                .and_then(|history| show(&history, *id, page, showing, output))
        }
    };
    match result {
        Ok(status) | Err(status) => status,
    }
}

/// Where the history is. One that was named has to be there.
fn place(kept: &Kept, output: &Output) -> Result<PathBuf, u8> {
    let (path, _) = places(kept, output)?;
    if kept.db.is_some() && !path.exists() {
        let error = Message::new("cli-history-missing").name("path", path.display().to_string());
        output.error(&error, Some(&Message::new("cli-history-missing-hint")));
        return Err(UNREADABLE);
    }
    Ok(path)
}

/// The history; where there is none, it holds no `id`.
fn open_to_show(path: &Path, id: i64, output: &Output) -> Result<History, u8> {
    if path.exists() { open_to_read(path, output) } else { Err(none(id, output)) }
}

/// It holds no such entry.
fn none(id: i64, output: &Output) -> u8 {
    let error = Message::new("cli-history-none").name("id", id.to_string());
    output.error(&error, Some(&Message::new("cli-history-none-hint")));
    UNREADABLE
}

/// What all that is known of a job comes to.
fn of_job(options: &HistoryOptions, page: Option<&Page>, output: &Output) -> Result<u8, u8> {
    let path = place(&options.kept, output)?;
    let id = options.job.as_deref().unwrap_or_default();
    let found = if path.exists() {
        job::job(&open_to_read(&path, output)?, id).map_err(|error| unusable(&error, output))?
    } else {
        None
    };
    let Some(found) = found else {
        let error = Message::new("cli-history-no-job").name("job", id);
        output.error(&error, Some(&Message::new("cli-history-no-job-hint")));
        return Err(UNREADABLE);
    };
    Ok(document::show(&Document::Job(&found), page, options.showing, REACHED, output))
}

fn list(options: &HistoryOptions, page: Option<&Page>, output: &Output) -> Result<u8, u8> {
    let path = place(&options.kept, output)?;
    // Looking makes no file.
    let rows = if path.exists() {
        open_to_read(&path, output)?.list(None, options.limit).map_err(|error| unusable(&error, output))?
    } else {
        Vec::new()
    };
    Ok(document::show(&Document::History(&rows), page, options.showing, REACHED, output))
}

/// The runs of an entry, in order.
pub(crate) fn runs_of(history: &History, id: i64) -> Result<Vec<Row>, HistoryError> {
    let mut runs = history.list(Some(id), MOST_RUNS)?;
    runs.reverse();
    Ok(runs)
}

/// An entry as a document; a verdict is none.
fn document_of(entry: &Entry, id: i64) -> Option<Document<'_>> {
    match entry {
        Entry::Run(run) => Some(Document::Run(run, Some(id))),
        Entry::Comparison(found) => Some(Document::Comparison(found, Some(id))),
        Entry::Sweep(found) => Some(Document::Sweep(found, Some(id))),
        Entry::Differential(found) => Some(Document::Differential(found, Some(id))),
        Entry::Fix(found) => Some(Document::Fix(found, Some(id))),
        Entry::Verdict(_) => None,
    }
}

/// The page of an entry, with the runs of which it was made; `command` makes it anew.
#[cfg(feature = "serve")]
pub(crate) fn entry_page(
    entry: &Entry,
    id: i64,
    runs: &[Row],
    command: &str,
    catalogs: [&Catalog; 2],
    lang: Lang,
) -> String {
    match (document_of(entry, id), entry) {
        (None, Entry::Verdict(judged)) => {
            let drawn = Drawn { command: command.to_owned(), ..Drawn::default() };
            let reached = Some(Reached::Verdict(&judged.verdict));
            render_html(reached, &EvidenceReport::default(), &drawn, catalogs, lang)
        }
        (shown, _) => {
            let beside = Beside { command, runs, ..Beside::default() };
            shown.map(|shown| shown.html(&beside, catalogs, lang)).unwrap_or_default()
        }
    }
}

fn show(
    history: &History,
    id: i64,
    page: Option<&Page>,
    showing: Showing,
    output: &Output,
) -> Result<u8, u8> {
    let wrong = |error: HistoryError| unusable(&error, output);
    let entry = history.entry(id).map_err(wrong)?.ok_or_else(|| none(id, output))?;
    let shown = match (document_of(&entry, id), &entry) {
        (Some(shown), _) => shown,
        (None, Entry::Verdict(judged)) => return Ok(verdict(&judged.verdict, page, showing, output)),
        (None, _) => return Err(none(id, output)),
    };
    let mut text = document::set(&shown, showing, output);
    let runs = runs_of(history, id).map_err(wrong)?;
    // What was made of runs has them below it.
    if !runs.is_empty() && showing.format != Format::Json {
        text += "\n";
        text += &document::set(&Document::History(&runs), showing, output);
    }
    let beside = Beside { runs: &runs, ..Beside::default() };
    Ok(document::put(&text, &shown, beside, page, REACHED, output))
}

fn verdict(verdict: &Verdict, page: Option<&Page>, showing: Showing, output: &Output) -> u8 {
    let catalog = &output.catalog;
    let text = match showing.format {
        Format::Text => render_text(verdict, catalog, &output.text_options(showing.verbose)),
        Format::Json => render_json(verdict, catalog),
        Format::Md => render_markdown(verdict, catalog),
    };
    let status = output.data(&text, REACHED);
    page.map_or(status, |page| {
        let drawn = Drawn { command: page::command(), ..Drawn::default() };
        page.of(Some(Reached::Verdict(verdict)), &EvidenceReport::default(), &drawn, status, output)
    })
}
