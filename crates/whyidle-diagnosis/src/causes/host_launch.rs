//! `host.launch`: the GPU waits for the next launch. Kernels are shorter than what it takes to launch
//! them, or there are too many.
//!
//! Seen by gaps that end with a late launch while an operator or a call is active. Cured by larger
//! work per launch or by launching many at once.

use whyidle_analysis::hostclass::HostClass;
use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::{Context, NONE};
use whyidle_model::{GpuId, GpuKind, HostId, Sym, Vendor};
use whyidle_replay::edits::{LONG_STRETCH_NS, cuda_graphs};
use whyidle_replay::models::elementwise;
use whyidle_replay::program::{HostNode, HostStep};

use super::support::{change, counted, finding, line_evidence, places, remedy, shared, timed, worth};
use crate::case::{Case, shapes_vary};
use crate::edit::{Edit, gain};
use crate::message::Message;
use crate::verdict::{Change, Estimate, Finding, Method};
use crate::what_if::Setting;

/// What a launch and a graph's node cost the host differs this much between programs and machines, as a share of the
/// step that they leave.
const LAUNCH_COST_VARIES: f64 = 0.10;

const CODE: &str = "model = torch.compile(model, mode=\"reduce-overhead\")";

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let launching = worth(case, Line::HostLaunch)?;
    // Python in short stretches between operators is part of dispatching them.
    let between = dispatch_part(case);
    let add = |a: i64, b: i64| a + (b as f64 * between) as i64;
    let python = case.line(Line::HostPython);
    let cost = Estimate {
        ns: add(launching.ns, python.ns),
        low_ns: add(launching.low_ns, python.low_ns),
        high_ns: add(launching.high_ns, python.high_ns),
    };
    if let Some(slow) = slow_operator(case) {
        return Some(prepares(case, cost, &slow));
    }
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    let launches = Launches::of(case);
    let mut evidence = vec![line_evidence(case, Line::HostLaunch)];
    evidence.push(counted(
        Message::new("ev-launches")
            .count("launches", launches.count)
            .time("kernel", launches.median_kernel_ns),
        launches.count,
    ));
    if launches.between_ns > 0 {
        let text = Message::new("ev-launch-pace").time("time", launches.between_ns);
        evidence.push(timed(text, launches.between_ns, None));
    }
    evidence.push(shared(
        Message::new("ev-short-kernels").share("share", launches.short_share),
        launches.short_share,
    ));
    evidence.extend(places(case, Line::HostLaunch, 3));
    let in_use = launches.graphs > 0;
    let (summary, steps, code): (_, &[_], _) = match (case.facts.vendor, in_use) {
        (Vendor::Nvidia, true) => {
            ("fix-host-launch-graphs", &["fix-launch-batch", "fix-launch-outside-graph"], CODE)
        }
        (Vendor::Nvidia, false) => {
            ("fix-host-launch", &["fix-launch-batch", "fix-launch-static", "fix-launch-accumulation"], CODE)
        }
        (Vendor::Amd, true) => {
            ("fix-host-launch-graphs-hip", &["fix-launch-batch", "fix-launch-outside-graph"], CODE)
        }
        (Vendor::Amd, false) => (
            "fix-host-launch-hip",
            &["fix-launch-batch", "fix-launch-static-hip", "fix-launch-accumulation"],
            CODE,
        ),
        (Vendor::Huawei, _) => ("fix-host-launch-batch", &["fix-launch-batch", "fix-launch-queue"], ""),
    };
    Some(finding(case, "host.launch", cost, gain, evidence, remedy(Message::new(summary), steps, code)))
}

/// Graphs of launches as a change; `None` where nothing is known of them.
fn graphs_of(vendor: Vendor) -> Option<Change> {
    match vendor {
        Vendor::Nvidia => Some(change("cuda_graphs")),
        Vendor::Amd => Some(change("hip_graphs")),
        Vendor::Huawei => None,
    }
}

/// Forward and backward launched as CUDA graphs, unless operators that prepare anew are what takes long; `fused`: element-wise operators fused, and the launches of those
/// that go, go too.
pub(super) fn edit<'a>(case: &'a Case<'_>, setting: Option<&Setting>) -> Option<Edit<'a>> {
    match Setting::word(setting) {
        // Compilers that fuse are known of CUDA and ROCm alone.
        Some("fused") if case.facts.vendor == Vendor::Huawei => None,
        Some("fused") => {
            let model = elementwise::elementwise(case.trace, case.facts, case.models())?;
            Some(Edit::of_kernels(case, change("compile"), model))
        }
        None if slow_operator(case).is_some() => Some(prepared()),
        _ => {
            let graphs = graphs_of(case.facts.vendor)?;
            let edit = Edit::new(graphs, graphs_method(case), |program, lengths| {
                cuda_graphs(program, lengths, |node| accumulates_gradient(case, node));
            });
            Some(edit.doubted(LAUNCH_COST_VARIES))
        }
    }
}

/// In compiled regions guards and wrappers stay on the host, and the trace does not tell them from launching: there the
/// gain is an upper limit. So it is on AMD's devices: what a graph's node costs was measured with CUDA.
fn graphs_method(case: &Case<'_>) -> Method {
    if case.facts.vendor != Vendor::Nvidia {
        return Method::Bound;
    }
    let compiled = |name: &str| name.starts_with("Torch-Compiled Region");
    let any = case.trace.host.name.iter().any(|&name| compiled(case.trace.names.get(name)));
    if any { Method::Bound } else { Method::Model }
}

/// Operators that find what they prepare already there: their long stretches on the host go.
fn prepared<'a>() -> Edit<'a> {
    Edit::new(change("dynamic_shapes"), Method::Replay, |program, lengths| {
        for (at, node) in program.host.iter().enumerate() {
            let long = node.step == HostStep::Work && node.length >= LONG_STRETCH_NS;
            if long && node.context == Context::Operator {
                lengths.host[at] = 0;
            }
        }
    })
}

/// An operator that works on the host for long before it launches anything.
struct SlowOperator {
    name: String,
    /// Its long stretches, ns per traced step.
    ns: i64,
}

/// The operator behind most of the line, if most of it lies in long stretches inside operators and shapes change.
fn slow_operator(case: &Case<'_>) -> Option<SlowOperator> {
    if !shapes_vary(case.trace, &case.device) {
        return None;
    }
    let mut totals: rustc_hash::FxHashMap<u32, i64> = rustc_hash::FxHashMap::default();
    for part in
        case.device.ledger.gaps.iter().filter(|part| part.line == Line::HostLaunch && part.leaf != NONE)
    {
        if part.length() >= LONG_STRETCH_NS
            && let Some(operator) = case.facts.tree.outermost_operator(case.trace, HostId(part.leaf))
        {
            *totals.entry(case.trace.host.name[operator.index()].0).or_default() += part.length();
        }
    }
    let long: i64 = totals.values().sum::<i64>() / case.steps();
    let (name, ns) = totals.into_iter().max_by_key(|&(name, ns)| (ns, std::cmp::Reverse(name)))?;
    (2 * long > case.traced(Line::HostLaunch))
        .then(|| SlowOperator { name: case.trace.names.get(Sym(name)).to_owned(), ns: ns / case.steps() })
}

/// The finding where operators prepare on the host: new shapes, plans, first use of a kernel.
fn prepares(case: &Case<'_>, cost: Estimate, slow: &SlowOperator) -> Finding {
    let gain = edit(case, None).and_then(|edit| gain(case, &edit));
    let text = Message::new("ev-operator-prepares").name("operator", &slow.name).time("time", slow.ns);
    let mut evidence =
        vec![line_evidence(case, Line::HostLaunch), timed(text, slow.ns, Some(slow.name.clone()))];
    evidence.extend(places(case, Line::HostLaunch, 3));
    let summary = Message::new("fix-host-launch-prepares").name("operator", &slow.name);
    let remedy = remedy(summary, &["fix-recompile-buckets", "fix-launch-first-use"], "");
    finding(case, "host.launch", cost, gain, evidence, remedy)
}

/// Share of the Python line that lies in short stretches.
fn dispatch_part(case: &Case<'_>) -> f64 {
    let (long_ns, _) = super::host_python::long_stretches(case);
    1.0 - long_ns as f64 / case.traced(Line::HostPython).max(1) as f64
}

/// Gradients are accumulated per parameter by the autograd engine, outside any graph.
fn accumulates_gradient(case: &Case<'_>, node: &HostNode) -> bool {
    node.leaf != NONE
        && case
            .facts
            .tree
            .ancestry(HostId(node.leaf))
            .any(|at| case.trace.names.get(case.trace.host.name[at.index()]).ends_with("AccumulateGrad"))
}

/// Figures about the launches of a step.
pub(crate) struct Launches {
    /// Kernels launched per step.
    pub count: i64,
    /// Graph launches per step.
    pub graphs: i64,
    /// Median kernel length, ns.
    pub median_kernel_ns: i64,
    /// Median distance between the starts of consecutive launches, ns.
    pub between_ns: i64,
    /// Share of kernels shorter than that distance.
    pub short_share: f64,
}

impl Launches {
    /// Of the steps analysed.
    pub(crate) fn of(case: &Case<'_>) -> Self {
        let (trace, tree) = (case.trace, &case.facts.tree);
        let inside = |time: i64| case.device.steps.launched_at(time).is_some();
        let mut kernels: Vec<i64> = Vec::new();
        for &row in &case.device.rows {
            let id = GpuId(row);
            let kernel = trace.gpu.kind[id.index()] == GpuKind::Kernel
                && case.facts.works[id.index()] != Work::Collective;
            let launched = tree.launch_of(id).map(|call| trace.host.start[call.index()]);
            if kernel && launched.is_some_and(inside) {
                kernels.push(trace.gpu.dur[id.index()]);
            }
        }
        let (mut starts, mut graphs) = (Vec::new(), 0);
        for row in 0..trace.host.len() {
            let id = HostId::from_index(row);
            let class = tree.class(trace, id);
            if matches!(class, HostClass::Launch | HostClass::GraphLaunch) && inside(trace.host.start[row]) {
                starts.push(trace.host.start[row]);
                graphs += i64::from(class == HostClass::GraphLaunch);
            }
        }
        starts.sort_unstable();
        let mut distances: Vec<i64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        distances.sort_unstable();
        let between_ns = distances.get(distances.len() / 2).copied().unwrap_or(0);
        kernels.sort_unstable();
        let short = kernels.partition_point(|&length| length < between_ns);
        Self {
            count: i64::try_from(kernels.len()).unwrap_or(i64::MAX) / case.steps(),
            graphs: graphs / case.steps(),
            median_kernel_ns: kernels.get(kernels.len() / 2).copied().unwrap_or(0),
            between_ns,
            short_share: if kernels.is_empty() { 0.0 } else { short as f64 / kernels.len() as f64 },
        }
    }
}
