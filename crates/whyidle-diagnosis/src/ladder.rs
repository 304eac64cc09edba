//! The best order of what to change: gains do not add up, so each step of the ladder is replayed on top of the ones
//! before it.

use crate::case::Case;
use crate::causes::cause;
use crate::edit::{Edit, gain_together};
use crate::ruling::{CLEAR, is_work};
use crate::verdict::{Finding, Method, Ruling, Rung};

/// Findings that are tried, and steps of the ladder.
const TRIED: usize = 6;
const RUNGS: usize = 3;

/// The ladder that begins with the ruling's primary cause: after each, the remedy that gains most on top of it, as
/// long as one gains clearly. Upper limits count half, as in the ranking; where nothing waits, no wait is cured.
pub(crate) fn ladder(case: &Case<'_>, findings: &[Finding], ruling: &Ruling) -> Vec<Rung> {
    let worth = |finding: &&Finding| finding.gain.is_some() && (!ruling.healthy || is_work(finding.cause));
    let candidates = findings.iter().filter(worth).take(TRIED);
    let mut open: Vec<(&'static str, Edit<'_>)> = candidates
        .filter_map(|finding| Some((finding.cause, cause(finding.cause)?.edit(case, None)?)))
        .collect();
    let Some(at) = open.iter().position(|(cause, _)| *cause == ruling.primary) else { return Vec::new() };
    let mut taken = vec![open.remove(at)];
    let mut rungs = Vec::new();
    let first = gain_together(case, &[&taken[0].1]);
    let Some(gain) = first.filter(|gain| case.share(case.step.ns - gain.step_after.ns) >= CLEAR) else {
        return rungs;
    };
    rungs.push(Rung { cause: taken[0].0, gain });
    while rungs.len() < RUNGS {
        let now = rungs.last().map_or(case.step.ns, |rung| rung.gain.step_after.ns);
        let saved = |edit: &Edit<'_>, after: i64| {
            let saved = now - after;
            if edit.method == Method::Bound { saved / 2 } else { saved }
        };
        let best = (0..open.len())
            .filter_map(|at| {
                let edits: Vec<&Edit<'_>> = taken.iter().map(|(_, edit)| edit).chain([&open[at].1]).collect();
                let gain = gain_together(case, &edits)?;
                Some((saved(&open[at].1, gain.step_after.ns), at, gain))
            })
            .max_by_key(|&(saved, at, _)| (saved, std::cmp::Reverse(at)));
        match best {
            Some((saved, at, gain)) if case.share(saved) >= CLEAR => {
                rungs.push(Rung { cause: open[at].0, gain });
                taken.push(open.remove(at));
            }
            _ => break,
        }
    }
    rungs
}
