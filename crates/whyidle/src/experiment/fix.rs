//! `whyidle fix`: tries what the verdict asks for, proves it in pairs, and says what to keep.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use whyidle_diagnosis::Message;
use whyidle_experiment::fix::Fix;
use whyidle_experiment::fix::search::{Asked, Event, search};
use whyidle_experiment::result::shown;
use whyidle_experiment::stats::paired::Plan;
use whyidle_experiment::tries::Try;
use whyidle_observe::gpu::Gpus;
use whyidle_report::{Document, fix_decided};

use super::options::FixOptions;
use super::running::Pace;
use super::{bench, open, places, running};
use crate::output::{Output, io_reason};
use crate::page::Page;
use crate::{REACHED, REFUSED, UNREADABLE, diagnose, document};

pub(super) fn run(options: &FixOptions, output: &Output) -> u8 {
    match fix(options, output) {
        Ok(status) | Err(status) => status,
    }
}

fn fix(options: &FixOptions, output: &Output) -> Result<u8, u8> {
    let page = Page::asked(&options.page, output)?;
    let (path, logs) = places(&options.kept, output)?;
    if let Some(patch) = options.patch.as_ref().filter(|patch| patch.exists()) {
        let error = Message::new("cli-fix-exists").name("path", patch.display().to_string());
        output.error(&error, Some(&Message::new("cli-fix-exists-hint")));
        return Err(UNREADABLE);
    }
    let mut entries = open(&path, output)?;
    running::folder(&logs, output)?;
    let wanted =
        running::wanted(&options.measuring, options.command.clone(), BTreeMap::new(), Default::default());
    let requests = running::requests(output)?;
    let _turn =
        running::turn(&format!("whyidle fix -- {}", shown(&options.command, &BTreeMap::new(), &[])), output)?;
    let asked = Asked {
        wanted,
        only: options.tries.clone(),
        plan: Plan::new(options.pairs as usize, options.judging.counts),
        tolerance: options.judging.loss_tolerance,
        logs: &logs,
        traces: Gpus::open().is_ok_and(|gpus| !gpus.cards().is_empty()),
    };
    let mut judge = |dir: &Path| diagnose::verdict(dir, None, output).ok();
    let mut pace = Pace::new();
    let mut tell = |event: &Event<'_>| match event {
        Event::Running(status) if pace.is_due() => output.hint(&bench::progress(status)),
        Event::Running(_) => {}
        Event::Diagnosing => output.hint(&Message::new("cli-fix-diagnosing")),
        Event::Looking(Some(change)) => output.hint(&named("cli-fix-looking", change)),
        Event::Looking(None) => output.hint(&Message::new("cli-fix-looking-bare")),
        Event::Looked(_, step) => output.hint(&Message::new("cli-fix-looked").time("time", *step)),
        Event::Proving(Some(change)) => output.hint(&named("cli-fix-proving", change)),
        Event::Proving(None) => output.hint(&Message::new("cli-fix-proving-all")),
        Event::Decided(attempt) => output.hint(&fix_decided(attempt)),
    };
    let (id, found, failed) = search(&asked, &mut entries, &requests, &mut judge, &mut tell)
        .map_err(|error| running::stopped(&error, output))?;
    if let Some(run) = failed {
        let error = Message::new("fix-failed").message("reason", running::why_useless(&run));
        let path = run.log.clone().unwrap_or_default();
        output.error(&error, Some(&Message::new("cli-compare-failed-hint").name("path", path)));
        return Err(REFUSED);
    }
    let status = if found.before_ns.is_some() { REACHED } else { REFUSED };
    let status =
        document::show(&Document::Fix(&found, Some(id)), page.as_ref(), options.showing, status, output);
    if let Some(path) = &options.patch {
        write(path, &found, output)?;
    }
    Ok(status)
}

fn named(id: &'static str, change: &Try) -> Message {
    Message::new(id).name("change", change.to_string())
}

/// Writes the patch to a file that is not there yet.
fn write(path: &Path, found: &Fix, output: &Output) -> Result<(), u8> {
    if found.patch.is_empty() {
        output.hint(&Message::new("cli-fix-no-patch"));
        return Ok(());
    }
    let shown = path.display().to_string();
    let written = std::fs::File::create_new(path).and_then(|mut file| file.write_all(found.patch.as_bytes()));
    written.map_err(|error| {
        let error = Message::new("cli-not-written").name("path", &shown).message("reason", io_reason(&error));
        output.error(&error, None);
        UNREADABLE
    })?;
    output.say(&Message::new("cli-fix-patched").name("path", shown));
    Ok(())
}
