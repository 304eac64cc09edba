//! `comm.sharding`: parameters are sharded, gathered for forward and again for backward (FSDP, ZeRO-3),
//! and the gathers are not hidden.

use whyidle_analysis::communication::Kind;
use whyidle_analysis::ledger::Line;
use whyidle_replay::edits::{drop_empty_launches, scale_activities};

use super::comm_exposed;
use super::support::{counted, finding, gain_by_replay, remedy};
use crate::case::Case;
use crate::message::Message;
use crate::verdict::{Change, Finding, Gain, Method};

const CODE: &str = "fully_shard(model, reshard_after_forward=False)";

const WORTH: f64 = 0.02;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let uses = case.collectives();
    let of = |kind: Kind, backward: Option<bool>| {
        uses.iter().filter(move |u| u.kind == kind && backward.is_none_or(|b| u.in_backward == b)).count()
    };
    let (gathers, scatters) = (of(Kind::AllGather, None), of(Kind::ReduceScatter, None));
    let again = of(Kind::AllGather, Some(true));
    let steps = usize::try_from(case.steps()).unwrap_or(1);
    let sharded: i64 = uses
        .iter()
        .filter(|u| matches!(u.kind, Kind::AllGather | Kind::ReduceScatter))
        .map(|u| u.exposed_ns)
        .sum();
    let all: i64 = uses.iter().map(|u| u.exposed_ns).sum::<i64>().max(1);
    let line = case.line(Line::Communication);
    let part = |ns: i64| (ns as f64 * sharded as f64 / all as f64) as i64;
    let cost = crate::verdict::Estimate {
        ns: part(line.ns),
        low_ns: part(line.low_ns),
        high_ns: part(line.high_ns),
    };
    if gathers < 2 * steps || scatters < steps || case.share(cost.ns) < WORTH {
        return None;
    }
    let gain = regathering(case);
    let mut evidence = comm_exposed::evidence(case, uses);
    let text = Message::new("ev-sharding")
        .count("gathers", gathers / steps)
        .count("again", again / steps)
        .count("scatters", scatters / steps);
    evidence.insert(0, counted(text, i64::try_from(gathers / steps).unwrap_or(0)));
    let summary = Message::new(if again > 0 { "fix-comm-sharding" } else { "fix-comm-sharding-less" });
    let steps = ["fix-sharding-memory", "fix-sharding-prefetch", "fix-sharding-stage"];
    Some(finding(case, "comm.sharding", cost, gain, evidence, remedy(summary, &steps, CODE)))
}

/// The step if gathered weights were kept from forward to backward, by replay.
pub(crate) fn regathering(case: &Case<'_>) -> Option<Gain> {
    let uses = case.collectives();
    let regathers: rustc_hash::FxHashSet<u32> =
        uses.iter().filter(|u| u.kind == Kind::AllGather && u.in_backward).map(|u| u.activity.0).collect();
    let change = Change { what: "sharding", from: None, to: None };
    gain_by_replay(case, change, Method::Bound, |program, lengths| {
        if regathers.is_empty() {
            return;
        }
        scale_activities(program, lengths, |id| {
            let backward =
                case.facts.tree.launch_of(id).is_some_and(|call| case.facts.tree.is_backward(call));
            let gather =
                whyidle_analysis::communication::kind(case.trace.names.get(case.trace.gpu.name[id.index()]))
                    == Kind::AllGather;
            (regathers.contains(&id.0) || backward && gather).then_some(0.0)
        });
        drop_empty_launches(program, lengths);
    })
}
