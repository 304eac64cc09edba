//! `py-spy dump`, once or several times: each thread's stack in the moment, innermost frame first, and whether it runs and
//! holds the interpreter's lock; as text, with local variables or without, or as JSON (`-j`).

use serde_json::Value;
use whyidle_model::{Frame, NoteCode, Stack};

use super::{Counted, DEEPEST};
use crate::budget::Guard;
use crate::logs::Log;
use crate::samples::collapsed::frame;

pub(crate) fn is_print(head: &str) -> bool {
    is_json(head)
        || head.lines().any(|line| thread(line).is_some())
            && head.lines().any(|line| line.starts_with("Process ") || line.starts_with("Python v"))
}

fn is_json(head: &str) -> bool {
    head.trim_start().starts_with('[') && head.contains("\"owns_gil\"") && head.contains("\"frames\"")
}

/// `Thread 11013 (idle): "MainThread"`, `Thread 0x7F (active+gil): "side"`: its state and its name.
fn thread(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.strip_prefix("Thread ")?.split_once(" (")?;
    let (state, name) = rest.split_once(')')?;
    ["active", "idle"]
        .iter()
        .any(|word| state.starts_with(word))
        .then(|| (state, name.trim_start_matches(':').trim().trim_matches('"')))
}

pub(crate) fn parse(text: &str, guard: &mut Guard) -> Log {
    let mut out = Counted::default();
    if is_json(text) {
        json(text, guard, &mut out);
        return out.finish();
    }
    let (mut pid, mut current): (u32, Option<(char, bool, String)>) = (0, None);
    let mut frames: Vec<Frame> = Vec::new();
    for line in guard.lines(text) {
        if let Some(rest) = line.strip_prefix("Process ") {
            close(pid, &mut current, &mut frames, &mut out);
            pid = rest.split(':').next().and_then(|pid| pid.trim().parse().ok()).unwrap_or(0);
        } else if let Some((state, name)) = thread(line) {
            close(pid, &mut current, &mut frames, &mut out);
            let letter = if state.starts_with("active") { 'R' } else { 'S' };
            current = Some((letter, state.contains("gil"), name.to_owned()));
        } else if current.is_some()
            && line.starts_with("    ")
            && line.ends_with(')')
            && !line.starts_with("     ")
            && frames.len() < DEEPEST
        {
            // Variables are set in further.
            frames.push(frame(line.trim(), &mut out.stacks));
        }
    }
    close(pid, &mut current, &mut frames, &mut out);
    out.finish()
}

fn close(pid: u32, current: &mut Option<(char, bool, String)>, frames: &mut Vec<Frame>, out: &mut Counted) {
    let mut frames = std::mem::take(frames);
    let Some((state, gil, name)) = current.take() else { return };
    frames.reverse();
    let thread = out.stacks.names.intern(&name);
    out.see(Stack { pid, parents: Vec::new(), thread, frames }, 1, state, gil);
}

fn json(text: &str, guard: &mut Guard, out: &mut Counted) {
    if !guard.pays(text.len() as u64) {
        return;
    }
    let Ok(Value::Array(threads)) = serde_json::from_str::<Value>(text) else {
        out.log.notes.add(NoteCode::Truncated, None);
        return;
    };
    for thread in &threads {
        if !guard.pays(0) {
            return;
        }
        let Some(list) = thread["frames"].as_array() else {
            out.log.notes.add(NoteCode::MalformedEvent, None);
            continue;
        };
        let frames: Vec<Frame> = list
            .iter()
            .rev()
            .take(DEEPEST)
            .map(|frame| Frame {
                function: out.stacks.names.intern(frame["name"].as_str().unwrap_or("")),
                file: out.stacks.names.intern(frame["filename"].as_str().unwrap_or("")),
                line: frame["line"].as_u64().and_then(|line| u32::try_from(line).ok()).unwrap_or(0),
            })
            .collect();
        let name = out.stacks.names.intern(thread["thread_name"].as_str().unwrap_or(""));
        let pid = thread["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
        let state = if thread["active"].as_bool() == Some(true) { 'R' } else { 'S' };
        out.see(
            Stack { pid, parents: Vec::new(), thread: name, frames },
            1,
            state,
            thread["owns_gil"].as_bool() == Some(true),
        );
    }
}
