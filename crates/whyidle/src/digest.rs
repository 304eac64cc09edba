//! `whyidle digest` and `whyidle merge`: what each rank says to the others, and the verdict from that alone.

use std::path::Path;

use rayon::prelude::*;
use whyidle_diagnosis::{Arg, Digest, Message, NotJudged, NotOneJob, Ranks, Verdict, judge_ranks};
use whyidle_readers::{ReadError, digest as files};
use whyidle_report::Drawn;

use crate::args::{DigestOptions, MergeOptions};
use crate::output::{Output, io_reason};
use crate::page::{self, Page};
use crate::show::{NoVerdict, show};
use crate::trace::{self, Judged, Question};
use crate::{REACHED, REFUSED, UNREADABLE};

/// Makes digests of traces and writes them.
pub(crate) fn digest(options: &DigestOptions, output: &Output) -> u8 {
    let question = Question {
        paths: options.paths.clone(),
        step_ms: options.step_ms,
        recorded: options.recorded,
        name: options.name.clone(),
        ..Question::default()
    };
    let judged = trace::files(&question).and_then(|found| trace::digests(&found, &question, output));
    let judged = match judged {
        Ok(judged) => judged,
        Err(error) => {
            output.read_error(&error);
            return UNREADABLE;
        }
    };
    let mut digests = Vec::new();
    for Judged { input, outcome, .. } in judged {
        match outcome {
            Ok(digest) => digests.push(digest),
            Err(refusal) => output.say(
                &Message::new("cli-digest-left-out")
                    .name("path", input.path)
                    .message("reason", refusal.reason),
            ),
        }
    }
    if digests.is_empty() {
        return REFUSED;
    }
    write(&options.out, &digests, output)
}

/// Joins digests, or judges them together.
pub(crate) fn merge(options: &MergeOptions, output: &Output) -> u8 {
    let page = match Page::asked(&options.page.reporting(), output) {
        Ok(page) => page,
        Err(status) => return status,
    };
    let digests = match read(options) {
        Ok(digests) => digests,
        Err(error) => {
            output.read_error(&error);
            return UNREADABLE;
        }
    };
    if let Some(path) = &options.out {
        let mut digests = digests;
        // Whichever way they are joined, the file is the same.
        digests.sort_by_key(Digest::rank);
        digests.dedup_by(|later, first| later == first);
        return write(path, &digests, output);
    }
    let ranks = match Ranks::new(digests) {
        Ok(ranks) => ranks,
        Err(why) => {
            let reason = match why {
                NotOneJob::Times(apart) => Message::new("refusal-not-one-run").time("time", apart),
                NotOneJob::Worlds | NotOneJob::Nothing => Message::new("cli-digest-not-one-job"),
            };
            output.error(&reason, Some(&Message::new("cli-digest-not-one-job-hint")));
            return REFUSED;
        }
    };
    match judge_ranks(&ranks, options.rank) {
        Ok(verdict) => {
            let reached = Ok::<_, NoVerdict>(verdict);
            let status = show(&reached, options.showing, output);
            // Digests say all that they say; the traces that they name may be others by now.
            let draw = |_: &Verdict| Drawn { command: page::command(), ..Drawn::default() };
            page.map_or(status, |page| page.of_outcome(&reached, draw, status, output))
        }
        Err(NotJudged::NoSuchRank) => {
            output.error(&Message::new("cli-no-such-rank"), None);
            REFUSED
        }
        Err(NotJudged::NothingInCommon) => {
            let hint = Message::new("cli-digest-not-one-job-hint");
            output.error(&Message::new("refusal-nothing-in-common"), Some(&hint));
            REFUSED
        }
    }
}

/// Documents that are parsed at a time: enough for every core, few enough to be small.
const BATCH: usize = 64;

fn read(options: &MergeOptions) -> Result<Vec<Digest>, ReadError> {
    let found: Vec<_> = options.paths.iter().map(|path| files::find(path)).collect::<Result<_, _>>()?;
    let mut documents = found.iter().flatten().flat_map(|path| {
        let (documents, unopened) = match files::documents(path) {
            Ok(documents) => (Some(documents), None),
            Err(error) => (None, Some(Err(error))),
        };
        let documents = documents.into_iter().flatten().chain(unopened);
        documents.map(move |document| document.map(|document| (path, document)))
    });
    let mut digests = Vec::new();
    loop {
        let batch: Vec<_> = documents.by_ref().take(BATCH).collect::<Result<_, _>>()?;
        if batch.is_empty() {
            break;
        }
        let parsed = batch.par_iter().map(|(path, document)| files::parse(path, document, Digest::is_sound));
        digests.append(&mut parsed.collect::<Result<Vec<Digest>, _>>()?);
    }
    Ok(digests)
}

/// Writes digests, over nothing but digests.
fn write(path: &Path, digests: &[Digest], output: &Output) -> u8 {
    if path.as_os_str() == "-" {
        // A reader that has seen enough is no fault.
        let _ = files::into(std::io::stdout().lock(), digests);
        return REACHED;
    }
    if path.exists() && !files::is_digest(path) {
        let error = Message::new("cli-not-overwritten").name("path", path.display().to_string());
        output.error(&error, Some(&Message::new("cli-not-overwritten-hint")));
        return UNREADABLE;
    }
    if let Err(error) = files::write(path, digests) {
        let message = Message::new("cli-not-written").name("path", path.display().to_string());
        output.error(&message.message("reason", io_reason(&error)), None);
        return UNREADABLE;
    }
    let bytes = path.metadata().map_or(0, |file| i64::try_from(file.len()).unwrap_or(i64::MAX));
    output.say(
        &Message::new("cli-digest-written")
            .count("count", digests.len())
            .name("path", path.display().to_string())
            .with("bytes", Arg::Bytes(bytes)),
    );
    REACHED
}
