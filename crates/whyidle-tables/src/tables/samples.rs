//! What was sampled of a run, one value a row.

use whyidle_model::Table as Samples;

use crate::column::{Cell, Rows, Sink, Stop, Table, columns};
use crate::source::Sampled;

pub(super) const TABLE: Table = Table {
    name: "samples",
    doc: "Samples of a recording, one value a row: which columns there are depends on the machine. Counters (CPU seconds, bytes, switches) are cumulative.",
    columns: columns! {
        source Text "" "gpu, process, thread or system";
        t_ns Integer "ns" "when, Unix time";
        gpu Integer "" "gpu: physical number";
        pid Integer "" "process and thread: the process";
        tid Integer "" "thread: the thread";
        metric Text "" "the column, as util_gpu, graphics_util, rss, cpu_user; docs/recording.md has them";
        value Real "" "its number; NULL for text";
        text Text "" "its text; NULL for numbers";
    },
    rows: Rows::Sampled(rows),
};

fn rows(from: &Sampled<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let samples = from.samples;
    for (source, table) in [
        ("gpu", &samples.gpu),
        ("process", &samples.process),
        ("thread", &samples.thread),
        ("system", &samples.system),
    ] {
        rows_of(source, table, sink)?;
    }
    Ok(())
}

/// Columns that say whose sample a row is.
const KEYS: [&str; 3] = ["gpu", "pid", "tid"];

fn rows_of(source: &'static str, table: &Samples, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let key = |column: &str, row: usize| -> Cell<'static> {
        table.number(column, row).map(|number| number.round() as i64).into()
    };
    for row in 0..table.len() {
        let whose = [source.into(), table.t[row].into(), key("gpu", row), key("pid", row), key("tid", row)];
        let [a, b, c, d, e] = whose;
        for name in table.numbers.keys().filter(|name| !KEYS.contains(&name.as_str())) {
            if let Some(value) = table.number(name, row) {
                sink(&[a, b, c, d, e, name.as_str().into(), value.into(), Cell::Null])?;
            }
        }
        for name in table.words.keys() {
            let word = table.word(name, row);
            if !word.is_empty() {
                sink(&[a, b, c, d, e, name.as_str().into(), Cell::Null, word.into()])?;
            }
        }
    }
    Ok(())
}
