//! Where a step goes: one bar per line. A full bar is the whole step.

use super::{
    canvas::{Canvas, Role},
    wrap::{packed, shortened},
};
use crate::{
    Catalog,
    ledger::{Row, complete, folded},
};
use unicode_width::UnicodeWidthStr;
use whyidle_diagnosis::{LineKind, Verdict};

const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
/// Lines that the details of one row may take.
const DETAIL_LINES: usize = 2;

/// Columns of the table.
struct Columns {
    bar: usize,
    share_end: usize,
    time_end: usize,
    label: usize,
    /// The whole that the figures are parts of, ns.
    step_ns: i64,
}

pub(super) fn write(canvas: &mut Canvas, catalog: &Catalog, verdict: &Verdict, verbose: bool) {
    let step_ns = verdict.step.unprofiled.ns;
    let rows =
        if verbose { complete(catalog, &verdict.ledger) } else { folded(catalog, &verdict.ledger, step_ns) };
    let total = catalog.time(step_ns);
    let title = catalog.word(title(verdict));
    let columns = columns(canvas.width, catalog, &rows, step_ns, &title);

    canvas.to(2).put(Role::Strong, &title).right(Role::Strong, &total, columns.time_end);
    let basis = if verdict.step.found_by == "second" {
        catalog.word("report-no-steps")
    } else {
        catalog.basis(&verdict.step)
    };
    canvas.to(columns.label).flow(Role::Faint, &basis);
    for kind in [None, Some(LineKind::Working), Some(LineKind::Waiting), Some(LineKind::Rest)] {
        let of_kind: Vec<&Row> = match kind {
            None if !verbose => rows.iter().collect(),
            Some(kind) if verbose => rows.iter().filter(|row| row.kind == kind).collect(),
            _ => continue,
        };
        if let Some(kind) = kind
            && !of_kind.is_empty()
        {
            write_group(canvas, catalog, kind, &of_kind, &columns);
        }
        for row in of_kind {
            write_row(canvas, catalog, row, &columns, verbose);
        }
    }
}

/// What the table is of: a step, a second where no steps were found, the host where there is no GPU.
pub(crate) fn title(verdict: &Verdict) -> &'static str {
    if verdict.working_share.is_nan() {
        "report-where-the-host-goes"
    } else if verdict.step.found_by == "second" {
        "report-where-a-second-goes"
    } else {
        "report-where-a-step-goes"
    }
}

fn columns(width: usize, catalog: &Catalog, rows: &[Row], step_ns: i64, title: &str) -> Columns {
    let share = rows.iter().map(|row| share(catalog, row.share).width()).max().unwrap_or(0).max(5);
    let time = rows.iter().map(|row| catalog.time_like(row.ns, step_ns).width()).max().unwrap_or(0);
    let time = time.max(catalog.time(step_ns).width());
    let bar = (10 + width.saturating_sub(60) / 4).max(title.width().saturating_sub(share + 1));
    let share_end = 2 + bar + 1 + share;
    let time_end = share_end + 2 + time;
    Columns { bar, share_end, time_end, label: time_end + 2, step_ns }
}

fn share(catalog: &Catalog, share: f64) -> String {
    catalog.share_in_column(share)
}

/// With `-v`: a line for work, waiting and the rest as wholes.
fn write_group(canvas: &mut Canvas, catalog: &Catalog, kind: LineKind, rows: &[&Row], columns: &Columns) {
    let (key, role) = match kind {
        LineKind::Working => ("report-group-working", Role::Working),
        LineKind::Waiting => ("report-group-waiting", Role::Waiting),
        LineKind::Rest => ("report-group-rest", Role::Faint),
    };
    let ns = rows.iter().map(|row| row.ns).sum();
    let whole = rows.iter().map(|row| row.share).sum();
    canvas.to(2).put(role, &catalog.word(key));
    canvas.right(Role::Strong, &share(catalog, whole), columns.share_end);
    canvas.right(Role::Strong, &catalog.time_like(ns, columns.step_ns), columns.time_end).end();
}

fn write_row(canvas: &mut Canvas, catalog: &Catalog, row: &Row, columns: &Columns, verbose: bool) {
    let role = match row.kind {
        LineKind::Working => Role::Working,
        LineKind::Waiting => Role::Waiting,
        LineKind::Rest => Role::Faint,
    };
    canvas.to(2).put(role, &bar(row.share, columns.bar));
    canvas.right(Role::Plain, &share(catalog, row.share), columns.share_end);
    canvas.right(Role::Plain, &catalog.time_like(row.ns, columns.step_ns), columns.time_end);
    canvas.to(columns.label);
    let label = shortened(&row.label, canvas.room());
    canvas.put(Role::Plain, &label);
    let mut details = row.details.clone();
    if verbose && let Some(range) = &row.range {
        details.insert(0, range.clone());
    }
    write_details(canvas, &details, columns.label, if verbose { usize::MAX } else { DETAIL_LINES });
}

/// Details behind the label if they fit, else below it; as many as `lines` hold.
fn write_details(canvas: &mut Canvas, details: &[String], indent: usize, lines: usize) {
    let joined = details.join(" · ");
    if details.is_empty() || joined.width() + 2 <= canvas.room() {
        canvas.put(Role::Plain, "  ").put(Role::Faint, &joined).end();
        return;
    }
    canvas.end();
    let room = canvas.width - indent;
    let fitting = (1..=details.len())
        .rev()
        .map(|count| packed(&details[..count], room))
        .find(|packed| packed.len() <= lines)
        .unwrap_or_else(|| packed(&details[..1], room));
    for line in fitting {
        canvas.to(indent).put(Role::Faint, &line).end();
    }
}

/// A bar of `share` of `columns`; at least a sliver for what is not nothing.
#[must_use]
pub fn bar(share: f64, columns: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * columns as f64 * 8.0).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn bars_measure_the_share() {
        assert_eq!(bar(1.0, 4), "████");
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(0.0, 4), "");
        assert_eq!(bar(0.001, 4), "▏");
        assert_eq!(bar(0.53, 4), "██▏");
        assert_eq!(bar(1.2, 4), "████");
    }
}
