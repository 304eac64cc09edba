//! Counters of the GPUs (`GPU_METRICS`) as samples: the same columns that a watch from outside writes.
//!
//! Nsight Systems samples at thousands of times a second; what is kept is the mean of each twentieth of a second, in
//! which the columns of a watch are. The GPU is the lowest byte of `typeId` (Nsight Systems User Guide, "SQLite Schema
//! Reference", `GPU_METRICS`). Metrics are found by the beginning of their names, which differ between GPUs.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use whyidle_model::Table;

use super::database::Database;
use super::machine::base_unix_ns;
use crate::limits::MAX_TIME;

/// Length of a sample that is kept, ns.
const BIN_NS: i64 = 50_000_000;
/// No recording with counters is longer: ten million samples are five days.
const MOST_BINS: usize = 10_000_000;

/// Columns of a watch, and the metrics that make them up: each the sum of those it names.
const COLUMNS: [(&str, &[&str]); 5] = [
    ("util_gpu", &["GR Active"]),
    ("sm_util", &["SMs Active"]),
    ("any_tensor_util", &["Tensor Active"]),
    ("dram_bw_util", &["DRAM Read Bandwidth", "DRAM Write Bandwidth"]),
    ("sm_occupancy", &["Compute Warps in Flight"]),
];

/// Sum and count of a metric in a bin.
type Mean = (f64, u32);

/// The counters in the export; an empty table where there are none.
pub(crate) fn read(path: &std::path::Path) -> Table {
    let Ok(database) = Database::open(path) else { return Table::default() };
    let metrics = metrics(&database);
    let base = base_unix_ns(&database);
    let mut bins: BTreeMap<(i64, i64), FxHashMap<usize, Mean>> = BTreeMap::new();
    // A table that is damaged is read as far as it goes.
    database.each("GPU_METRICS", ["timestamp", "typeId", "metricId", "value"], |row| {
        let (Some(t), Some(kind), Some(metric)) = (row.integer(0), row.integer(1), row.integer(2)) else {
            return;
        };
        let (Some(&part), Some(value)) = (metrics.get(&(kind, metric)), row.number(3)) else { return };
        if t.saturating_abs() > MAX_TIME || !value.is_finite() || bins.len() >= MOST_BINS {
            return;
        }
        let mean = bins.entry((t.div_euclid(BIN_NS), kind & 0xff)).or_default().entry(part).or_default();
        mean.0 += value;
        mean.1 = mean.1.saturating_add(1);
    });
    table(&bins, base)
}

/// Which part of which column a metric is, by kind and metric.
fn metrics(database: &Database) -> FxHashMap<(i64, i64), usize> {
    let mut found = FxHashMap::default();
    database.each("TARGET_INFO_GPU_METRICS", ["typeId", "metricId", "metricName"], |row| {
        let (Some(kind), Some(metric), Some(name)) = (row.integer(0), row.integer(1), row.text(2)) else {
            return;
        };
        let part = parts().position(|(_, metric)| name.starts_with(metric.as_bytes()));
        if let Some(part) = part {
            found.insert((kind, metric), part);
        }
    });
    found
}

/// Every metric that is used, with its column.
fn parts() -> impl Iterator<Item = (&'static str, &'static str)> {
    COLUMNS.iter().flat_map(|(column, metrics)| metrics.iter().map(move |metric| (*column, *metric)))
}

fn table(bins: &BTreeMap<(i64, i64), FxHashMap<usize, Mean>>, base: i64) -> Table {
    let mut table = Table::default();
    if bins.is_empty() {
        return table;
    }
    let mut gpus = Vec::with_capacity(bins.len());
    let mut columns: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for ((bin, gpu), means) in bins {
        table.t.push(base.saturating_add(bin * BIN_NS));
        gpus.push(*gpu as f64);
        for (column, _) in COLUMNS {
            let mean = |part: usize| means.get(&part).map(|(sum, count)| sum / f64::from((*count).max(1)));
            let values = parts().enumerate().filter(|(_, (of, _))| *of == column);
            let values: Vec<f64> = values.filter_map(|(part, _)| mean(part)).collect();
            let value = if values.is_empty() { f64::NAN } else { values.iter().sum() };
            columns.entry(column).or_default().push(value);
        }
    }
    table.numbers.insert("gpu".to_owned(), gpus);
    for (column, values) in columns {
        if values.iter().any(|value| value.is_finite()) {
            table.numbers.insert(column.to_owned(), values);
        }
    }
    table
}
