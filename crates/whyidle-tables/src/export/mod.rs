//! Traces and recordings in the formats of other tools. Everything is written row by row, event by event: what is held at
//! a time is one trace and, for flame graphs, its distinct stacks.
//!
//! * [`csv`] – the tables, a file each. The tables in a SQLite file are [`crate::sql::Database::create`].
//! * [`chrome`] – Chrome's trace event format, which Perfetto opens and whyidle reads back, with tracks of whyidle's own.
//! * [`stacks`] – stacks with their weights, as speedscope's format and as folded lines.

pub mod chrome;
pub mod csv;
pub mod stacks;

use whyidle_model::{Frame, Interner};

/// `Linear.forward (torch/nn/modules/linear.py:134)`.
pub(crate) fn frame_text(names: &Interner, frame: Frame) -> String {
    let (function, file) = (names.get(frame.function), names.get(frame.file));
    match (file, frame.line) {
        ("", _) => function.to_owned(),
        (file, 0) => format!("{function} ({file})"),
        (file, line) => format!("{function} ({file}:{line})"),
    }
}
