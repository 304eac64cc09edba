//! What `whyidle diagnose FILE…` reads beside recordings: one file per kind of evidence.

pub(crate) mod memory;

use std::fs::File;
use std::path::{Path, PathBuf};

use whyidle_readers::{Format as FileFormat, sniff};
use whyidle_report::{render_memory_json, render_memory_markdown, render_memory_text};

use crate::args::{Format, Showing};
use crate::output::Output;
use crate::{REACHED, UNREADABLE};

/// How much of a file tells its kind.
const HEAD: usize = 1 << 16;

/// What a file is, by its content; `None` for directories and what nobody knows.
pub(crate) fn kind(path: &Path) -> Option<FileFormat> {
    if !path.is_file() {
        return None;
    }
    let mut head = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(File::open(path).ok()?, HEAD as u64), &mut head)
        .ok()?;
    sniff(&head)
}

/// The paths hold evidence that this module reads.
pub(crate) fn is_evidence(paths: &[PathBuf]) -> bool {
    let is =
        |path: &PathBuf| matches!(kind(path), Some(FileFormat::MemorySnapshot | FileFormat::MemorySummary));
    paths.iter().any(is)
}

/// Prints what the files say, and returns the exit status.
pub(crate) fn run(paths: &[PathBuf], showing: Showing, output: &Output) -> u8 {
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let report = match memory::read(&paths) {
        Ok(report) => report,
        Err(error) => {
            output.read_error(&error);
            return UNREADABLE;
        }
    };
    let text = match showing.format {
        Format::Text => render_memory_text(&report, &output.catalog, &output.text_options(showing.verbose)),
        Format::Json => render_memory_json(&report, &output.catalog),
        Format::Md => render_memory_markdown(&report, &output.catalog),
    };
    output.data(&text, REACHED)
}
