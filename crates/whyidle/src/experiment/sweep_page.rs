//! How a sweep is printed: by `sweep`, and by `history show` on every system.

use whyidle_experiment::sweep::Sweep;
use whyidle_report::{render_sweep_json, render_sweep_markdown, render_sweep_text};

use crate::args::{Format, Showing};
use crate::output::Output;

/// The page of a sweep.
pub(super) fn page(sweep: &Sweep, id: Option<i64>, showing: Showing, output: &Output) -> String {
    match showing.format {
        Format::Text => render_sweep_text(sweep, id, &output.catalog, &output.text_options(showing.verbose)),
        Format::Json => render_sweep_json(sweep, id, &output.catalog),
        Format::Md => render_sweep_markdown(sweep, id, &output.catalog),
    }
}

/// Prints a sweep; its exit status.
#[cfg(target_os = "linux")]
pub(super) fn show(sweep: &Sweep, id: Option<i64>, showing: Showing, output: &Output) -> u8 {
    output.data(
        &page(sweep, id, showing, output),
        if sweep.has_result() { crate::REACHED } else { crate::REFUSED },
    )
}
