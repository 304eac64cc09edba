//! What was asked for: what-ifs, and the critical path.

use super::canvas::{Canvas, Role};
use super::wrap::shortened;
use crate::Catalog;
use fluent_bundle::FluentValue;
use unicode_width::UnicodeWidthStr;
use whyidle_diagnosis::{Answer, CriticalPath, Verdict};

/// Column where an answer's text starts.
const TEXT: usize = 5;
/// A path this near the step's length is the step's.
const SAME: f64 = 0.02;
/// Names on the critical path without `-v`.
const NAMES: usize = 5;

/// The answers, one below the other: the step after it, what is saved, how that is known, what limits it then.
pub(super) fn write_what_if(canvas: &mut Canvas, catalog: &Catalog, verdict: &Verdict) {
    if verdict.what_if.is_empty() {
        return;
    }
    let rows: Vec<Row<'_>> = verdict.what_if.iter().map(|answer| row(catalog, verdict, answer)).collect();
    let (step_word, saved_word) = (catalog.word("report-step"), catalog.word("report-saved"));
    let title = catalog.word("report-what-if");
    let widest = |width: fn(&Row<'_>) -> usize| rows.iter().map(width).max().unwrap_or(0);
    let asked = widest(|row| row.answer.asked.width()).max(title.width().saturating_sub(TEXT - 2));
    let step_end = TEXT + asked + 3 + widest(|row| row.step.width()).max(step_word.width());
    let saved_end = step_end + 2 + widest(|row| row.saved.width()).max(saved_word.width());
    let is_table = saved_end + 2 + widest(|row| row.how.width()) <= canvas.width;

    canvas.to(2).put(Role::Strong, &title);
    if is_table {
        canvas.right(Role::Faint, &step_word, step_end).right(Role::Faint, &saved_word, saved_end);
    }
    canvas.end();
    for row in &rows {
        canvas.to(TEXT);
        if is_table {
            canvas.put(Role::Strong, &row.answer.asked).right(Role::Gain, &row.step, step_end);
            canvas.right(Role::Gain, &row.saved, saved_end).put(Role::Plain, "  ");
            canvas.put(Role::Faint, &row.how).end();
        } else {
            canvas.flow(Role::Strong, &row.answer.asked);
            if row.answer.gain.is_some() {
                canvas.to(TEXT).flow(Role::Gain, &row.in_one_line(catalog));
            }
        }
        if let Some(gain) = &row.answer.gain {
            canvas.to(TEXT).flow(Role::Plain, &catalog.next_limit(gain));
        }
        for note in &row.answer.notes {
            canvas.to(TEXT).flow(Role::Warning, &catalog.message(note));
        }
    }
    canvas.blank();
}

struct Row<'a> {
    answer: &'a Answer,
    step: String,
    saved: String,
    how: String,
}

impl Row<'_> {
    fn in_one_line(&self, catalog: &Catalog) -> String {
        let args = [
            ("step", FluentValue::from(self.step.as_str())),
            ("saved", FluentValue::from(self.saved.as_str())),
            ("how", FluentValue::from(self.how.as_str())),
        ];
        catalog.format("report-finding-line", &args)
    }
}

fn row<'a>(catalog: &Catalog, verdict: &Verdict, answer: &'a Answer) -> Row<'a> {
    match &answer.gain {
        Some(gain) => Row {
            answer,
            step: catalog.step_after(gain),
            saved: catalog.saved(gain, verdict.step.unprofiled.ns),
            how: catalog.method_and_range(gain),
        },
        None => Row { answer, step: "–".to_owned(), saved: "–".to_owned(), how: String::new() },
    }
}

/// The critical path: its parts as shares of it, and what lies on it.
pub(super) fn write_path(canvas: &mut Canvas, catalog: &Catalog, verdict: &Verdict, verbose: bool) {
    let Some(path) = &verdict.critical_path else { return };
    let step_ns = verdict.step.unprofiled.ns;
    let length = [
        ("time", FluentValue::from(catalog.time(path.length_ns))),
        ("step", FluentValue::from(catalog.time(step_ns))),
    ];
    let key = if (path.length_ns - step_ns).abs() as f64 <= SAME * step_ns as f64 {
        "report-critical-length"
    } else {
        "report-critical-length-other"
    };
    canvas.to(2).put(Role::Strong, &catalog.word("report-critical-path")).put(Role::Plain, "  ");
    canvas.flow(Role::Faint, &catalog.format(key, &length));
    let parts: Vec<[String; 3]> =
        path.parts.iter().map(|part| cells(catalog, path, part.ns, catalog.path_part(part.id))).collect();
    let shown = if verbose { usize::MAX } else { NAMES };
    let names = path.names.iter().take(shown);
    let names: Vec<[String; 3]> =
        names.map(|name| cells(catalog, path, name.ns, name.name.clone())).collect();
    let share_end = 2 + widest(&parts, &names, 0).max(5);
    let time_end = share_end + 2 + widest(&parts, &names, 1);
    for (role, rows) in [(Role::Plain, &parts), (Role::Faint, &names)] {
        if role == Role::Faint && !rows.is_empty() {
            canvas.to(2).put(role, &catalog.word("report-critical-names")).end();
        }
        for [share, time, name] in rows {
            canvas.to(2).right(role, share, share_end).right(role, time, time_end).put(role, "  ");
            let room = canvas.room();
            canvas.put(role, &shortened(name.trim_start_matches("void "), room)).end();
        }
    }
    canvas.blank();
}

fn cells(catalog: &Catalog, path: &CriticalPath, ns: i64, name: String) -> [String; 3] {
    let share = ns as f64 / path.length_ns.max(1) as f64;
    [catalog.share_in_column(share), catalog.time_like(ns, path.length_ns), name]
}

fn widest(parts: &[[String; 3]], names: &[[String; 3]], column: usize) -> usize {
    parts.iter().chain(names).map(|row| row[column].width()).max().unwrap_or(0)
}
