//! The first line, which says what is shown, and the last, which names the keys.

use unicode_width::UnicodeWidthStr;
use whyidle_diagnosis::{Arg, Message};

use super::pen::Pen;
use super::theme::Tone;
use crate::source::Status;
use crate::state::State;

pub(super) fn head(state: &State, pen: &mut Pen<'_>) {
    let width = pen.width();
    let (tone, status) = status(state, pen);
    let seconds = i64::try_from(state.window().as_secs()).unwrap_or(i64::MAX);
    let window = pen.catalog.message(&Message::new("top-window").count("seconds", seconds));
    let right = format!("{status} · {window}");
    let room = width.saturating_sub(right.width() + 1);
    let mut x = pen.put(0, 0, room, Tone::Strong, "whyidle top");
    if let Some((_, program)) = state.program() {
        let what = super::gpus::named(program, pen);
        x = pen.put(x + 2, 0, room.saturating_sub(x + 2), Tone::Plain, &what);
    }
    let begin = (width.saturating_sub(right.width())).max(x + 1);
    let after = pen.put(begin, 0, usize::MAX, tone, &status);
    pen.put(after, 0, usize::MAX, Tone::Faint, &format!(" · {window}"));
}

fn status(state: &State, pen: &Pen<'_>) -> (Tone, String) {
    if state.programs.iter().any(|program| program.ended) && state.programs.iter().all(|p| p.ended) {
        return (Tone::Warning, pen.word("top-ended"));
    }
    match state.status {
        Status::Ended => (Tone::Warning, pen.word("top-ended")),
        Status::Broken => (Tone::Warning, pen.word("top-broken")),
        Status::Replay { speed } => {
            let seconds = |ns: i64| Arg::Number(ns as f64 / 1e9, 0);
            let message = Message::new("top-playing")
                .with("at", seconds(state.now - state.first))
                .with("whole", seconds(state.last - state.first))
                .with("speed", Arg::Number(speed, if speed < 1.0 { 3 } else { 0 }));
            let text = pen.catalog.message(&message);
            if state.paused {
                (Tone::Warning, format!("{} · {text}", pen.word("top-paused")))
            } else {
                (Tone::Plain, text)
            }
        }
        Status::Live if state.paused => (Tone::Warning, pen.word("top-paused")),
        Status::Live => (Tone::Working, pen.word("top-live")),
    }
}

pub(super) fn foot(state: &State, pen: &mut Pen<'_>) {
    let replayed = matches!(state.status, Status::Replay { .. });
    let mut keys = vec![("?", "top-key-help"), ("q", "top-key-quit"), ("Tab", "top-key-panel")];
    keys.extend([("↑↓", "top-key-choose"), ("p", "top-key-pause"), ("+-", "top-key-window")]);
    if replayed {
        keys.extend([("←→", "top-key-seek"), ("[]", "top-key-speed")]);
    }
    keys.extend([("Enter", "top-key-zoom"), ("l", "top-key-language")]);
    let mut x = 0;
    for (key, id) in keys {
        let what = pen.word(id);
        if x + key.width() + what.width() + 2 > pen.width() {
            break;
        }
        x = pen.put(x, 0, usize::MAX, Tone::Strong, key);
        x = pen.put(x + 1, 0, usize::MAX, Tone::Faint, &what) + 2;
    }
}
