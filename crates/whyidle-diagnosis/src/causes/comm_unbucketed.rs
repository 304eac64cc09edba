//! `comm.unbucketed`: many small reductions that run one after another and overlap with nothing.

use whyidle_analysis::communication::Kind;
use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::Context;
use whyidle_replay::edits::{scale_activities, scale_host};

use super::comm_exposed;
use super::support::{finding, remedy};
use crate::case::Case;
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Change, Finding, Method};
use crate::what_if::Setting;

const CODE: &str = "model = torch.nn.parallel.DistributedDataParallel(
    model,
    bucket_cap_mb=25,
    gradient_as_bucket_view=True,
    static_graph=True,
)";

/// DDP closes a bucket at 25 MB (`bucket_cap_mb`, torch's default): a gradient has a few dozen of them.
const BUCKET_BYTES: i64 = 25 << 20;
/// So many reductions per step cannot be buckets of a model that fits a GPU, whatever their size.
const MANY: i64 = 150;
/// Less of the reductions than this hidden means that nothing is overlapped on purpose.
const OVERLAPPED: f64 = 0.10;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let cost = case.line(Line::Communication);
    let reductions = Reductions::of(case);
    if !reductions.are_unbucketed() || case.share(cost.ns) < 0.02 {
        return None;
    }
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    let evidence = comm_exposed::evidence(case, case.collectives());
    let summary = Message::new("fix-comm-unbucketed").count("count", reductions.count);
    let steps = ["fix-unbucketed-ddp", "fix-unbucketed-foreach"];
    Some(finding(case, "comm.unbucketed", cost, gain, evidence, remedy(summary, &steps, CODE)))
}

/// Reductions merged into buckets, all but the last of which backward hides. What remains of the transfers are their
/// bytes at the best rate seen, at least as many of today's lengths as there are buckets; the step gets no shorter
/// than they are in sum.
pub(super) fn edit<'a>(case: &'a Case<'_>, _: Option<&Setting>) -> Option<Edit<'a>> {
    let reductions = Reductions::of(case);
    if reductions.count == 0 {
        return None;
    }
    let buckets = reductions.wanted.clamp(1, reductions.count) as f64;
    let left = buckets / reductions.count as f64;
    let merged = left.max(reductions.at_best_rate).min(1.0);
    let change = Change { what: "overlap", from: None, to: None };
    let edit = Edit::new(change, Method::Bound, move |program, lengths| {
        scale_activities(program, lengths, |id| {
            (case.facts.works[id.index()] == Work::Collective).then_some(merged / buckets)
        });
        scale_host(program, lengths, Context::Collective, left);
    });
    let transfers = (reductions.total_ns as f64 * merged) as i64;
    Some(edit.shortening_kernels().doubted(0.15).not_below(transfers, "comm.exposed"))
}

/// All-reduces of the steps, per step.
struct Reductions {
    count: i64,
    /// Buckets that their bytes would fill.
    wanted: i64,
    bytes: i64,
    total_ns: i64,
    /// Time that the bytes take at the best rate of any of them, over `total_ns`.
    at_best_rate: f64,
    hidden: f64,
}

impl Reductions {
    fn of(case: &Case<'_>) -> Self {
        let reduces = || case.collectives().iter().filter(|u| u.kind == Kind::AllReduce);
        let count = i64::try_from(reduces().count()).unwrap_or(i64::MAX) / case.steps();
        let total_ns = reduces().map(|u| u.ns).sum::<i64>() / case.steps();
        let exposed: i64 = reduces().map(|u| u.exposed_ns).sum::<i64>() / case.steps();
        let bytes: i64 = reduces().filter_map(|u| u.bytes).sum::<i64>() / case.steps();
        let wanted = (bytes + BUCKET_BYTES - 1) / BUCKET_BYTES;
        let rates = reduces().filter_map(|u| u.bytes.map(|bytes| bytes as f64 / u.ns.max(1) as f64));
        let best = rates.fold(0.0, f64::max);
        let share = |ns: f64| ns / total_ns.max(1) as f64;
        let at_best_rate = if best > 0.0 { share(bytes as f64 / best) } else { 0.0 };
        Self { count, wanted, bytes, total_ns, at_best_rate, hidden: 1.0 - share(exposed as f64) }
    }

    fn are_unbucketed(&self) -> bool {
        let many = if self.bytes > 0 {
            self.count >= 16 && self.count > 3 * self.wanted.max(1)
        } else {
            self.count >= MANY
        };
        many && self.hidden < OVERLAPPED
    }
}
