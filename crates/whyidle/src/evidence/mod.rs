//! `whyidle diagnose FILE…`: files that other tools wrote, each recognised by what it holds.

pub(crate) mod logs;
pub(crate) mod ncu;

use std::path::{Path, PathBuf};

use whyidle_readers::{Format, ReadError, ReadOptions, format_of, read_trace};
use whyidle_report::{
    machine_value, render_machine_markdown, render_machine_text, render_ncu_json, render_ncu_markdown,
    render_ncu_text,
};

use crate::args::{self, DiagnoseOptions};
use crate::output::Output;
use crate::show::{NoVerdict, show};
use crate::trace::{self, Question};
use crate::{REACHED, UNREADABLE};

pub(crate) fn run(paths: &[PathBuf], options: &DiagnoseOptions, output: &Output) -> u8 {
    match dispatch(paths, options, output) {
        Ok(status) => status,
        Err(error) => {
            output.read_error(&error);
            UNREADABLE
        }
    }
}

fn dispatch(paths: &[PathBuf], options: &DiagnoseOptions, output: &Output) -> Result<u8, ReadError> {
    let mut found: Vec<(&Path, Option<Format>)> = Vec::new();
    for path in paths {
        found.push((path, format_of(path)?));
    }
    let of = |wanted: &[Format]| -> Vec<&Path> {
        let is_wanted = |format: Option<Format>| format.is_some_and(|format| wanted.contains(&format));
        found.iter().filter(|(_, format)| is_wanted(*format)).map(|(path, _)| *path).collect()
    };
    let (prints, logs) = (of(&[Format::Ncu]), of(&Format::LOGS));
    if !prints.is_empty() {
        return ncu_page(&prints, &of(&[Format::Kineto, Format::Sqlite]), options, output);
    }
    if logs.is_empty() || logs.len() < paths.len() {
        // A trace, or what a trace's reader says of a file that is none.
        let question = Question { paths: paths.to_vec(), step_ms: options.step_ms, ..Question::default() };
        let reached: Result<_, NoVerdict> = trace::verdict(&question, output);
        return Ok(show(&reached, options.showing, output));
    }
    log_page(&logs, options, output)
}

fn ncu_page(
    prints: &[&Path],
    traces: &[&Path],
    options: &DiagnoseOptions,
    output: &Output,
) -> Result<u8, ReadError> {
    let mut report = ncu::read(prints)?;
    if let Some(path) = traces.first() {
        ncu::join(&mut report, path, &read_trace(path, &ReadOptions::default())?);
    }
    let text = match options.showing.format {
        args::Format::Text => {
            render_ncu_text(&report, &output.catalog, &output.text_options(options.showing.verbose))
        }
        args::Format::Json => render_ncu_json(&report, &output.catalog),
        args::Format::Md => render_ncu_markdown(&report, &output.catalog),
    };
    Ok(output.data(&text, REACHED))
}

/// The verdict that logs carry; where they carry none, the facts that they hold.
fn log_page(paths: &[&Path], options: &DiagnoseOptions, output: &Output) -> Result<u8, ReadError> {
    let (samples, facts, given) = logs::read(paths)?;
    let reached = logs::verdict(&samples, &facts, &given, options.step_ms);
    let why = match &reached {
        Err(NoVerdict::Refused(refusal)) if !facts.is_empty() => &refusal.reason,
        _ => return Ok(show(&reached, options.showing, output)),
    };
    let text = match options.showing.format {
        args::Format::Text => {
            let how = output.text_options(options.showing.verbose);
            render_machine_text(&facts, &given, Some(why), &output.catalog, &how)
        }
        args::Format::Json => format!("{:#}\n", machine_value(&facts, &given, &output.catalog)),
        args::Format::Md => render_machine_markdown(&facts, &given, Some(why), &output.catalog),
    };
    Ok(output.data(&text, REACHED))
}
