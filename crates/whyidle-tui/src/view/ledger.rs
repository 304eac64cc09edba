//! Where the time of the chosen program goes, as it would be judged if the recording were the window.

use std::collections::BTreeMap;

use whyidle_diagnosis::{LineKind, Message, Verdict};
use whyidle_report::{bar, wrap};

use super::pen::{Pen, clipped};
use super::theme::Tone;
use crate::state::{Program, State};

/// Below this share nothing is worth a headline: as in the verdict.
const WORTH: f64 = 0.1;

pub(super) fn draw(state: &State, focused: bool, pen: &mut Pen<'_>) {
    let title = pen.word(if state.gauges.is_empty() { "top-ledger-host" } else { "top-ledger" });
    pen.heading(&title, focused);
    match state.shown().map(|judged| &judged.verdict) {
        None => {
            let text = pen.word("top-nothing");
            prose(&text, 1, Tone::Faint, pen);
        }
        Some(Err(refusal)) => {
            let y = prose(&pen.catalog.message(&refusal.reason), 1, Tone::Plain, pen);
            for note in refusal.quality.iter().take(2) {
                let text = pen.catalog.message(&note.text);
                prose(&text, y, Tone::Faint, pen);
            }
        }
        Some(Ok(verdict)) => verdict_of(verdict, state.waited_for(), pen),
    }
}

fn verdict_of(verdict: &Verdict, waited_for: Option<&Program>, pen: &mut Pen<'_>) {
    let (tone, text) = match waited_for.and_then(|program| program.rank) {
        Some(rank) => {
            let rank = Message::new("top-rank").name("rank", rank.to_string());
            let text = Message::new("top-waits-inside").message("what", rank);
            (Tone::Warning, pen.catalog.message(&text))
        }
        None => headline(verdict, pen),
    };
    pen.put(0, 1, usize::MAX, tone, &text);
    let found = pen.catalog.steps_found(&verdict.step);
    let has_steps = verdict.step.found_by != "second";
    let step = if has_steps {
        let time = pen.catalog.time(verdict.step.unprofiled.ns);
        pen.catalog.message(&Message::new("top-step").name("time", time).name("found", found))
    } else {
        found
    };
    pen.put(0, 2, usize::MAX, Tone::Faint, &step);
    let mut y = 3;
    let columns = (pen.width() / 5).clamp(4, 24);
    for line in &verdict.ledger {
        let tone = match line.kind {
            LineKind::Working => Tone::Working,
            LineKind::Waiting => Tone::Waiting,
            LineKind::Rest => Tone::Faint,
        };
        let share = pen.catalog.share((line.share * 100.0).round() / 100.0);
        pen.right(0, y, 5, Tone::Plain, &share);
        pen.put(6, y, columns, tone, &bar(line.share, columns));
        let mut x = 7 + columns;
        if has_steps {
            let time = pen.catalog.time(line.unprofiled.ns);
            pen.right(x, y, 7, Tone::Plain, &time);
            x += 8;
        }
        let name = pen.catalog.line(line.id);
        x = pen.put(x, y, usize::MAX, Tone::Plain, &name);
        let details: Vec<String> = line.details.iter().map(|detail| pen.catalog.message(detail)).collect();
        if !details.is_empty() && pen.width() > x + 8 {
            pen.put(x + 2, y, usize::MAX, Tone::Faint, &details.join(" "));
        }
        y += 1;
    }
    // One rank's samples alone do not tell what it waits for; those of the others do.
    if waited_for.is_some() {
        return;
    }
    let doubt = verdict.ruling.doubts.iter().map(|doubt| pen.catalog.message(doubt)).next();
    let sentence = pen.catalog.sentences(&verdict.ruling.sentence);
    y = prose(&sentence, y + 1, Tone::Plain, pen);
    if let Some(doubt) = doubt {
        y = prose(&doubt, y, Tone::Faint, pen);
    }
    for note in &verdict.quality {
        let text = pen.catalog.message(&note.text);
        y = prose(&text, y, Tone::Faint, pen);
    }
}

/// `waiting for: data 61 %`: the family of waits that takes most.
fn headline(verdict: &Verdict, pen: &Pen<'_>) -> (Tone, String) {
    let mut families: BTreeMap<&str, f64> = BTreeMap::new();
    for line in verdict.ledger.iter().filter(|line| line.kind == LineKind::Waiting) {
        *families.entry(line.id.split('.').next().unwrap_or(line.id)).or_default() += line.share;
    }
    let most = families.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, share)| *share >= WORTH);
    // Looks busy, and waits inside a collective or the pipeline.
    let primary = verdict.ruling.primary;
    let inside = matches!(primary, "rank.straggler" | "pipeline.bubble");
    if inside || most.is_none() && !verdict.ruling.healthy {
        let family = primary.split('.').next().unwrap_or(primary);
        let id = words(family);
        let text = Message::new("top-waits-inside").name("what", pen.word(id));
        return (Tone::Warning, pen.catalog.message(&text));
    }
    match most {
        Some((family, share)) => {
            let what = pen.word(words(family));
            let text =
                Message::new("top-waits").name("what", what).share("share", (share * 100.0).round() / 100.0);
            (Tone::Waiting, pen.catalog.message(&text))
        }
        None => (Tone::Working, pen.word("top-waits-for-nothing")),
    }
}

fn words(family: &str) -> &'static str {
    match family {
        "data" => "top-wait-data",
        "host" => "top-wait-host",
        "memory" => "top-wait-memory",
        "compile" => "top-wait-compile",
        "io" => "top-wait-io",
        "pipeline" => "top-wait-pipeline",
        "comm" | "rank" => "top-wait-rank",
        _ => "top-wait-other",
    }
}

/// Prose from a line on; the line after it.
fn prose(text: &str, y: usize, tone: Tone, pen: &mut Pen<'_>) -> usize {
    let width = pen.width();
    let lines = wrap(text, width, width);
    let room = pen.height().saturating_sub(y);
    for (at, line) in lines.iter().take(room).enumerate() {
        let cut = at + 1 == room && at + 1 < lines.len();
        let shown = if cut { cut_off(line, width) } else { line.clone() };
        pen.put(0, y + at, usize::MAX, tone, &shown);
    }
    y + lines.len()
}

/// The line with an ellipsis at its end, in at most `width` columns.
fn cut_off(line: &str, width: usize) -> String {
    clipped(&format!("{line}…"), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_says_so_in_a_full_line_too() {
        assert_eq!(cut_off("abc", 10), "abc…");
        assert_eq!(cut_off("abcdef", 6), "abcde…");
        assert_eq!(cut_off("等数据", 6), "等数…");
    }
}
