//! `rank.straggler`: one rank reaches the collectives later than the others, and has a cause of its own for it.
//!
//! Waiting inside collectives alone is no evidence: under the profiler a host that is a little slower fills the other
//! ranks' queues, and they wait for ever for somebody who is not late. So the ranks' *own paces* are compared: how long
//! a step of each would take if it never waited for another. Loading, waits that the host is known to make, and a
//! different amount of work count as they are; a difference in the host's own speed only where it is larger than what
//! the model of the profiler's cost may err.

use rustc_hash::FxHashMap;
use whyidle_analysis::ranks::split::Waits;

use super::digest::EASED;
use super::replay::Together;
use super::set::Ranks;
use crate::causes::support::{counted, share_of, shared, timed};
use crate::ids::Id;
use crate::message::{Arg, Message};
use crate::verdict::{Change, Estimate, Evidence, Finding, Gain, Method, Remedy};

/// A difference in pace that named waits or work make up counts from this share of the slower pace on; one that the
/// host's own speed makes up, from the second.
const CLEAR: f64 = 0.05;
const CLEAR_HOST: f64 = 0.25;
/// The late rank comes last at least this often,
const OFTEN: f64 = 0.5;
/// and the others wait for it for at least this share of the step.
const WORTH: f64 = 0.05;
/// Work that differs by more than this is different work.
const OTHER_WORK: f64 = 0.10;

/// A late rank.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Straggler {
    /// The rank, as index.
    pub rank: usize,
    /// Its own pace, ns per step.
    pub pace: i64,
    /// The slowest pace of the others, ns per step.
    pub others: i64,
    /// Why.
    pub why: Why,
}

/// Why a rank is late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Why {
    /// Its loader, or another wait with a name.
    Wait(Id),
    /// It does more work: by this factor over the mean of all ranks.
    Work(f64),
    /// The same work takes it longer.
    Slower,
    /// Its host is slower.
    Host,
}

/// How long a step of each rank takes that waits for no other.
pub(crate) struct Paces {
    /// Per rank, ns.
    pub own: Vec<Option<i64>>,
    /// They are of replays; otherwise the traced steps without their waits, in which the profiler slows hosts.
    pub replayed: bool,
}

/// The paces of all ranks, on one basis.
pub(crate) fn paces(ranks: &Ranks, waits: &Waits, together: &Together<'_>) -> Paces {
    let own: Vec<Option<i64>> = (0..ranks.len()).map(|rank| together.pace(rank)).collect();
    if own.iter().all(Option::is_some) {
        return Paces { own, replayed: true };
    }
    let traced = |rank: usize| {
        let facts = &ranks.facts[rank];
        let all: i64 = facts.steps.iter().map(|step| step.end - step.start).sum();
        Some((all - waits.exposed[rank].waited()).max(0) / facts.step_count())
    };
    Paces { own: (0..ranks.len()).map(traced).collect(), replayed: false }
}

/// The late rank, if there is one.
pub(crate) fn straggler(ranks: &Ranks, waits: &Waits, paces: &Paces) -> Option<Straggler> {
    let (rank, pace) = slowest(&paces.own)?;
    let others =
        paces.own.iter().enumerate().filter(|(other, _)| *other != rank).filter_map(|(_, pace)| *pace);
    let others = others.max()?;
    let late = &waits.late[rank];
    if share_of(count(late.last), count(late.of)) < OFTEN {
        return None;
    }
    let waited = (0..ranks.len()).map(|other| waited_for(ranks, waits, other, rank)).fold(0.0, f64::max);
    if waited < WORTH {
        return None;
    }
    let excess = (pace - others) as f64;
    let (named, cause) = named_excess(ranks, rank);
    let work = work(ranks);
    let mean = work.iter().sum::<f64>() / work.len().max(1) as f64;
    let rest: Vec<f64> = work.iter().enumerate().filter(|(at, _)| *at != rank).map(|(_, ns)| *ns).collect();
    let more = (work[rank] - rest.iter().copied().fold(0.0, f64::max)).max(0.0);
    let slower = slower(ranks, rank);
    let why = if named >= more && named >= excess / 2.0 {
        Why::Wait(cause?)
    } else if more >= excess / 2.0 && work[rank] > (1.0 + OTHER_WORK) * mean {
        Why::Work(work[rank] / mean.max(1.0))
    } else if slower >= excess / 2.0 {
        Why::Slower
    } else {
        Why::Host
    };
    if why == Why::Host && !paces.replayed {
        return None;
    }
    let clear = if why == Why::Host { CLEAR_HOST } else { CLEAR };
    (excess > clear * pace as f64).then_some(Straggler { rank, pace, others, why })
}

fn slowest(paces: &[Option<i64>]) -> Option<(usize, i64)> {
    let known = paces.iter().enumerate().filter_map(|(rank, pace)| Some((rank, (*pace)?)));
    known.max_by_key(|&(rank, pace)| (pace, std::cmp::Reverse(rank)))
}

/// What a rank waits for another in collectives, as a share of its traced steps.
fn waited_for(ranks: &Ranks, waits: &Waits, rank: usize, late: usize) -> f64 {
    let traced: i64 = ranks.facts[rank].steps.iter().map(|step| step.end - step.start).sum();
    let late = u32::try_from(late).unwrap_or(u32::MAX);
    share_of(waits.exposed[rank].waiting.get(&late).copied().unwrap_or(0), traced)
}

/// Waits of a rank that are its own and have a name, beyond those of the rank that has the most of the others, ns per
/// traced step; and the largest of them.
fn named_excess(ranks: &Ranks, rank: usize) -> (f64, Option<Id>) {
    let steps = |rank: usize| ranks.facts[rank].step_count();
    let of = |rank: usize| -> FxHashMap<Id, i64> {
        let lines = ranks.own[rank].verdict.ledger.iter().filter(|line| is_named_wait(line.id));
        lines.map(|line| (line.id, line.traced_ns / steps(rank))).collect()
    };
    let own = of(rank);
    let mut most: FxHashMap<Id, i64> = FxHashMap::default();
    for other in (0..ranks.len()).filter(|other| *other != rank) {
        for (id, ns) in of(other) {
            let entry = most.entry(id).or_default();
            *entry = ns.max(*entry);
        }
    }
    let beyond = own.iter().map(|(id, ns)| (*id, (ns - most.get(id).copied().unwrap_or(0)).max(0)));
    let beyond: Vec<(Id, i64)> = beyond.collect();
    let largest =
        beyond.iter().max_by_key(|(id, ns)| (*ns, std::cmp::Reverse(*id))).filter(|(_, ns)| *ns > 0);
    (beyond.iter().map(|(_, ns)| *ns as f64).sum(), largest.map(|(id, _)| *id))
}

/// Waits of the host that are as long without the profiler.
fn is_named_wait(id: &str) -> bool {
    ["data.", "io.", "compile."].iter().any(|family| id.starts_with(family))
        || matches!(id, "host.gc" | "host.sync" | "memory.allocator")
}

/// Work of each rank, ns per step, with every kernel as long as on the rank where it is shortest on average: a kernel
/// under a waiting collective is longer, which is no more work.
fn work(ranks: &Ranks) -> Vec<f64> {
    let mut shortest: FxHashMap<u64, f64> = FxHashMap::default();
    for kernel in ranks.facts.iter().flat_map(|facts| &facts.work.kernels) {
        let mean = kernel.mean_ns();
        let entry = shortest.entry(kernel.key).or_insert(mean);
        *entry = entry.min(mean);
    }
    let of = |facts: &whyidle_analysis::ranks::RankFacts| {
        let kernels = facts.work.kernels.iter();
        kernels.map(|kernel| kernel.count as f64 * shortest[&kernel.key]).sum::<f64>()
            / facts.step_count() as f64
    };
    ranks.facts.iter().map(of).collect()
}

/// How much longer a rank's kernels take than the same kernels on the rank next to it in that, ns per step, where it
/// does not wait more than the others: clocks, heat, a card that is shared.
fn slower(ranks: &Ranks, rank: usize) -> f64 {
    let mut others: FxHashMap<u64, f64> = FxHashMap::default();
    for (_, facts) in ranks.facts.iter().enumerate().filter(|(at, _)| *at != rank) {
        for kernel in &facts.work.kernels {
            let mean = kernel.mean_ns();
            let entry = others.entry(kernel.key).or_insert(mean);
            *entry = entry.max(mean);
        }
    }
    let facts = &ranks.facts[rank];
    let longer = facts.work.kernels.iter().map(|kernel| {
        let mean = kernel.mean_ns();
        let other = others.get(&kernel.key).copied().unwrap_or(mean);
        (mean - other).max(0.0) * kernel.count as f64
    });
    longer.sum::<f64>() / facts.step_count() as f64
}

fn count(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The finding.
pub(crate) fn finding(
    ranks: &Ranks,
    waits: &Waits,
    together: &Together<'_>,
    late: &Straggler,
    step: Estimate,
    waited: i64,
    replayed: bool,
) -> Finding {
    let own = &ranks.own[late.rank].verdict;
    let cause = match late.why {
        Why::Wait(cause) => own.findings.iter().find(|finding| finding.cause == cause),
        _ => None,
    };
    let rank = ranks.facts[late.rank].rank;
    // Traced times say who is late, not what would be without.
    let gain = if replayed { gain(ranks, together, late, step) } else { None };
    let cost = waited.min(step.ns);
    let scaled = |other: i64| (cost as f64 * other as f64 / step.ns.max(1) as f64) as i64;
    let summary = match (&late.why, cause) {
        (_, Some(cause)) => Message::new("fix-straggler-own")
            .name("rank", rank.to_string())
            .message("remedy", cause.remedy.summary.clone()),
        (Why::Work(_), _) => Message::new("fix-straggler-work"),
        (Why::Slower, _) => Message::new("fix-straggler-slower").name("rank", rank.to_string()),
        _ => Message::new("fix-straggler-host").name("rank", rank.to_string()),
    };
    let remedy = Remedy {
        summary,
        steps: cause.map_or_else(Vec::new, |cause| cause.remedy.steps.clone()),
        code: cause.map(|cause| cause.remedy.code.clone()).unwrap_or_default(),
    };
    Finding {
        cause: "rank.straggler",
        rank: Some(rank),
        cost: Estimate { ns: cost, low_ns: scaled(step.low_ns), high_ns: scaled(step.high_ns) },
        share: share_of(cost, step.ns),
        gain,
        evidence: evidence(ranks, waits, late),
        remedy,
    }
}

fn evidence(ranks: &Ranks, waits: &Waits, late: &Straggler) -> Vec<Evidence> {
    let facts = &ranks.facts[late.rank];
    let (name, lateness) = (facts.rank.to_string(), &waits.late[late.rank]);
    let steps = facts.step_count();
    let text = Message::new("ev-straggler-last")
        .name("rank", &name)
        .count("last", lateness.last)
        .count("of", lateness.of)
        .count("steps", lateness.by_step.len())
        .count("all", steps);
    let mut evidence = vec![counted(text, count(lateness.last))];
    let first = share_of(lateness.in_first, lateness.caused);
    evidence.push(shared(Message::new("ev-straggler-first").share("share", first), first));
    let paces = Message::new("ev-straggler-paces").name("rank", &name).time("own", late.pace);
    evidence.push(timed(paces.time("others", late.others), late.pace - late.others, None));
    match late.why {
        Why::Wait(cause) => {
            let because = super::words(cause).map_or("because-unknown", |(because, _)| because);
            let text = Message::new("ev-straggler-because").name("rank", &name);
            let value = ranks.own[late.rank].verdict.ledger.iter().find(|line| line.id == cause);
            let ns = value.map_or(0, |line| line.traced_ns / steps);
            let text = text.message("because", Message::new(because)).time("time", ns);
            evidence.push(timed(text, ns, None));
        }
        Why::Work(factor) => {
            let text = Message::new("ev-straggler-work").name("rank", &name);
            evidence.push(Evidence {
                text: text.with("factor", Arg::Number(factor, 2)),
                value: Some(factor),
                unit: "ratio",
                place: None,
            });
        }
        Why::Slower => evidence.push(counted(Message::new("ev-straggler-slower").name("rank", &name), 1)),
        Why::Host => evidence.push(counted(Message::new("ev-straggler-host").name("rank", &name), 1)),
    }
    evidence
}

/// The period with the late rank's own cause cured, ns.
///
/// A kernel that runs beside a waiting collective is longer by a sixth to a third; once nobody waits it is as long as
/// on the late rank. The replay knows the period with kernels 20 % shorter, too: between the two it is taken as a line.
fn healed(ranks: &Ranks, together: &Together<'_>, late: &Straggler, cause: Id) -> Option<i64> {
    let (as_long, eased) = together.healed(cause, late.rank)?;
    let work = work(ranks);
    let own = |rank: usize| {
        let facts = &ranks.facts[rank];
        let kernels: i64 = facts.work.kernels.iter().map(|kernel| kernel.total_ns).sum();
        kernels as f64 / facts.step_count() as f64
    };
    let others = (0..ranks.len()).filter(|rank| *rank != late.rank);
    let mut factors: Vec<f64> = others.map(|rank| work[rank] / own(rank).max(1.0)).collect();
    factors.sort_by(f64::total_cmp);
    let factor = *factors.get(factors.len() / 2)?;
    let part = ((1.0 - factor) / (1.0 - EASED)).clamp(0.0, 2.0);
    Some(as_long - ((as_long - eased) as f64 * part) as i64)
}

/// The step with the late rank healed: by its own remedy where it has one, by its share of the work, or, at best, down
/// to the pace of the others.
fn gain(ranks: &Ranks, together: &Together<'_>, late: &Straggler, step: Estimate) -> Option<Gain> {
    let change = Change { what: "straggler", from: None, to: None };
    if let Why::Wait(cause) = late.why
        && together.is_usable(step.ns)
        && let Some(after) = healed(ranks, together, late, cause)
        && let Some(own) = ranks.own[late.rank].verdict.findings.iter().find(|finding| finding.cause == cause)
        && let Some(gain) = &own.gain
    {
        return Some(super::findings::replayed(gain, together.base?, after, step, None, change));
    }
    // Work is not healed but shared out: the mean is what remains for everyone.
    let healed = match late.why {
        Why::Work(factor) => late.pace as f64 / factor,
        _ => late.others as f64,
    };
    let ns = (step.ns as f64 * healed / late.pace.max(1) as f64) as i64;
    let step_after = Estimate { ns, low_ns: ns, high_ns: step.high_ns };
    Some(Gain { step_after, method: Method::Bound, change, next_limit: "compute.bound" })
}
