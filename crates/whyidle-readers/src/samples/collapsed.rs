//! Collapsed stacks, one a line: `process 7:"cmd";thread (7): MainThread;f (file.py:3);… COUNT`.

use rustc_hash::FxHashMap;
use whyidle_model::{Frame, Seen, Stack, Stacks};

/// Stacks and the number of lines that made no sense.
pub(super) fn read(bytes: &[u8]) -> (Stacks, u64) {
    let text = String::from_utf8_lossy(bytes);
    let (mut out, mut dropped) = (Stacks::default(), 0);
    let mut known: FxHashMap<Stack, usize> = FxHashMap::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some((stack, count)) = parse(line, &mut out, false) else {
            dropped += 1;
            continue;
        };
        let at = *known.entry(stack.clone()).or_insert_with(|| {
            out.stacks.push(stack);
            out.stacks.len() - 1
        });
        out.seen.push(Seen { t: None, stack: at, count, state: ' ', gil: false });
    }
    (out, dropped)
}

/// A line's stack and count. `loose`: a stack without a process is one of process 0, and where threads have no names the
/// one with the process's own number, or the only one, is the main thread.
pub(crate) fn parse(line: &str, out: &mut Stacks, loose: bool) -> Option<(Stack, u32)> {
    let (stack, count) = line.rsplit_once(' ')?;
    let count: u32 = count.trim().parse().ok()?;
    Some((stack_of(&parts(stack), out, loose)?, count))
}

/// The stack that the parts of a collapsed one are: processes and a thread, if they are told, then frames.
pub(crate) fn stack_of(parts: &[&str], out: &mut Stacks, loose: bool) -> Option<Stack> {
    let mut processes: Vec<u32> = Vec::new();
    let (mut thread, mut frames) = (None, Vec::new());
    for part in parts.iter().filter(|part| !loose || !part.is_empty()) {
        if let Some(rest) = part.strip_prefix("process ").filter(|_| frames.is_empty()) {
            processes.push(rest.split(':').next()?.trim().parse().ok()?);
        } else if let Some(rest) = part.strip_prefix("thread (").filter(|_| frames.is_empty()) {
            thread = Some(rest.split_once("): ").unwrap_or((rest.trim_end_matches(')'), "")));
        } else {
            frames.push(frame(part, out));
        }
    }
    let pid = match processes.pop() {
        Some(pid) => pid,
        None if loose => 0,
        None => return None,
    };
    let is_started_by_another =
        || frames.first().is_some_and(|frame| out.names.get(frame.function).ends_with("_bootstrap"));
    let name = match thread {
        Some((number, "")) if loose && number.parse() == Ok(pid) => MAIN,
        Some((_, name)) => name,
        None if loose && !is_started_by_another() => MAIN,
        None => "",
    };
    Some(Stack { pid, parents: processes, thread: out.names.intern(name), frames })
}

/// What CPython calls the thread that a process begins with.
const MAIN: &str = "MainThread";

/// The parts between semicolons; a command line in quotes may hold some itself.
fn parts(stack: &str) -> Vec<&str> {
    let (mut parts, mut start, mut quoted) = (Vec::new(), 0, false);
    for (at, byte) in stack.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b';' if !quoted => {
                parts.push(&stack[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&stack[start..]);
    parts
}

/// `Linear.forward (torch/nn/modules/linear.py:134)`.
pub(crate) fn frame(text: &str, out: &mut Stacks) -> Frame {
    let (function, place) =
        text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")).unwrap_or((text, ""));
    let (file, line) = match place.rsplit_once(':') {
        Some((file, line)) => (file, line.parse().unwrap_or(0)),
        None => (place, 0),
    };
    Frame { function: out.names.intern(function), file: out.names.intern(file), line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_threads_and_frames_are_told_apart() {
        let line = "process 485:\"python3 -c a;b\";process 495:\"python3\";thread (505): Thread-1 (_serve);\
                    main.<locals>.<lambda> (train.py:157);Connection._poll (multiprocessing/connection.py:440) 12\n";
        let (stacks, dropped) = read(line.as_bytes());
        assert_eq!(dropped, 0);
        let stack = &stacks.stacks[0];
        assert_eq!((stack.pid, &stack.parents[..], stacks.seen[0].count), (495, &[485][..], 12));
        assert_eq!(stacks.names.get(stack.thread), "Thread-1 (_serve)");
        let names: Vec<_> = stack
            .frames
            .iter()
            .map(|f| (stacks.names.get(f.function), stacks.names.get(f.file), f.line))
            .collect();
        assert_eq!(names[0], ("main.<locals>.<lambda>", "train.py", 157));
        assert_eq!(names[1], ("Connection._poll", "multiprocessing/connection.py", 440));
    }

    #[test]
    fn lines_without_a_count_or_a_process_are_counted() {
        let (stacks, dropped) =
            read(b"process 1:\"p\";f (a.py:1)\nf (a.py:1) 3\nprocess x:\"p\" 3\n\xff\xff 1\n");
        assert_eq!((stacks.seen.len(), dropped), (0, 4));
    }
}
