//! What a rank's replay looks like from outside: when each of its collectives is reached, as a function of when
//! the collectives before it ended.
//!
//! A replay only ever takes the later of two times and adds lengths, so every time in it is a *max-plus* combination
//! of a few earlier ones (Baccelli et al., *Synchronization and Linearity*, 1992). Following those combinations
//! instead of numbers leaves some kilobytes per rank, from which several ranks can be replayed together without
//! their traces ([`crate::together`]). A full launch queue is left out: a host that is so far ahead sets no pace.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use whyidle_analysis::tree::NONE;
use whyidle_model::GpuId;

use crate::program::{HostStep, Program};
use crate::simulate::Lengths;

/// A time as the latest of `source + ns`. Sources are numbered as in [`Skeleton`]; ascending, each at most once.
pub type Paths = Vec<(u32, i64)>;

/// A rank's steps, reduced to its collectives.
///
/// Sources of [`Paths`]: 0 is the host at the beginning; then come the ends of the streams at the beginning; then the
/// ends of the collectives, in the order of their launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Skeleton {
    /// Steps that it covers.
    pub steps: u32,
    /// Streams.
    pub streams: u32,
    /// Per collective, in the order of launch: when this rank reaches it.
    #[serde(with = "crate::paths")]
    pub reached: Vec<Paths>,
    /// Per collective: its length after an edit relative to today's; 1 where nothing was edited.
    pub factors: Vec<f64>,
    /// The host at the end.
    pub host: Paths,
    /// Ends of the streams at the end.
    pub stream_ends: Vec<Paths>,
    /// End of the last activity.
    pub device: Paths,
}

/// A combination of more sources than this is looked through for what implies the others.
const MANY: usize = 3;
/// Times of so many sources are followed; of the collectives beyond, the earliest are left out.
const FOLLOWED: usize = 96;

impl Skeleton {
    /// The skeleton of `steps` with these lengths. `collective` says of each GPU node whether it is one, with its
    /// length today, ns. Collectives that an edit removed are left out; the second list names the activities of those
    /// that stay, in order.
    #[must_use]
    pub fn new(
        program: &Program,
        lengths: &Lengths,
        steps: Range<usize>,
        collective: impl Fn(usize) -> Option<i64>,
    ) -> (Self, Vec<GpuId>) {
        let streams = u32::try_from(program.streams).unwrap_or(u32::MAX);
        let mut follow = Follower {
            program,
            lengths,
            host: vec![(0, 0)],
            stream_ends: (1..=streams).map(|stream| vec![(stream, 0)]).collect(),
            node_ends: vec![Paths::new(); program.gpu.len()],
            device: Paths::new(),
            skeleton: Self {
                steps: u32::try_from(steps.len()).unwrap_or(u32::MAX),
                streams,
                ..Self::default()
            },
            activities: Vec::new(),
        };
        for at in program.steps[steps.start].start..program.steps[steps.end - 1].end {
            follow.host_node(at, &collective);
        }
        let Follower { host, stream_ends, device, skeleton, activities, .. } = follow;
        (Self { host, stream_ends, device, ..skeleton }, activities)
    }

    /// Collectives in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.reached.len()
    }

    /// No collectives in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.reached.is_empty()
    }

    /// The source that the end of a collective is.
    #[must_use]
    pub(crate) fn source_of(&self, collective: usize) -> usize {
        1 + self.streams as usize + collective
    }

    /// Every path leads from something that comes before it, and every list has its length: what was read from a file
    /// can be followed without further checks.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let before = |paths: &Paths, limit: usize| {
            paths.iter().all(|&(source, ns)| (source as usize) < limit && (-MOST_NS..=MOST_NS).contains(&ns))
        };
        let all = self.source_of(self.len());
        let ordered = self.reached.iter().enumerate().all(|(at, paths)| before(paths, self.source_of(at)));
        let ends = self.stream_ends.iter().chain([&self.host, &self.device]).all(|paths| before(paths, all));
        let factors = self.factors.iter().all(|factor| (0.0..=1e6).contains(factor));
        let counts = self.stream_ends.len() == self.streams as usize && self.factors.len() == self.len();
        ordered && ends && factors && counts && self.steps > 0
    }
}

/// Longer than any steps that are replayed: a month.
const MOST_NS: i64 = 31 * 86_400 * 1_000_000_000;

/// Follows a replay, with combinations in place of times.
struct Follower<'a> {
    program: &'a Program,
    lengths: &'a Lengths,
    host: Paths,
    stream_ends: Vec<Paths>,
    node_ends: Vec<Paths>,
    device: Paths,
    skeleton: Skeleton,
    activities: Vec<GpuId>,
}

impl Follower<'_> {
    fn host_node(&mut self, at: usize, collective: &impl Fn(usize) -> Option<i64>) {
        match self.program.host[at].step {
            HostStep::Work => {}
            HostStep::Launch { first, end, blocks } => {
                let mut finished = None;
                for node in (first as usize..end as usize).filter(|&node| self.lengths.gpu[node] >= 0) {
                    self.gpu_node(node, collective);
                    finished = Some(node);
                }
                if let Some(node) = finished.filter(|_| blocks && self.lengths.waits[at]) {
                    self.wait_for(node);
                }
            }
            HostStep::Wait { target } if target != NONE && self.lengths.waits[at] => {
                self.wait_for(target as usize);
            }
            HostStep::Wait { .. } => {}
        }
        add(&mut self.host, self.lengths.host[at]);
    }

    fn wait_for(&mut self, node: usize) {
        let end = self.node_ends[node].clone();
        self.host = self.later(&self.host, &end, 0);
    }

    fn gpu_node(&mut self, node: usize, collective: &impl Fn(usize) -> Option<i64>) {
        let gpu = &self.program.gpu[node];
        let stream = gpu.stream as usize;
        let mut start = self.host.clone();
        add(&mut start, gpu.latency);
        start = self.later(&start, &self.stream_ends[stream], gpu.gap);
        if gpu.after != NONE && self.lengths.gpu[gpu.after as usize] >= 0 {
            start = self.later(&start, &self.node_ends[gpu.after as usize], gpu.lag);
        }
        let end = match collective(node) {
            Some(today) => {
                self.prune(&mut start);
                let source = u32::try_from(self.skeleton.source_of(self.skeleton.len())).unwrap_or(u32::MAX);
                self.skeleton.reached.push(start);
                self.skeleton.factors.push(self.lengths.gpu[node] as f64 / today.max(1) as f64);
                self.activities.push(gpu.activity);
                vec![(source, 0)]
            }
            None => {
                add(&mut start, self.lengths.gpu[node]);
                start
            }
        };
        self.stream_ends[stream] = self.later(&self.stream_ends[stream], &end, 0);
        self.device = self.later(&self.device, &end, 0);
        self.node_ends[node] = end;
    }

    /// The later of `one` and `other + ns`, without what another source implies.
    fn later(&self, one: &Paths, other: &Paths, ns: i64) -> Paths {
        let mut out = Paths::with_capacity(one.len() + other.len());
        let (mut a, mut b) =
            (one.iter().peekable(), other.iter().map(|&(source, w)| (source, w + ns)).peekable());
        loop {
            match (a.peek(), b.peek()) {
                (Some(&&x), Some(&y)) if x.0 == y.0 => {
                    out.push((x.0, x.1.max(y.1)));
                    a.next();
                    b.next();
                }
                (Some(&&x), Some(&y)) if x.0 < y.0 => {
                    out.push(x);
                    a.next();
                }
                (_, Some(&y)) => {
                    out.push(y);
                    b.next();
                }
                (Some(&&x), None) => {
                    out.push(x);
                    a.next();
                }
                (None, None) => break,
            }
        }
        if out.len() > MANY {
            self.prune(&mut out);
        }
        out
    }

    /// Takes out what later collectives imply: they were themselves reached from there, and none ends before it is
    /// reached.
    fn prune(&self, paths: &mut Paths) {
        let first = self.skeleton.source_of(0);
        let Some(&(last, _)) = paths.last().filter(|&&(last, _)| last as usize >= first) else { return };
        // The longest way from each source to here that is known so far, from the latest collective back.
        let mut longest = vec![i64::MIN; last as usize + 1];
        let mut kept = Paths::with_capacity(paths.len());
        let mut open = paths.iter().rev().copied().peekable();
        for source in (0..=last).rev() {
            let at = source as usize;
            if let Some((_, ns)) = open.next_if(|&(next, _)| next == source)
                && ns > longest[at]
            {
                longest[at] = ns;
                kept.push((source, ns));
            }
            if open.peek().is_none() {
                break;
            }
            if at >= first && longest[at] > i64::MIN {
                for &(from, ns) in &self.skeleton.reached[at - first] {
                    longest[from as usize] = longest[from as usize].max(longest[at] + ns);
                }
            }
        }
        kept.reverse();
        let collectives = kept.partition_point(|&(source, _)| (source as usize) < first);
        let surplus = kept.len().saturating_sub(FOLLOWED).min(kept.len() - collectives);
        *paths = kept;
        paths.drain(collectives..collectives + surplus);
    }
}

fn add(paths: &mut Paths, ns: i64) {
    paths.iter_mut().for_each(|(_, w)| *w += ns);
}
