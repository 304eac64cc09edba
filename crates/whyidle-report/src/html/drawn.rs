//! What a page shows beyond the verdict: made above, only set here.

use whyidle_analysis::curves::Curves;
use whyidle_analysis::timeline::Timeline;
use whyidle_tables::export::stacks::Node;

/// What is drawn beside a verdict.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// One traced step laid out in time; `None` without a trace that can be read again.
    pub timeline: Option<Timeline>,
    /// The traced steps: number, and time by ledger line, ns; each sums to its step.
    pub traced: Vec<(i64, Vec<(&'static str, i64)>)>,
    /// Times of steps without a profiler, in the order of the run, ns.
    pub steps: Vec<i64>,
    /// Live signals over time.
    pub curves: Curves,
    /// Python stacks that were sampled, as a tree; weights count samples.
    pub stacks: Vec<Node>,
    /// The command that made the page.
    pub command: String,
    /// The command that writes the trace for Perfetto; `None` without a trace.
    pub export: Option<String>,
}
