//! A program fed in four ways, to see what its data costs (after DS-Analyzer: Mohan et al., "Analyzing and Mitigating
//! Data Stalls in DNN Training", VLDB 2021): with one batch from the device's memory, with batches from the host's, as
//! it is with its files in the page cache, and with the page cache empty. What a step takes longer from one to the next
//! is the stall of what came in between.
//!
//! DS-Analyzer caches the data set and prepares it anew; here `cached` are prepared batches, and the program as it is
//! stands for prepared from the cache. The three stalls then are those of the transfer, of preparation, of reading.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whyidle_readers::progress::tries::{Did, Tried};

use crate::comparison::Finish;
use crate::history::ComeTo;
use crate::result::{Ended, Run, shown};
use crate::tries::Try;

/// Stalls below this share of a step are nothing to cure.
pub const COUNTS: f64 = 0.1;

/// How a program is fed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feed {
    /// The first batch, from the device's memory.
    Synthetic,
    /// The first batches, from the host's.
    Cached,
    /// As it is, its files in the page cache where they fit.
    Warm,
    /// As it is, its files not in the page cache.
    Cold,
}

impl Feed {
    /// From the one that costs least.
    pub const ALL: [Self; 4] = [Self::Synthetic, Self::Cached, Self::Warm, Self::Cold];

    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Synthetic => "synthetic",
            Self::Cached => "cached",
            Self::Warm => "warm",
            Self::Cold => "cold",
        }
    }

    /// The change that feeds a program this way.
    #[must_use]
    pub fn change(self) -> Option<Try> {
        match self {
            Self::Synthetic => Some(Try::new("synthetic", true)),
            Self::Cached => Some(Try::new("cached", 16)),
            Self::Warm => None,
            Self::Cold => Some(Try::new("cold", true)),
        }
    }
}

/// The step time with one feed, ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fed {
    /// How it was fed.
    pub feed: Feed,
    /// Mean over its runs.
    pub step_ns: i64,
    /// The lowest and the highest end of their intervals, and of their means.
    pub range_ns: (i64, i64),
    /// Runs.
    pub runs: usize,
}

/// Why a program could not be fed in some way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unfed {
    /// It showed no steps.
    NoSteps,
    /// It takes no batch from a `DataLoader` of PyTorch.
    NoLoader,
    /// It opened no file that is large enough.
    NoFiles,
    /// Its files lie in memory: nothing is below the page cache.
    InMemory,
    /// It failed.
    Failed,
    /// It ran out of GPU memory.
    OutOfMemory,
    /// Something else; what the hook says.
    Other(String),
}

/// What bounds a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Its own computing: its data costs less than a tenth of a step.
    Compute,
    /// Batches on their way from the host's memory to the device.
    Transfer,
    /// Preparing items: decoding, tokenising, collating.
    Prep,
    /// Reading files.
    Fetch,
}

impl Bound {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Transfer => "transfer",
            Self::Prep => "prep",
            Self::Fetch => "fetch",
        }
    }
}

/// What a step takes longer with a feed than with the one before, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// Of what.
    pub of: Bound,
    /// Never below 0.
    pub ns: i64,
    /// The ranges of the two step times do not meet, and it is more than the noise, see [`Differential::judge`].
    pub is_clear: bool,
}

/// The runs with each feed, and what they say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Differential {
    /// When it began, Unix ns.
    pub began: i64,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Step times, from the feed that costs least.
    pub fed: Vec<Fed>,
    /// Feeds that did not work, and why.
    pub unfed: Vec<(Feed, Unfed)>,
    /// What data costs.
    pub stalls: Vec<Stall>,
    /// What bounds the program; absent where the feeds that would tell are missing.
    pub bound: Option<Bound>,
    /// How it ended; absent while it goes on.
    pub ended: Option<Finish>,
}

impl Differential {
    /// The command as one would type it.
    #[must_use]
    pub fn shown(&self) -> String {
        shown(&self.command, &BTreeMap::new(), &[])
    }

    /// What a list shows of it.
    #[must_use]
    pub(crate) fn come_to(&self) -> ComeTo {
        ComeTo {
            step_ns: self.step(Feed::Warm),
            answer: self.bound.map(Bound::id),
            ended: self.ended,
            ..ComeTo::default()
        }
    }

    /// The step time with a feed.
    #[must_use]
    pub fn step(&self, feed: Feed) -> Option<i64> {
        self.fed.iter().find(|fed| fed.feed == feed).map(|fed| fed.step_ns)
    }

    /// Takes in the runs so far; what was said before is said anew.
    ///
    /// A step cannot take less time with a dearer feed. Where it seems to, that much is noise: the two step times are
    /// taken as their mean (isotonic regression, by pooling neighbours that violate the order), and no stall is clear that
    /// is not larger than the largest such violation. The whole that stalls are a share of is the step with the dearest feed. The largest clear stall bounds the
    /// program where all stalls together are at least [`COUNTS`] of that; else its computing does. Where one that is not
    /// clear seems larger, see [`Differential::open`], and without `synthetic`, nothing is said.
    pub fn judge(&mut self, runs: &[(Feed, Run)]) {
        self.fed.clear();
        self.unfed.clear();
        for feed in Feed::ALL {
            let of_feed: Vec<&Run> =
                runs.iter().filter(|(fed, _)| *fed == feed).map(|(_, run)| run).collect();
            if of_feed.is_empty() {
                continue;
            }
            match fed(feed, &of_feed) {
                Ok(fed) => self.fed.push(fed),
                Err(why) => self.unfed.push((feed, why)),
            }
        }
        let steps: Vec<i64> = self.fed.iter().map(|fed| fed.step_ns).collect();
        let (ordered, noise) = in_order(&steps);
        let one = |(pair, ordered): (&[Fed], &[i64])| {
            let ([less, more], [from, to]) = (pair, ordered) else { return None };
            let of = match more.feed {
                Feed::Synthetic | Feed::Cached => Bound::Transfer,
                Feed::Warm => Bound::Prep,
                Feed::Cold => Bound::Fetch,
            };
            let ns = to - from;
            Some(Stall { of, ns, is_clear: more.range_ns.0 > less.range_ns.1 && ns > noise })
        };
        self.stalls = self.fed.windows(2).zip(ordered.windows(2)).filter_map(one).collect();
        let has = |feed| self.fed.iter().any(|fed| fed.feed == feed);
        self.bound = if has(Feed::Synthetic) && has(Feed::Warm) { Some(self.largest()) } else { None };
        if self.open().is_some() {
            self.bound = None;
        }
    }

    /// The stall that keeps the largest from being told: it seems larger than the largest clear one, but scatters too
    /// much.
    #[must_use]
    pub fn open(&self) -> Option<Stall> {
        let clear = self.stalls.iter().filter(|stall| stall.is_clear).map(|stall| stall.ns).max()?;
        self.stalls.iter().copied().filter(|stall| stall.ns > clear).max_by_key(|stall| stall.ns)
    }

    fn largest(&self) -> Bound {
        let whole = self.fed.iter().map(|fed| fed.step_ns).max().unwrap_or(0);
        let clear = || self.stalls.iter().filter(|stall| stall.is_clear);
        let all: i64 = clear().map(|stall| stall.ns).sum();
        match clear().max_by_key(|stall| stall.ns) {
            Some(largest) if all as f64 >= COUNTS * whole as f64 => largest.of,
            _ => Bound::Compute,
        }
    }
}

/// The nearest values that never fall (least squares, pool adjacent violators), and the largest fall among the given.
fn in_order(values: &[i64]) -> (Vec<i64>, i64) {
    let mut pools: Vec<(i64, i64)> = Vec::new();
    for &value in values {
        let mut pool = (value, 1);
        while let Some(&(sum, count)) = pools.last()
            && i128::from(sum) * i128::from(pool.1) > i128::from(pool.0) * i128::from(count)
        {
            pools.pop();
            pool = (pool.0 + sum, pool.1 + count);
        }
        pools.push(pool);
    }
    let ordered = pools.iter().flat_map(|&(sum, count)| (0..count).map(move |_| sum / count)).collect();
    let falls =
        values.iter().enumerate().flat_map(|(at, value)| values[at..].iter().map(move |later| value - later));
    (ordered, falls.max().unwrap_or(0))
}

fn fed(feed: Feed, runs: &[&Run]) -> Result<Fed, Unfed> {
    for run in runs {
        if let Some(why) = unfed(feed, run) {
            return Err(why);
        }
    }
    let steadies: Vec<_> = runs.iter().filter_map(|run| run.steady.as_ref()).collect();
    let ends = steadies.iter().map(|steady| steady.interval_ns.unwrap_or((steady.mean_ns, steady.mean_ns)));
    let low = ends.clone().map(|(low, _)| low).min().ok_or(Unfed::NoSteps)?;
    let high = ends.map(|(_, high)| high).max().ok_or(Unfed::NoSteps)?;
    let sum: i64 = steadies.iter().map(|steady| steady.mean_ns).sum();
    Ok(Fed { feed, step_ns: sum / steadies.len() as i64, range_ns: (low, high), runs: steadies.len() })
}

/// Why a run does not show the feed.
fn unfed(feed: Feed, run: &Run) -> Option<Unfed> {
    match run.ended {
        Ended::OutOfMemory => return Some(Unfed::OutOfMemory),
        Ended::Failed => return Some(Unfed::Failed),
        _ => {}
    }
    if run.steady.is_none() {
        return Some(Unfed::NoSteps);
    }
    let name = feed.change()?.name;
    let said: Vec<&Tried> = run.tried.iter().filter(|tried| tried.name == name).collect();
    if said.iter().any(|tried| matches!(tried.did, Did::Set { .. })) {
        return None;
    }
    let why = said.iter().find_map(|tried| match &tried.did {
        Did::Not { why, .. } => Some(why.as_str()),
        Did::Set { .. } => None,
    });
    Some(match (why, feed) {
        (Some("in-memory-files"), _) => Unfed::InMemory,
        (Some(other), _) => Unfed::Other(other.to_owned()),
        (None, Feed::Cold) => Unfed::NoFiles,
        (None, _) => Unfed::NoLoader,
    })
}

#[cfg(target_os = "linux")]
pub use running::differential;

#[cfg(target_os = "linux")]
mod running {
    use std::path::Path;

    use whyidle_observe::captured::Requests;
    use whyidle_observe::{clock, redact};

    use super::{Differential, Feed};
    use crate::compare::{CompareError, log};
    use crate::comparison::Finish;
    use crate::history::{History, Kind};
    use crate::measure::{Status, Wanted, measure};
    use crate::result::{Ended, Run};

    /// Runs the program of `wanted` with each feed, `rounds` times; every second round in the other order, so that a
    /// drift cancels. Its number in the history, and what it has come to. A feed that does not work is not run again.
    ///
    /// # Errors
    /// Where the program cannot be started, or the history not be written.
    pub fn differential(
        wanted: &Wanted,
        rounds: usize,
        logs: &Path,
        history: &mut History,
        requests: &Requests,
        tell: &mut dyn FnMut(Feed, &Status),
    ) -> Result<(i64, Differential), CompareError> {
        let mut found = Differential {
            began: clock::now_ns(),
            command: redact::command(&wanted.command),
            ..Differential::default()
        };
        let id = history.begin(Kind::Differential, found.began, found.shown(), &found)?;
        let mut runs: Vec<(Feed, Run)> = Vec::new();
        let mut ended = Finish::Done;
        'rounds: for round in 0..rounds.max(1) {
            // The page cache is full after any run with the program's own data.
            let mut order = [Feed::Warm, Feed::Synthetic, Feed::Cached, Feed::Cold];
            if round % 2 == 1 {
                order.reverse();
            }
            for feed in order {
                if found.unfed.iter().any(|(unfed, _)| *unfed == feed) {
                    continue;
                }
                let mut wanted = wanted.clone();
                let label = format!("{} {}", feed.id(), round + 1);
                wanted.log = log(logs, &format!("{id}-{}{}", feed.id(), round + 1));
                wanted.tries.extend(feed.change());
                let run = measure(&wanted, requests, &mut |status| tell(feed, status))?;
                history.add_run(&run, Some((id, &label)))?;
                if run.ended == Ended::Interrupted {
                    ended = Finish::Interrupted;
                    break 'rounds;
                }
                runs.push((feed, run));
                found.judge(&runs);
                history.go_on(id, &found.come_to(), &found)?;
                // What cannot be measured as it is cannot be compared with anything.
                if feed == Feed::Warm && !found.unfed.is_empty() {
                    ended = Finish::Failed;
                    break 'rounds;
                }
            }
        }
        found.ended = Some(ended);
        history.go_on(id, &found.come_to(), &found)?;
        Ok((id, found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::steady::Steady;

    fn run(feed: Feed, ms: i64) -> (Feed, Run) {
        let steady = Steady {
            mean_ns: ms * 1_000_000,
            interval_ns: Some((ms * 990_000, ms * 1_010_000)),
            ..Steady::default()
        };
        let did = Did::Set { from: None, to: String::new(), place: None, edit: None, given: None };
        let tried = feed.change().map(|change| Tried { name: change.name, did });
        (feed, Run { steady: Some(steady), tried: tried.into_iter().collect(), ..Run::default() })
    }

    fn judged(ms: [i64; 4]) -> Differential {
        let mut found = Differential::default();
        let runs: Vec<_> = Feed::ALL.into_iter().zip(ms).map(|(feed, ms)| run(feed, ms)).collect();
        found.judge(&runs);
        found
    }

    #[test]
    fn the_largest_stall_bounds_a_program() {
        for (ms, expected) in [
            ([100, 101, 101, 102], Bound::Compute),
            ([50, 95, 100, 102], Bound::Transfer),
            ([50, 52, 100, 104], Bound::Prep),
            ([50, 52, 60, 140], Bound::Fetch),
            ([100, 101, 102, 105], Bound::Compute),
        ] {
            assert_eq!(judged(ms).bound, Some(expected), "{ms:?}");
        }
        // Cached seems dearer than warm: that much is noise.
        assert_eq!(judged([111, 126, 115, 122]).bound, Some(Bound::Compute));
        let stalls: Vec<i64> = judged([50, 52, 100, 104]).stalls.iter().map(|stall| stall.ns).collect();
        assert_eq!(stalls, [2_000_000, 48_000_000, 4_000_000]);
    }

    #[test]
    fn a_stall_that_scatters_and_seems_larger_leaves_the_largest_open() {
        let scattering = |feed, ms: i64, (low, high): (i64, i64)| {
            let (feed, run) = run(feed, ms);
            let steady =
                run.steady.map(|steady| Steady { interval_ns: Some((low * 1_000, high * 1_000)), ..steady });
            (feed, Run { steady, ..run })
        };
        let runs = [
            run(Feed::Synthetic, 1),
            run(Feed::Cached, 1),
            scattering(Feed::Warm, 7, (3_100, 12_300)),
            scattering(Feed::Cold, 18, (11_600, 26_700)),
        ];
        let mut found = Differential::default();
        found.judge(&runs);
        assert_eq!((found.bound, found.open().map(|stall| stall.of)), (None, Some(Bound::Fetch)));
        assert_eq!(judged([50, 52, 60, 140]).open(), None);
    }

    #[test]
    fn values_out_of_order_are_pooled() {
        assert_eq!(in_order(&[1, 3, 2, 4]), (vec![1, 2, 2, 4], 1));
        assert_eq!(in_order(&[9, 6, 3]), (vec![6, 6, 6], 6));
        assert_eq!(in_order(&[]), (vec![], 0));
        assert_eq!(in_order(&[2, 2, 5]), (vec![2, 2, 5], 0));
    }

    #[test]
    fn a_feed_that_did_not_work_is_named_and_nothing_is_made_up() {
        let mut found = Differential::default();
        let mut runs = vec![run(Feed::Warm, 100), run(Feed::Synthetic, 50), run(Feed::Cold, 100)];
        runs[1].1.tried.clear();
        runs[2].1.tried = vec![Tried {
            name: "cold".to_owned(),
            did: Did::Not { why: "in-memory-files".to_owned(), detail: None },
        }];
        found.judge(&runs);
        assert_eq!(found.unfed, [(Feed::Synthetic, Unfed::NoLoader), (Feed::Cold, Unfed::InMemory)]);
        assert_eq!((found.bound, found.stalls.len()), (None, 0));
        // Without a cold run the three others still tell.
        runs[1] = run(Feed::Synthetic, 50);
        found.judge(&runs);
        assert_eq!(found.bound, Some(Bound::Prep));
    }
}
