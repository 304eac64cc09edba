//! `comm.sharding`: parameters are sharded, gathered for forward and again for backward (FSDP, ZeRO-3),
//! and the gathers are not hidden.

use whyidle_analysis::communication::{Kind, kind};
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::NONE;
use whyidle_model::{GpuId, HostId};
use whyidle_replay::edits::{drop_empty_launches, scale_activities};

use super::comm_exposed;
use super::support::{counted, finding, remedy};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Change, Finding, Gain, Method};
use crate::what_if::Setting;

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

/// The step if gathered weights were kept from forward to backward.
pub(crate) fn regathering(case: &Case<'_>) -> Option<Gain> {
    edit(case, None).and_then(|edit| gain(case, &edit))
}

/// Parameters kept gathered from forward to backward: the second gather goes, with its launches and, where the
/// framework marks them (FSDP2), with what copies into it and out of it.
pub(super) fn edit<'a>(case: &'a Case<'_>, _: Option<&Setting>) -> Option<Edit<'a>> {
    let is_second_gather = |id: GpuId| {
        let Some(call) = case.facts.tree.launch_of(id) else { return false };
        let gathers = || kind(case.trace.names.get(case.trace.gpu.name[id.index()])) == Kind::AllGather;
        is_marked(case, call) || gathers() && case.facts.tree.is_backward(call)
    };
    if !case.device.rows.iter().any(|&row| is_second_gather(GpuId(row))) {
        return None;
    }
    let change = Change { what: "sharding", from: None, to: None };
    let edit = Edit::new(change, Method::Bound, move |program, lengths| {
        scale_activities(program, lengths, |id| is_second_gather(id).then_some(0.0));
        drop_empty_launches(program, lengths);
        for (at, node) in program.host.iter().enumerate() {
            if node.leaf != NONE && is_marked(case, HostId(node.leaf)) {
                lengths.host[at] = 0;
            }
        }
    });
    Some(edit.shortening_kernels())
}

/// Inside a gather of backward that the framework marks: `FSDP::all_gather`, `FSDP::all_gather_copy_out`.
fn is_marked(case: &Case<'_>, id: HostId) -> bool {
    let marked =
        |at: HostId| case.trace.names.get(case.trace.host.name[at.index()]).starts_with("FSDP::all_gather");
    case.facts.tree.is_backward(id) && case.facts.tree.ancestry(id).any(marked)
}
