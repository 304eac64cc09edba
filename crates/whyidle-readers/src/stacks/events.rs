//! `py-spy record -f chrometrace`: begin and end of each frame as Chrome's trace events, written when a sample differs from
//! the one before. A stack counts for the samples that it lasted; how far apart those are is the shortest distance of two
//! times, at least a thousandth of a second.

use std::collections::BTreeMap;

use serde_json::Value;
use whyidle_model::NoteCode;

use super::{Counted, DEEPEST};
use crate::logs::Log;
use crate::samples::collapsed::stack_of;

/// Microseconds: py-spy does not sample more often.
const SHORTEST: i64 = 1_000;

pub(crate) fn is_print(head: &str) -> bool {
    let head = head.trim_start();
    head.starts_with('[') && head.contains("\"cat\":\"py-spy\"") && head.contains("\"ph\":")
}

/// A thread's open frames.
#[derive(Default)]
struct Open {
    frames: Vec<String>,
    since: i64,
}

pub(crate) fn parse(text: &str) -> Log {
    let mut out = Counted::default();
    let events: Vec<Value> = match serde_json::from_str(text) {
        Ok(events) => events,
        Err(_) => {
            out.log.notes.add(NoteCode::Truncated, None);
            return out.finish();
        }
    };
    let mut threads: BTreeMap<(u64, u64), Open> = BTreeMap::new();
    let mut lasted: BTreeMap<Vec<String>, i64> = BTreeMap::new();
    let mut times: Vec<i64> = Vec::new();
    for event in &events {
        let (Some(phase), Some(name), Some(t)) = (
            event["ph"].as_str(),
            event["name"].as_str(),
            event["ts"].as_i64().filter(|t| (0..1 << 60).contains(t)),
        ) else {
            out.log.notes.add(NoteCode::MalformedEvent, None);
            continue;
        };
        let open = threads
            .entry((event["pid"].as_u64().unwrap_or(0), event["tid"].as_u64().unwrap_or(0)))
            .or_default();
        if t > open.since && !open.frames.is_empty() {
            let time = lasted.entry(open.frames.clone()).or_default();
            *time = time.saturating_add(t - open.since);
        }
        open.since = t;
        times.push(t);
        let (file, line) =
            (event["args"]["filename"].as_str().unwrap_or(""), event["args"]["line"].as_u64().unwrap_or(0));
        match phase {
            "B" if open.frames.len() < DEEPEST => open.frames.push(match (file, line) {
                ("", _) => name.to_owned(),
                (file, 0) => format!("{name} ({file})"),
                (file, line) => format!("{name} ({file}:{line})"),
            }),
            "E" => drop(open.frames.pop()),
            _ => out.log.notes.add(NoteCode::MalformedEvent, None),
        }
    }
    times.sort_unstable();
    let apart = times
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .filter(|gap| *gap >= SHORTEST)
        .min()
        .unwrap_or(SHORTEST);
    for (frames, time) in lasted {
        let parts: Vec<&str> = frames.iter().map(String::as_str).collect();
        let count = ((time + apart / 2) / apart).max(1);
        match stack_of(&parts, &mut out.stacks, true) {
            Some(stack) if !stack.frames.is_empty() => {
                out.see(stack, u32::try_from(count).unwrap_or(u32::MAX), ' ', false)
            }
            Some(_) => {}
            None => out.log.notes.add(NoteCode::MalformedEvent, None),
        }
    }
    out.finish()
}
