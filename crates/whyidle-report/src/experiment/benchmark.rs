//! A table of runs in a file that people keep: one row a run.

use whyidle_experiment::result::Run;

use super::words;
use crate::{Catalog, quantity};

/// The head of the table.
#[must_use]
pub fn benchmark_header(catalog: &Catalog) -> String {
    let columns = [
        "benchmark-date",
        "benchmark-commit",
        "benchmark-step",
        "benchmark-interval",
        "benchmark-rate",
        "benchmark-busy",
        "benchmark-peak",
        "benchmark-energy",
        "benchmark-on",
        "benchmark-command",
    ];
    let names: Vec<String> = columns.iter().map(|column| catalog.word(column)).collect();
    format!(
        "# {}\n\n| {} |\n|{}\n",
        catalog.word("benchmark-title"),
        names.join(" | "),
        "---|".repeat(names.len())
    )
}

/// The row of a run.
#[must_use]
pub fn benchmark_row(run: &Run, catalog: &Catalog) -> String {
    let place = &run.place;
    let interval = run.steady.as_ref().and_then(|steady| steady.interval_ns);
    let interval = interval.map(|(low, high)| catalog.time_range(low, high));
    let peak = run.peak.map(|peak| peak.allocated);
    let on = place.gpus.first().or(place.processor.as_ref());
    let on = [on.cloned(), place.torch.as_ref().map(|version| format!("torch {version}"))];
    let cells = [
        Some(words::moment(run.began)),
        place.revision(),
        run.step_ns().map(|ns| catalog.time(ns)),
        interval,
        run.samples_per_s().or(run.tokens_per_s()).map(quantity::plain),
        run.gpu.map(|gpu| catalog.share(gpu.resident)),
        peak.map(|bytes| catalog.quantity(&quantity::bytes(bytes))),
        run.energy_per_step_j().map(quantity::plain),
        Some(on.into_iter().flatten().collect::<Vec<_>>().join(", ")),
        Some(format!("`{}`", run.shown())),
    ];
    // A bar would end the cell, a line's end the row.
    let cell =
        |cell: Option<String>| cell.unwrap_or_else(|| "–".to_owned()).replace('|', "\\|").replace('\n', " ");
    format!("| {} |\n", cells.map(cell).join(" | "))
}
