//! A rank's digest: what it says to the others, some tens of kilobytes for a trace of any length.
//!
//! It holds the rank's own verdict, its collectives as columns, and its replay reduced to when it reaches them
//! ([`Skeleton`]), as recorded and after each remedy. Nothing more is needed for the verdict on all ranks, so that one
//! made from traces and one made from digests are the same.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::links::{SlowPath, slow_paths};
use whyidle_analysis::ranks::{RankFacts, facts_of};
use whyidle_model::{GpuId, NcclLog};
use whyidle_replay::edits::scale_activities;
use whyidle_replay::simulate::Lengths;
use whyidle_replay::skeleton::Skeleton;

use crate::case::{Case, Replayed};
use crate::causes::CAUSES;
use crate::edit::{Terms, applied};
use crate::ids::{self, Id};
use crate::projection::{Parts, parts};
use crate::verdict::Verdict;

/// The schema of a digest.
const SCHEMA: &str = "whyidle.digest/1";
/// How much shorter kernels are in [`Digest::eased`].
pub(crate) const EASED: f64 = 0.8;
/// Collectives beyond which only three steps' are kept: at 8–14 bytes each, a digest then stays below 300 KB.
const MOST_ROWS: usize = 12_000;

/// What one rank says to the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// `whyidle.digest/1`.
    pub schema: String,
    /// Version of the program that made it.
    pub tool: String,
    /// Its collectives and its work.
    pub facts: RankFacts,
    /// The verdict on this rank alone.
    pub verdict: Verdict,
    /// Its steps without the profiler, as the model of its cost has them: how fast it would go by itself.
    pub(crate) paced: Option<Reduced>,
    /// Its steps as long as the true one by its own doing, waiting for no other.
    pub(crate) fitted: Option<Reduced>,
    /// As [`Digest::paced`], with kernels 20 % shorter: how the step follows if this rank's kernels were as short as
    /// another's.
    pub(crate) eased: Option<Reduced>,
    /// As [`Digest::fitted`], after each remedy that the trace holds anything of; another rank may be the one that needs it.
    pub(crate) remedies: Vec<Remedied>,
    /// What the ledger is projected from.
    pub(crate) parts: Parts,
    /// Its slow paths to other ranks, by NCCL's log.
    #[serde(default)]
    pub(crate) paths: Vec<SlowPath>,
}

/// A rank's replay, reduced to its collectives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reduced {
    /// When it reaches them.
    pub skeleton: Skeleton,
    /// Which collectives they are: rows of [`RankFacts::rows`].
    pub rows: Vec<u32>,
}

/// The same after a remedy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Remedied {
    /// Cause that it cures.
    #[serde(deserialize_with = "ids::id")]
    pub cause: Id,
    /// The replay after it.
    pub reduced: Reduced,
    /// What else holds of the step then.
    pub terms: Terms,
}

impl Digest {
    /// The digest of a case and the verdict on it alone.
    #[must_use]
    pub fn new(case: &Case<'_>, verdict: Verdict) -> Self {
        let (facts, activities) = facts_of(case.trace, case.facts, &case.device);
        let rows: FxHashMap<GpuId, u32> = activities.into_iter().zip(0..).collect();
        let usable = case.replay.as_ref().filter(|replayed| replayed.is_usable());
        let paced = usable.map(|replayed| {
            let mut lengths = replayed.corrected.clone();
            case.without_waits(&replayed.program, &mut lengths);
            lengths
        });
        let fitted = case.self_paced();
        // What an edit does to a collective is relative to what it was before.
        let reduced = |lengths: &Lengths, before: Option<&Lengths>| {
            let usable = usable?;
            reduce(case, usable, before?, lengths, &rows)
        };
        let remedies = CAUSES.iter().filter_map(|cause| {
            let edit = cause.edit(case, None)?;
            let (lengths, terms) = applied(case, fitted.as_ref()?, &edit)?;
            let reduced = reduced(&lengths, fitted.as_ref())?;
            Some(Remedied { cause: cause.id, reduced, terms })
        });
        let eased = || {
            let mut lengths = paced.clone()?;
            scale_activities(&usable?.program, &mut lengths, |id| {
                let work = case.facts.works[id.index()];
                (!matches!(work, Work::Collective | Work::HostCopy)).then_some(EASED)
            });
            reduced(&lengths, paced.as_ref())
        };
        let mut digest = Self {
            schema: SCHEMA.to_owned(),
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            paced: paced.as_ref().and_then(|lengths| reduced(lengths, Some(lengths))),
            fitted: fitted.as_ref().and_then(|lengths| reduced(lengths, Some(lengths))),
            eased: eased(),
            remedies: remedies.collect(),
            parts: parts(case),
            paths: Vec::new(),
            facts,
            verdict,
        };
        if digest.facts.rows.len() > MOST_ROWS {
            digest.without_replay();
        }
        digest
    }

    /// With those paths of a log of NCCL that begin or end at it.
    #[must_use]
    pub fn with_log(mut self, log: &NcclLog) -> Self {
        let rank = self.facts.rank;
        self.paths = slow_paths(log, self.facts.world_size);
        self.paths.retain(|path| path.ranks.0 == rank || path.ranks.1 == rank);
        self
    }

    /// Its rank.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.facts.rank
    }

    /// What was read from a file is a digest of this version and holds together, so that nothing that follows need
    /// check it again.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let rows = self.facts.rows.len();
        let replays = self
            .paced
            .iter()
            .chain(&self.fitted)
            .chain(&self.eased)
            .chain(self.remedies.iter().map(|one| &one.reduced));
        self.schema == SCHEMA
            && self.facts.is_sound()
            && self.parts.is_sound()
            && self.verdict.step.unprofiled.ns > 0
            && !self.facts.steps.is_empty()
            && (self.facts.world_size == 0 || self.facts.rank < self.facts.world_size)
            && replays.into_iter().all(|reduced| {
                reduced.skeleton.is_sound()
                    && reduced.rows.len() == reduced.skeleton.len()
                    && reduced.rows.iter().all(|&row| (row as usize) < rows)
            })
    }

    /// Drops what takes most room where there are very many collectives: the replays after remedies.
    fn without_replay(&mut self) {
        self.remedies.clear();
        self.paced = None;
        self.fitted = None;
        self.eased = None;
    }
}

/// The skeleton of a case's replay with `lengths`. An edit says what becomes of `today`'s collectives.
fn reduce(
    case: &Case<'_>,
    replayed: &Replayed,
    today: &Lengths,
    lengths: &Lengths,
    rows: &FxHashMap<GpuId, u32>,
) -> Option<Reduced> {
    let program = &replayed.program;
    let collective = |node: usize| {
        let activity = program.gpu[node].activity;
        let known = case.facts.works[activity.index()] == Work::Collective && rows.contains_key(&activity);
        known.then(|| today.gpu[node].max(1))
    };
    let (skeleton, activities) = Skeleton::new(program, lengths, replayed.steps.clone(), collective);
    Some(Reduced {
        skeleton,
        rows: activities.iter().map(|id| rows.get(id).copied()).collect::<Option<_>>()?,
    })
}
