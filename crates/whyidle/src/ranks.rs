//! `whyidle ranks`: what flight recorders and NCCL's logs of several ranks say together.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rayon::prelude::*;
use whyidle_analysis::flight::{self, FlightFacts, RankDump};
use whyidle_analysis::links::pairs;
use whyidle_diagnosis::{Message, QualityNote};
use whyidle_model::{ImportNotes, NcclLog, Severity};
use whyidle_readers::{Format as FileFormat, ReadError, find_dumps, flight as dump, nccl};
use whyidle_report::{RanksReport, render_ranks_json, render_ranks_markdown, render_ranks_text};

use crate::args::{Format, RanksOptions};
use crate::output::Output;
use crate::{REACHED, REFUSED, UNREADABLE};

/// The newest version of the recorder's format that was tested.
const TESTED: (u32, u32) = (2, 10);

pub(crate) fn run(options: &RanksOptions, output: &Output) -> u8 {
    let report = match report(&options.paths) {
        Ok(report) => report,
        Err(error) => {
            output.read_error(&error);
            return UNREADABLE;
        }
    };
    if let Some((reason, hint)) = refuse(&report) {
        output.error(&Message::new(reason), Some(&Message::new(hint)));
        return REFUSED;
    }
    let text = match options.showing.format {
        Format::Text => {
            render_ranks_text(&report, &output.catalog, &output.text_options(options.showing.verbose))
        }
        Format::Json => render_ranks_json(&report, &output.catalog),
        Format::Md => render_ranks_markdown(&report, &output.catalog),
    };
    output.data(&text, REACHED)
}

/// What the dumps and logs at `paths` say together.
///
/// # Errors
/// Where a path cannot be read, or is neither.
pub(crate) fn report(paths: &[PathBuf]) -> Result<RanksReport, ReadError> {
    let mut found = Vec::new();
    for path in paths {
        found.extend(find_dumps(path)?);
    }
    let of = |format| found.iter().filter(move |(_, found)| *found == format).map(|(path, _)| path.as_path());
    let dumps: Vec<&Path> = of(FileFormat::Flight).collect();
    let read: Vec<_> = dumps.par_iter().map(|path| dump::read(path)).collect::<Result<_, _>>()?;
    let mut report = RanksReport {
        inputs: found.iter().map(|(path, _)| path.display().to_string()).collect(),
        ..RanksReport::default()
    };
    let mut logs = NcclLog::default();
    for path in of(FileFormat::Nccl) {
        nccl::read(path, &mut logs)?;
    }
    let mut notes: Vec<&ImportNotes> = read.iter().map(|dump| &dump.notes).collect();
    notes.push(&logs.notes);
    report.quality = quality(&notes);
    if logs.lines > 0 {
        report.pairs = pairs(&logs);
        report.nccl = Some(logs);
    }
    add_dumps(&mut report, dumps.into_iter().zip(read).collect());
    if !report.dumps.is_empty() {
        report.flight = Some(flight::facts(&report.dumps, &[]));
    }
    Ok(report)
}

/// Gives each dump its rank: as it says itself, as its name says, else the next that is free.
fn add_dumps(report: &mut RanksReport, read: Vec<(&Path, whyidle_model::FlightDump)>) {
    let (mut duplicates, mut unnumbered, mut newer, mut overwritten) = (0, Vec::new(), 0, 0);
    for (path, dump) in read {
        newer += u64::from(dump.version.is_some_and(|version| version > TESTED));
        overwritten += u64::from(dump.is_cut());
        let written = path.metadata().and_then(|file| file.modified()).ok();
        let written = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let written = written.and_then(|time| i64::try_from(time.as_nanos()).ok());
        match dump.rank.or_else(|| dump::rank_of_name(path)) {
            Some(rank) if report.dumps.iter().any(|known| known.rank == rank) => duplicates += 1,
            Some(rank) => report.dumps.push(RankDump { rank, dump, written }),
            None => unnumbered.push((dump, written)),
        }
    }
    let without = unnumbered.len() as u64;
    for (dump, written) in unnumbered {
        let free = (0..).find(|rank| report.dumps.iter().all(|known| known.rank != *rank));
        report.dumps.push(RankDump { rank: free.unwrap_or(0), dump, written });
    }
    report.dumps.sort_by_key(|dump| dump.rank);
    for (code, severity, count) in [
        ("ranks-duplicate", Severity::Loss, duplicates),
        ("ranks-unnumbered", Severity::Suspect, without),
        ("ranks-untested-version", Severity::Suspect, newer),
        ("ranks-overwritten", Severity::Info, overwritten),
    ] {
        if count > 0 {
            let text = Message::new(note(code)).count("count", count);
            report.quality.push(QualityNote { code, severity, count, text });
        }
    }
}

fn note(code: &str) -> &'static str {
    match code {
        "ranks-duplicate" => "note-ranks-duplicate",
        "ranks-unnumbered" => "note-ranks-unnumbered",
        "ranks-untested-version" => "note-ranks-untested-version",
        _ => "note-ranks-overwritten",
    }
}

/// What was wrong with the files, over all of them.
pub(crate) fn quality(notes: &[&ImportNotes]) -> Vec<QualityNote> {
    let mut all = ImportNotes::default();
    for note in notes.iter().flat_map(|notes| notes.sorted()) {
        all.add_many(note.code, note.count, note.first_byte);
    }
    QualityNote::all_of(&all)
}

/// Why the evidence carries no result: the reason and what to do.
pub(crate) fn refuse(report: &RanksReport) -> Option<(&'static str, &'static str)> {
    let facts: &FlightFacts = report.flight.as_ref()?;
    if flight::apart(&report.dumps).is_some() {
        return Some(("cli-ranks-runs", "cli-ranks-apart-hint"));
    }
    if report.nccl.is_some() {
        return None;
    }
    if report.dumps.iter().all(|dump| dump.dump.entries.is_empty()) {
        return Some(("cli-ranks-empty", "cli-ranks-empty-hint"));
    }
    let compared = facts.groups.iter().any(|group| group.group.dumps.len() > 1 && group.matched > 0);
    let alone = report.dumps.len() < 2;
    (!alone && !compared && facts.hang.is_none()).then_some(("cli-ranks-apart", "cli-ranks-apart-hint"))
}
