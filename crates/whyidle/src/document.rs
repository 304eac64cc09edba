//! How a result that is no verdict leaves: printed in the form that was asked for, and as a page beside it.

use whyidle_report::{Beside, Document};

use crate::args::{Format, Showing};
use crate::output::Output;
use crate::page::{Page, command};

/// The document in the form that is asked for.
pub(crate) fn set(document: &Document<'_>, showing: Showing, output: &Output) -> String {
    match showing.format {
        Format::Text => document.text(&output.catalog, &output.text_options(showing.verbose)),
        Format::Json => document.json(&output.catalog),
        Format::Md => document.markdown(&output.catalog),
    }
}

/// Prints `text` – the document, and what else belongs to it – and writes its page, where one is wanted. Returns
/// `status`, or [`crate::UNREADABLE`] where one of them cannot be written.
pub(crate) fn put(
    text: &str,
    document: &Document<'_>,
    beside: Beside<'_>,
    page: Option<&Page>,
    status: u8,
    output: &Output,
) -> u8 {
    let status = output.data(text, status);
    let Some(page) = page else { return status };
    let command = command();
    let beside = Beside { command: &command, ..beside };
    page.write(status, output, |catalogs, lang| document.html(&beside, catalogs, lang))
}

/// Prints the document alone, and writes its page, where one is wanted.
pub(crate) fn show(
    document: &Document<'_>,
    page: Option<&Page>,
    showing: Showing,
    status: u8,
    output: &Output,
) -> u8 {
    put(&set(document, showing, output), document, Beside::default(), page, status, output)
}
