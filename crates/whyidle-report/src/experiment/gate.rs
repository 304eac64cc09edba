//! The verdict of a gate: as a page, as `whyidle.gate/1`, and as a line that GitHub shows beside a change.

use serde_json::{Map, Value, json};
use whyidle_diagnosis::{Arg, Message};
use whyidle_experiment::comparison::Per;
use whyidle_experiment::gate::{Answer, Gate, Metric, Reason, Side};
use whyidle_experiment::result::{Ended, Run};
use whyidle_experiment::stats::losses::Losses;

use super::words;
use crate::Catalog;
use crate::json::{sentences, text};
use crate::page::Block;

/// A baseline that is older than this is worth a word, ns: an hour.
const OLD: i64 = 3_600_000_000_000;

/// A gate as JSON, `whyidle.gate/1`; `exit`: the exit status that goes with it.
pub(crate) fn json(gate: &Gate, exit: u8, catalog: &Catalog) -> String {
    let mut document = Map::new();
    document.insert("schema".to_owned(), json!("whyidle.gate/1"));
    document.insert("tool".to_owned(), json!({ "version": env!("CARGO_PKG_VERSION") }));
    if let Ok(Value::Object(body)) = serde_json::to_value(gate) {
        document.extend(body);
    }
    document.insert("sentence".to_owned(), sentences(catalog, &answer(gate)));
    let doubts: Vec<Value> = doubts(gate).iter().map(|doubt| text(catalog, doubt)).collect();
    document.insert("doubts".to_owned(), json!(doubts));
    document.insert("exit".to_owned(), json!(exit));
    format!("{:#}\n", Value::Object(document))
}

/// A gate as a command of GitHub's workflows, which shows it beside the change: an error, a notice, or a warning where
/// the evidence does not tell.
#[must_use]
pub fn render_gate_github(gate: &Gate, catalog: &Catalog) -> String {
    let kind = match gate.answer {
        Answer::Within => "notice",
        Answer::Regressed => "error",
        Answer::Unclear => "warning",
    };
    let title = match gate.answer {
        Answer::Within => Message::new("gate-title-within"),
        Answer::Regressed => Message::new("gate-title-regressed"),
        Answer::Unclear => Message::new("gate-title-unclear"),
    };
    let mut lines = vec![catalog.sentences(&answer(gate))];
    lines.extend(doubts(gate).iter().map(|doubt| catalog.message(doubt)));
    let title = github(&catalog.message(&title), true);
    format!("::{kind} title={title}::{}\n", github(&lines.join("\n"), false))
}

/// Text as GitHub's commands want it; of a property also without the marks that end one.
fn github(text: &str, is_property: bool) -> String {
    let data = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    if is_property { data.replace(':', "%3A").replace(',', "%2C") } else { data }
}

pub(crate) fn blocks(gate: &Gate, catalog: &Catalog, verbose: bool) -> Vec<Block> {
    let say = |message: &Message| catalog.message(message);
    let place = Run { place: gate.place.clone(), began: gate.new.began, ..Run::default() };
    let mut blocks = Vec::new();
    if gate.new.began > 0 {
        blocks.push(Block::Head(super::run::head(&place, catalog)));
    }
    blocks.push(Block::Sentence(catalog.sentences(&answer(gate))));
    blocks.extend(notes(gate).iter().map(|note| Block::Note(say(note))));
    blocks.extend(doubts(gate).iter().map(|doubt| Block::Doubt(say(doubt))));
    blocks.push(Block::Title(say(&title(gate))));
    let sides = [("gate-baseline", &gate.baseline), ("gate-new", &gate.new)];
    blocks.push(Block::Table(sides.iter().map(|(name, of)| side(name, of, gate, catalog)).collect()));
    if verbose {
        blocks.push(Block::Title(catalog.word("gate-title-runs")));
        let row = |(name, of): &(&str, &Side)| {
            let figures = of.figures.iter().map(|value| catalog.arg(&figure(*value, gate.metric)));
            vec![catalog.word(name), String::new(), String::new(), figures.collect::<Vec<_>>().join("  ")]
        };
        blocks.push(Block::Table(sides.iter().map(row).collect()));
    }
    blocks
}

fn title(gate: &Gate) -> Message {
    match (gate.metric, gate.per) {
        (Metric::Step, Per::Step) => Message::new("compare-title-steps"),
        (Metric::Step, Per::Whole) => Message::new("compare-title-whole"),
        _ => what(gate),
    }
}

fn side(name: &str, side: &Side, gate: &Gate, catalog: &Catalog) -> Vec<String> {
    let runs = Message::new("gate-runs").count("count", side.figures.len());
    let mut said = vec![side.what.clone()];
    said.extend(side.commit.clone().filter(|commit| !side.what.contains(commit.as_str())));
    said.push(side.command.clone());
    said.retain(|part| !part.is_empty());
    vec![
        catalog.word(name),
        side.mean.map_or_else(|| "–".to_owned(), |mean| catalog.arg(&figure(mean, gate.metric))),
        catalog.message(&runs),
        said.join(" · "),
    ]
}

/// A figure with its unit.
fn figure(value: f64, metric: Metric) -> Arg {
    let nested = |message: Message| Arg::Message(Box::new(message));
    match metric {
        Metric::Step => Arg::Time(value.round() as i64),
        Metric::Samples => nested(Message::new("compare-rate").with("samples", words::figure(value))),
        Metric::Tokens => nested(Message::new("gate-token-rate").with("tokens", words::figure(value))),
        Metric::PeakMemory => Arg::Bytes(value.round() as i64),
        Metric::Energy => nested(Message::new("bench-joules").with("energy", words::figure(value))),
    }
}

fn what(gate: &Gate) -> Message {
    match (gate.metric, gate.per) {
        (Metric::Step, Per::Step) => Message::new("gate-what-step"),
        (Metric::Step, Per::Sample) => Message::new("gate-what-sample"),
        (Metric::Step, Per::Whole) => Message::new("gate-what-whole"),
        (Metric::Samples, _) => Message::new("gate-what-samples"),
        (Metric::Tokens, _) => Message::new("gate-what-tokens"),
        (Metric::PeakMemory, _) => Message::new("gate-what-memory"),
        (Metric::Energy, _) => Message::new("gate-what-energy"),
    }
}

/// What is allowed: `5 % more`.
fn allowed(gate: &Gate) -> Message {
    words::change(if gate.metric.is_cost() { gate.limit } else { -gate.limit })
}

pub(crate) fn answer(gate: &Gate) -> Vec<Message> {
    let whole = |id| {
        let change = gate.change.as_ref();
        let share = |of: fn(&whyidle_experiment::gate::Change) -> f64| words::change(change.map_or(0.0, of));
        Message::new(id)
            .message("what", what(gate))
            .message("change", share(|change| change.change))
            .message("from", share(|change| change.low))
            .message("to", share(|change| change.high))
            .message("allowed", allowed(gate))
    };
    let said = match gate.reason {
        Reason::Change if gate.answer == Answer::Within => whole("gate-within"),
        Reason::Change => whole("gate-regressed"),
        Reason::Interval => {
            let more = match gate.enough_runs {
                Some(count) => Message::new("gate-more-runs").count("count", count),
                None => Message::new("gate-too-near"),
            };
            return vec![whole("gate-interval"), more];
        }
        Reason::FewRuns => Message::new("gate-few-runs"),
        Reason::Losses => losses(gate),
        Reason::Mixed => Message::new("gate-mixed"),
        Reason::Machine => Message::new("gate-machine"),
        Reason::NoBaseline => Message::new("gate-no-baseline").message("what", what(gate)),
        Reason::NoNew => Message::new("gate-no-new").message("what", what(gate)),
        Reason::Interrupted => Message::new("gate-interrupted"),
        Reason::Failed => Message::new("gate-failed").message("reason", failure(gate)),
    };
    vec![said]
}

fn failure(gate: &Gate) -> Message {
    match gate.failed {
        Some((ended @ (Ended::Failed | Ended::OutOfMemory), status)) => {
            words::run_failed(&Run { ended, status, ..Run::default() })
        }
        _ => Message::new("gate-nothing-seen"),
    }
}

/// The losses forbid it.
fn losses(gate: &Gate) -> Message {
    match &gate.losses {
        Losses::NotANumber { at } => {
            Message::new("gate-losses-nan").message("place", words::place_of_loss(gate.per, *at))
        }
        Losses::Differ(found) => Message::new("gate-losses-differ")
            .share("distance", found.distance)
            .share("allowed", found.allowed)
            .with("a", words::loss(found.last_a))
            .with("b", words::loss(found.last_b)),
        _ => Message::new("gate-losses-unknown"),
    }
}

fn notes(gate: &Gate) -> Vec<Message> {
    let mut said: Vec<Message> = gate
        .basis
        .filter(|_| gate.metric == Metric::Step)
        .map(|basis| words::basis(basis, 1))
        .into_iter()
        .collect();
    if let Some(change) = &gate.change {
        let one = gate.baseline.figures.len() == 1;
        let id = if one { "gate-scatter-borrowed" } else { "gate-scatter" };
        said.push(Message::new(id).share("scatter", change.scatter));
    }
    said.push(match (&gate.losses, gate.reason) {
        (_, Reason::Losses) => return said,
        (Losses::Alike(found), _) => Message::new("gate-losses-alike")
            .share("distance", found.distance)
            .share("allowed", found.allowed),
        (Losses::Differ(found), _) => Message::new("gate-losses-apart").share("distance", found.distance),
        (Losses::OwnNotANumber { .. }, _) => Message::new("gate-losses-own"),
        _ => Message::new("gate-losses-unknown"),
    });
    said
}

fn doubts(gate: &Gate) -> Vec<Message> {
    let mut said = Vec::new();
    // The table shows both commands.
    let (commands, others): (Vec<_>, Vec<_>) =
        gate.differences.iter().cloned().partition(|(name, ..)| name == "command");
    if !commands.is_empty() {
        said.push(Message::new("gate-other-command"));
    }
    if !others.is_empty() {
        said.push(Message::new("gate-differences").with("list", words::differences(&others)));
    }
    let age = gate.new.began - gate.baseline.began;
    if gate.change.is_some() && gate.baseline.began > 0 && age > OLD {
        said.push(Message::new("gate-old").message("age", age_of(age)));
    }
    let unsettled = gate.baseline.unsettled + gate.new.unsettled;
    if unsettled > 0 {
        said.push(Message::new("compare-unsettled").count("count", unsettled));
    }
    said.extend(words::disturbed(&gate.others));
    said
}

fn age_of(ns: i64) -> Message {
    let hours = ns / OLD;
    if hours < 48 {
        Message::new("gate-hours").count("count", hours)
    } else {
        Message::new("gate-days").count("count", hours / 24)
    }
}

#[cfg(test)]
mod tests {
    use super::github;

    #[test]
    fn text_for_github_ends_no_command_early() {
        assert_eq!(github("5 % more: a, b\r\n::error::x", false), "5 %25 more: a, b%0D%0A::error::x");
        assert_eq!(github("a: b, c", true), "a%3A b%2C c");
    }
}
