//! Digests of the ranks of one job.
//!
//! A set is the union of its digests, ordered by rank: whichever way it was put together, it is the same.

use whyidle_analysis::links::SlowPath;
use whyidle_analysis::ranks::RankFacts;
use whyidle_model::Severity;

use super::digest::{Digest, Reduced, Remedied};
use crate::ids::Id;
use crate::message::{Arg, Message};
use crate::projection::Parts;
use crate::verdict::{QualityNote, Verdict};

/// The ranks of one job.
pub struct Ranks {
    /// What they say of their collectives, ascending by rank.
    pub facts: Vec<RankFacts>,
    /// The rest of each digest.
    pub(crate) own: Vec<Own>,
    /// Slow paths between them, by NCCL's log.
    pub(crate) paths: Vec<SlowPath>,
    /// What was wrong with the set.
    pub(crate) notes: Vec<QualityNote>,
}

/// What a rank says beside its collectives.
pub(crate) struct Own {
    pub verdict: Verdict,
    pub paced: Option<Reduced>,
    pub fitted: Option<Reduced>,
    pub eased: Option<Reduced>,
    pub parts: Parts,
    pub remedies: Vec<Remedied>,
}

impl Own {
    /// Its replay after the remedy for a cause.
    pub(crate) fn remedy(&self, cause: Id) -> Option<&Reduced> {
        self.remedies.iter().find(|one| one.cause == cause).map(|one| &one.reduced)
    }
}

/// Why digests are not the ranks of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOneJob {
    /// There are none.
    Nothing,
    /// They come from jobs with different numbers of ranks, or from none.
    Worlds,
    /// They were recorded this far apart, ns: in different runs, or in different parts of one.
    Times(i64),
}

/// Ranks named one by one in a note.
const NAMED: usize = 12;

impl Ranks {
    /// The ranks of digests in any order. Of two with the same rank the first is taken.
    ///
    /// # Errors
    /// Where they cannot belong to one job.
    pub fn new(mut digests: Vec<Digest>) -> Result<Self, NotOneJob> {
        let world = digests.first().ok_or(NotOneJob::Nothing)?.facts.world_size;
        let several = digests.len() > 1;
        let foreign = |digest: &Digest| digest.facts.world_size != world || digest.rank() >= world;
        if several && (world < 2 || digests.iter().any(foreign)) {
            return Err(NotOneJob::Worlds);
        }
        if let Some(apart) = apart(&digests) {
            return Err(NotOneJob::Times(apart));
        }
        digests.sort_by_key(Digest::rank);
        let mut notes = Vec::new();
        let mut twice: Vec<u32> =
            digests.windows(2).filter(|p| p[0].rank() == p[1].rank()).map(|p| p[0].rank()).collect();
        twice.dedup();
        digests.dedup_by_key(|digest| digest.rank());
        let named = |ranks: &[u32]| {
            Arg::List(ranks.iter().take(NAMED).map(|rank| Arg::Name(rank.to_string())).collect())
        };
        let mut note = |code, ranks: &[u32], text: &'static str| {
            if !ranks.is_empty() {
                let text = Message::new(text).count("count", ranks.len()).with("ranks", named(ranks));
                notes.push(QualityNote {
                    code,
                    severity: Severity::Suspect,
                    count: ranks.len() as u64,
                    text,
                });
            }
        };
        note("rank-twice", &twice, "note-rank-twice");
        let present: Vec<u32> = digests.iter().map(Digest::rank).collect();
        let missing: Vec<u32> =
            (0..world.min(MOST_RANKS)).filter(|rank| present.binary_search(rank).is_err()).collect();
        if several {
            note("rank-missing", &missing, "note-rank-missing");
        }
        let (mut facts, mut own, mut slow) = (Vec::new(), Vec::new(), Vec::new());
        for digest in digests {
            let Digest { facts: one, verdict, paced, fitted, eased, remedies, parts, paths, .. } = digest;
            slow.extend(paths);
            facts.push(one);
            own.push(Own { verdict, paced, fitted, eased, parts, remedies });
        }
        slow.sort_by_key(|path: &SlowPath| path.ranks);
        slow.dedup_by_key(|path| path.ranks);
        Ok(Self { facts, own, paths: slow, notes })
    }

    /// Ranks in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.facts.len()
    }

    /// Never true: a set has at least one rank.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// Ranks that the job has and the set has not.
    #[must_use]
    pub fn missing(&self) -> u32 {
        let present = u32::try_from(self.len()).unwrap_or(u32::MAX);
        self.facts.first().map_or(0, |facts| facts.world_size.saturating_sub(present))
    }
}

/// Clocks of hosts agree to a second or so, and ranks that are compared were recorded over the same steps, ns.
const TOGETHER_NS: i64 = 10_000_000_000;
/// Times before are none of Unix time: some recorders count from when the host was started.
const UNIX_NS: i64 = 1_400_000_000_000_000_000;

/// How far apart the steps of digests lie where that is too far for one run, ns.
fn apart(digests: &[Digest]) -> Option<i64> {
    let span = |digest: &Digest| {
        let steps = &digest.facts.steps;
        let start = steps.iter().map(|step| step.start).min()?;
        Some((start, steps.iter().map(|step| step.end).max()?))
    };
    let spans: Vec<(i64, i64)> = digests.iter().filter_map(span).filter(|span| span.0 > UNIX_NS).collect();
    let last = spans.iter().map(|span| span.0).max()?;
    let first = spans.iter().map(|span| span.1).min()?;
    Some(last - first).filter(|&apart| apart > TOGETHER_NS)
}

/// No job has more ranks than this.
const MOST_RANKS: u32 = 1 << 20;
