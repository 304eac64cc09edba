//! The ranks side by side: a map of rank and ledger line, and how they stand to each other.

use fluent_bundle::FluentValue;
use whyidle_diagnosis::{RankVerdict, Verdict};

use super::both::{Both, Tongues};
use super::colours::class;
use super::ledger::column;
use crate::strategy;
use crate::text::ranks as text;

/// Ranks on the map: the worst ones; all are in the JSON report.
const ROWS: usize = 64;
/// A line that is below this share on every rank has no column.
const WORTH_A_COLUMN: f64 = 0.02;
/// Shades of the map.
const SHADES: f64 = 10.0;

/// The ranks.
pub(crate) struct RanksView {
    pub(crate) lines: Vec<(Both, &'static str)>,
    pub(crate) rows: Vec<RankRow>,
    pub(crate) heads: Vec<Both>,
    pub(crate) left_out: Option<Both>,
    pub(crate) summary: Option<Both>,
    pub(crate) together: Vec<Both>,
}

/// A rank.
pub(crate) struct RankRow {
    /// It is the straggler.
    pub(crate) late: bool,
    /// Number, step, working, and how it stands to the others.
    pub(crate) cells: Vec<Both>,
    /// Per line: shade, share, and the figures behind it.
    pub(crate) map: Vec<(usize, Both, Both)>,
}

/// `None` for fewer than two ranks.
pub(crate) fn ranks(t: &Tongues<'_>, verdict: &Verdict) -> Option<RanksView> {
    if verdict.ranks.len() < 2 {
        return None;
    }
    let shown = &verdict.ranks[..verdict.ranks.len().min(ROWS)];
    let mut ids: Vec<&'static str> = Vec::new();
    for line in shown.iter().flat_map(|rank| &rank.ledger) {
        if line.share >= WORTH_A_COLUMN && !ids.contains(&line.id) {
            ids.push(line.id);
        }
    }
    let compared = shown.iter().any(|rank| rank.lateness.is_some());
    let columns = if compared { text::HEADS.len() } else { 3 };
    let left_out = verdict.ranks.len() - shown.len();
    let together = verdict.together.as_ref();
    Some(RanksView {
        lines: ids.iter().map(|&id| (t.say(|c| c.line(id)), class(id))).collect(),
        rows: shown.iter().map(|rank| row(t, rank, &ids, columns)).collect(),
        heads: text::HEADS[..columns].iter().map(|head| t.word(head)).collect(),
        left_out: (left_out > 0)
            .then(|| t.format("report-more-rows", &[("count", FluentValue::from(left_out as f64))])),
        summary: together.map(|facts| t.say(|c| text::summary(c, facts))),
        together: together
            .map(|facts| {
                let transfers = facts.groups.iter().flat_map(|group| {
                    let of = group.transfers.iter().take(text::TRANSFERS);
                    of.map(|transfer| {
                        t.say(|c| {
                            format!("{} · {}", text::group_name(c, group), text::transfer_line(c, transfer))
                        })
                    })
                });
                let traits = facts.strategy.iter().map(|one| t.say(|c| strategy::text(c, one)));
                traits.chain(transfers).collect()
            })
            .unwrap_or_default(),
    })
}

fn row(t: &Tongues<'_>, rank: &RankVerdict, ids: &[&'static str], columns: usize) -> RankRow {
    let step_ns = rank.step.unprofiled.ns;
    let (en, zh) = (text::cells(t.en, rank), text::cells(t.zh, rank));
    let cells = en.into_iter().zip(zh).take(columns).map(|(en, zh)| Both { en, zh });
    let map = ids.iter().map(|id| match rank.ledger.iter().find(|line| line.id == *id) {
        Some(line) => {
            let says = t.say(|c| {
                let time = c.time_like(line.unprofiled.ns, step_ns);
                match c.range_if_wide(&line.unprofiled) {
                    Some(range) => format!("{time} · {range}"),
                    None => time,
                }
            });
            let shade = (line.share.clamp(0.0, 1.0) * SHADES).ceil() as usize;
            (shade, column(t, line.share), says)
        }
        None => (0, Both::same("–"), Both::default()),
    });
    RankRow {
        late: rank.lateness.as_ref().is_some_and(|late| late.straggler),
        cells: cells.collect(),
        map: map.collect(),
    }
}
