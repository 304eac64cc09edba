//! Tables for `-v`: kernels, operators, modules, gaps, and figures about launches.

use rustc_hash::FxHashMap;
use whyidle_analysis::ledger::{GapPart, Kind, Line};
use whyidle_analysis::tree::NONE;
use whyidle_model::{GpuId, HostId, HostKind, Sym};

use crate::case::Case;
use crate::causes::launches;
use crate::habits;
use crate::message::Message;
use crate::verdict::{Details, Total};

/// Rows kept per table.
const ROWS: usize = 40;

/// How the framework marks the frame of a module.
const MODULE: &str = "nn.Module: ";

/// The tables of a case.
pub(crate) fn details(case: &Case<'_>) -> Details {
    Details {
        kernels: by_name(case, |activity| Some(case.trace.gpu.name[activity.index()])),
        operators: by_name(case, |activity| {
            let call = case.facts.tree.launch_of(activity)?;
            let operator = case.facts.tree.operator(case.trace, call)?;
            Some(case.trace.host.name[operator.index()])
        }),
        modules: modules(case),
        gaps: gaps(case),
        instruments: None,
        statistics: statistics(case),
    }
}

/// Count, time and longest by name and line.
type Totals = FxHashMap<(Sym, Line), (u64, i64, i64)>;

/// Busy time by a name that belongs to the activity. Painted time: exclusive, so rows never count an instant twice.
fn by_name(case: &Case<'_>, name: impl Fn(GpuId) -> Option<Sym>) -> Vec<Total> {
    let mut totals = Totals::default();
    let mut last = None;
    for busy in &case.device.ledger.busy {
        let id = busy.piece.activity;
        let Some(name) = name(id) else { continue };
        let total = totals.entry((name, busy.line)).or_default();
        // Pieces of one activity follow each other unless something runs over it.
        total.0 += u64::from(last != Some(id));
        total.1 += busy.piece.end - busy.piece.start;
        total.2 = total.2.max(case.trace.gpu.dur[id.index()]);
        last = Some(id);
    }
    sorted(case, totals)
}

fn sorted(case: &Case<'_>, totals: Totals) -> Vec<Total> {
    let mut rows: Vec<Total> = totals
        .into_iter()
        .map(|((name, line), (count, total_ns, longest_ns))| Total {
            name: case.trace.names.get(name).to_owned(),
            kind: line.id(),
            count,
            total_ns,
            longest_ns,
        })
        .collect();
    rows.sort_by(|a, b| {
        b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)).then(a.kind.cmp(b.kind))
    });
    rows.truncate(ROWS);
    rows
}

/// Busy time and waits by the innermost module around the launch, where the trace has Python frames.
fn modules(case: &Case<'_>) -> Vec<Total> {
    if !case.has_stacks() {
        return Vec::new();
    }
    let is_module = case.trace.names.map(|name| name.starts_with(MODULE));
    let module = |at: HostId| {
        let frames =
            case.facts.tree.ancestry(at).filter(|at| case.trace.host.kind[at.index()] == HostKind::Python);
        let mut names = frames.map(|at| case.trace.host.name[at.index()]);
        names.find(|name| is_module[name.index()])
    };
    let mut rows = by_name(case, |activity| module(case.facts.tree.launch_of(activity)?));
    let mut waits = Totals::default();
    for part in
        case.device.ledger.gaps.iter().filter(|part| part.leaf != NONE && part.line.kind() == Kind::Waiting)
    {
        if let Some(name) = module(HostId(part.leaf)) {
            let total = waits.entry((name, part.line)).or_default();
            *total = (total.0 + 1, total.1 + part.length(), total.2.max(part.length()));
        }
    }
    rows.extend(sorted(case, waits));
    rows.sort_by(|a, b| {
        b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)).then(a.kind.cmp(b.kind))
    });
    rows.truncate(ROWS);
    for row in &mut rows {
        row.name.drain(..MODULE.len());
    }
    rows
}

/// The longest waits, each with its owner.
fn gaps(case: &Case<'_>) -> Vec<Total> {
    const SHOWN: usize = ROWS / 4;
    let mut parts: Vec<_> =
        case.device.ledger.gaps.iter().filter(|part| part.line.kind() == Kind::Waiting).collect();
    let key = |part: &&GapPart| (std::cmp::Reverse(part.length()), part.start);
    if parts.len() > SHOWN {
        parts.select_nth_unstable_by_key(SHOWN, key);
        parts.truncate(SHOWN);
    }
    parts.sort_unstable_by_key(key);
    parts
        .into_iter()
        .map(|part| Total {
            name: case.describe(part.leaf),
            kind: part.line.id(),
            count: 1,
            total_ns: part.length(),
            longest_ns: part.length(),
        })
        .collect()
}

fn statistics(case: &Case<'_>) -> Vec<Message> {
    let launches = launches(case);
    let occupancy = case.device.occupancy;
    let mut out = vec![
        Message::new("stat-launches")
            .count("launches", launches.count)
            .time("kernel", launches.median_kernel_ns)
            .time("between", launches.between_ns),
        Message::new("stat-occupancy")
            .time("span", occupancy.span_ns)
            .time("resident", occupancy.resident_ns)
            .time("compute", occupancy.compute_ns)
            .time("communication", occupancy.communication_ns)
            .time("overlap", occupancy.overlap_ns),
    ];
    if let Some(replayed) = &case.replay {
        out.push(
            Message::new("stat-latency")
                .time("latency", replayed.program.typical_latency)
                .time("gap", replayed.program.typical_gap),
        );
    }
    if case.device.steps.backlog > 0 {
        out.push(
            Message::new("stat-backlog")
                .count("count", case.device.steps.backlog)
                .time("time", case.device.steps.backlog_ns),
        );
    }
    out.extend(habits::figures(case));
    out
}
