//! `whyidle history`: what was run, and one entry in full.

use whyidle_diagnosis::Message;
use whyidle_experiment::history::{Entry, History, Row};
use whyidle_report::{
    render_bench_json, render_bench_markdown, render_bench_text, render_comparison_html,
    render_comparison_json, render_comparison_markdown, render_comparison_text, render_history_json,
    render_history_markdown, render_history_text, render_run_html,
};

use super::options::{HistoryCommand, HistoryOptions};
use super::{open, places, unusable};
use crate::args::{Format, Showing};
use crate::output::Output;
use crate::page::{self, Page};
use crate::{REACHED, UNREADABLE};

/// Runs of one comparison that are shown with it at most.
const MOST_RUNS: u32 = 2_000;

pub(crate) fn run(options: &HistoryOptions, output: &Output) -> u8 {
    let result = match &options.command {
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
                .and_then(|(path, _)| open(&path, output))
                .and_then(|history| show(&history, *id, page.as_ref(), showing, output))
        }
    };
    match result {
        Ok(status) | Err(status) => status,
    }
}

fn list(options: &HistoryOptions, output: &Output) -> Result<u8, u8> {
    let (path, _) = places(&options.kept, output)?;
    // Looking makes no file.
    let rows = if path.exists() {
        open(&path, output)?.list(None, options.limit).map_err(|error| unusable(&error, output))?
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
            let mut runs = history.list(Some(id), MOST_RUNS).map_err(|error| unusable(&error, output))?;
            runs.reverse();
            if let Some(page) = page {
                written = page.write(REACHED, output, |catalogs, lang| {
                    let command = page::command();
                    render_comparison_html(&comparison, Some(id), &runs, [&[], &[]], &command, catalogs, lang)
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
                page + "\n" + &set(&runs, showing, output)
            }
        }
        None => {
            let error = Message::new("cli-history-none").name("id", id.to_string());
            output.error(&error, Some(&Message::new("cli-history-none-hint")));
            return Err(UNREADABLE);
        }
    };
    Ok(output.data(&text, written))
}
