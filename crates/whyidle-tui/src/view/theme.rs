//! Colours by meaning; without colour, weight alone tells things apart.

use ratatui::style::{Color, Modifier, Style};

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    /// Headings of what has the focus, the headline.
    Strong,
    /// Labels, hints.
    Faint,
    /// The GPU works.
    Working,
    /// The GPU waits.
    Waiting,
    /// Something to look at.
    Warning,
    /// The chosen line.
    Chosen,
}

pub(super) fn style(tone: Tone, colour: bool) -> Style {
    let tinted = |tint: Color| if colour { Style::new().fg(tint) } else { Style::new() };
    match tone {
        Tone::Plain => Style::new(),
        Tone::Strong => Style::new().add_modifier(Modifier::BOLD),
        Tone::Faint if colour => Style::new().add_modifier(Modifier::DIM),
        Tone::Faint => Style::new(),
        Tone::Working => tinted(Color::Green),
        Tone::Waiting => tinted(Color::Red),
        Tone::Warning => tinted(Color::Yellow).add_modifier(Modifier::BOLD),
        Tone::Chosen => Style::new().add_modifier(Modifier::REVERSED),
    }
}
