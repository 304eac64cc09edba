//! What was wrong with the input.

use whyidle_model::Severity;

use crate::column::{Rows, Sink, Stop, Table, columns};
use crate::source::Traced;

pub(super) const TABLE: Table = Table {
    name: "notes",
    doc: "What was dropped, mended or doubted while a trace was read.",
    columns: columns! {
        trace Integer "" "the trace";
        code Text "" "what, as truncated or no-launch";
        severity Text "" "info: changes no number; suspect: numbers may be off; loss: evidence is missing";
        count Integer "" "how often";
        first_byte Integer "" "where it was met first, in the inflated file; NULL where not known";
    },
    rows: Rows::Traced(rows),
};

fn rows(from: &Traced<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    for note in from.trace.notes.sorted() {
        let severity = match note.code.severity() {
            Severity::Info => "info",
            Severity::Suspect => "suspect",
            Severity::Loss => "loss",
        };
        sink(&[
            from.number.into(),
            note.code.id().into(),
            severity.into(),
            note.count.into(),
            note.first_byte.into(),
        ])?;
    }
    Ok(())
}
