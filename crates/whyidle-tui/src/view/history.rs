//! The last minutes, one curve a line.

use unicode_width::UnicodeWidthStr;
use whyidle_analysis::curves;
use whyidle_diagnosis::Message;

use super::pen::Pen;
use super::theme::Tone;
use crate::state::{Curve, State};

/// Columns from empty to full.
const STEPS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/// Nothing was sampled here.
const GAP: &str = "·";
/// The value at the end of a curve.
const VALUE: usize = 7;

pub(super) fn draw(state: &State, focused: bool, pen: &mut Pen<'_>) {
    let seconds = state.history.span / 1_000_000_000;
    let title = pen.catalog.message(&Message::new("top-history").count("seconds", seconds));
    pen.heading(&title, focused);
    let names: Vec<String> = state.history.curves.iter().map(|(curve, _)| pen.word(words(*curve))).collect();
    let label = names.iter().map(|name| name.width()).max().unwrap_or(0) + 1;
    let columns = pen.width().saturating_sub(label + VALUE);
    if names.is_empty() {
        let text = pen.word("top-nothing");
        pen.put(0, 1, usize::MAX, Tone::Faint, &text);
    }
    for (at, ((curve, points), name)) in state.history.curves.iter().zip(&names).enumerate() {
        let y = at + 1;
        pen.put(0, y, label, Tone::Faint, name);
        let values = curves::columns(points, state.now, state.history.span, columns);
        let tone = if *curve == Curve::Busy { Tone::Working } else { Tone::Plain };
        for (x, value) in values.iter().enumerate() {
            let (tone, cell) = match value {
                Some(value) => (tone, STEPS[(value.clamp(0.0, 1.0) * 8.0).round() as usize]),
                None => (Tone::Faint, GAP),
            };
            pen.put(label + x, y, 1, tone, cell);
        }
        if let Some(value) = values.last().copied().flatten() {
            let text = match curve {
                Curve::Cores => format!("{value:.2}"),
                _ => pen.catalog.share((value * 100.0).round() / 100.0),
            };
            pen.right(label + columns, y, VALUE, Tone::Plain, &text);
        }
    }
}

fn words(curve: Curve) -> &'static str {
    match curve {
        Curve::Busy => "top-col-busy",
        Curve::Sm => "top-col-sm",
        Curve::Power => "top-col-power",
        Curve::Memory => "top-col-memory",
        Curve::Cores => "top-curve-cores",
    }
}
