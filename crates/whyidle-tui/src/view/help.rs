//! The keys, and what the figures mean.

use unicode_width::UnicodeWidthStr;
use whyidle_report::wrap;

use super::pen::Pen;
use super::theme::Tone;
use crate::source::Status;
use crate::state::State;

const KEYS: [(&str, &str); 10] = [
    ("q, Esc, Ctrl-C", "top-help-quit"),
    ("?, h, F1", "top-help-help"),
    ("↑ ↓, k j", "top-help-choose"),
    ("Tab, Shift-Tab", "top-help-panel"),
    ("Enter, z", "top-help-zoom"),
    ("p, Space", "top-help-pause"),
    ("+ -", "top-help-window"),
    ("l", "top-help-language"),
    ("Ctrl-Z", "top-help-suspend"),
    ("Ctrl-L", "top-help-redraw"),
];
const KEYS_OF_REPLAY: [(&str, &str); 3] =
    [("← →, PgUp PgDn", "top-help-seek"), ("Home End", "top-help-ends"), ("[ ]", "top-help-speed")];
const MEANINGS: [&str; 3] = ["top-help-busy", "top-help-ledger", "top-help-absent"];

pub(super) fn draw(state: &State, pen: &mut Pen<'_>) {
    let title = pen.word("top-help-title");
    pen.heading(&title, true);
    let replayed = matches!(state.status, Status::Replay { .. });
    let more: &[(&'static str, &'static str)] = if replayed { &KEYS_OF_REPLAY } else { &[] };
    let keys: Vec<(&'static str, &'static str)> = more.iter().chain(&KEYS).copied().collect();
    let label = keys.iter().map(|(key, _)| key.width()).max().unwrap_or(0) + 2;
    let mut y = 1;
    for (key, id) in keys {
        let what = pen.word(id);
        pen.put(1, y, label, Tone::Strong, key);
        pen.put(1 + label, y, usize::MAX, Tone::Plain, &what);
        y += 1;
    }
    y += 1;
    for id in MEANINGS {
        let text = pen.word(id);
        for line in wrap(&text, pen.width().saturating_sub(2), pen.width().saturating_sub(2)) {
            pen.put(1, y, usize::MAX, Tone::Faint, &line);
            y += 1;
        }
    }
}
