//! `whyidle history`: what was run, and one entry in full.

use std::path::Path;

use whyidle_diagnosis::Message;
use whyidle_experiment::differential::Differential;
use whyidle_experiment::fix::Fix;
use whyidle_experiment::history::{Entry, History, Row};
use whyidle_experiment::job;
use whyidle_report::{
    Drawn, EvidenceReport, Reached, render_bench_json, render_bench_markdown, render_bench_text,
    render_comparison_html, render_comparison_json, render_comparison_markdown, render_comparison_text,
    render_differential_json, render_differential_markdown, render_differential_text, render_fix_json,
    render_fix_markdown, render_fix_text, render_history_json, render_history_markdown, render_history_text,
    render_job_json, render_job_markdown, render_job_text, render_json, render_markdown, render_run_html,
    render_text,
};

use super::options::{HistoryCommand, HistoryOptions};
use super::{open_to_read, places, sweep_page, unusable};
use crate::args::{Format, Showing};
use crate::output::Output;
use crate::page::{self, Page};
use crate::{REACHED, REFUSED, UNREADABLE};

/// Runs of one comparison or sweep that are shown with it at most.
const MOST_RUNS: u32 = 2_000;

pub(crate) fn run(options: &HistoryOptions, output: &Output) -> u8 {
    let result = match &options.command {
        None if options.job.is_some() => of_job(options, output),
        None => list(options, output),
        Some(HistoryCommand::Show { id, kept, showing, page }) => {
            // Options may stand on either side of `show`.
            let kept = if kept.db.is_some() { kept } else { &options.kept };
            let showing = Showing {
                format: if showing.format == Format::Text { options.showing.format } else { showing.format },
                verbose: showing.verbose || options.showing.verbose,
            };
            let page = match Page::asked(page, output) {
                Ok(page) => page,
                Err(status) => return status,
            };
            places(kept, output)
                .and_then(|(path, _)| open_to_show(&path, *id, output))
                .and_then(|history| show(&history, *id, page.as_ref(), showing, output))
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
fn of_job(options: &HistoryOptions, output: &Output) -> Result<u8, u8> {
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
    let text = match options.showing.format {
        Format::Text => {
            render_job_text(&found, &output.catalog, &output.text_options(options.showing.verbose))
        }
        Format::Json => render_job_json(&found, &output.catalog),
        Format::Md => render_job_markdown(&found, &output.catalog),
    };
    Ok(output.data(&text, REACHED))
}

fn list(options: &HistoryOptions, output: &Output) -> Result<u8, u8> {
    let (path, _) = places(&options.kept, output)?;
    // Looking makes no file.
    let rows = if path.exists() {
        open_to_read(&path, output)?.list(None, options.limit).map_err(|error| unusable(&error, output))?
    } else {
        Vec::new()
    };
    Ok(output.data(&set(&rows, options.showing, output), REACHED))
}

fn set(rows: &[Row], showing: Showing, output: &Output) -> String {
    match showing.format {
        Format::Text => render_history_text(rows, &output.catalog, &output.text_options(showing.verbose)),
        Format::Json => render_history_json(rows),
        Format::Md => render_history_markdown(rows, &output.catalog),
    }
}

/// The runs of an entry, in order, below its page.
fn runs(history: &History, id: i64, showing: Showing, output: &Output) -> Result<String, u8> {
    let mut runs = history.list(Some(id), MOST_RUNS).map_err(|error| unusable(&error, output))?;
    runs.reverse();
    Ok("\n".to_owned() + &set(&runs, showing, output))
}

fn show(
    history: &History,
    id: i64,
    page: Option<&Page>,
    showing: Showing,
    output: &Output,
) -> Result<u8, u8> {
    let catalog = &output.catalog;
    let options = output.text_options(showing.verbose);
    let mut written = REACHED;
    let text = match history.entry(id).map_err(|error| unusable(&error, output))? {
        Some(Entry::Run(run)) => {
            if let Some(page) = page {
                written = page.write(REACHED, output, |catalogs, lang| {
                    render_run_html(&run, Some(id), &page::command(), catalogs, lang)
                });
            }
            match showing.format {
                Format::Text => render_bench_text(&run, Some(id), catalog, &options),
                Format::Json => render_bench_json(&run, Some(id), catalog),
                Format::Md => render_bench_markdown(&run, Some(id), catalog),
            }
        }
        Some(Entry::Comparison(comparison)) => {
            let mut of_it = history.list(Some(id), MOST_RUNS).map_err(|error| unusable(&error, output))?;
            of_it.reverse();
            if let Some(page) = page {
                written = page.write(REACHED, output, |catalogs, lang| {
                    let command = page::command();
                    render_comparison_html(
                        &comparison,
                        Some(id),
                        &of_it,
                        [&[], &[]],
                        &command,
                        catalogs,
                        lang,
                    )
                });
            }
            if showing.format == Format::Json {
                render_comparison_json(&comparison, Some(id), catalog)
            } else {
                let page = if showing.format == Format::Md {
                    render_comparison_markdown(&comparison, Some(id), catalog)
                } else {
                    render_comparison_text(&comparison, Some(id), catalog, &options)
                };
                page + "\n" + &set(&of_it, showing, output)
            }
        }
        Some(Entry::Differential(_) | Entry::Fix(_) | Entry::Sweep(_)) if page.is_some() => {
            let hint = Message::new("cli-report-no-page-hint");
            output.error(&Message::new("cli-report-no-page").name("id", id.to_string()), Some(&hint));
            return Err(UNREADABLE);
        }
        Some(Entry::Differential(found)) => return Ok(show_differential(&found, Some(id), showing, output)),
        Some(Entry::Fix(found)) => return Ok(show_fix(&found, Some(id), showing, output)),
        Some(Entry::Sweep(sweep)) => {
            let page = sweep_page::page(&sweep, Some(id), showing, output);
            if showing.format == Format::Json { page } else { page + &runs(history, id, showing, output)? }
        }
        Some(Entry::Verdict(judged)) => {
            if let Some(page) = page {
                let (reached, none) = (Reached::Verdict(&judged.verdict), EvidenceReport::default());
                written = page.of(Some(reached), &none, &Drawn::default(), REACHED, output);
            }
            match showing.format {
                Format::Text => render_text(&judged.verdict, catalog, &options),
                Format::Json => render_json(&judged.verdict, catalog),
                Format::Md => render_markdown(&judged.verdict, catalog),
            }
        }
        None => return Err(none(id, output)),
    };
    Ok(output.data(&text, written))
}

/// Prints what it came to; its exit status.
pub(super) fn show_differential(
    found: &Differential,
    id: Option<i64>,
    showing: Showing,
    output: &Output,
) -> u8 {
    let catalog = &output.catalog;
    let text = match showing.format {
        Format::Text => render_differential_text(found, id, catalog, &output.text_options(showing.verbose)),
        Format::Json => render_differential_json(found, id, catalog),
        Format::Md => render_differential_markdown(found, id, catalog),
    };
    output.data(&text, if found.bound.is_some() { REACHED } else { REFUSED })
}

/// Prints what the search came to; its exit status.
pub(super) fn show_fix(found: &Fix, id: Option<i64>, showing: Showing, output: &Output) -> u8 {
    let catalog = &output.catalog;
    let text = match showing.format {
        Format::Text => render_fix_text(found, id, catalog, &output.text_options(showing.verbose)),
        Format::Json => render_fix_json(found, id, catalog),
        Format::Md => render_fix_markdown(found, id, catalog),
    };
    output.data(&text, if found.before_ns.is_some() { REACHED } else { REFUSED })
}
