//! The ranks side by side, worst first, and what holds of all of them.

use fluent_bundle::FluentValue;
use unicode_width::UnicodeWidthStr;
use whyidle_diagnosis::{Clock, Group, LineKind, RankVerdict, TogetherFacts, Transfer, Verdict};

use super::{Canvas, Role};
use crate::Catalog;
use crate::quantity;
use crate::strategy;

/// Ranks that are listed without `-v`: the worst ones.
const LISTED: usize = 8;
/// Kinds and sizes of collectives that `-v` lists per group.
pub(crate) const TRANSFERS: usize = 6;
/// The columns' heads.
pub(crate) const HEADS: [&str; 7] = [
    "report-rank-rank",
    "report-rank-step",
    "report-rank-working",
    "report-rank-last",
    "report-rank-waits",
    "report-rank-caused",
    "report-rank-pace",
];
/// Columns that a narrow page leaves out: working, own pace, waits.
const DROPPED_FIRST: [usize; 3] = [2, 6, 4];
/// Clocks that differ by less than this are one host's.
const ONE_CLOCK_NS: i64 = 100_000;

/// A table of the ranks, where there are several; `-v` adds their collectives and clocks.
pub(super) fn write(canvas: &mut Canvas, catalog: &Catalog, verdict: &Verdict, verbose: bool) {
    if verdict.ranks.len() < 2 {
        return;
    }
    canvas.blank();
    let listed = if verbose { verdict.ranks.len() } else { LISTED };
    let ranks: Vec<&RankVerdict> = verdict.ranks.iter().take(listed).collect();
    if ranks.iter().any(|rank| rank.lateness.is_some()) {
        write_table(canvas, catalog, &ranks);
    } else {
        canvas.to(2).put(Role::Strong, &catalog.word("report-ranks-title")).end();
        for rank in ranks {
            canvas.to(2).flow_to(Role::Plain, &plain_line(catalog, rank), 4);
        }
    }
    let hidden = verdict.ranks.len().saturating_sub(listed);
    if hidden > 0 {
        let hidden = [("count", FluentValue::from(hidden as f64))];
        canvas.to(2).flow(Role::Faint, &catalog.format("report-more-ranks", &hidden));
    }
    if let Some(facts) = &verdict.together {
        canvas.to(2).flow_to(Role::Faint, &summary(catalog, facts), 2);
        if verbose {
            write_together(canvas, catalog, facts);
        }
    }
}

fn write_table(canvas: &mut Canvas, catalog: &Catalog, ranks: &[&RankVerdict]) {
    let heads = HEADS.map(|head| catalog.word(head));
    let rows: Vec<[String; 7]> = ranks.iter().map(|rank| cells(catalog, rank)).collect();
    let width =
        |column: usize| rows.iter().map(|row| row[column].width()).chain([heads[column].width()]).max();
    let mut columns: Vec<usize> = (0..heads.len()).collect();
    let all =
        |columns: &[usize]| 2 * columns.len() + columns.iter().filter_map(|&at| width(at)).sum::<usize>();
    for dropped in DROPPED_FIRST {
        if all(&columns) > canvas.width {
            columns.retain(|column| *column != dropped);
        }
    }
    let mut end = 0;
    let placed: Vec<(usize, usize)> = columns
        .into_iter()
        .map(|column| {
            end += 2 + width(column).unwrap_or(0);
            (column, end)
        })
        .collect();
    write_row(canvas, &heads, &placed, Role::Strong, Role::Faint);
    canvas.end();
    for (rank, row) in ranks.iter().zip(&rows) {
        let late = rank.lateness.as_ref().is_some_and(|late| late.straggler);
        write_row(canvas, row, &placed, if late { Role::Waiting } else { Role::Plain }, Role::Plain);
        let label = largest_wait(catalog, rank);
        if !label.is_empty() && label.width() + end + 2 <= canvas.width {
            canvas.to(end + 2).put(Role::Faint, &label);
        }
        canvas.end();
    }
}

/// Cells at the ends of their columns; the first stands to the left.
fn write_row(canvas: &mut Canvas, cells: &[String], placed: &[(usize, usize)], first: Role, others: Role) {
    for (at, &(column, end)) in placed.iter().enumerate() {
        if at == 0 {
            canvas.to(2).put(first, &cells[column]);
        } else {
            canvas.right(others, &cells[column], end);
        }
    }
}

/// Rank, step, working share, how often last, own waiting for others, what it made others wait, own pace.
pub(crate) fn cells(catalog: &Catalog, rank: &RankVerdict) -> [String; 7] {
    let late = rank.lateness.as_ref();
    let step = rank.step.unprofiled.ns;
    let time = |ns: Option<i64>| ns.map_or_else(|| "–".to_owned(), |ns| catalog.time_like(ns, step));
    let last = |last: u64, of: u64| {
        let args = [("last", FluentValue::from(last as f64)), ("of", FluentValue::from(of as f64))];
        catalog.format("report-rank-last-of", &args)
    };
    [
        rank.rank.to_string(),
        catalog.time(step),
        catalog.share_in_column(rank.working_share),
        late.map_or_else(|| "–".to_owned(), |late| last(late.last, late.of)),
        time(late.map(|late| late.waited_ns)),
        time(late.map(|late| late.caused_ns)),
        time(late.and_then(|late| late.pace_ns)),
    ]
}

/// What the rank itself waits for most, other than its peers.
fn largest_wait(catalog: &Catalog, rank: &RankVerdict) -> String {
    let own = rank.ledger.iter().filter(|line| line.kind == LineKind::Waiting && line.id != "comm.wait");
    let most = own.max_by_key(|line| line.unprofiled.ns).filter(|line| line.share >= 0.05);
    most.map(|line| catalog.line(line.id)).unwrap_or_default()
}

fn plain_line(catalog: &Catalog, rank: &RankVerdict) -> String {
    let waits = rank.ledger.iter().filter(|line| line.kind == LineKind::Waiting);
    let mut text = catalog.format(
        "report-rank-line",
        &[
            ("rank", FluentValue::from(rank.rank.to_string())),
            ("step", FluentValue::from(catalog.time(rank.step.unprofiled.ns))),
            ("working", FluentValue::from(catalog.share(rank.working_share))),
        ],
    );
    if let Some(wait) = waits.max_by_key(|line| line.unprofiled.ns).filter(|line| line.unprofiled.ns > 0) {
        let time = catalog.time_like(wait.unprofiled.ns, rank.step.unprofiled.ns);
        text.push_str(&format!(" · {} {time}", catalog.line(wait.id)));
    }
    text
}

/// How well the ranks were compared, and how far their clocks are apart.
pub(crate) fn summary(catalog: &Catalog, facts: &TogetherFacts) -> String {
    let matched = catalog.format(
        "report-together-matched",
        &[
            ("share", FluentValue::from(catalog.share(facts.matched))),
            ("how", FluentValue::from(facts.matched_by)),
        ],
    );
    let apart = facts.clocks.iter().map(|clock| clock.ahead_ns.abs()).max().unwrap_or(0);
    let error = facts.clocks.iter().map(|clock| clock.error_ns).max().unwrap_or(0);
    let clocks = if facts.clocks.len() < 2 {
        catalog.word("report-clocks-unknown")
    } else {
        let key =
            if apart <= ONE_CLOCK_NS.max(error) { "report-clocks-agree" } else { "report-clocks-apart" };
        let args = [
            ("apart", FluentValue::from(catalog.time(apart))),
            ("error", FluentValue::from(catalog.time(error))),
        ];
        catalog.format(key, &args)
    };
    format!("{matched} · {clocks}")
}

fn write_together(canvas: &mut Canvas, catalog: &Catalog, facts: &TogetherFacts) {
    for group in facts.groups.iter().filter(|group| !group.transfers.is_empty()) {
        canvas.blank();
        canvas.to(2).flow(Role::Strong, &group_name(catalog, group));
        for transfer in group.transfers.iter().take(TRANSFERS) {
            canvas.to(2).flow_to(Role::Plain, &transfer_line(catalog, transfer), 4);
        }
    }
    write_clocks(canvas, catalog, &facts.clocks);
    if !facts.strategy.is_empty() {
        canvas.blank();
        canvas.to(2).put(Role::Strong, &catalog.word("report-strategy")).end();
        for one in &facts.strategy {
            canvas.to(2).flow_to(Role::Plain, &strategy::text(catalog, one), 4);
        }
    }
}

/// A group and its ranks.
pub(crate) fn group_name(catalog: &Catalog, group: &Group) -> String {
    let args = [
        ("name", FluentValue::from(group.name.as_str())),
        ("count", FluentValue::from(group.ranks.len() as f64)),
        ("from", FluentValue::from(group.ranks.first().map(u32::to_string).unwrap_or_default())),
        ("to", FluentValue::from(group.ranks.last().map(u32::to_string).unwrap_or_default())),
    ];
    catalog.format(if group.name.is_empty() { "report-pair" } else { "report-group" }, &args)
}

pub(crate) fn transfer_line(catalog: &Catalog, transfer: &Transfer) -> String {
    let args = [
        ("kind", FluentValue::from(transfer.kind)),
        ("bytes", FluentValue::from(catalog.quantity(&quantity::bytes(transfer.bytes)))),
        ("count", FluentValue::from(transfer.count as f64)),
        ("time", FluentValue::from(catalog.time(transfer.transfer_ns))),
        ("speed", FluentValue::from(format!("{:.0}", transfer.bus / 1e9))),
        ("hidden", FluentValue::from(catalog.share(transfer.hidden.max(0.0)))),
    ];
    catalog.format("report-transfer", &args)
}

/// Clocks that are apart, one line for each stretch of ranks that share one.
fn write_clocks(canvas: &mut Canvas, catalog: &Catalog, clocks: &[Clock]) {
    let mut hosts: Vec<(&Clock, u32)> = Vec::new();
    for clock in clocks {
        match hosts.last_mut() {
            Some((first, last)) if (clock.ahead_ns - first.ahead_ns).abs() <= ONE_CLOCK_NS => {
                *last = clock.rank
            }
            _ => hosts.push((clock, clock.rank)),
        }
    }
    if hosts.len() < 2 {
        return;
    }
    canvas.blank();
    canvas.to(2).put(Role::Strong, &catalog.word("report-clocks")).end();
    for (clock, last) in hosts {
        let args = [
            ("first", FluentValue::from(clock.rank.to_string())),
            ("last", FluentValue::from(last.to_string())),
            ("ahead", FluentValue::from(catalog.time(clock.ahead_ns))),
            ("error", FluentValue::from(catalog.time(clock.error_ns))),
            ("drift", FluentValue::from(format!("{:.1}", clock.drift * 1e6))),
        ];
        canvas.to(2).flow_to(Role::Plain, &catalog.format("report-clock", &args), 4);
    }
}
