//! What each instrument says, in words: rows that text and Markdown share.

use fluent_bundle::FluentValue;
use whyidle_diagnosis::{Instruments, Reading};

use crate::Catalog;
use crate::catalog::key_of;
use crate::quantity;

/// Name, value, and what it counts. A value that is not known is a dash.
pub(crate) fn rows(instruments: &Instruments, catalog: &Catalog) -> Vec<[String; 3]> {
    instruments.readings.iter().map(|reading| row(reading, catalog)).collect()
}

pub(crate) fn title(instruments: &Instruments, catalog: &Catalog) -> String {
    match instruments.gpu {
        Some(gpu) => catalog.format("report-instruments-gpu", &[("gpu", FluentValue::from(gpu.to_string()))]),
        None => catalog.word("report-instruments"),
    }
}

/// Heads of the columns.
pub(crate) fn heads(catalog: &Catalog) -> [String; 3] {
    ["report-column-instrument", "report-column-says", "report-column-counts"].map(|key| catalog.word(key))
}

fn row(reading: &Reading, catalog: &Catalog) -> [String; 3] {
    let key = key_of(reading.id);
    let value = match reading.value {
        None => "–".to_owned(),
        Some(value) if reading.unit == "bytes/s" => {
            let bytes = catalog.quantity(&quantity::bytes(value as i64));
            catalog.format("report-per-second", &[("bytes", FluentValue::from(bytes))])
        }
        Some(value) => catalog.share(value),
    };
    let counts = catalog.word(&format!("instrument-{key}-counts"));
    let counts = match &reading.detail {
        None => counts,
        Some(detail) => {
            let args = [
                ("counts", FluentValue::from(counts)),
                ("detail", FluentValue::from(catalog.message(detail))),
            ];
            catalog.format("report-instrument-detail", &args)
        }
    };
    [catalog.word(&format!("instrument-{key}")), value, counts]
}
