//! Writes text into cells, by display width, and never outside.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use whyidle_diagnosis::Message;
use whyidle_report::Catalog;

use super::theme::{Tone, style};

/// Writes into an area of a screen.
pub(super) struct Pen<'a> {
    pub(super) area: Rect,
    pub(super) buffer: &'a mut Buffer,
    pub(super) catalog: &'a Catalog,
    pub(super) colour: bool,
}

impl Pen<'_> {
    /// Columns of the area.
    pub(super) fn width(&self) -> usize {
        usize::from(self.area.width)
    }

    /// Lines of the area.
    pub(super) fn height(&self) -> usize {
        usize::from(self.area.height)
    }

    /// A text without arguments, in the chosen language.
    pub(super) fn word(&self, id: &'static str) -> String {
        self.catalog.message(&Message::new(id))
    }

    /// Writes at a column and line of the area, at most `room` columns wide; the column after it.
    pub(super) fn put(&mut self, x: usize, y: usize, room: usize, tone: Tone, text: &str) -> usize {
        if y >= self.height() || x >= self.width() {
            return x;
        }
        let shown = clipped(text, room.min(self.width() - x));
        let (left, top) = (self.area.x + x as u16, self.area.y + y as u16);
        self.buffer.set_stringn(left, top, &shown, self.width() - x, style(tone, self.colour));
        x + shown.width()
    }

    /// Writes so that the text ends before column `x + room`.
    pub(super) fn right(&mut self, x: usize, y: usize, room: usize, tone: Tone, text: &str) {
        self.put(x + room.saturating_sub(text.width()), y, room, tone, text);
    }

    /// A heading with a rule behind it.
    pub(super) fn heading(&mut self, text: &str, focused: bool) {
        let tone = if focused { Tone::Strong } else { Tone::Faint };
        let rule = "─".repeat(self.width());
        self.put(0, 0, usize::MAX, Tone::Faint, &rule);
        let mark = if focused { "▸ " } else { "─ " };
        let x = self.put(0, 0, 2, tone, mark);
        self.put(x, 0, self.width().saturating_sub(x + 1), tone, &format!("{text} "));
    }

    /// Marks a line as chosen.
    pub(super) fn choose(&mut self, y: usize) {
        if y < self.height() {
            let line = Rect { y: self.area.y + y as u16, height: 1, ..self.area };
            self.buffer.set_style(line, style(Tone::Chosen, self.colour));
        }
    }

    /// The same pen on another area.
    pub(super) fn on(&mut self, area: Rect) -> Pen<'_> {
        let area = area.intersection(self.buffer.area);
        Pen { area, buffer: self.buffer, catalog: self.catalog, colour: self.colour }
    }
}

/// At most `room` columns of a text; an ellipsis where something is left out.
pub(super) fn clipped(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 0;
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        if used + width + 1 > room {
            break;
        }
        used += width;
        shown.push(c);
    }
    if room > 0 {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_clipped_by_display_width() {
        assert_eq!(clipped("data", 4), "data");
        assert_eq!(clipped("data", 3), "da…");
        assert_eq!(clipped("等待数据", 8), "等待数据");
        assert_eq!(clipped("等待数据", 6), "等待…");
        assert_eq!(clipped("等待", 1), "…");
        assert_eq!(clipped("x", 0), "");
    }
}
