//! The text is what Prometheus reads, whatever programs call themselves, and its size is bounded.

use std::collections::BTreeSet;

use whyidle_observe::node::Run;
use whyidle_observe::place::Place;

use super::*;
use crate::state::CardState;

fn state(runs: u32) -> State {
    let mut state = State::default();
    let card = CardState {
        uuid: "GPU-1".to_owned(),
        busy: Some(0.25),
        throttled: Some([0.0, 0.5, 0.0]),
        ..CardState::default()
    };
    state.cards.insert(0, card);
    let run = |pid: u32| Run {
        pid,
        started: u64::from(pid),
        command: vec!["python".to_owned(), "train.py\"\n\u{1b}evil\\".to_owned()],
        gpus: vec![(0, None)],
        place: Place { user: Some("me\"} 1\nfake_metric 3".to_owned()), ..Place::default() },
        ..Run::default()
    };
    state.meet((1..=runs).map(run).collect());
    for one in state.runs.values_mut() {
        one.waiting = vec![("data.workers", 0.5)];
        one.idle_s.insert("data.workers", 12.5);
    }
    state
}

const TERMS: Terms<'static> = Terms { series: 100, ring: None, version: "1.2.3" };

/// Names and label parts of the series, read by the rules of the format.
fn series(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let split = |line: &str| {
        let (head, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        assert!(value.parse::<f64>().is_ok(), "{line}");
        let (name, labels) = head.split_once('{').unwrap_or((head, ""));
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{line}");
        (name.to_owned(), labels.to_owned())
    };
    lines.map(split).collect()
}

#[test]
fn both_formats_say_the_same() {
    let mut state = state(2);
    admit(&mut state, &TERMS);
    let (old, new) = (text(&state, &TERMS, Format::Prometheus), text(&state, &TERMS, Format::OpenMetrics));
    assert_eq!(series(&old), series(&new));
    assert_eq!(series(&old).len(), state.own.series);
    assert!(old.contains("# TYPE whyidle_run_idle_gpu_seconds_total counter\n"), "{old}");
    assert!(
        new.contains(
            "# TYPE whyidle_run_idle_gpu_seconds counter\n# UNIT whyidle_run_idle_gpu_seconds seconds\n"
        ),
        "{new}"
    );
    assert!(new.contains("# TYPE whyidle_gpu info\n") && new.ends_with("# EOF\n"), "{new}");
    assert!(
        old.contains("whyidle_gpu_throttled_ratio{gpu=\"0\",uuid=\"GPU-1\",reason=\"power\"} 0.5\n"),
        "{old}"
    );
    let names: Vec<String> = series(&old).into_iter().map(|(name, _)| name).collect();
    let mut blocks = names.clone();
    blocks.dedup();
    assert_eq!(blocks.iter().collect::<BTreeSet<_>>().len(), blocks.len(), "each metric is one block");
    assert_eq!(series(&old).into_iter().collect::<BTreeSet<_>>().len(), names.len(), "no series twice");
}

#[test]
fn what_a_program_calls_itself_stays_a_value() {
    let mut state = state(1);
    admit(&mut state, &TERMS);
    let text = text(&state, &TERMS, Format::Prometheus);
    assert!(!series(&text).iter().any(|(name, _)| name == "fake_metric"), "{text}");
    assert!(text.contains("command=\"python train.py\\\"\\nevil\\\\\"}"), "{text}");
    assert!(text.contains("user=\"me\\\"} 1\\nfake_metric 3\""), "{text}");
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn values_that_nobody_knows_are_absent() {
    let mut state = state(1);
    admit(&mut state, &TERMS);
    let text = text(&state, &TERMS, Format::Prometheus);
    for absent in [
        "whyidle_run_step_seconds{",
        "whyidle_gpu_power_watts",
        "whyidle_run_behind_ratio",
        "ring_bytes",
        "NaN",
    ] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
}

#[test]
fn series_are_bounded_and_what_is_left_out_is_counted_once() {
    let mut state = state(200);
    for _ in 0..3 {
        admit(&mut state, &TERMS);
    }
    let text_of = text(&state, &TERMS, Format::Prometheus);
    let count = series(&text_of).len();
    assert!(count <= 100 && count > 80, "{count}");
    assert!(text_of.contains("whyidle_agent_runs 200\n"));
    let each = 6.0;
    assert!(
        (state.own.dropped as f64 / state.left_out.len() as f64 - each).abs() < 1.0,
        "{}",
        state.own.dropped
    );
    // Those that were there first stay.
    assert!(!state.left_out.contains(&(1, 1)) && state.left_out.contains(&(200, 200)));
    state.meet(Vec::new());
    admit(&mut state, &TERMS);
    assert!(state.left_out.is_empty() && state.own.series < 30);
}

#[test]
fn names_follow_the_conventions() {
    for metric in METRICS {
        let family = metric.name.trim_end_matches("_total");
        assert!(metric.name.starts_with("whyidle_") && metric.help.ends_with('.'), "{}", metric.name);
        assert_eq!(metric.kind == Kind::Counter, metric.name.ends_with("_total"), "{}", metric.name);
        assert_eq!(metric.kind == Kind::Info, metric.name.ends_with("_info"), "{}", metric.name);
        assert!(metric.unit.is_empty() || family.ends_with(&format!("_{}", metric.unit)), "{}", metric.name);
        assert!(!metric.help.contains(['\n', '\\']), "{}", metric.name);
    }
}
