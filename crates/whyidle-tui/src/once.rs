//! A single picture as text.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;
use whyidle_report::{Catalog, Lang};

use crate::source::Source;
use crate::state::State;
use crate::{Judge, view};

/// What `source` shows now, on a screen of so many columns and lines. Every program is judged.
#[must_use]
pub fn once(source: &dyn Source, judge: &dyn Judge, lang: Lang, size: (u16, u16)) -> String {
    let mut state = State::new(lang, false);
    state.update(source);
    state.judge(source, judge, true);
    picture(&state, size)
}

/// The picture of a state as text, without spaces at the ends of lines.
pub(crate) fn picture(state: &State, (columns, lines): (u16, u16)) -> String {
    let area = Rect::new(0, 0, columns, lines);
    let mut buffer = Buffer::empty(area);
    view::draw(state, &Catalog::new(state.lang), area, &mut buffer);
    let mut text = String::new();
    for y in 0..lines {
        let mut line = String::new();
        let mut x = 0;
        while x < columns {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // A wide character covers the cell behind it.
            x += u16::try_from(symbol.width().max(1)).unwrap_or(1);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
