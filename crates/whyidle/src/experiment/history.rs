//! `whyidle history`: what was run, and one entry in full.

use std::path::Path;

use whyidle_diagnosis::{Message, Verdict};
use whyidle_experiment::history::{Entry, History, Row};
use whyidle_experiment::job;
use whyidle_report::{
    Beside, Document, Drawn, EvidenceReport, Reached, render_json, render_markdown, render_text,
};

use super::options::{HistoryCommand, HistoryOptions};
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
            places(kept, output)
                .and_then(|(path, _)| open_to_show(&path, *id, output))
                .and_then(|history| show(&history, *id, page, showing, output))
        }
    };
    match result {
        Ok(status) | Err(status) => status,
    }
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
    let (path, _) = places(&options.kept, output)?;
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
    let (path, _) = places(&options.kept, output)?;
    // Looking makes no file.
    let rows = if path.exists() {
        open_to_read(&path, output)?.list(None, options.limit).map_err(|error| unusable(&error, output))?
    } else {
        Vec::new()
    };
    Ok(document::show(&Document::History(&rows), page, options.showing, REACHED, output))
}

/// The runs of an entry, in order.
fn runs(history: &History, id: i64, output: &Output) -> Result<Vec<Row>, u8> {
    let mut runs = history.list(Some(id), MOST_RUNS).map_err(|error| unusable(&error, output))?;
    runs.reverse();
    Ok(runs)
}

fn show(
    history: &History,
    id: i64,
    page: Option<&Page>,
    showing: Showing,
    output: &Output,
) -> Result<u8, u8> {
    let alone = |shown: &Document<'_>| document::show(shown, page, showing, REACHED, output);
    // What was made of runs, with them below it.
    let with_runs = |shown: &Document<'_>| {
        let runs = runs(history, id, output)?;
        let mut text = document::set(shown, showing, output);
        if showing.format != Format::Json {
            text += "\n";
            text += &document::set(&Document::History(&runs), showing, output);
        }
        let beside = Beside { runs: &runs, ..Beside::default() };
        Ok(document::put(&text, shown, beside, page, REACHED, output))
    };
    match history.entry(id).map_err(|error| unusable(&error, output))? {
        Some(Entry::Run(run)) => Ok(alone(&Document::Run(&run, Some(id)))),
        Some(Entry::Comparison(found)) => with_runs(&Document::Comparison(&found, Some(id))),
        Some(Entry::Sweep(found)) => with_runs(&Document::Sweep(&found, Some(id))),
        Some(Entry::Differential(found)) => Ok(alone(&Document::Differential(&found, Some(id)))),
        Some(Entry::Fix(found)) => Ok(alone(&Document::Fix(&found, Some(id)))),
        Some(Entry::Verdict(judged)) => Ok(verdict(&judged.verdict, page, showing, output)),
        None => Err(none(id, output)),
    }
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
