//! What one rank's trace says to the others.

use rustc_hash::FxHashMap;
use whyidle_model::{CollectiveOwner, GpuId, HostId, HostKind, Trace};

use super::{Channel, Class, Group, KernelClass, RankFacts, StepWindow, WorkDone, strategy};
use crate::communication::{self, Kind};
use crate::facts::{DeviceFacts, Facts};
use crate::kernelclass::Work;
use crate::ledger::{Kind as LineKind, Line};
use crate::steps::FoundBy;

/// Kernel classes that are kept: on real traces the first fifty hold more than 95 % of the time.
const KERNELS: usize = 50;
/// Characters of a kernel's name that are kept.
const NAME: usize = 80;

/// What the rank of a trace says of its collectives and its work on one device; and the activities that its
/// collectives are, in the order of its rows.
#[must_use]
pub fn facts_of(trace: &Trace, facts: &Facts, device: &DeviceFacts) -> (RankFacts, Vec<GpuId>) {
    let job = trace.meta.distributed.as_ref();
    let rank = job.map_or(0, |job| job.rank);
    let base = trace.meta.base_unix_ns;
    let mut out = RankFacts {
        rank,
        world_size: job.map_or(0, |job| job.world_size),
        groups: groups(trace),
        steps: device
            .steps
            .used
            .iter()
            .map(|step| StepWindow {
                number: step.number,
                start: base + step.window.start,
                end: base + step.window.end,
            })
            .collect(),
        numbered: facts.found_by == FoundBy::ProfilerStep,
        work: work(trace, facts, device),
        strategy: strategy::traits(trace, facts, device),
        ..RankFacts::default()
    };
    (out.micro_batches, out.schedule) = micro_batches(trace, device);
    let activities = Collector::new(trace, facts, device, &mut out).collect();
    if out.micro_batches.is_none() {
        out.micro_batches = transfers_per_step(&out);
    }
    (out, activities)
}

/// The process groups of the header; without it, all ranks are one.
fn groups(trace: &Trace) -> Vec<Group> {
    let Some(job) = &trace.meta.distributed else { return Vec::new() };
    let mut groups: Vec<Group> = job
        .groups
        .iter()
        .map(|(name, description, ranks)| {
            let mut ranks = ranks.clone();
            ranks.sort_unstable();
            ranks.dedup();
            Group { ranks, name: name.clone(), description: description.clone() }
        })
        .collect();
    // A world of millions is a slip, not a job.
    const MOST_RANKS: u32 = 1 << 20;
    if groups.is_empty() && (1..=MOST_RANKS).contains(&job.world_size) {
        groups.push(Group {
            ranks: (0..job.world_size).collect(),
            name: String::new(),
            description: String::new(),
        });
    }
    groups
}

struct Collector<'a> {
    trace: &'a Trace,
    facts: &'a Facts,
    device: &'a DeviceFacts,
    /// Arguments by kernel, and by the operator that described it.
    by_kernel: FxHashMap<u32, usize>,
    by_operator: FxHashMap<u32, usize>,
    /// Point-to-point transfers as described on the host: thread, time, row; ascending.
    transfers: Vec<(u32, i64, usize)>,
    /// Launches of point-to-point kernels: thread and time; ascending.
    launches: Vec<(u32, i64)>,
    classes: FxHashMap<Class, i64>,
    out: &'a mut RankFacts,
}

/// A collective on its way into the columns.
struct Found {
    id: GpuId,
    launched: Option<i64>,
    order: i64,
    class: Class,
    sequence: i64,
}

impl<'a> Collector<'a> {
    fn new(trace: &'a Trace, facts: &'a Facts, device: &'a DeviceFacts, out: &'a mut RankFacts) -> Self {
        let (mut by_kernel, mut by_operator) = (FxHashMap::default(), FxHashMap::default());
        let mut transfers = Vec::new();
        for (at, described) in trace.collectives.iter().enumerate() {
            match described.owner {
                CollectiveOwner::Gpu(id) => {
                    by_kernel.insert(id.0, at);
                }
                CollectiveOwner::Host(id) => {
                    by_operator.insert(id.0, at);
                    if matches!(trace.names.get(described.name), "send" | "recv") {
                        let row = id.index();
                        transfers.push((trace.host.thread[row].0, trace.host.start[row], at));
                    }
                }
            }
        }
        transfers.sort_unstable();
        let is_transfer = |id: &GpuId| {
            facts.works[id.index()] == Work::Collective
                && communication::kind(trace.names.get(trace.gpu.name[id.index()])) == Kind::SendReceive
        };
        let kernels = device.rows.iter().map(|&row| GpuId(row)).filter(is_transfer);
        let calls = kernels.filter_map(|id| facts.tree.launch_of(id));
        let launch = |call: HostId| (trace.host.thread[call.index()].0, trace.host.start[call.index()]);
        let mut launches: Vec<(u32, i64)> = calls.map(launch).collect();
        launches.sort_unstable();
        let classes = FxHashMap::default();
        Self { trace, facts, device, by_kernel, by_operator, transfers, launches, classes, out }
    }

    /// Fills the columns; the activities in their order.
    fn collect(mut self) -> Vec<GpuId> {
        let rows = self.device.rows.iter().map(|&row| GpuId(row));
        let mut found: Vec<Found> = rows
            .filter(|id| self.facts.works[id.index()] == Work::Collective)
            .map(|id| self.found(id))
            .collect();
        found.sort_by_key(|one| (one.order, one.id.0));
        self.name_unknown_channels(&mut found);
        let mut bare: FxHashMap<u32, Vec<(i64, i64)>> = FxHashMap::default();
        for busy in self.device.ledger.busy.iter().filter(|busy| busy.line == Line::Communication) {
            bare.entry(busy.piece.activity.0).or_default().push((busy.piece.start, busy.piece.end));
        }
        let places = self.places(&found);
        let base = self.trace.meta.base_unix_ns;
        let activities = found.iter().map(|one| one.id).collect();
        for (one, (step, index)) in found.into_iter().zip(places) {
            let start = self.trace.gpu.start[one.id.index()];
            let next = i64::try_from(self.classes.len()).unwrap_or(i64::MAX);
            let class = *self.classes.entry(one.class.clone()).or_insert_with(|| {
                self.out.classes.push(one.class);
                next
            });
            let rows = &mut self.out.rows;
            rows.class.push(class);
            rows.step.push(step);
            rows.index.push(index);
            rows.sequence.push(one.sequence);
            rows.start.push(base + start);
            rows.length.push(self.trace.gpu.dur[one.id.index()]);
            rows.queued.push(one.launched.map_or(-1, |launched| (start - launched).max(0)));
            for &(from, until) in bare.get(&one.id.0).into_iter().flatten() {
                rows.bare_from.push(from - start);
                rows.bare_length.push(until - from);
            }
            rows.bare_until.push(i64::try_from(rows.bare_from.len()).unwrap_or(i64::MAX));
        }
        activities
    }

    fn found(&self, id: GpuId) -> Found {
        let call = self.facts.tree.launch_of(id);
        let launched = call.map(|call| self.trace.host.start[call.index()]);
        let described = self.by_kernel.get(&id.0).copied().or_else(|| {
            let mut around = call.into_iter().flat_map(|call| self.facts.tree.ancestry(call));
            around.find_map(|at| self.by_operator.get(&at.0).copied())
        });
        let recorded = described.map(|at| &self.trace.collectives[at]);
        let kind = communication::kind_of(
            self.trace,
            self.facts,
            id,
            recorded.map(|one| communication::kind(self.trace.names.get(one.name))),
        );
        let channel = match (kind, recorded) {
            (Kind::SendReceive, _) => call.map_or(Channel::Unknown, |call| self.peer(call)),
            (_, Some(one)) => self.group(self.trace.names.get(one.group)),
            (_, None) => Channel::Unknown,
        };
        let stream = self.trace.gpu.stream[id.index()];
        let class = Class {
            kind,
            channel,
            bytes: recorded.and_then(|one| communication::bytes_of(self.trace, one)),
            dtype: recorded.map(|one| self.trace.names.get(one.dtype).to_owned()).unwrap_or_default(),
            stream: self.trace.streams[stream.index()].number,
            blocks: self.trace.gpu.blocks[id.index()],
            in_backward: call.is_some_and(|call| self.facts.tree.is_backward(call)),
        };
        let sequence = recorded.and_then(|one| one.sequence).filter(|&number| number >= 0).unwrap_or(-1);
        Found { id, launched, order: launched.unwrap_or(i64::MIN), class, sequence }
    }

    fn group(&self, name: &str) -> Channel {
        let groups = &self.out.groups;
        match groups.iter().position(|group| group.name == name) {
            Some(at) => Channel::Group(u32::try_from(at).unwrap_or(u32::MAX)),
            None if groups.len() == 1 => Channel::Group(0),
            None => Channel::Unknown,
        }
    }

    /// With whom a point-to-point kernel exchanges: by the `send` and `recv` that its thread described since the
    /// launch before it. There `Rank` is the peer.
    fn peer(&self, call: HostId) -> Channel {
        let launch = (self.trace.host.thread[call.index()].0, self.trace.host.start[call.index()]);
        let before = self.launches.partition_point(|&other| other < launch).checked_sub(1);
        let before = before.map(|at| self.launches[at]).filter(|&(thread, _)| thread == launch.0);
        let from = before.unwrap_or((launch.0, i64::MIN));
        let since = self.transfers.partition_point(|&(thread, at, _)| (thread, at) <= from);
        let until = self.transfers.partition_point(|&(thread, at, _)| (thread, at) <= launch);
        let mut channel: Option<Channel> = None;
        for &(.., row) in &self.transfers[since..until.max(since)] {
            let described = &self.trace.collectives[row];
            let peer = described.rank.and_then(|rank| u32::try_from(rank).ok());
            let one = match peer {
                Some(peer) if self.trace.names.get(described.name) == "send" => Channel::To(peer),
                Some(peer) => Channel::From(peer),
                None => Channel::Unknown,
            };
            channel = Some(match (channel, one) {
                (None, _) => one,
                (Some(before), _) if before == one => one,
                (
                    Some(Channel::To(a) | Channel::From(a) | Channel::Both(a)),
                    Channel::To(b) | Channel::From(b),
                ) if a == b => Channel::Both(a),
                // Exchanges with several ranks in one kernel.
                _ => Channel::Unknown,
            });
        }
        channel.unwrap_or(Channel::Unknown)
    }

    /// A collective that says nothing of its group is of the group that uses its stream.
    fn name_unknown_channels(&self, found: &mut [Found]) {
        let mut by_stream: FxHashMap<i64, Option<Channel>> = FxHashMap::default();
        for one in found.iter().filter(|one| matches!(one.class.channel, Channel::Group(_))) {
            let known = by_stream.entry(one.class.stream).or_insert(Some(one.class.channel));
            if *known != Some(one.class.channel) {
                *known = None;
            }
        }
        let only = (self.out.groups.len() == 1).then_some(Channel::Group(0));
        for one in found.iter_mut().filter(|one| one.class.kind != Kind::SendReceive) {
            if one.class.channel == Channel::Unknown {
                let of_stream = by_stream.get(&one.class.stream).copied().flatten();
                one.class.channel = of_stream.or(only).unwrap_or(Channel::Unknown);
            }
        }
    }

    /// Step and place in it of each collective.
    fn places(&self, found: &[Found]) -> Vec<(i64, i64)> {
        let steps = &self.facts.host_steps;
        let first = steps.first().map_or(0, |step| step.number);
        let step_of = |one: &Found| {
            let Some(at) = one.launched.map(|time| steps.partition_point(|step| step.host.start <= time))
            else {
                return first - 1;
            };
            at.checked_sub(1).map_or(first - 1, |at| steps[at].number)
        };
        let mut seen: FxHashMap<(Channel, i64), i64> = FxHashMap::default();
        let mut places: Vec<(i64, i64)> = found
            .iter()
            .map(|one| {
                let step = step_of(one);
                let index = seen.entry((one.class.channel, step)).or_default();
                *index += 1;
                (step, *index - 1)
            })
            .collect();
        for (one, (step, index)) in found.iter().zip(&mut places).filter(|(_, (step, _))| *step == first - 1)
        {
            *index -= seen[&(one.class.channel, *step)];
        }
        places
    }
}

fn work(trace: &Trace, facts: &Facts, device: &DeviceFacts) -> WorkDone {
    let steps = i64::try_from(device.steps.used.len()).unwrap_or(1).max(1);
    let mut kernels: FxHashMap<(u32, u32), KernelClass> = FxHashMap::default();
    let mut done = WorkDone::default();
    for id in device.rows.iter().map(|&row| GpuId(row)) {
        let row = id.index();
        let inside = device.steps.ended_at(trace.gpu.end(id)).is_some();
        if !inside || matches!(facts.works[row], Work::Collective | Work::HostCopy) {
            continue;
        }
        let ns = trace.gpu.dur[row];
        done.count += 1;
        done.kernels_ns += ns;
        if facts.works[row] == Work::Optimizer {
            done.optimizer_ns += ns;
        }
        let (name, blocks) = (trace.gpu.name[row], trace.gpu.blocks[row]);
        let class = kernels.entry((name.0, blocks)).or_insert_with(|| {
            let text = trace.names.get(name);
            let shown = text.chars().take(NAME).collect();
            KernelClass { name: shown, key: key(text, blocks), count: 0, total_ns: 0, least_ns: i64::MAX }
        });
        class.count += 1;
        class.total_ns += ns;
        class.least_ns = class.least_ns.min(ns);
    }
    done.kernels = kernels.into_values().collect();
    done.kernels.sort_by_key(|class| (std::cmp::Reverse(class.total_ns), class.key));
    done.kernels.truncate(KERNELS);
    (done.count, done.kernels_ns, done.optimizer_ns) =
        (done.count / steps, done.kernels_ns / steps, done.optimizer_ns / steps);
    done.working_ns = device.ledger.total_of(LineKind::Working) / steps;
    let is_operator = |row: &usize| {
        trace.host.kind[*row] == HostKind::Op && device.steps.launched_at(trace.host.start[*row]).is_some()
    };
    done.operators = i64::try_from((0..trace.host.len()).filter(is_operator).count()).unwrap_or(0) / steps;
    done
}

/// FNV-1a: the same on every machine and in every version.
fn key(name: &str, blocks: u32) -> u64 {
    let bytes = name.bytes().chain(blocks.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Micro-batches per step and the order in which a pipeline stage runs them, by the framework's own annotations
/// (`torch.distributed.pipelining`: `Forward 0`, `Backward 0`, …).
fn micro_batches(trace: &Trace, device: &DeviceFacts) -> (Option<u32>, String) {
    let steps = device.steps.used.len().max(1);
    let mut marks: Vec<(i64, char)> = Vec::new();
    for row in 0..trace.host.len() {
        if trace.host.kind[row] != HostKind::Annotation {
            continue;
        }
        if let Some((what, number)) = trace.names.get(trace.host.name[row]).split_once(' ')
            && matches!(what, "Forward" | "Backward")
            && number.parse::<u32>().is_ok()
            && device.steps.launched_at(trace.host.start[row]).is_some()
        {
            marks.push((trace.host.start[row], if what == "Forward" { 'F' } else { 'B' }));
        }
    }
    marks.sort_unstable();
    let forwards = marks.iter().filter(|(_, mark)| *mark == 'F').count();
    let micro = u32::try_from(forwards / steps).ok().filter(|&micro| micro > 0);
    (micro, marks.iter().take(marks.len() / steps).map(|(_, mark)| mark).collect())
}

/// Without annotations: sends to one rank per step.
fn transfers_per_step(facts: &RankFacts) -> Option<u32> {
    let mut sends: FxHashMap<Channel, i64> = FxHashMap::default();
    for row in 0..facts.rows.len() {
        let inside = facts.steps.iter().any(|step| step.number == facts.rows.step[row]);
        if inside && matches!(facts.class_of(row).channel, Channel::To(_)) {
            *sends.entry(facts.class_of(row).channel).or_default() += 1;
        }
    }
    let most = sends.into_values().max()?;
    u32::try_from(most / facts.step_count()).ok().filter(|&micro| micro > 0)
}
