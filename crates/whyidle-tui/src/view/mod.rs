//! Pure functions from the state to the cells of a screen.

mod gpus;
mod help;
mod history;
mod ledger;
mod lines;
mod pen;
mod stacks;
mod theme;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use whyidle_report::Catalog;

use crate::state::{Panel, State};
use pen::Pen;

/// A screen smaller than this shows the panel with the focus alone.
const ROOM_FOR_ALL: (u16, u16) = (50, 14);
/// From this width on, ledger and stacks stand side by side.
const WIDE: u16 = 100;
/// Lines that the table of GPUs takes at most, heading included.
const MOST_GPU_LINES: u16 = 10;

/// Draws everything.
pub fn draw(state: &State, catalog: &Catalog, area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    let mut pen = Pen { area, buffer, catalog, colour: state.colour };
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)]).areas(area);
    // On a screen of few lines every one goes to the panel.
    let (head, body, foot) = match area.height {
        0..=3 => (Rect::default(), area, Rect::default()),
        _ => (head, body, foot),
    };
    lines::head(state, &mut pen.on(head));
    lines::foot(state, &mut pen.on(foot));
    if state.help {
        help::draw(state, &mut pen.on(body));
        return;
    }
    if state.zoomed || area.width < ROOM_FOR_ALL.0 || area.height < ROOM_FOR_ALL.1 {
        panel(state.focus, state, &mut pen.on(body));
        return;
    }
    for (which, place) in places(state, body) {
        panel(which, state, &mut pen.on(place));
    }
}

fn panel(which: Panel, state: &State, pen: &mut Pen<'_>) {
    if pen.area.is_empty() {
        return;
    }
    let focused = state.focus == which;
    match which {
        Panel::Gpus => gpus::draw(state, focused, pen),
        Panel::Ledger => ledger::draw(state, focused, pen),
        Panel::Stacks => stacks::draw(state, focused, pen),
        Panel::History => history::draw(state, focused, pen),
    }
}

/// Where each panel stands.
fn places(state: &State, body: Rect) -> Vec<(Panel, Rect)> {
    let lines = u16::try_from(state.rows.len()).unwrap_or(u16::MAX).saturating_add(2);
    let gpus = lines.clamp(3, MOST_GPU_LINES.min(body.height / 3).max(3));
    let curves = u16::try_from(state.history.curves.len()).unwrap_or(0);
    let history = if body.height >= 18 { (curves + 1).clamp(2, 6) } else { 0 };
    let [top, middle, bottom] =
        Layout::vertical([Constraint::Length(gpus), Constraint::Min(0), Constraint::Length(history)])
            .areas(body);
    let halves = [Constraint::Percentage(52), Constraint::Percentage(48)];
    let (ledger, stacks) = if body.width >= WIDE {
        let [left, gap_and_right] = Layout::horizontal(halves).areas(middle);
        let [_, right] = Layout::horizontal([Constraint::Length(1), Constraint::Min(0)]).areas(gap_and_right);
        (left, right)
    } else {
        let [above, below] = Layout::vertical(halves).areas(middle);
        (above, below)
    };
    vec![(Panel::Gpus, top), (Panel::Ledger, ledger), (Panel::Stacks, stacks), (Panel::History, bottom)]
}

#[cfg(test)]
mod tests;
