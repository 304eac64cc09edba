//! `whyidle bench`: runs a program until enough steps are steady, and keeps what it gave.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use whyidle_diagnosis::Message;
use whyidle_experiment::compare::log;
use whyidle_experiment::measure::{Status, measure};
use whyidle_experiment::result::{Ended, Run, shown};
use whyidle_observe::clock;
use whyidle_report::{Document, benchmark_header, benchmark_row};

use super::options::BenchOptions;
use super::running::Pace;
use super::{differential, open, places, running, unusable};
use crate::output::{Output, io_reason};
use crate::page::Page;
use crate::{REACHED, REFUSED, UNREADABLE, document};

pub(crate) fn run(options: &BenchOptions, output: &Output) -> u8 {
    match bench(options, output) {
        Ok(status) | Err(status) => status,
    }
}

fn bench(options: &BenchOptions, output: &Output) -> Result<u8, u8> {
    let page = Page::asked(&options.page, output)?;
    if options.differential {
        return differential::run(options, page.as_ref(), output);
    }
    let (path, logs) = places(&options.kept, output)?;
    let mut history = open(&path, output)?;
    running::folder(&logs, output)?;
    let name = format!("{}-{}", clock::now_ns() / 1_000_000, std::process::id());
    let mut wanted =
        running::wanted(&options.measuring, options.command.clone(), BTreeMap::new(), log(&logs, &name));
    wanted.pass_on = true;
    wanted.tries.clone_from(&options.trying.tries);
    let requests = running::requests(output)?;
    let _turn = running::turn(
        &format!("whyidle bench -- {}", shown(&wanted.command, &wanted.environment, &wanted.tries)),
        output,
    )?;
    let mut pace = Pace::new();
    let run = measure(&wanted, &requests, &mut |status| {
        if pace.is_due() {
            output.hint(&progress(status));
        }
    })
    .map_err(|error| running::unmeasured(&error, output))?;
    let id = history.add_run(&run, None).map_err(|error| unusable(&error, output))?;
    running::without_losses(&run, &options.measuring, output);
    let status = show(&run, id, page.as_ref(), options, output);
    if let Some(path) = options.append.as_ref().filter(|_| run.steady.is_some()) {
        let shown = path.display().to_string();
        if let Err(error) = append(path, &run, output) {
            let error =
                Message::new("cli-not-written").name("path", shown).message("reason", io_reason(&error));
            output.error(&error, None);
            return Err(UNREADABLE);
        }
        output.say(&Message::new("cli-bench-appended").name("path", shown));
    }
    Ok(status)
}

pub(super) fn progress(status: &Status) -> Message {
    let with = |id| Message::new(id).count("seconds", status.elapsed.as_secs()).count("steps", status.steady);
    match status.step_ns {
        Some(step) => with("cli-bench-progress-step").time("step", step),
        None => with("cli-bench-progress"),
    }
}

fn show(run: &Run, id: i64, page: Option<&Page>, options: &BenchOptions, output: &Output) -> u8 {
    let status = match (run.status, run.ended) {
        (Some(status), Ended::Itself | Ended::Failed | Ended::OutOfMemory) if status != 0 => {
            u8::try_from(status).unwrap_or(REFUSED)
        }
        _ if run.basis.is_none() => REFUSED,
        _ => REACHED,
    };
    document::show(&Document::Run(run, Some(id)), page, options.showing, status, output)
}

/// Adds a row to the table at `path`; with its head, where the file does not end in such a table.
fn append(path: &Path, run: &Run, output: &Output) -> io::Result<()> {
    // A pipe would be waited for.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::other("no plain file"));
    }
    let mut file = File::options().read(true).append(true).create(true).open(path)?;
    let mut there = String::new();
    file.read_to_string(&mut there)?;
    let mut text = String::new();
    if !there.is_empty() && !there.ends_with('\n') {
        text.push('\n');
    }
    if !there.lines().next_back().is_some_and(|line| line.starts_with('|')) {
        if !there.is_empty() {
            text.push('\n');
        }
        text += &benchmark_header(&output.catalog);
    }
    text += &benchmark_row(run, &output.catalog);
    file.write_all(text.as_bytes())
}
