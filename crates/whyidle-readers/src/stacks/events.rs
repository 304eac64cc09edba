//! `py-spy record -f chrometrace`: begin and end of each frame as Chrome's trace events, written when a sample differs from
//! the one before. Shares follow from how long stacks lasted. How many samples they are is not told, and samples come late
//! on a busy machine: the middle one of the times between two changes of a thread is taken for one, which is rather too
//! few samples than too many.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use whyidle_model::NoteCode;

use super::{Counted, DEEPEST};
use crate::budget::Guard;
use crate::logs::Log;
use crate::samples::collapsed::stack_of;

/// Microseconds: py-spy does not sample more often.
const SHORTEST: i64 = 1_000;

pub(crate) fn is_print(head: &str) -> bool {
    let head = head.trim_start();
    head.starts_with('[') && head.contains("\"cat\":\"py-spy\"") && head.contains("\"ph\":")
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event {
    ph: String,
    name: String,
    ts: Option<i64>,
    pid: u64,
    tid: u64,
    args: Args,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Args {
    filename: String,
    line: u64,
}

impl Event {
    fn frame(&self) -> String {
        match (self.args.filename.as_str(), self.args.line) {
            ("", _) => self.name.clone(),
            (file, 0) => format!("{} ({file})", self.name),
            (file, line) => format!("{} ({file}:{line})", self.name),
        }
    }
}

/// A thread's open frames, by number.
#[derive(Default)]
struct Open {
    frames: Vec<usize>,
    since: i64,
}

pub(crate) fn parse(text: &str, guard: &mut Guard) -> Log {
    let mut out = Counted::default();
    if !guard.pays(text.len() as u64) {
        return out.finish();
    }
    let Ok(events) = serde_json::from_str::<Vec<Event>>(text) else {
        out.log.notes.add(NoteCode::Truncated, None);
        return out.finish();
    };
    let mut threads: FxHashMap<(u64, u64), Open> = FxHashMap::default();
    let (mut names, mut numbers): (Vec<String>, FxHashMap<String, usize>) =
        (Vec::new(), FxHashMap::default());
    let mut lasted: FxHashMap<Vec<usize>, i64> = FxHashMap::default();
    let mut gaps: Vec<i64> = Vec::new();
    for event in &events {
        if !guard.pays(0) {
            break;
        }
        let Some(t) = event.ts.filter(|t| (0..1 << 60).contains(t) && !event.name.is_empty()) else {
            out.log.notes.add(NoteCode::MalformedEvent, None);
            continue;
        };
        let open = threads.entry((event.pid, event.tid)).or_default();
        if t - open.since >= SHORTEST && open.since > 0 {
            gaps.push(t - open.since);
        }
        if t > open.since && !open.frames.is_empty() {
            match lasted.get_mut(&open.frames) {
                Some(time) => *time = time.saturating_add(t - open.since),
                None => drop(lasted.insert(open.frames.clone(), t - open.since)),
            }
        }
        open.since = t;
        match event.ph.as_str() {
            "B" if open.frames.len() < DEEPEST => {
                let frame = event.frame();
                let number = numbers.get(&frame).copied().unwrap_or_else(|| {
                    numbers.insert(frame.clone(), names.len());
                    names.push(frame);
                    names.len() - 1
                });
                open.frames.push(number);
            }
            "E" => drop(open.frames.pop()),
            _ => out.log.notes.add(NoteCode::MalformedEvent, None),
        }
    }
    gaps.sort_unstable();
    let apart = gaps.get(gaps.len() / 2).copied().unwrap_or(SHORTEST);
    // In one order whatever the map's.
    let mut lasted: Vec<(Vec<usize>, i64)> = lasted.into_iter().collect();
    lasted.sort_unstable();
    for (frames, time) in lasted {
        let parts: Vec<&str> = frames.iter().map(|&number| names[number].as_str()).collect();
        let count = (time.saturating_add(apart / 2) / apart).max(1);
        match stack_of(&parts, &mut out.stacks, true) {
            Some(stack) if !stack.frames.is_empty() => {
                out.see(stack, u32::try_from(count).unwrap_or(u32::MAX), ' ', false);
            }
            Some(_) => {}
            None => out.log.notes.add(NoteCode::MalformedEvent, None),
        }
    }
    out.finish()
}
