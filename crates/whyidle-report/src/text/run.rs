//! Where the watched time of a run goes: one line per phase.

use super::canvas::{Canvas, Role};
use super::wrap::shortened;
use crate::{Catalog, run};
use unicode_width::UnicodeWidthStr;
use whyidle_diagnosis::Verdict;

pub(super) fn write(canvas: &mut Canvas, catalog: &Catalog, verdict: &Verdict, verbose: bool) {
    let Some(ledger) = run::shown(verdict, verbose) else { return };
    let rows = run::rows(ledger, catalog, verbose);
    canvas.to(2).flow(Role::Strong, &run::title(ledger, catalog));
    let share = |share: f64| catalog.share_in_column(share);
    let widest =
        |words: &dyn Fn(&run::Row) -> String| rows.iter().map(|row| words(row).width()).max().unwrap_or(0);
    let label_end = 2 + widest(&|row| row.label.clone());
    let share_end = label_end + 2 + widest(&|row| share(row.share));
    let time_end = share_end + 2 + widest(&|row| catalog.time_like(row.ns, ledger.watched_ns));
    for row in &rows {
        canvas.to(2).put(Role::Plain, &row.label);
        canvas.right(Role::Plain, &share(row.share), share_end);
        canvas.right(Role::Plain, &catalog.time_like(row.ns, ledger.watched_ns), time_end);
        canvas.to(time_end + 2);
        for (at, detail) in row.details.iter().enumerate() {
            let detail = if at == 0 { detail.clone() } else { format!(" · {detail}") };
            let detail = shortened(&detail, canvas.room());
            canvas.put(Role::Faint, &detail);
        }
        canvas.end();
    }
    canvas.blank();
}
