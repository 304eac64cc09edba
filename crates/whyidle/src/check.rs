//! `whyidle check`: the quick look at settings, and the triage by symptom of a program that is watched for a moment,
//! or of a recording.

use std::path::Path;

use serde_json::Map;
use whyidle_diagnosis::Message;
use whyidle_observe::check::{Check, State, checks};
use whyidle_observe::launch::interruption;
use whyidle_observe::process::is_zombie;
use whyidle_observe::tree::Tree;
use whyidle_observe::{Options, Recorder, Watch, stack_permission};
use whyidle_readers::ReadError;
use whyidle_report::{Item, Mark, items_json, items_markdown, render_items};

use crate::args::{CheckOptions, Format};
use crate::live::{Ticker, not_permitted, until, unwritten};
use crate::output::Output;
use crate::triage::{Subject, Triage, look};
use crate::{REACHED, REFUSED, UNREADABLE};

pub(crate) fn run(options: &CheckOptions, output: &Output) -> u8 {
    let Some(what) = &options.what else {
        let items = checks(None).iter().map(item).collect();
        return print(&[("look-title", items)], "whyidle", options.format, output);
    };
    match what.to_str().and_then(|text| text.parse::<u32>().ok()) {
        Some(pid) => program(pid, options, output),
        None => recording(what, options.format, output),
    }
}

fn print(sections: &[(&'static str, Vec<Item>)], next: &str, format: Format, output: &Output) -> u8 {
    let catalog = &output.catalog;
    let text = match format {
        Format::Text => render_items(sections, next, catalog, &output.text_options(false)),
        Format::Json => items_json(sections, next, catalog),
        Format::Md => items_markdown(sections, next, catalog),
    };
    output.data(&text, REACHED)
}

fn recording(dir: &Path, format: Format, output: &Output) -> u8 {
    let found = std::fs::read_dir(dir)
        .map_err(|error| ReadError::io(dir, error))
        .and_then(|_| look(dir, Subject::Recording(dir)));
    match found {
        Ok(Some(Triage { items, next, undescribed })) => {
            if undescribed {
                output.say(&Message::new("note-live-undescribed"));
            }
            let next = next.unwrap_or_else(|| format!("whyidle diagnose {}", dir.display()));
            print(&[("symptom-title", items)], &next, format, output)
        }
        Ok(None) => {
            let error = Message::new("cli-check-no-samples").name("dir", dir.display().to_string());
            output.error(&error, Some(&Message::new("refusal-no-samples-hint")));
            REFUSED
        }
        Err(error) => {
            output.read_error(&error);
            UNREADABLE
        }
    }
}

fn program(pid: u32, options: &CheckOptions, output: &Output) -> u8 {
    let tree = Tree::of(&[pid]);
    if tree.members.is_empty() {
        let error = Message::new("cli-live-no-process").name("pid", pid.to_string());
        output.error(&error, Some(&Message::new("cli-live-list")));
        return UNREADABLE;
    }
    if is_zombie(pid) {
        let error = Message::new("cli-live-zombie").name("pid", pid.to_string());
        output.error(&error, Some(&Message::new("cli-live-list")));
        return REFUSED;
    }
    let mut tree = tree;
    let mut items: Vec<Item> = Vec::new();
    let mut sections = Vec::new();
    let mut next = None;
    if tree.drivers().next().is_none() {
        let none = || Message::new("cli-live-no-training").name("pid", pid.to_string());
        let text = stack_permission(pid).map_or_else(none, |missing| not_permitted(pid, &missing));
        items.push(Item { mark: Mark::Suspect, text });
        next = Some("whyidle".to_owned());
    } else if !options.no_watch {
        match watched(pid, options, output) {
            Ok((found, seen)) => {
                // What the program has loaded and started may have changed while it was watched.
                tree = seen;
                if let Some(found) = found {
                    next = found.next;
                    sections.push(("symptom-title", found.items));
                }
            }
            Err(status) => return status,
        }
    }
    items.extend(checks(Some(&tree)).iter().map(item));
    sections.push(("look-title", items));
    print(&sections, &next.unwrap_or_else(|| format!("whyidle attach {pid}")), options.format, output)
}

/// Watches the program for a moment, into a folder that does not stay.
fn watched(pid: u32, options: &CheckOptions, output: &Output) -> Result<(Option<Triage>, Tree), u8> {
    let failed = |error: std::io::Error| unwritten(&std::env::temp_dir(), &error, output);
    let folder = tempfile::Builder::new().prefix("whyidle-").tempdir().map_err(failed)?;
    let recorder = Recorder::create(folder.path()).map_err(failed)?;
    let interrupted = interruption();
    let mut watch = Watch::new(&[pid], recorder, Options::default());
    let command = watch.tree().drivers().next().map(|driver| driver.command.clone()).unwrap_or_default();
    let mut ticker = Ticker::new();
    watch.run(&mut |progress| {
        ticker.tick(progress, options.for_, output);
        until(interrupted.is_set() || progress.elapsed >= options.for_)
    });
    let seen = watch.finish(command, Vec::new(), Map::new()).map_err(failed)?.tree;
    let found = look(folder.path(), Subject::Process(pid)).map_err(|error| {
        output.read_error(&error);
        UNREADABLE
    })?;
    Ok((found, seen))
}

/// What is counted, so that words can follow the number.
const COUNTED: [&str; 4] = ["ranks", "workers", "threads", "cores"];

fn item(check: &Check) -> Item {
    let mark = match check.state {
        State::Ok => Mark::Ok,
        State::Suspect => Mark::Suspect,
        State::Bad => Mark::Bad,
    };
    let mut text = Message::new(check.id);
    for (name, value) in &check.found {
        text = match value.parse::<i64>() {
            Ok(count) if COUNTED.contains(name) => text.count(name, count),
            _ => text.name(name, value),
        };
    }
    Item { mark, text }
}
