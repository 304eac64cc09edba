//! Whatever the state and the size of the screen: a picture, in both languages.

use std::path::Path;

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use whyidle_analysis::signals::{Hints, signals};
use whyidle_diagnosis::{Known, Run, judge_recording};
use whyidle_model::Samples;
use whyidle_readers::recording::Recording;
use whyidle_report::{Catalog, Lang};

use super::draw;
use crate::input::Action;
use crate::source::{Replay, Source};
use crate::state::State;
use crate::{Judge, Judged};

/// Judges by the samples alone.
struct BySamples;

impl Judge for BySamples {
    fn judge(&self, samples: &Samples, recorded: &Recording, driver: Option<u32>) -> Judged {
        let gpu = recorded.drivers.iter().find(|known| Some(known.pid) == driver).and_then(|known| known.gpu);
        let hints = Hints { drivers: driver.into_iter().collect(), gpu, ..Hints::default() };
        let signals = signals(samples, &hints);
        let run = Run { world: 1, ..Run::default() };
        let verdict = judge_recording(&signals, &Known::default(), &run, Vec::new(), "");
        Judged { signals, verdict }
    }
}

fn state(recording: &str, lang: Lang) -> (State, Replay) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../whyidle/tests/recordings").join(recording);
    let replay = Replay::open(&dir).ok().flatten().unwrap_or_else(|| panic!("{recording}"));
    let mut state = State::new(lang, true);
    state.update(&replay);
    state.judge(&replay, &BySamples, true);
    (state, replay)
}

const RECORDINGS: [&str; 4] = ["attached_two_ranks", "attached_workers", "fed", "straggler_data"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]

    #[test]
    fn any_size_is_drawn(
        columns in 1_u16..160,
        lines in 1_u16..60,
        recording in prop::sample::select(RECORDINGS.to_vec()),
        chinese: bool,
        actions in prop::collection::vec(prop::sample::select(vec![
            Action::Help, Action::Zoom, Action::Focus(1), Action::Select(1), Action::Pause, Action::Window(1), Action::Language,
        ]), 0..6),
        seek in -60_i64..0,
    ) {
        let lang = if chinese { Lang::Zh } else { Lang::En };
        let (mut state, mut replay) = state(recording, lang);
        replay.seek(seek * 1_000_000_000);
        state.update(&replay);
        state.judge(&replay, &BySamples, false);
        actions.into_iter().for_each(|action| _ = state.apply(action));
        let area = Rect::new(0, 0, columns, lines);
        let mut buffer = Buffer::empty(area);
        draw(&state, &Catalog::new(state.lang), area, &mut buffer);
        // A terminal may shrink between measuring and drawing.
        draw(&state, &Catalog::new(state.lang), Rect::new(0, 0, columns * 2, lines * 2), &mut buffer);
    }
}

#[test]
fn nothing_sampled_is_said_to_be_nothing() {
    for lang in Lang::ALL {
        let text = crate::once::picture(&State::new(lang, false), (80, 24));
        let nothing = Catalog::new(lang).message(&whyidle_diagnosis::Message::new("top-nothing"));
        assert!(text.contains(&nothing), "{text}");
    }
}

#[test]
fn what_was_not_read_is_a_dash_and_never_zero() {
    let (mut state, _) = state("fed", Lang::En);
    for gauge in &mut state.gauges {
        (gauge.sm, gauge.power, gauge.memory, gauge.throttle) = (None, None, None, None);
    }
    let text = crate::once::picture(&state, (120, 24));
    let row = text.lines().nth(3).unwrap_or_default();
    assert_eq!(row.matches('–').count(), 4, "{text}");
}

#[test]
fn the_driving_process_of_each_card_is_beside_it() {
    let (state, _) = state("attached_two_ranks", Lang::En);
    let text = crate::once::picture(&state, (120, 40));
    assert!(text.contains("732 rank 0 python3") && text.contains("733 rank 1 python3"), "{text}");
}

#[test]
fn without_colour_no_cell_has_one() {
    let (mut state, _) = state("attached_workers", Lang::En);
    state.colour = false;
    let area = Rect::new(0, 0, 100, 30);
    let mut buffer = Buffer::empty(area);
    draw(&state, &Catalog::new(Lang::En), area, &mut buffer);
    let plain = ratatui::style::Color::Reset;
    assert!(buffer.content.iter().all(|cell| cell.fg == plain && cell.bg == plain));
}
