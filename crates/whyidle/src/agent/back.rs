//! Looks back at what an agent kept: which recordings there are, and what was so at a time.

use std::path::Path;

use whyidle_agent::ring::{self, Entry};
use whyidle_agent::settings::Settings;
use whyidle_agent::time::{parse, written_out};
use whyidle_diagnosis::{Arg, Message};
use whyidle_observe::clock;
use whyidle_readers::samples;
use whyidle_report::{Item, Mark, render_items};

use super::AgentOptions;
use crate::output::Output;
use crate::show::{NoVerdict, show};
use crate::{REACHED, REFUSED, UNREADABLE, diagnose};

/// Samples before and after the time asked for that a verdict is built on, ns.
const AROUND: i64 = 180_000_000_000;

pub(crate) fn run(options: &AgentOptions, settings: &Settings, output: &Output) -> u8 {
    let Some(dir) = settings.ring.dir.as_deref() else {
        output.error(&Message::new("agent-no-ring"), Some(&Message::new("agent-no-ring-hint")));
        return UNREADABLE;
    };
    let entries = match ring::list(dir) {
        Ok(entries) => entries,
        Err(error) => {
            let text = Message::new("http-file")
                .name("path", dir.display().to_string())
                .name("reason", error.to_string());
            output.error(&text, None);
            return UNREADABLE;
        }
    };
    match &options.at {
        None => list(dir, &entries, output),
        Some(text) => match parse(text, clock::now_ns()) {
            Some(unix_ns) => at(&entries, unix_ns, options, dir, output),
            None => {
                let error = Message::new("agent-no-time").name("text", text);
                output.error(&error, Some(&Message::new("agent-no-time-hint")));
                UNREADABLE
            }
        },
    }
}

fn name(entry: &Entry) -> String {
    entry.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn list(dir: &Path, entries: &[Entry], output: &Output) -> u8 {
    let items: Vec<Item> = entries.iter().flat_map(items).collect();
    let title = if items.is_empty() { "agent-ring-empty" } else { "agent-ring-title" };
    let next = match entries.last() {
        Some(last) => format!("whyidle agent --ring {} --at {}", dir.display(), name(last)),
        None => format!("whyidle agent --ring {}", dir.display()),
    };
    let text = render_items(&[(title, items)], &next, &output.catalog, &output.text_options(false));
    output.data(&text, REACHED)
}

/// A recording, and what changed in it.
fn items(entry: &Entry) -> Vec<Item> {
    let recording = Message::new("agent-ring-entry")
        .name("from", written_out(entry.from))
        .time("length", entry.until - entry.from)
        .with("bytes", Arg::Bytes(i64::try_from(entry.bytes).unwrap_or(i64::MAX)))
        .count("runs", entry.recorded.pids.len());
    std::iter::once(Item { mark: Mark::Plain, text: recording })
        .chain(entry.changes.iter().map(|told| Item { mark: Mark::Suspect, text: change(told) }))
        .collect()
}

fn change(told: &ring::Told) -> Message {
    let ns = |ms: f64| (ms * 1e6).round() as i64;
    let what = told.what.iter().map(|text| Arg::Message(Box::new(text.clone()))).collect();
    Message::new("agent-changed")
        .name("job", &told.job)
        .name("pid", told.pid.to_string())
        .time("before", ns(told.before_ms))
        .time("after", ns(told.after_ms))
        .with("what", Arg::List(what))
}

fn at(entries: &[Entry], unix_ns: i64, options: &AgentOptions, dir: &Path, output: &Output) -> u8 {
    let Some(entry) = ring::at(entries, unix_ns) else {
        let error = Message::new("agent-not-covered").name("time", written_out(unix_ns));
        let list = Message::new("agent-not-covered-hint").name("dir", dir.display().to_string());
        output.error(&error, Some(&list));
        return REFUSED;
    };
    let found = match samples::read(&entry.path) {
        Ok(found) => found.samples.between(unix_ns - AROUND, unix_ns + AROUND),
        Err(error) => {
            output.read_error(&error);
            return UNREADABLE;
        }
    };
    let pids = &entry.recorded.pids;
    let pid = match (options.pid, &pids[..]) {
        (Some(pid), _) if pids.is_empty() || pids.contains(&pid) => Some(pid),
        (None, []) => None,
        (None, [only]) => Some(*only),
        _ => return which(entry, unix_ns, dir, output),
    };
    for told in entry.changes.iter().filter(|told| Some(told.pid) == pid) {
        output.say(&change(told));
    }
    // The other programs of the node are no ranks of this one, unless they say so.
    let mut recorded = entry.recorded.clone();
    let own_rank = recorded.drivers.iter().find(|known| Some(known.pid) == pid).and_then(|known| known.rank);
    recorded.drivers.retain(|known| Some(known.pid) == pid || own_rank.is_some() && known.rank.is_some());
    let path = entry.path.display().to_string();
    let (_, reached) = diagnose::of_program(&found, &recorded, pid, &path);
    show(&reached.map_err(NoVerdict::Refused), options.showing(), output)
}

/// Several programs ran: they are listed, with the command for each.
fn which(entry: &Entry, unix_ns: i64, dir: &Path, output: &Output) -> u8 {
    let one = |pid: &u32| {
        let command = entry.recorded.commands.get(pid).map(|words| words.join(" ")).unwrap_or_default();
        let text = Message::new("agent-ring-run").name("pid", pid.to_string()).name("command", command);
        Item { mark: Mark::Plain, text }
    };
    let runs: Vec<Item> = entry.recorded.pids.iter().map(one).collect();
    let changes: Vec<Item> =
        entry.changes.iter().map(|told| Item { mark: Mark::Suspect, text: change(told) }).collect();
    let first = entry.recorded.pids.first().copied().unwrap_or_default();
    let time = written_out(unix_ns).replace(' ', "T");
    let next = format!("whyidle agent --ring {} --at {time} --pid {first}", dir.display());
    let mut sections = vec![("agent-ring-runs", runs)];
    if !changes.is_empty() {
        sections.push(("agent-ring-changes", changes));
    }
    let text = render_items(&sections, &next, &output.catalog, &output.text_options(false));
    output.data(&text, REACHED)
}
