//! The ledger as rows to show: what is folded into one row, what keeps its own.

use crate::Catalog;
use whyidle_diagnosis::{Line, LineKind};

/// Below this share of the step a line is folded into "everything else".
const WORTH_A_ROW: f64 = 0.01;
/// The line that says how much of the step this tool could not explain.
const UNEXPLAINED: &str = "rest.unexplained";
/// Kinds of work that are named beside "GPU working".
const KINDS_NAMED: usize = 4;

/// One row.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Name.
    pub(crate) label: String,
    /// Work, waiting or rest.
    pub(crate) kind: LineKind,
    /// Time per step, ns.
    pub(crate) ns: i64,
    /// The interval of `ns`, where it has one.
    pub(crate) range: Option<String>,
    /// Share of the step.
    pub(crate) share: f64,
    /// What is in it.
    pub(crate) details: Vec<String>,
}

/// A row for each line that is worth one: work as one row, what is small as another. What is
/// unexplained is never hidden among others.
pub(crate) fn folded(catalog: &Catalog, ledger: &[Line], step_ns: i64) -> Vec<Row> {
    let working: Vec<&Line> = ledger.iter().filter(|line| line.kind == LineKind::Working).collect();
    let (large, small): (Vec<&Line>, Vec<&Line>) = ledger
        .iter()
        .filter(|line| line.kind != LineKind::Working && line.unprofiled.ns > 0)
        .filter(|line| line.id != UNEXPLAINED)
        .partition(|line| line.share >= WORTH_A_ROW);

    let mut rows: Vec<Row> = large.iter().map(|line| row(catalog, line)).collect();
    if working.iter().any(|line| line.unprofiled.ns > 0) {
        let label = catalog.word("report-gpu-working");
        rows.push(sum(label, LineKind::Working, &working, named_with_rest(catalog, &working, step_ns)));
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.ns));
    match small.as_slice() {
        [] => {}
        [only] => rows.push(row(catalog, only)),
        several => {
            let label = catalog.word("report-everything-else");
            rows.push(sum(label, LineKind::Rest, several, named(catalog, several, step_ns)));
        }
    }
    rows.extend(
        ledger
            .iter()
            .filter(|line| line.id == UNEXPLAINED && line.unprofiled.ns > 0)
            .map(|line| row(catalog, line)),
    );
    rows
}

/// A row for every line that is not empty, in the verdict's order.
pub(crate) fn complete(catalog: &Catalog, ledger: &[Line]) -> Vec<Row> {
    ledger
        .iter()
        .filter(|line| line.traced_ns != 0 || line.unprofiled.ns != 0)
        .map(|line| row(catalog, line))
        .collect()
}

fn row(catalog: &Catalog, line: &Line) -> Row {
    Row {
        label: catalog.line(line.id),
        kind: line.kind,
        ns: line.unprofiled.ns,
        range: catalog.range_if_wide(&line.unprofiled),
        share: line.share,
        details: line.details.iter().map(|detail| catalog.message(detail)).collect(),
    }
}

fn sum(label: String, kind: LineKind, lines: &[&Line], details: Vec<String>) -> Row {
    Row {
        label,
        kind,
        ns: lines.iter().map(|line| line.unprofiled.ns).sum(),
        range: None,
        share: lines.iter().map(|line| line.share).sum(),
        details,
    }
}

/// Lines by size, `matmul 36 ms` each.
fn named(catalog: &Catalog, lines: &[&Line], step_ns: i64) -> Vec<String> {
    let mut lines = lines.to_vec();
    lines.sort_by_key(|line| std::cmp::Reverse(line.unprofiled.ns));
    lines
        .iter()
        .map(|line| format!("{} {}", catalog.line(line.id), catalog.time_like(line.unprofiled.ns, step_ns)))
        .collect()
}

/// The largest lines by name and the others as one figure.
fn named_with_rest(catalog: &Catalog, lines: &[&Line], step_ns: i64) -> Vec<String> {
    let mut lines: Vec<&Line> = lines.iter().copied().filter(|line| line.unprofiled.ns > 0).collect();
    lines.sort_by_key(|line| (line.id == "working.other", std::cmp::Reverse(line.unprofiled.ns)));
    let keep = lines
        .iter()
        .take(KINDS_NAMED)
        .take_while(|line| line.share >= WORTH_A_ROW && line.id != "working.other")
        .count()
        .max(1);
    let (largest, others) = lines.split_at(keep.min(lines.len()));
    let mut details = named(catalog, largest, step_ns);
    let rest: i64 = others.iter().map(|line| line.unprofiled.ns).sum();
    if rest > 0 {
        details.push(format!("{} {}", catalog.line("working.other"), catalog.time_like(rest, step_ns)));
    }
    details
}
