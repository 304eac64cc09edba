//! A rank's ledger with its collectives split: what no work hides is transfer, or waiting for another rank.

use whyidle_analysis::ledger::Line as Known;
use whyidle_analysis::ranks::split::Exposed;

use super::set::Ranks;
use crate::message::{Arg, Message};
use crate::verdict::{Estimate, Line, LineKind};

/// Line of transfers that no work hides.
pub(crate) const TRANSFER: &str = "comm.exposed";
/// Line of waiting for other ranks inside collectives.
pub(crate) const WAIT: &str = "comm.wait";
/// Ranks that a line names.
const NAMED: usize = 2;

/// Splits the line of collectives. Traced times are exact. Without the profiler transfers keep their length, waiting is
/// what remains of the line, and the other lines are projected anew with that.
pub(crate) fn split(ranks: &Ranks, rank: usize, exposed: &Exposed) -> Vec<Line> {
    let own = &ranks.own[rank];
    let (step, ledger) = (own.verdict.step.unprofiled, &own.verdict.ledger);
    let Some(at) = ledger.iter().position(|line| line.id == Known::Communication.id()) else {
        return ledger.clone();
    };
    let traced = ledger[at].traced_ns;
    let steps = ranks.facts[rank].step_count();
    let transfer = exposed.transfer.min(traced);
    let wait = exposed.waited().min(traced - transfer);
    let unsplit = traced - transfer - wait;
    if transfer + wait == 0 {
        return ledger.clone();
    }
    let projected = own.parts.clone().with_transfer(transfer / steps).project(step);
    let of = |line: Known| projected[line as usize];
    let mut lines: Vec<Line> = ledger
        .iter()
        .map(|line| {
            let unprofiled = Known::ALL
                .iter()
                .find(|known| known.id() == line.id)
                .map_or(line.unprofiled, |&known| of(known));
            Line { unprofiled, share: share(unprofiled, step), ..line.clone() }
        })
        .collect();
    let whole = of(Known::Communication);
    let divided = |all: i64| {
        let open =
            i64::try_from(i128::from(all) * i128::from(unsplit) / i128::from(traced.max(1))).unwrap_or(0);
        let transfer = (transfer / steps).min(all - open);
        if wait == 0 { (all - open, 0, open) } else { (transfer, all - open - transfer, open) }
    };
    let (best, low, high) = (divided(whole.ns), divided(whole.low_ns), divided(whole.high_ns));
    let estimate = |of: fn((i64, i64, i64)) -> i64| {
        let (ns, a, b) = (of(best), of(low), of(high));
        Estimate { ns, low_ns: a.min(b).min(ns), high_ns: a.max(b).max(ns) }
    };
    let line = |id, traced_ns, unprofiled, details| Line {
        id,
        kind: LineKind::Waiting,
        traced_ns,
        unprofiled,
        share: share(unprofiled, step),
        details,
    };
    let parts = [
        line(TRANSFER, transfer, estimate(|parts| parts.0), Vec::new()),
        line(WAIT, wait, estimate(|parts| parts.1), whom(ranks, exposed)),
        line(Known::Communication.id(), unsplit, estimate(|parts| parts.2), Vec::new()),
    ];
    lines.splice(at..=at, parts.into_iter().filter(|line| line.traced_ns != 0 || line.unprofiled.ns != 0));
    // A line that nothing was on before may have got something.
    for &known in Known::ALL {
        if of(known).ns != 0
            && known != Known::Communication
            && lines.iter().all(|line| line.id != known.id())
        {
            lines.push(line_of(known, of(known), step));
        }
    }
    lines.sort_by_key(Line::order);
    lines
}

fn share(of: Estimate, step: Estimate) -> f64 {
    of.ns as f64 / step.ns.max(1) as f64
}

fn line_of(known: Known, unprofiled: Estimate, step: Estimate) -> Line {
    let kind = LineKind::of(known.kind());
    Line {
        id: known.id(),
        kind,
        traced_ns: 0,
        unprofiled,
        share: share(unprofiled, step),
        details: Vec::new(),
    }
}

/// The ranks that were waited for most.
fn whom(ranks: &Ranks, exposed: &Exposed) -> Vec<Message> {
    let mut by_rank: Vec<(i64, usize)> =
        exposed.waiting.iter().map(|(&rank, &ns)| (ns, rank as usize)).filter(|(ns, _)| *ns > 0).collect();
    by_rank.sort_by_key(|&(ns, rank)| (std::cmp::Reverse(ns), rank));
    let all = exposed.waited().max(1);
    let main: Vec<Arg> = by_rank
        .iter()
        .filter(|(ns, _)| ns * 4 >= all)
        .take(NAMED)
        .map(|&(_, rank)| Arg::Name(ranks.facts[rank].rank.to_string()))
        .collect();
    if main.is_empty() {
        return Vec::new();
    }
    vec![Message::new("det-ranks").count("count", main.len()).with("ranks", Arg::List(main))]
}
