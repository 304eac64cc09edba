//! What the main thread and the loader workers of the chosen program do, by their stacks.

use ratatui::layout::Rect;
use whyidle_analysis::signals::mainthread::Place;
use whyidle_analysis::signals::{MainThread, Signals, WorkerSignals};
use whyidle_diagnosis::Message;

use super::pen::Pen;
use super::theme::Tone;
use crate::state::State;

/// From this width on, main thread and workers stand side by side.
const SIDE_BY_SIDE: u16 = 64;

pub(super) fn draw(state: &State, focused: bool, pen: &mut Pen<'_>) {
    let title = pen.word(if state.untimed { "top-stacks-untimed" } else { "top-stacks" });
    pen.heading(&title, focused);
    let Some(signals) = state.shown().map(|judged| &judged.signals) else {
        let text = pen.word("top-nothing");
        pen.put(0, 1, usize::MAX, Tone::Faint, &text);
        return;
    };
    let area = pen.area;
    let rest = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let (left, right) = if area.width >= SIDE_BY_SIDE {
        let half = area.width / 2;
        (Rect { width: half - 1, ..rest }, Rect { x: rest.x + half, width: area.width - half, ..rest })
    } else {
        let upper = upper_lines(signals, usize::from(rest.height));
        let upper = u16::try_from(upper).unwrap_or(rest.height);
        (Rect { height: upper, ..rest }, Rect { y: rest.y + upper, height: rest.height - upper, ..rest })
    };
    main(signals, &mut pen.on(left));
    workers(signals, &mut pen.on(right));
}

/// Lines for the main thread above the workers: what it needs where both fit, else half.
fn upper_lines(signals: &Signals, all: usize) -> usize {
    let main = signals.main.as_ref().map_or(1, |main| 1 + worth(&places_of(main)).count());
    let workers =
        signals.workers.as_ref().map_or(1, |w| 1 + worth(&w.places.iter().collect::<Vec<_>>()).count());
    if main + 1 + workers <= all {
        main + 1
    } else {
        main.min(all.div_ceil(2)).max(all.saturating_sub(workers))
    }
}

/// Places that round to a percent at least.
fn worth<'a>(places: &'a [&'a Place]) -> impl Iterator<Item = &'a Place> {
    places.iter().copied().filter(|place| place.share >= 0.005)
}

fn main(signals: &Signals, pen: &mut Pen<'_>) {
    let Some(main) = &signals.main else {
        let text = pen.word("top-main-none");
        pen.put(0, 0, usize::MAX, Tone::Faint, &text);
        return;
    };
    let title = Message::new("top-main").count("samples", i64::from(main.samples));
    let title = pen.catalog.message(&title);
    pen.put(0, 0, usize::MAX, Tone::Faint, &title);
    places(&places_of(main), pen);
}

/// Where the main thread is, whatever it does there, the largest share first.
fn places_of(main: &MainThread) -> Vec<&Place> {
    let mut all: Vec<&Place> = main.places.values().flatten().collect();
    all.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.name.cmp(&b.name)));
    all
}

fn workers(signals: &Signals, pen: &mut Pen<'_>) {
    let Some(workers) = &signals.workers else {
        let text = pen.word("top-workers-none");
        pen.put(0, 0, usize::MAX, Tone::Faint, &text);
        return;
    };
    let title = pen.catalog.message(&title_of(workers));
    pen.put(0, 0, usize::MAX, Tone::Faint, &title);
    places(&workers.places.iter().collect::<Vec<_>>(), pen);
}

fn title_of(workers: &WorkerSignals) -> Message {
    let count = workers.pids.len();
    match workers.busy {
        Some(busy) => Message::new("top-workers-busy").count("count", count).share("busy", busy),
        None => Message::new("top-workers").count("count", count),
    }
}

fn places(places: &[&Place], pen: &mut Pen<'_>) {
    let room = pen.height().saturating_sub(1);
    for (at, place) in worth(places).take(room).enumerate() {
        let share = pen.catalog.share((place.share * 100.0).round() / 100.0);
        pen.right(0, at + 1, 5, Tone::Plain, &share);
        let x = pen.put(6, at + 1, usize::MAX, Tone::Plain, &place.name);
        if let Some(source) = &place.source
            && x + 4 < pen.width()
        {
            let source = crate::state::printable(source);
            pen.put(x + 2, at + 1, usize::MAX, Tone::Faint, &source);
        }
    }
}
