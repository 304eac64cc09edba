//! The tables below a verdict: phases of the run, instruments, kernels, operators, modules, gaps.

use whyidle_diagnosis::{Instruments, Total, Verdict};

use super::both::{Both, Tongues};
use super::colours::class;
use super::ledger::column;
use crate::{instruments as words, run as phases};

/// A table: heads, and rows of a class and cells. Figures are set to the right where `right` says so.
pub(crate) struct TableView {
    pub(crate) title: Both,
    pub(crate) heads: Vec<(Both, bool)>,
    pub(crate) rows: Vec<(&'static str, Vec<Cell>)>,
}

/// A cell.
pub(crate) struct Cell {
    pub(crate) text: Both,
    pub(crate) right: bool,
    /// It is a name of others: set as code.
    pub(crate) code: bool,
}

/// Where the watched time went.
pub(crate) struct RunView {
    pub(crate) title: Both,
    pub(crate) rows: Vec<(Both, Both, Both, Both)>,
}

pub(crate) fn run(t: &Tongues<'_>, verdict: &Verdict) -> Option<RunView> {
    let ledger = phases::shown(verdict, true)?;
    let (en, zh) = (phases::rows(ledger, t.en, true), phases::rows(ledger, t.zh, true));
    let rows = en.into_iter().zip(zh).map(|(en, zh)| {
        let details = Both { en: en.details.join(" · "), zh: zh.details.join(" · ") };
        let share = column(t, en.share);
        let time = t.say(|c| c.time_like(en.ns, ledger.watched_ns));
        (Both { en: en.label, zh: zh.label }, share, time, details)
    });
    Some(RunView { title: t.say(|c| phases::title(ledger, c)), rows: rows.collect() })
}

pub(crate) fn instruments(t: &Tongues<'_>, found: &Instruments) -> TableView {
    let (en, zh) = (words::rows(found, t.en), words::rows(found, t.zh));
    let heads = words::heads(t.en).into_iter().zip(words::heads(t.zh)).enumerate();
    let rows = en.into_iter().zip(zh).map(|(en, zh)| {
        let cells = en.into_iter().zip(zh).enumerate();
        let cells = cells.map(|(at, (en, zh))| Cell { text: Both { en, zh }, right: at == 1, code: false });
        ("", cells.collect())
    });
    TableView {
        title: t.say(|c| words::title(found, c)),
        heads: heads.map(|(at, (en, zh))| (Both { en, zh }, at == 1)).collect(),
        rows: rows.collect(),
    }
}

/// Kernels, operators, modules, gaps: whatever there is.
pub(crate) fn tables(t: &Tongues<'_>, verdict: &Verdict) -> Vec<TableView> {
    let details = &verdict.details;
    let steps = i64::try_from(verdict.step.count.max(1)).unwrap_or(i64::MAX);
    [
        (t.word("report-kernels"), &details.kernels, steps),
        (t.word("report-operators"), &details.operators, steps),
        (t.word("report-modules"), &details.modules, steps),
        (t.word("report-gaps"), &details.gaps, 1),
    ]
    .into_iter()
    .filter(|(_, totals, _)| !totals.is_empty())
    .map(|(title, totals, steps)| totals_table(t, title, totals, steps))
    .collect()
}

fn totals_table(t: &Tongues<'_>, title: Both, totals: &[Total], steps: i64) -> TableView {
    let heads = [
        (t.word("report-column-time"), true),
        (t.word("report-column-count"), true),
        (t.word("report-column-longest"), true),
        (t.word("report-column-kind"), false),
        (t.word("report-column-name"), false),
    ];
    let row = |total: &Total| {
        let cells = t.en.total(total, steps).into_iter().zip(t.zh.total(total, steps)).enumerate();
        let mut cells: Vec<Cell> =
            cells.map(|(at, (en, zh))| Cell { text: Both { en, zh }, right: at < 3, code: false }).collect();
        cells.push(Cell { text: Both::same(&total.name), right: false, code: true });
        (class(total.kind), cells)
    };
    TableView { title, heads: heads.into(), rows: totals.iter().map(row).collect() }
}
