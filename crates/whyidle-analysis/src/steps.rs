//! Steps: where one ends and the next begins, on the host and on the device.
//!
//! The host's marks say which launches belong to a step; the device-side period is the
//! distance between the last activities launched in consecutive steps. A host that runs
//! ahead ends its step long before the device does, so the host's own span is no step time.

use whyidle_model::{GpuId, HostId, Span, Trace};

use crate::hostclass::HostClass;
use crate::tree::HostTree;

/// How steps were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// `ProfilerStep#n`.
    ProfilerStep,
    /// `Optimizer.step#…`.
    OptimizerStep,
    /// The sequence of launches repeats.
    Repetition,
    /// Nothing marks steps: the whole window is taken as one.
    Window,
}

impl FoundBy {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::ProfilerStep => "profiler-step",
            Self::OptimizerStep => "optimizer-step",
            Self::Repetition => "repetition",
            Self::Window => "window",
        }
    }
}

/// One step on the host: launches that start inside it belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostStep {
    /// Number as the program counts; counted from 0 where it does not.
    pub number: i64,
    /// From its mark to the next one's.
    pub host: Span,
    /// End of the program's own work for it: where the mark ends.
    pub mark_end: i64,
}

/// Why a step at the edge was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excluded {
    /// Its start on the device lies before the trace.
    NoStart,
    /// The profiler was just starting.
    ProfilerStart,
    /// Its end lies behind the trace: launches without activities.
    NoEnd,
}

/// One step on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceStep {
    /// Number as the program counts.
    pub number: i64,
    /// From the end of the last activity launched before it to the end of the last one launched in it.
    pub window: Span,
    /// Its launches.
    pub host: Span,
    /// Where its mark on the host ends.
    pub mark_end: i64,
}

/// Steps of one device.
#[derive(Clone, Debug)]
pub struct DeviceSteps {
    /// How they were found.
    pub found_by: FoundBy,
    /// Whole steps to analyse, in order.
    pub used: Vec<DeviceStep>,
    /// Steps at the edges that were left out: number and reason.
    pub excluded: Vec<(i64, Excluded)>,
    /// Activities launched before the trace began: they belong to no step.
    pub backlog: usize,
    /// GPU time of those, ns (sum over activities).
    pub backlog_ns: i64,
}

impl DeviceSteps {
    /// The step used that a launch at `time` belongs to, as index.
    #[must_use]
    pub fn launched_at(&self, time: i64) -> Option<usize> {
        let step = self.used.partition_point(|step| step.host.start <= time).checked_sub(1)?;
        (time < self.used[step].host.end).then_some(step)
    }

    /// The step used in whose window an activity ends, as index.
    #[must_use]
    pub fn ended_at(&self, time: i64) -> Option<usize> {
        let step = self.used.partition_point(|step| step.window.end < time);
        self.used.get(step).is_some_and(|step| step.window.start < time).then_some(step)
    }
}

/// Steps on the host.
#[must_use]
pub fn host_steps(trace: &Trace, tree: &HostTree) -> (FoundBy, Vec<HostStep>) {
    let profiler = profiler_steps(trace, tree);
    if !profiler.is_empty() {
        return (FoundBy::ProfilerStep, profiler);
    }
    let optimizer = optimizer_steps(trace, tree);
    if !optimizer.is_empty() {
        return (FoundBy::OptimizerStep, optimizer);
    }
    let repeated = repeated_steps(trace, tree);
    if !repeated.is_empty() {
        return (FoundBy::Repetition, repeated);
    }
    let launches = (0..trace.gpu.len()).map(|row| launch_time(trace, tree, GpuId::from_index(row)));
    let (first, last) = launches.fold((i64::MAX, i64::MIN), |(a, b), t| (a.min(t), b.max(t)));
    let step =
        (first <= last).then(|| HostStep { number: 0, host: Span::new(first, last + 1), mark_end: last + 1 });
    (FoundBy::Window, step.into_iter().collect())
}

fn profiler_steps(trace: &Trace, tree: &HostTree) -> Vec<HostStep> {
    let mut marks: Vec<(i64, i64, i64)> = Vec::new();
    for row in 0..trace.host.len() {
        let id = HostId::from_index(row);
        if tree.class(trace, id) == HostClass::StepMark {
            let name = trace.names.get(trace.host.name[row]);
            let number = name.rsplit('#').next().and_then(|n| n.trim().parse().ok()).unwrap_or(0);
            marks.push((trace.host.start[row], trace.host.end(id), number));
        }
    }
    marks.sort_unstable();
    // Several threads or a nested profiler may mark the same step twice.
    marks.dedup_by(|later, earlier| later.2 == earlier.2 && later.0 < earlier.1);
    (0..marks.len())
        .map(|at| {
            let (start, end, number) = marks[at];
            // Without a following mark, or after a pause of the schedule, a step ends with its own mark.
            let next =
                marks.get(at + 1).filter(|next| Some(next.2) == number.checked_add(1)).map(|next| next.0);
            HostStep { number, host: Span::new(start, next.unwrap_or(end)), mark_end: end }
        })
        .collect()
}

fn optimizer_steps(trace: &Trace, tree: &HostTree) -> Vec<HostStep> {
    let mut ends: Vec<(i64, i64)> = (0..trace.host.len())
        .map(HostId::from_index)
        .filter(|&id| tree.class(trace, id) == HostClass::OptimizerStep)
        .filter(|&id| {
            let mut outer = tree.ancestry(id).skip(1);
            !outer.any(|above| tree.class(trace, above) == HostClass::OptimizerStep)
        })
        .map(|id| (trace.host.start[id.index()], trace.host.end(id)))
        .collect();
    ends.sort_unstable();
    // Several optimizers of one step follow each other directly; a step lies between two groups
    // that have launches of a forward and backward between them.
    let mut groups: Vec<(i64, i64)> = Vec::new();
    let typical = typical_pause(&ends);
    for (start, end) in ends {
        match groups.last_mut() {
            Some(last) if start - last.1 < typical / 4 => last.1 = last.1.max(end),
            _ => groups.push((start, end)),
        }
    }
    groups
        .windows(2)
        .enumerate()
        .map(|(at, pair)| HostStep {
            number: i64::try_from(at).unwrap_or(i64::MAX),
            host: Span::new(pair[0].1, pair[1].1),
            mark_end: pair[1].1,
        })
        .collect()
}

/// The longest pause between optimizer calls, halved: pauses far below it lie inside one step.
fn typical_pause(ends: &[(i64, i64)]) -> i64 {
    let mut pauses: Vec<i64> = ends.windows(2).map(|pair| (pair[1].0 - pair[0].1).max(0)).collect();
    pauses.sort_unstable();
    pauses.get(pauses.len() * 3 / 4).copied().unwrap_or(0)
}

/// Steps from repetition: the shortest distance at which the sequence of launched kernels
/// equals itself in at least 95 % of its places, over at least two whole repeats.
fn repeated_steps(trace: &Trace, tree: &HostTree) -> Vec<HostStep> {
    const SAME: f64 = 0.95;
    const CANDIDATES: usize = 64;
    let mut launches: Vec<(i64, u32)> = (0..trace.gpu.len())
        .map(|row| (launch_time(trace, tree, GpuId::from_index(row)), trace.gpu.name[row].0))
        .collect();
    launches.sort_unstable();
    let names: Vec<u32> = launches.iter().map(|&(_, name)| name).collect();
    let mut places: rustc_hash::FxHashMap<u32, Vec<usize>> = rustc_hash::FxHashMap::default();
    for (at, &name) in names.iter().enumerate() {
        places.entry(name).or_default().push(at);
    }
    let rarest = places.values().filter(|at| at.len() >= 3).min_by_key(|at| (at.len(), at[0]));
    let Some(anchor) = rarest else { return Vec::new() };
    let mut distances: Vec<usize> = anchor.windows(2).map(|pair| pair[1] - pair[0]).collect();
    distances.sort_unstable();
    distances.dedup();
    distances.truncate(CANDIDATES);
    let period = distances.into_iter().find(|&period| {
        let compared = names.len() - period;
        let same = (0..compared).filter(|&at| names[at] == names[at + period]).count();
        compared >= period && same as f64 >= SAME * compared as f64
    });
    let Some(period) = period else { return Vec::new() };
    let begins: Vec<i64> = (anchor[0]..names.len()).step_by(period).map(|at| launches[at].0).collect();
    begins
        .windows(2)
        .enumerate()
        .map(|(at, pair)| HostStep {
            number: i64::try_from(at).unwrap_or(i64::MAX),
            host: Span::new(pair[0], pair[1]),
            mark_end: pair[1],
        })
        .collect()
}

/// When an activity was launched; when it started, if its launch is not in the trace.
#[must_use]
pub fn launch_time(trace: &Trace, tree: &HostTree, activity: GpuId) -> i64 {
    tree.launch_of(activity).map_or(trace.gpu.start[activity.index()], |call| trace.host.start[call.index()])
}

/// Steps of one device, from the host's.
///
/// `rows` are the device's activities by start.
#[must_use]
pub(crate) fn device_steps(
    trace: &Trace,
    tree: &HostTree,
    rows: &[u32],
    found_by: FoundBy,
    host: &[HostStep],
) -> DeviceSteps {
    let mut steps =
        DeviceSteps { found_by, used: Vec::new(), excluded: Vec::new(), backlog: 0, backlog_ns: 0 };
    let (Some(first), Some(last)) = (host.first(), host.last()) else { return steps };
    let no_launches = rows.iter().all(|&row| tree.launch_of(GpuId(row)).is_none());

    let mut ends: Vec<Option<i64>> = vec![None; host.len()];
    let mut backlog_end: Option<i64> = None;
    let mut linked = vec![false; trace.streams.len()];
    for &row in rows {
        let id = GpuId(row);
        let end = trace.gpu.end(id);
        let stream = trace.gpu.stream[id.index()].index();
        let launch = tree.launch_of(id);
        linked[stream] |= launch.is_some();
        let before = match launch {
            Some(call) => trace.host.start[call.index()] < first.host.start,
            // On a stream, what has no launch before the first that has one was launched before the trace.
            None if no_launches => trace.gpu.start[id.index()] < first.host.start,
            None => !linked[stream],
        };
        if before {
            steps.backlog += 1;
            steps.backlog_ns += trace.gpu.dur[id.index()];
            backlog_end = backlog_end.max(Some(end));
        } else if launch.is_some() || no_launches {
            let at = host.partition_point(|step| step.host.start <= launch_time(trace, tree, id));
            if let Some(step) =
                at.checked_sub(1).filter(|&step| launch_time(trace, tree, id) < host[step].host.end)
            {
                ends[step] = ends[step].max(Some(end));
            }
        }
    }

    let mut edge = backlog_end.unwrap_or(first.host.start);
    let mut windows: Vec<DeviceStep> = Vec::new();
    for (at, step) in host.iter().enumerate() {
        let paused = at > 0 && host[at - 1].host.end < step.host.start;
        if paused {
            edge = edge.max(step.host.start);
        }
        let end = ends[at].unwrap_or(edge).max(edge);
        if end > edge {
            windows.push(DeviceStep {
                number: step.number,
                window: Span::new(edge, end),
                host: step.host,
                mark_end: step.mark_end,
            });
        }
        edge = end;
    }

    if windows.len() >= 2 && is_cut_off(trace, tree, last.host, &windows, host) {
        windows.pop();
        steps.excluded.push((last.number, Excluded::NoEnd));
    }
    if found_by != FoundBy::Window {
        let no_start = backlog_end.is_none();
        if windows.len() >= 2 && (no_start || windows.len() >= 3) {
            let dropped = windows.remove(0);
            let reason = if no_start { Excluded::NoStart } else { Excluded::ProfilerStart };
            steps.excluded.insert(0, (dropped.number, reason));
        }
    }
    steps.used = windows;
    steps
}

/// Whether the last step lost its end: clearly more of its launches lack an activity than elsewhere.
fn is_cut_off(trace: &Trace, tree: &HostTree, last: Span, windows: &[DeviceStep], host: &[HostStep]) -> bool {
    const MORE: f64 = 0.1;
    let missing_share = |span: Span| {
        let (mut missing, mut all) = (0_u32, 0_u32);
        for row in 0..trace.host.len() {
            let id = HostId::from_index(row);
            let start = trace.host.start[row];
            let launches = matches!(tree.class(trace, id), HostClass::Launch | HostClass::GraphLaunch);
            if launches && span.start <= start && start < span.end {
                all += 1;
                missing += u32::from(tree.activity_of(id).is_none());
            }
        }
        if all == 0 { 1.0 } else { f64::from(missing) / f64::from(all) }
    };
    if windows.last().is_none_or(|step| step.host != last) {
        return true;
    }
    missing_share(last) > missing_share(Span::new(host[0].host.start, last.start)) + MORE
}
