//! `whyidle diff`: what changed from one trace or recording to another.

use std::path::Path;

use whyidle_analysis::device::devices;
use whyidle_analysis::facts::Facts;
use whyidle_diagnosis::Message;
use whyidle_diagnosis::diff::{Side, diff};
use whyidle_readers::ReadError;
use whyidle_report::Document;

use crate::args::DiffOptions;
use crate::output::Output;
use crate::page::Page;
use crate::show::NoVerdict;
use crate::trace::{Loaded, Question, each_file, files};
use crate::{REACHED, REFUSED, UNREADABLE, diagnose, document, trace};

pub(crate) fn run(options: &DiffOptions, output: &Output) -> u8 {
    let page = match Page::asked(&options.page, output) {
        Ok(page) => page,
        Err(status) => return status,
    };
    let (a, b) = match both(options, output) {
        Ok(both) => both,
        Err((path, why)) => return complain(path, why, output),
    };
    let diff = diff(a, b);
    document::show(&Document::Diff(&diff), page.as_ref(), options.showing, REACHED, output)
}

/// Both sides, or the path of the one that cannot be compared.
fn both<'o>(options: &'o DiffOptions, output: &Output) -> Result<(Side, Side), (&'o Path, NoVerdict)> {
    let (a, b) = (options.a.as_path(), options.b.as_path());
    let first = side(a, options.rank, output).map_err(|why| (a, why))?;
    // Of several ranks the same is compared on both sides, where both have it.
    let shown = first.verdict.subject.rank_shown.filter(|_| first.verdict.subject.ranks > 1);
    let second = match side(b, options.rank.or(shown), output) {
        Err(NoVerdict::Refused(why)) if options.rank.is_none() && why.code == "no-such-rank" => {
            side(b, None, output)
        }
        other => other,
    };
    Ok((first, second.map_err(|why| (b, why))?))
}

/// One side: its verdict, the trace that it shows, and its stacks.
fn side(path: &Path, rank: Option<u32>, output: &Output) -> Result<Side, NoVerdict> {
    let question = Question { paths: vec![path.to_owned()], rank, ..Question::default() };
    let (verdict, signals) = if path.is_dir() {
        let (verdict, signals) = diagnose::with_signals(path, rank, output)?;
        (verdict, Some(signals))
    } else {
        (trace::verdict(&question, output)?, None)
    };
    let mut side = Side::new(path.display().to_string(), verdict);
    if let Some(signals) = &signals {
        side = side.with_signals(signals);
    }
    let shown = match files(&question) {
        Ok(files) => files,
        Err(ReadError::NoTrace { .. }) => return Ok(side),
        Err(error) => return Err(NoVerdict::Unread(error)),
    };
    let mut side = Some(side);
    let of_shown = |loaded: &Loaded, facts: &Facts| -> Result<(), ReadError> {
        if let Some(known) = side.take() {
            side = Some(if is_shown(loaded, &known) { with_trace(known, loaded, facts) } else { known });
        }
        Ok(())
    };
    each_file(&shown, &question, output, of_shown).map_err(NoVerdict::Unread)?;
    Ok(side.expect("put back each time"))
}

/// The trace is the one at the top of the verdict, and the verdict is of its steps.
fn is_shown(loaded: &Loaded, side: &Side) -> bool {
    let subject = &side.verdict.subject;
    let is_rank = subject.ranks <= 1 || loaded.input.rank == subject.rank_shown;
    is_rank && !side.verdict.step.traced_each_ns.is_empty()
}

fn with_trace(side: Side, loaded: &Loaded, facts: &Facts) -> Side {
    let wanted = side.verdict.subject.device;
    match devices(&loaded.trace).into_iter().find(|&device| device == wanted) {
        Some(device) => {
            let device = facts.device(&loaded.trace, device, |_| true);
            side.with_trace(&loaded.trace, facts, &device)
        }
        None => side,
    }
}

/// Says why a side cannot be compared.
fn complain(path: &Path, why: NoVerdict, output: &Output) -> u8 {
    match why {
        NoVerdict::Unread(error) => {
            output.read_error(&error);
            UNREADABLE
        }
        NoVerdict::NotUnderstood(wrong) => {
            output.error(&wrong.reason, Some(&wrong.hint));
            UNREADABLE
        }
        NoVerdict::Refused(refusal) => {
            let error = Message::new("cli-diff-refused")
                .name("path", path.display().to_string())
                .message("reason", refusal.reason);
            output.error(&error, Some(&refusal.hint));
            REFUSED
        }
    }
}
