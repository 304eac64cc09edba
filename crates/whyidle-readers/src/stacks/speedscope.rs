//! Speedscope's file format, as `py-spy record -f speedscope` writes it: profiles of samples (`"type": "sampled"`), each a
//! list of frames by number, and the frames once. Profiles of other types (`evented`) are left out and counted.

use serde_json::Value;
use whyidle_model::NoteCode;

use super::{Counted, DEEPEST};
use crate::logs::Log;
use crate::samples::collapsed::stack_of;

pub(crate) fn is_print(head: &str) -> bool {
    head.trim_start().starts_with('{') && head.contains("speedscope.app/file-format-schema")
        || head.trim_start().starts_with("{\"profiles\":[{\"type\":\"sampled\"")
}

pub(crate) fn parse(text: &str) -> Log {
    let mut out = Counted::default();
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        out.log.notes.add(NoteCode::Truncated, None);
        return out.finish();
    };
    let frame = |frame: &Value| {
        let (name, file) = (frame["name"].as_str().unwrap_or(""), frame["file"].as_str().unwrap_or(""));
        // With its children, py-spy puts a process and a thread before the frames, without a place.
        match frame["line"].as_u64() {
            _ if file.is_empty() => name.to_owned(),
            Some(line) => format!("{name} ({file}:{line})"),
            None => format!("{name} ({file})"),
        }
    };
    let frames: Vec<String> = value["shared"]["frames"].as_array().into_iter().flatten().map(frame).collect();
    for profile in value["profiles"].as_array().into_iter().flatten() {
        if profile["type"].as_str() != Some("sampled") {
            out.log.notes.add(NoteCode::Unused, None);
            continue;
        }
        let head = head(profile["name"].as_str().unwrap_or(""));
        for sample in profile["samples"].as_array().into_iter().flatten() {
            let numbers = sample.as_array().into_iter().flatten().take(DEEPEST);
            let known: Option<Vec<&str>> = numbers
                .map(|number| Some(frames.get(usize::try_from(number.as_u64()?).ok()?)?.as_str()))
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
