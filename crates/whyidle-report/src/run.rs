//! Where the watched time of a run goes, in words: rows that text and Markdown share.

use crate::Catalog;
use crate::catalog::key_of;
use fluent_bundle::FluentValue;
use whyidle_diagnosis::{RunLedger, Verdict};

/// Less than this share beside training needs no table.
const WORTH_A_TABLE: f64 = 0.05;
/// A row below this share is left out of the short table.
const WORTH_A_ROW: f64 = 0.01;

/// A row.
pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) share: f64,
    pub(crate) ns: i64,
    /// How often it came, and where.
    pub(crate) details: Vec<String>,
}

/// The ledger, where it says something that the step's does not. `complete`: always, with every row.
pub(crate) fn shown(verdict: &Verdict, complete: bool) -> Option<&RunLedger> {
    let run = verdict.run.as_ref().filter(|run| run.watched_ns > 0)?;
    let training: i64 = run.lines.iter().filter(|line| line.id == "training").map(|line| line.ns).sum();
    let beside = 1.0 - training as f64 / run.watched_ns as f64;
    (complete || beside >= WORTH_A_TABLE).then_some(run)
}

pub(crate) fn title(run: &RunLedger, catalog: &Catalog) -> String {
    catalog.format("report-where-a-run-goes", &[("time", FluentValue::from(catalog.time(run.watched_ns)))])
}

pub(crate) fn rows(run: &RunLedger, catalog: &Catalog, complete: bool) -> Vec<Row> {
    let share = |ns: i64| ns as f64 / run.watched_ns as f64;
    let row = |line: &whyidle_diagnosis::RunLine| {
        let mut details = Vec::new();
        if let Some(period) = line.period_ns {
            let mut args = vec![
                ("count", FluentValue::from(f64::from(line.visits))),
                ("period", FluentValue::from(catalog.time(period))),
            ];
            let key =
                if line.period_steps.is_some() { "report-run-visits-steps" } else { "report-run-visits" };
            args.extend(line.period_steps.map(|steps| ("steps", FluentValue::from(steps as f64))));
            details.push(catalog.format(key, &args));
        }
        details.extend(line.place.clone());
        let label = catalog.word(&format!("phase-{}", key_of(line.id)));
        Row { label, share: share(line.ns), ns: line.ns, details }
    };
    run.lines.iter().filter(|line| complete || share(line.ns) >= WORTH_A_ROW).map(row).collect()
}
