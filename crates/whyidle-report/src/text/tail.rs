//! How far to trust it, what was wrong with the evidence, and what to type next.

use super::canvas::{Canvas, Role};
use crate::Catalog;
use fluent_bundle::FluentValue;
use unicode_width::UnicodeWidthStr;
use whyidle_diagnosis::{Confidence, QualityNote, Refusal, Verdict};
use whyidle_model::Severity;

pub(super) fn write(canvas: &mut Canvas, catalog: &Catalog, verdict: &Verdict, verbose: bool) {
    let keys = Keys::new(catalog, &["report-key-confidence", "report-key-evidence", "report-key-next"]);
    if verdict.ruling.confidence != Confidence::High || verbose {
        keys.start(canvas, 0);
        canvas.flow(Role::Plain, &catalog.confidence_and_doubts(&verdict.ruling));
    }
    write_quality(canvas, catalog, &keys, &verdict.quality, verbose);
    if verbose && let Some(replay) = &verdict.replay {
        let key = if replay.usable { "report-replay" } else { "report-replay-unusable" };
        let args = [
            ("error", FluentValue::from(catalog.share(replay.error.abs()))),
            ("slack", FluentValue::from(catalog.share(replay.slack))),
        ];
        canvas.to(keys.text).flow(Role::Faint, &catalog.format(key, &args));
    }
    if !verdict.next.is_empty() {
        keys.start(canvas, 2);
        command(canvas, &verdict.next);
    }
}

/// The command to type next.
pub(super) fn write_next(canvas: &mut Canvas, catalog: &Catalog, next: &str) {
    Keys::new(catalog, &["report-key-next"]).start(canvas, 0);
    command(canvas, next);
}

pub(super) fn write_refused(canvas: &mut Canvas, catalog: &Catalog, refusal: &Refusal) {
    let keys = Keys::new(catalog, &["report-key-hint", "report-key-evidence"]);
    keys.start(canvas, 0);
    canvas.flow(Role::Plain, &catalog.message(&refusal.hint));
    write_quality(canvas, catalog, &keys, &refusal.quality, true);
}

/// The words at the left edge and the column where what they introduce starts.
struct Keys {
    words: Vec<String>,
    text: usize,
}

impl Keys {
    fn new(catalog: &Catalog, keys: &[&str]) -> Self {
        let words: Vec<_> = keys.iter().map(|key| catalog.word(key)).collect();
        let text = 4 + words.iter().map(|word| word.width()).max().unwrap_or(0);
        Self { words, text }
    }

    fn start(&self, canvas: &mut Canvas, index: usize) {
        canvas.to(2).put(Role::Faint, &self.words[index]).to(self.text);
    }
}

fn write_quality(canvas: &mut Canvas, catalog: &Catalog, keys: &Keys, notes: &[QualityNote], verbose: bool) {
    let shown: Vec<_> = notes.iter().filter(|note| verbose || note.severity > Severity::Info).collect();
    for (i, note) in shown.iter().enumerate() {
        if i == 0 {
            keys.start(canvas, 1);
        }
        let role = if note.severity == Severity::Info { Role::Faint } else { Role::Warning };
        canvas.to(keys.text).flow(role, &quality_text(catalog, note));
    }
}

/// The words of a note; a note that carries only its code is worded as `note-<code>`.
pub(crate) fn quality_text(catalog: &Catalog, note: &QualityNote) -> String {
    let key = format!("note-{}", note.code);
    if note.text.id == note.code && catalog.has(&key) {
        return catalog.format(&key, &[("count", FluentValue::from(note.count as f64))]);
    }
    catalog.message(&note.text)
}

/// A command, broken so that it can still be pasted.
fn command(canvas: &mut Canvas, text: &str) {
    let indent = canvas.width - canvas.room();
    let mut started = false;
    for word in text.split_whitespace() {
        // Two columns are kept for the " \" of a line that goes on.
        if started && word.width() + 3 > canvas.room() {
            canvas.put(Role::Code, " \\").end();
            canvas.to(indent + 2).put(Role::Code, word);
        } else {
            canvas.put(Role::Code, if started { " " } else { "" }).put(Role::Code, word);
        }
        started = true;
    }
    canvas.end();
}
