//! `whyidle diagnose FILE…`: files that other tools wrote, each recognised by what it holds.

pub(crate) mod ncu;

use std::path::{Path, PathBuf};

use whyidle_readers::{Format, ReadError, ReadOptions, format_of, read_trace};
use whyidle_report::{render_ncu_json, render_ncu_markdown, render_ncu_text};

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
    let of = |wanted: Format| -> Vec<&Path> {
        found.iter().filter(|(_, format)| *format == Some(wanted)).map(|(path, _)| *path).collect()
    };
    let prints = of(Format::Ncu);
    if prints.is_empty() {
        // A trace, or what a trace's reader says of a file that is none.
        let question = Question { paths: paths.to_vec(), step_ms: options.step_ms, ..Question::default() };
        let reached: Result<_, NoVerdict> = trace::verdict(&question, output);
        return Ok(show(&reached, options.showing, output));
    }
    let mut report = ncu::read(&prints)?;
    if let Some(path) = of(Format::Kineto).into_iter().chain(of(Format::Sqlite)).next() {
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
