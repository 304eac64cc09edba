//! A page of text: columns counted in terminal cells, colour by role, no trailing spaces.

use super::wrap::wrap;
use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Plain,
    /// Headings, and the sentence.
    Strong,
    /// Said for completeness.
    Faint,
    /// The GPU works.
    Working,
    /// The GPU waits.
    Waiting,
    /// A gain.
    Gain,
    /// Something is wrong with the evidence.
    Warning,
    /// To be typed or pasted.
    Code,
}

impl Role {
    fn style(self) -> Style {
        let colour = |colour: AnsiColor| colour.on_default();
        match self {
            Self::Plain => Style::new(),
            Self::Strong => Style::new().bold(),
            Self::Faint => Style::new().dimmed(),
            Self::Working => colour(AnsiColor::Green),
            Self::Waiting => colour(AnsiColor::Red),
            Self::Gain => colour(AnsiColor::Green).bold(),
            Self::Warning => colour(AnsiColor::Yellow),
            Self::Code => colour(AnsiColor::Cyan),
        }
    }
}

/// The page being written.
pub(crate) struct Canvas {
    done: String,
    line: Vec<(Role, String)>,
    column: usize,
    /// Columns of a line.
    pub(crate) width: usize,
    colour: bool,
}

impl Canvas {
    pub(crate) fn new(width: usize, colour: bool) -> Self {
        Self { done: String::new(), line: Vec::new(), column: 0, width, colour }
    }

    /// Adds to the current line.
    pub(crate) fn put(&mut self, role: Role, text: &str) -> &mut Self {
        self.column += text.width();
        self.line.push((role, text.to_owned()));
        self
    }

    /// Spaces up to `column`; none if the line is there already.
    pub(crate) fn to(&mut self, column: usize) -> &mut Self {
        let missing = column.saturating_sub(self.column);
        self.put(Role::Plain, &" ".repeat(missing))
    }

    /// Adds `text` so that it ends before column `end`.
    pub(crate) fn right(&mut self, role: Role, text: &str, end: usize) -> &mut Self {
        self.to(end.saturating_sub(text.width())).put(role, text)
    }

    /// Ends the line.
    pub(crate) fn end(&mut self) {
        while let Some((_, text)) = self.line.last_mut() {
            text.truncate(text.trim_end().len());
            if !text.is_empty() {
                break;
            }
            self.line.pop();
        }
        for (role, text) in self.line.drain(..) {
            let style = role.style();
            if self.colour && role != Role::Plain && !text.trim().is_empty() {
                self.done.push_str(&format!("{style}{text}{style:#}"));
            } else {
                self.done.push_str(&text);
            }
        }
        self.done.push('\n');
        self.column = 0;
    }

    /// An empty line, unless there is one.
    pub(crate) fn blank(&mut self) {
        if !self.done.is_empty() && !self.done.ends_with("\n\n") {
            self.done.push('\n');
        }
    }

    /// Prose from the current column on, continued below it, and the end of the line.
    pub(crate) fn flow(&mut self, role: Role, text: &str) {
        let start = self.column;
        self.flow_to(role, text, start);
    }

    /// Prose from the current column on, continued at column `indent`.
    pub(crate) fn flow_to(&mut self, role: Role, text: &str, indent: usize) {
        let lines = wrap(text, self.width.saturating_sub(self.column), self.width.saturating_sub(indent));
        if lines.is_empty() {
            self.end();
        }
        for (i, line) in lines.iter().enumerate() {
            if i > 0 {
                self.to(indent);
            }
            self.put(role, line).end();
        }
    }

    /// Room left on the line.
    pub(crate) fn room(&self) -> usize {
        self.width.saturating_sub(self.column)
    }

    /// The page.
    pub(crate) fn finish(mut self) -> String {
        if self.column > 0 {
            self.end();
        }
        self.done.truncate(self.done.trim_end().len());
        self.done.push('\n');
        self.done
    }
}
