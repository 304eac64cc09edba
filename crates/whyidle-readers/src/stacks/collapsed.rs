//! Collapsed stacks, one a line with a count: `py-spy record -f raw`, `flamegraph.pl`'s input; and
//! `torch.profiler.export_stacks`, whose frames read `train.py(12):_main` and whose numbers are microseconds that operators
//! took themselves.

use whyidle_model::{NoteCode, Stacks};

use super::Counted;
use crate::budget::Guard;
use crate::logs::Log;
use crate::samples::collapsed::parse as parse_line;

/// Lines of the head that must look so.
const ENOUGH: usize = 3;

pub(crate) fn is_print(head: &str) -> bool {
    let mut lines = head.lines().filter(|line| !line.trim().is_empty()).take(64).peekable();
    let (mut good, mut bad) = (0, 0);
    while let Some(line) = lines.next() {
        // The head may end inside its last line.
        let is_last = lines.peek().is_none();
        let counted =
            line.rsplit_once(' ').filter(|(_, count)| count.parse::<u32>().is_ok()).map(|(stack, _)| stack);
        match counted {
            Some("") => {}
            Some(stack) if frames(stack) > 0 && (frames(stack) == places(stack) || is_exported(stack)) => {
                good += 1
            }
            _ if is_last => {}
            _ => bad += 1,
        }
    }
    good > 0 && bad == 0 && (good >= ENOUGH || head.len() < 1 << 12)
}

fn is_head(part: &&str) -> bool {
    part.starts_with("process ") || part.starts_with("thread (")
}

fn frames(stack: &str) -> usize {
    stack.split(';').filter(|part| !is_head(part) && !part.is_empty()).count()
}

/// Frames that say where they are: `f (a.py:3)`, `f (<string>)`, `a.py(3):_f`.
fn places(stack: &str) -> usize {
    // A place is a file, perhaps with a line; a number alone is none.
    let has_place = |part: &&str| {
        let place = part.strip_suffix(')').and_then(|part| part.rsplit_once(" (")).map(|(_, place)| place);
        place.is_some_and(|place| place.contains(['.', ':', '<'])) || of_torch(part).is_some()
    };
    stack.split(';').filter(|part| !is_head(part) && !part.is_empty()).filter(has_place).count()
}

/// A stack of `export_stacks`: of its frames some say where they are, others are modules (`nn.Module:_Linear_0`) and
/// functions that are built in; blanks were replaced in all.
fn is_exported(stack: &str) -> bool {
    !stack.contains(' ') && stack.split(';').any(|part| of_torch(part).is_some())
}

/// `train.py(12):_main`: file, line, function.
fn of_torch(part: &str) -> Option<(&str, &str, &str)> {
    let (place, function) = part.split_once("):_")?;
    let (file, line) = place.rsplit_once('(')?;
    line.parse::<u32>().is_ok().then_some((file, line, function))
}

pub(crate) fn parse(text: &str, guard: &mut Guard) -> Log {
    let mut out = Counted::default();
    for line in guard.lines(text).filter(|line| !line.trim().is_empty()) {
        if line.rsplit_once(' ').is_some_and(|(stack, _)| is_exported(stack)) {
            out.log.is_weighted_by_time = true;
            if !torch(line, &mut out) {
                out.log.notes.add(NoteCode::MalformedEvent, None);
            }
            continue;
        }
        // What a thread without a frame was seen doing is nothing.
        if line.starts_with(' ') {
            continue;
        }
        match parse_line(line, &mut out.stacks, true) {
            Some((stack, count)) if !stack.frames.is_empty() => out.see(stack, count, ' ', false),
            Some(_) => {}
            None => out.log.notes.add(NoteCode::MalformedEvent, None),
        }
    }
    out.finish()
}

fn torch(line: &str, out: &mut Counted) -> bool {
    let Some((stack, count)) =
        line.rsplit_once(' ').and_then(|(stack, count)| Some((stack, count.parse::<u64>().ok()?)))
    else {
        return false;
    };
    let frame = |part: &str, stacks: &mut Stacks| {
        let text = match of_torch(part) {
            Some((file, line, function)) => format!("{function} ({file}:{line})"),
            None => part.to_owned(),
        };
        crate::samples::collapsed::frame(&text, stacks)
    };
    let frames: Vec<_> =
        stack.split(';').take(super::DEEPEST).map(|part| frame(part, &mut out.stacks)).collect();
    let thread = out.stacks.names.intern("MainThread");
    out.see(
        whyidle_model::Stack { pid: 0, parents: Vec::new(), thread, frames },
        u32::try_from(count).unwrap_or(u32::MAX),
        ' ',
        false,
    );
    true
}
