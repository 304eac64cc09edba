//! The tables of `-v`: steps, kernels, operators, modules, gaps, further figures.

use super::{
    canvas::{Canvas, Role},
    wrap::shortened,
};
use crate::{
    Catalog, instruments,
    label::{median, traced_ends},
};
use fluent_bundle::FluentValue;
use unicode_width::UnicodeWidthStr;
use whyidle_diagnosis::{Instruments, Step, Total, Verdict};

/// Rows of a table.
const ROWS: usize = 12;

pub(super) fn write(canvas: &mut Canvas, catalog: &Catalog, verdict: &Verdict) {
    if !verdict.step.traced_each_ns.is_empty() {
        write_steps(canvas, catalog, &verdict.step);
    }
    let details = &verdict.details;
    let steps = verdict.step.count.max(1) as i64;
    write_table(canvas, catalog, "report-kernels", &details.kernels, steps);
    write_table(canvas, catalog, "report-operators", &details.operators, steps);
    write_table(canvas, catalog, "report-modules", &details.modules, steps);
    write_table(canvas, catalog, "report-gaps", &details.gaps, 1);
    if let Some(found) = &details.instruments {
        write_instruments(canvas, catalog, found);
    }
    if !details.statistics.is_empty() {
        heading(canvas, catalog, "report-statistics");
        for figure in &details.statistics {
            canvas.to(2).flow(Role::Plain, &catalog.message(figure));
        }
    }
}

fn heading(canvas: &mut Canvas, catalog: &Catalog, key: &str) {
    canvas.blank();
    canvas.to(2).put(Role::Strong, &catalog.word(key)).end();
}

/// The traced steps: their spread, and how far the host runs ahead.
fn write_steps(canvas: &mut Canvas, catalog: &Catalog, step: &Step) {
    heading(canvas, catalog, "report-traced-steps");
    let (shortest, longest) = traced_ends(step);
    let time = |ns| FluentValue::from(catalog.time(ns));
    let spread = [
        ("count", FluentValue::from(step.count as f64)),
        ("first", FluentValue::from(step.first.to_string())),
        ("shortest", time(shortest)),
        ("median", time(median_of(step))),
        ("longest", time(longest)),
    ];
    canvas.to(2).flow(Role::Plain, &catalog.format("report-step-spread", &spread));
    let host = [("span", time(step.host_span_ns)), ("ahead", time(step.host_ahead_ns))];
    canvas.to(2).flow(Role::Plain, &catalog.format("report-step-host", &host));
}

/// Totals per step: time, how many, the longest, the name.
fn write_table(canvas: &mut Canvas, catalog: &Catalog, title: &str, totals: &[Total], steps: i64) {
    if totals.is_empty() {
        return;
    }
    heading(canvas, catalog, title);
    let rows: Vec<[String; 4]> = totals.iter().take(ROWS).map(|total| catalog.total(total, steps)).collect();
    let heads = ["report-column-time", "report-column-count", "report-column-longest", "report-column-kind"];
    let heads = heads.map(|key| catalog.word(key));
    let widths: [usize; 4] = std::array::from_fn(|column| {
        rows.iter().map(|row| row[column].width()).max().unwrap_or(0).max(heads[column].width())
    });
    put_cells(canvas, Role::Faint, &heads, &widths);
    canvas.put(Role::Faint, &catalog.word("report-column-name")).end();
    for (row, total) in rows.iter().zip(totals) {
        put_cells(canvas, Role::Plain, row, &widths);
        let room = canvas.room();
        canvas.put(Role::Plain, &shortened(total.name.trim_start_matches("void "), room)).end();
    }
    if totals.len() > ROWS {
        let hidden = [("count", FluentValue::from((totals.len() - ROWS) as f64))];
        canvas.to(2).put(Role::Faint, &catalog.format("report-more-rows", &hidden)).end();
    }
}

/// What each instrument says; below, where they disagree.
fn write_instruments(canvas: &mut Canvas, catalog: &Catalog, found: &Instruments) {
    canvas.blank();
    canvas.to(2).put(Role::Strong, &instruments::title(found, catalog)).end();
    let heads = instruments::heads(catalog);
    let rows = instruments::rows(found, catalog);
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].width());
        cells.max().unwrap_or(0).max(heads[column].width())
    };
    let says = 2 + width(0) + 2 + width(1);
    let mut put = |role: Role, [name, value, counts]: &[String; 3]| {
        canvas.to(2).put(role, name).right(role, value, says).to(says + 2);
        canvas.flow_to(Role::Faint, counts, says + 2);
    };
    put(Role::Faint, &heads);
    rows.iter().for_each(|row| put(Role::Plain, row));
    for sentence in &found.disagreements {
        canvas.to(2).flow(Role::Plain, &catalog.message(sentence));
    }
}

/// Three figures to the right, the kind to the left, and two spaces after it.
fn put_cells(canvas: &mut Canvas, role: Role, cells: &[String; 4], widths: &[usize; 4]) {
    let mut end = 2;
    for (cell, width) in cells.iter().zip(widths).take(3) {
        end += width;
        canvas.right(role, cell, end);
        end += 2;
    }
    canvas.to(end).put(role, &cells[3]).to(end + widths[3] + 2);
}

fn median_of(step: &Step) -> i64 {
    let mut sorted = step.traced_each_ns.clone();
    sorted.sort_unstable();
    if sorted.is_empty() { step.traced_ns } else { median(&sorted) }
}
