//! `comm.unbucketed`: many small reductions that run one after another and overlap with nothing.

use whyidle_analysis::communication::Kind;
use whyidle_analysis::ledger::Line;

use super::comm_exposed;
use super::support::{around, finding, remedy};
use crate::case::Case;
use crate::message::Message;
use crate::verdict::{Change, Finding, Gain, Method};

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
    let uses = case.collectives();
    let reduces: Vec<_> = uses.iter().filter(|u| u.kind == Kind::AllReduce).collect();
    let count = i64::try_from(reduces.len()).unwrap_or(i64::MAX) / case.steps();
    let total: i64 = reduces.iter().map(|u| u.ns).sum::<i64>() / case.steps();
    let exposed: i64 = reduces.iter().map(|u| u.exposed_ns).sum::<i64>() / case.steps();
    let bytes: i64 = reduces.iter().filter_map(|u| u.bytes).sum::<i64>() / case.steps();
    let wanted = (bytes + BUCKET_BYTES - 1) / BUCKET_BYTES;
    let many = if bytes > 0 { count >= 16 && count > 3 * wanted.max(1) } else { count >= MANY };
    let hidden = 1.0 - exposed as f64 / total.max(1) as f64;
    let cost = case.line(Line::Communication);
    if !many || hidden >= OVERLAPPED || case.share(cost.ns) < 0.02 {
        return None;
    }
    // Buckets can hide all but the last one under backward.
    let after = case.step.ns - cost.ns * (count - 1).max(0) / count.max(1);
    let gain = Gain {
        step_after: around(case, after.max(case.working()), 0.15),
        method: Method::Bound,
        change: Change { what: "overlap", from: None, to: None },
        next_limit: "host.launch",
    };
    let evidence = comm_exposed::evidence(case, uses);
    let summary = Message::new("fix-comm-unbucketed").count("count", count);
    let steps = ["fix-unbucketed-ddp", "fix-unbucketed-foreach"];
    Some(finding(case, "comm.unbucketed", cost, Some(gain), evidence, remedy(summary, &steps, CODE)))
}
