//! `whyidle export`: a trace or recording in the formats of other tools.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use whyidle_diagnosis::{Arg, Message, Verdict};
use whyidle_readers::ReadError;
#[cfg(target_os = "linux")]
use whyidle_readers::written::beside;
use whyidle_readers::written::{Packed, place};
use whyidle_tables::export::chrome::{Explained, Writer};
use whyidle_tables::export::csv::Folder;
use whyidle_tables::export::stacks::{Stacks, Unit};
use whyidle_tables::sql::Database;
use whyidle_tables::{Sampled, Stop, TABLES, Table, Traced};

use crate::args::{ExportOptions, Target};
use crate::output::Output;
use crate::tables::Evidence;
use crate::trace::{Question, alone, each_file};
use crate::{REACHED, REFUSED, UNREADABLE};

/// Why nothing was written.
enum Unwritten {
    Unread(ReadError),
    Stop(Stop),
    /// There is nothing of what was asked for.
    Nothing,
}

impl From<ReadError> for Unwritten {
    fn from(error: ReadError) -> Self {
        Self::Unread(error)
    }
}

impl From<Stop> for Unwritten {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Self::Stop(error.into())
    }
}

pub(crate) fn run(options: &ExportOptions, output: &Output) -> u8 {
    let path = &options.out;
    let shown = path.display().to_string();
    let to_output = path.as_os_str() == "-";
    if to_output && matches!(options.to, Target::Sqlite | Target::Csv) {
        output.error(&Message::new("cli-export-no-stream"), Some(&Message::new("cli-export-no-stream-hint")));
        return UNREADABLE;
    }
    if !to_output && is_taken(path, options) {
        let error = Message::new("cli-export-there").name("path", &shown);
        output.error(&error, Some(&Message::new("cli-export-there-hint")));
        return UNREADABLE;
    }
    // What is half-written when Ctrl-C is pressed does not stay. That it could not be watched for changes nothing else.
    #[cfg(target_os = "linux")]
    let _removing = half_written(options).and_then(|path| whyidle_observe::ending::Removing::at(path).ok());
    let export = Evidence::find(&options.paths)
        .map_err(Unwritten::from)
        .and_then(|evidence| Export { options, output, evidence }.write());
    match export {
        Ok(()) => {
            if !to_output {
                let written = Message::new("cli-export-written").name("path", &shown);
                output.say(&written.with("bytes", Arg::Bytes(size(path))));
            }
            REACHED
        }
        Err(Unwritten::Unread(error)) => {
            output.read_error(&error);
            UNREADABLE
        }
        Err(Unwritten::Nothing) => {
            output.error(&Message::new("cli-export-nothing"), Some(&Message::new("cli-export-nothing-hint")));
            REFUSED
        }
        Err(Unwritten::Stop(Stop::Io(error))) if error.kind() == io::ErrorKind::BrokenPipe => REACHED,
        Err(Unwritten::Stop(stop)) => {
            let error = Message::new("cli-not-written").name("path", &shown).name("reason", stop.to_string());
            output.error(&error, None);
            UNREADABLE
        }
    }
}

/// What is there is left alone, unless it may be replaced by its like.
fn is_taken(path: &Path, options: &ExportOptions) -> bool {
    let wants_folder = options.to == Target::Csv;
    match fs::symlink_metadata(path) {
        Err(_) => false,
        Ok(_) if !options.force => true,
        Ok(_) => path.is_dir() != wants_folder,
    }
}

/// Under which name it is written until it is whole.
#[cfg(target_os = "linux")]
fn half_written(options: &ExportOptions) -> Option<PathBuf> {
    let path = &options.out;
    if path.as_os_str() == "-" {
        return None;
    }
    if path.is_dir() { Some(within(path)) } else { beside(path) }
}

/// The folder of tables that are on their way into `folder`.
fn within(folder: &Path) -> PathBuf {
    folder.join(format!(".export.{}", std::process::id()))
}

/// Bytes of a file, or of the files in a folder.
fn size(path: &Path) -> i64 {
    let bytes: u64 = match fs::read_dir(path) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len())).sum(),
        Err(_) => path.metadata().map_or(0, |file| file.len()),
    };
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

struct Export<'o> {
    options: &'o ExportOptions,
    output: &'o Output,
    evidence: Evidence,
}

impl Export<'_> {
    fn write(&self) -> Result<(), Unwritten> {
        match self.options.to {
            Target::Perfetto => self.stream(|out| self.perfetto(out)),
            Target::Speedscope => {
                let name = self.options.paths.first().map(|path| path.display().to_string());
                let stacks = self.stacks()?;
                self.stream(|out| Ok(stacks.speedscope(&name.unwrap_or_default(), out)?))
            }
            Target::Folded => {
                let stacks = self.stacks()?;
                self.stream(|out| Ok(stacks.folded(out)?))
            }
            Target::Sqlite => place(&self.options.out, |beside| self.sqlite(beside)),
            Target::Csv => self.csv(),
        }
    }

    fn question(&self) -> Question {
        Question { paths: self.options.paths.clone(), ..Question::default() }
    }

    /// Writes a file, or onto standard output.
    fn stream(&self, write: impl FnOnce(&mut dyn Write) -> Result<(), Unwritten>) -> Result<(), Unwritten> {
        let path = &self.options.out;
        if path.as_os_str() == "-" {
            let mut out = self.output.sink();
            write(&mut out)?;
            return Ok(out.flush()?);
        }
        let gzip = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
        place(path, |beside| {
            let mut out = Packed::create(beside, gzip)?;
            write(&mut out)?;
            Ok(out.finish()?)
        })
    }

    fn perfetto(&self, out: &mut dyn Write) -> Result<(), Unwritten> {
        if self.evidence.traces.is_empty() {
            return Err(Unwritten::Nothing);
        }
        let (question, mut number) = (self.question(), 0);
        let (mut out, mut writer) = (Some(out), None);
        each_file(&self.evidence.traces, &question, self.output, |loaded, facts| {
            let traced = Traced::new(number, &loaded.input.path, &loaded.trace, facts);
            number += 1;
            if let Some(out) = out.take() {
                writer = Some(Writer::new(out, &loaded.trace)?);
            }
            let explained =
                alone(loaded, facts, &question).map_or_else(Vec::new, |verdict| explained(&verdict));
            match &mut writer {
                Some(writer) => writer.add(&traced, &explained).map_err(Unwritten::from),
                None => Ok(()),
            }
        })?;
        if let Some(writer) = writer {
            writer.finish()?;
        }
        Ok(())
    }

    /// Python stacks that were sampled; without any, what the threads of the traces did.
    fn stacks(&self) -> Result<Stacks, Unwritten> {
        for samples in self.evidence.samples() {
            let stacks = Stacks::of_samples(&samples?);
            if !stacks.is_empty() {
                return Ok(stacks);
            }
        }
        let mut stacks = Stacks::new(Unit::Nanoseconds);
        let several = self.evidence.traces.len() > 1;
        let mut number = 0;
        each_file(&self.evidence.traces, &self.question(), self.output, |loaded, facts| {
            let rank = loaded.input.rank.map_or_else(|| number.to_string(), |rank| format!("rank {rank}"));
            number += 1;
            let label = if several { format!("{rank};") } else { String::new() };
            stacks.add_trace(&loaded.trace, facts, &label);
            Ok::<_, Unwritten>(())
        })?;
        if stacks.is_empty() { Err(Unwritten::Nothing) } else { Ok(stacks) }
    }

    fn sqlite(&self, beside: &Path) -> Result<(), Unwritten> {
        let mut database = Database::create(beside)?;
        let tables: Vec<&Table> = TABLES.iter().collect();
        self.each(|from| match from {
            Part::Trace(traced) => database.add_trace(&tables, traced),
            Part::Samples(sampled) => database.add_samples(&tables, sampled),
        })
    }

    fn csv(&self) -> Result<(), Unwritten> {
        let write = |folder: &Path| -> Result<(), Unwritten> {
            fs::create_dir(folder)?;
            let mut files = Folder::create(folder)?;
            self.each(|from| match from {
                Part::Trace(traced) => files.add_trace(traced),
                Part::Samples(sampled) => files.add_samples(sampled),
            })?;
            Ok(files.finish()?)
        };
        let target = &self.options.out;
        if !target.is_dir() {
            return place(target, write);
        }
        // A folder that is there keeps whatever else lies in it.
        let fresh = within(target);
        let written = write(&fresh).and_then(|()| {
            Ok(fs::read_dir(&fresh)?.try_for_each(|file| {
                let file = file?;
                fs::rename(file.path(), target.join(file.file_name()))
            })?)
        });
        // Empty by now, or half-written.
        let _ = fs::remove_dir_all(&fresh);
        written
    }

    /// Hands over every trace and every recording's samples.
    fn each(&self, mut then: impl FnMut(Part<'_>) -> Result<(), Stop>) -> Result<(), Unwritten> {
        let mut number = 0;
        each_file(&self.evidence.traces, &self.question(), self.output, |loaded, facts| {
            let traced = Traced::new(number, &loaded.input.path, &loaded.trace, facts);
            number += 1;
            then(Part::Trace(&traced)).map_err(Unwritten::from)
        })?;
        for samples in self.evidence.samples() {
            then(Part::Samples(&Sampled { samples: &samples? }))?;
        }
        Ok(())
    }
}

/// What rows are made of.
enum Part<'a> {
    Trace(&'a Traced<'a>),
    Samples(&'a Sampled<'a>),
}

/// What a verdict's findings explain.
fn explained(verdict: &Verdict) -> Vec<Explained> {
    let findings = verdict.findings.iter();
    findings
        .map(|finding| Explained {
            cause: finding.cause.to_owned(),
            cost_ns: finding.cost.ns,
            step_after_ns: finding.gain.as_ref().map(|gain| gain.step_after.ns),
        })
        .collect()
}
