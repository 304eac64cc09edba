//! Several ranks of one job, compared: which collectives are the same, what of each is transfer and what is waiting
//! for the last rank, how the ranks' clocks differ, how fast the links were.
//!
//! Everything here works on [`RankFacts`], a few columns per rank, so that it is the same for ranks whose traces are at
//! hand and for those of which only a digest was kept.

pub mod bandwidth;
pub mod clock;
mod collect;
mod columns;
pub mod matching;
pub mod pipeline;
mod runs;
pub mod split;
mod strategy;

use serde::{Deserialize, Serialize};

pub use collect::facts_of;
pub use strategy::Trait;

use crate::communication::Kind;

/// What one rank says of its collectives and its work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankFacts {
    /// Rank.
    pub rank: u32,
    /// Ranks in the job; 0 where not recorded.
    pub world_size: u32,
    /// Process groups that this rank is in.
    pub groups: Vec<Group>,
    /// Whole steps analysed.
    pub steps: Vec<StepWindow>,
    /// The steps carry the program's own numbers, which are the same on all ranks.
    pub numbered: bool,
    /// The collectives that differ in kind, size or place.
    pub classes: Vec<Class>,
    /// Every collective of the trace, in the order of launch.
    pub rows: Rows,
    /// What it computes.
    pub work: WorkDone,
    /// Micro-batches per step of a pipeline, where there is one.
    pub micro_batches: Option<u32>,
    /// The order in which a pipeline stage runs them, as recorded: `FFBB`, `FBFB`; empty where unknown.
    pub schedule: String,
    /// How the job is parallel, as far as this rank shows it.
    pub strategy: Vec<Trait>,
}

/// A process group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Group {
    /// Members, ascending.
    #[serde(with = "runs")]
    pub ranks: Vec<u32>,
    /// Name.
    pub name: String,
    /// Description (`default_pg`, …); empty where not recorded.
    pub description: String,
}

/// A step of a rank, on its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepWindow {
    /// Number.
    pub number: i64,
    /// Start on the device, ns of Unix time.
    pub start: i64,
    /// End on the device, ns of Unix time.
    pub end: i64,
}

/// With whom a collective is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Channel {
    /// A process group, as index into [`RankFacts::groups`].
    Group(u32),
    /// A transfer to a rank.
    To(u32),
    /// A transfer from a rank.
    From(u32),
    /// Transfers in both directions with a rank, in one kernel.
    Both(u32),
    /// Not recorded.
    Unknown,
}

/// Collectives that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Class {
    /// Kind.
    pub kind: Kind,
    /// With whom.
    pub channel: Channel,
    /// Bytes of the whole tensor, where recorded: input of an all-reduce or reduce-scatter, output of an all-gather.
    pub bytes: Option<i64>,
    /// Type of the elements; empty where not recorded.
    pub dtype: String,
    /// Stream that it runs on.
    pub stream: i64,
    /// Thread blocks: channels of the library, for a large one.
    pub blocks: u32,
    /// Launched from inside backward.
    pub in_backward: bool,
}

/// Collectives, one `Vec` per field; times are ns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// Index into [`RankFacts::classes`].
    #[serde(with = "columns")]
    pub class: Vec<i64>,
    /// Number of the step it was launched in; one less than the first step's for what was launched before.
    #[serde(with = "columns")]
    pub step: Vec<i64>,
    /// Place in that step among those of the same channel, from 0; before the first step counted back from −1.
    #[serde(with = "columns")]
    pub index: Vec<i64>,
    /// Sequence number in its group; −1 where not recorded.
    #[serde(with = "columns")]
    pub sequence: Vec<i64>,
    /// Start on the device, Unix time.
    #[serde(with = "columns")]
    pub start: Vec<i64>,
    /// Length.
    #[serde(with = "columns")]
    pub length: Vec<i64>,
    /// How long before its start it was launched; −1 where not recorded.
    #[serde(with = "columns")]
    pub queued: Vec<i64>,
    /// Where its stretches in [`Rows::bare_from`] end.
    #[serde(with = "columns")]
    pub bare_until: Vec<i64>,
    /// Stretches that no other work hides, in the steps analysed: starts after the collective's own.
    #[serde(with = "columns")]
    pub bare_from: Vec<i64>,
    /// Their lengths.
    #[serde(with = "columns")]
    pub bare_length: Vec<i64>,
}

impl Rows {
    /// Collectives.
    #[must_use]
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// End on the device, ns of Unix time.
    #[must_use]
    pub fn end(&self, row: usize) -> i64 {
        self.start[row] + self.length[row]
    }

    /// The stretches of a collective that no other work hides: start after its own, and length.
    pub fn bare(&self, row: usize) -> impl Iterator<Item = (i64, i64)> + '_ {
        let from = row.checked_sub(1).map_or(0, |before| self.bare_until[before]) as usize;
        (from..self.bare_until[row] as usize).map(|at| (self.bare_from[at], self.bare_length[at]))
    }

    /// Time of a collective that no other work hides, ns.
    #[must_use]
    pub fn exposed(&self, row: usize) -> i64 {
        self.bare(row).map(|(_, length)| length).sum()
    }
}

/// What a rank computes per step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkDone {
    /// Kernels that differ in name or grid, by time; the rest of them is in the sums below only.
    pub kernels: Vec<KernelClass>,
    /// Kernels per step.
    pub count: i64,
    /// Time of kernels other than collectives, ns per step: a sum.
    pub kernels_ns: i64,
    /// Union of that time on the device, ns per step.
    pub working_ns: i64,
    /// The optimizer's part of it, ns per step.
    pub optimizer_ns: i64,
    /// Operators per step.
    pub operators: i64,
}

/// Kernels of one name and grid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelClass {
    /// Name, shortened.
    pub name: String,
    /// Hash of the whole name and the grid: equal on ranks that do the same.
    pub key: u64,
    /// How many in the steps analysed.
    pub count: i64,
    /// Their time, ns.
    pub total_ns: i64,
    /// The shortest, ns.
    pub least_ns: i64,
}

impl KernelClass {
    /// Their mean length, ns.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        self.total_ns as f64 / self.count.max(1) as f64
    }
}

impl RankFacts {
    /// Whole steps analysed, at least one.
    #[must_use]
    pub fn step_count(&self) -> i64 {
        i64::try_from(self.steps.len()).unwrap_or(1).max(1)
    }

    /// All columns of collectives have the same length and point at what is there: what was read from a file can be
    /// used without further checks.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let rows = &self.rows;
        let count = rows.len();
        let columns = [
            &rows.class,
            &rows.step,
            &rows.index,
            &rows.sequence,
            &rows.length,
            &rows.queued,
            &rows.bare_until,
        ];
        let within = |ns: i64| (-i64::MAX / 4..i64::MAX / 4).contains(&ns);
        columns.iter().all(|column| column.len() == count)
            && rows.bare_from.len() == rows.bare_length.len()
            && rows.bare_until.is_sorted()
            && rows.bare_until.first().is_none_or(|&first| first >= 0)
            && rows.bare_until.last().copied().unwrap_or(0)
                == i64::try_from(rows.bare_from.len()).unwrap_or(-1)
            && rows
                .class
                .iter()
                .all(|&class| usize::try_from(class).is_ok_and(|class| class < self.classes.len()))
            && [&rows.start, &rows.step, &rows.index].into_iter().flatten().all(|&value| within(value))
            && rows.length.iter().chain(&rows.bare_length).all(|&ns| ns >= 0 && within(ns))
            && rows.bare_from.iter().all(|&ns| within(ns))
            && self.steps.iter().all(|step| within(step.start) && within(step.end) && step.start <= step.end)
            && self.classes.iter().all(|class| match class.channel {
                Channel::Group(group) => (group as usize) < self.groups.len(),
                _ => true,
            })
    }

    /// The class of a collective.
    #[must_use]
    pub(crate) fn class_of(&self, row: usize) -> &Class {
        &self.classes[self.rows.class[row] as usize]
    }
}
