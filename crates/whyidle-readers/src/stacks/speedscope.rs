//! Speedscope's file format, as `py-spy record -f speedscope` writes it: profiles of samples (`"type": "sampled"`), each a
//! list of frames by number, and the frames once. Profiles of other types (`evented`) are left out and counted.

use serde::Deserialize;
use whyidle_model::NoteCode;

use super::{Counted, DEEPEST};
use crate::budget::Guard;
use crate::logs::Log;
use crate::samples::collapsed::stack_of;

pub(crate) fn is_print(head: &str) -> bool {
    head.trim_start().starts_with('{') && head.contains("speedscope.app/file-format-schema")
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    profiles: Vec<Profile>,
    shared: Shared,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Profile {
    #[serde(rename = "type")]
    kind: String,
    name: String,
    samples: Vec<Vec<u32>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Shared {
    frames: Vec<Named>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
    file: Option<String>,
    line: Option<u64>,
}

impl Named {
    fn text(&self) -> String {
        // With its children, py-spy puts a process and a thread before the frames, without a place.
        let file = self.file.as_deref().unwrap_or("");
        match self.line {
            _ if file.is_empty() => self.name.clone(),
            Some(line) => format!("{} ({file}:{line})", self.name),
            None => format!("{} ({file})", self.name),
        }
    }
}

pub(crate) fn parse(text: &str, guard: &mut Guard) -> Log {
    let mut out = Counted::default();
    if !guard.pays(text.len() as u64) {
        return out.finish();
    }
    let Ok(file) = serde_json::from_str::<File>(text) else {
        out.log.notes.add(NoteCode::Truncated, None);
        return out.finish();
    };
    let frames: Vec<String> = file.shared.frames.iter().map(Named::text).collect();
    for profile in &file.profiles {
        if profile.kind != "sampled" {
            out.log.notes.add(NoteCode::Unused, None);
            continue;
        }
        let head = head(&profile.name);
        for sample in &profile.samples {
            if !guard.pays(0) {
                break;
            }
            let known: Option<Vec<&str>> = sample
                .iter()
                .take(DEEPEST)
                .map(|&number| frames.get(number as usize).map(String::as_str))
                .collect();
            let Some(known) = known.filter(|known| !known.is_empty()) else {
                out.log.notes.add(NoteCode::MalformedEvent, None);
                continue;
            };
            let parts: Vec<&str> = head.iter().map(String::as_str).chain(known).collect();
            if let Some(stack) = stack_of(&parts, &mut out.stacks, true) {
                out.see(stack, 1, ' ', false);
            }
        }
    }
    out.finish()
}

/// `Process 12622 Thread 12622 "MainThread"`, in the words of a collapsed stack.
fn head(name: &str) -> Vec<String> {
    let after =
        |word: &str| -> Option<u64> { name.split_once(word)?.1.split_whitespace().next()?.parse().ok() };
    let (Some(process), thread) = (after("Process "), after("Thread ")) else { return Vec::new() };
    let quoted =
        name.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"')).map_or("", |(name, _)| name);
    let thread = thread.map(|number| {
        if quoted.is_empty() { format!("thread ({number})") } else { format!("thread ({number}): {quoted}") }
    });
    [Some(format!("process {process}:")), thread].into_iter().flatten().collect()
}
