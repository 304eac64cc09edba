//! Whether two programs learn alike: their losses over the same samples.
//!
//! The range that all runs cover is cut into at most sixteen pieces of equal length; a run's loss in a piece is the mean
//! of what it printed there. The distance between A and B is the root mean square, over the pieces, of the difference of
//! their means, as a share of A's mean loss. It is allowed to be the tolerance, or twice what single runs of A lie away
//! from A's mean, if that is more: training that is not seeded differs from itself.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::mean_and_deviation;

/// Tolerance as the command line has it unless told otherwise: a share of A's mean loss.
#[cfg(test)]
pub(crate) const TOLERANCE: f64 = 0.02;
/// Pieces at most.
const PIECES: usize = 16;
/// Fewer losses in a run are no trajectory.
const FEWEST: usize = 4;
/// So many times A's own distance is allowed.
const OWN: f64 = 2.0;

/// A loss, and where in the training it was printed: samples seen, or steps where those are not known.
pub type Point = (f64, f64);

/// Losses as JSON, which has no word for what is no number: that is written as text.
///
/// # Errors
/// As the serializer.
pub(crate) fn write<S: Serializer>(points: &[Point], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(points.iter().map(|(at, loss)| (at, Written::from(*loss))))
}

/// Losses from JSON.
///
/// # Errors
/// As the deserializer.
pub(crate) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Point>, D::Error> {
    let points = Vec::<(f64, Written)>::deserialize(from)?;
    Ok(points.into_iter().map(|(at, loss)| (at, loss.into())).collect())
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Text(String),
}

impl From<f64> for Written {
    fn from(loss: f64) -> Self {
        if loss.is_finite() { Self::Number(loss) } else { Self::Text(loss.to_string()) }
    }
}

impl From<Written> for f64 {
    fn from(written: Written) -> Self {
        match written {
            Written::Number(loss) => loss,
            Written::Text(text) => text.parse().unwrap_or(Self::NAN),
        }
    }
}

/// How two programs learn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "found", rename_all = "kebab-case")]
pub enum Losses {
    /// Alike, within what is allowed.
    Alike(Distance),
    /// Not alike.
    Differ(Distance),
    /// B's loss is no number (NaN or infinite), A's is one; from here on, in samples or steps.
    NotANumber {
        /// Where B's first such loss is.
        at: f64,
    },
    /// A's own loss is no number: nothing to compare with.
    OwnNotANumber {
        /// Where A's first such loss is.
        at: f64,
    },
    /// Too few losses were printed, or not over the same range.
    #[default]
    Unknown,
}

/// A distance between trajectories. Shares are of A's mean loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distance {
    /// Between A's mean and B's.
    pub distance: f64,
    /// What is allowed.
    pub allowed: f64,
    /// Single runs of A from A's mean; 0 where A ran once.
    pub own: f64,
    /// Mean of A in the last piece.
    pub last_a: f64,
    /// Mean of B in the last piece.
    pub last_b: f64,
    /// Pieces compared.
    pub pieces: usize,
}

impl Losses {
    /// B must not be kept for its speed.
    #[must_use]
    pub fn forbids(&self) -> bool {
        matches!(self, Self::Differ(_) | Self::NotANumber { .. })
    }
}

/// Compares the runs of A with those of B.
#[must_use]
pub fn compare(a: &[Vec<Point>], b: &[Vec<Point>], tolerance: f64) -> Losses {
    let no_number = |runs: &[Vec<Point>]| {
        let at = runs.iter().flatten().filter(|(_, loss)| !loss.is_finite()).map(|(at, _)| *at);
        at.min_by(f64::total_cmp)
    };
    if let Some(at) = no_number(a) {
        return Losses::OwnNotANumber { at };
    }
    if let Some(at) = no_number(b) {
        return Losses::NotANumber { at };
    }
    let runs = || a.iter().chain(b);
    if a.is_empty() || b.is_empty() || runs().any(|run| run.len() < FEWEST) {
        return Losses::Unknown;
    }
    let end = |pick: fn(f64, f64) -> f64, start: f64, of: fn(&[Point]) -> Option<&Point>| {
        runs().filter_map(|run| of(run)).fold(start, |so_far, (at, _)| pick(so_far, *at))
    };
    let from = end(f64::max, f64::NEG_INFINITY, |run| run.first());
    let until = end(f64::min, f64::INFINITY, |run| run.last());
    let inside = |run: &Vec<Point>| run.iter().filter(|(at, _)| (from..=until).contains(at)).count();
    let pieces = (runs().map(inside).min().unwrap_or(0) / 2).min(PIECES);
    if pieces < FEWEST / 2 || until <= from {
        return Losses::Unknown;
    }
    let means = |runs: &[Vec<Point>]| -> Option<Vec<Vec<f64>>> {
        runs.iter().map(|run| in_pieces(run, from, until, pieces)).collect()
    };
    let (Some(of_a), Some(of_b)) = (means(a), means(b)) else { return Losses::Unknown };
    let (mean_a, mean_b) = (over_runs(&of_a), over_runs(&of_b));
    let scale = mean_a.iter().map(|loss| loss.abs()).sum::<f64>() / pieces as f64;
    if scale <= 0.0 {
        return Losses::Unknown;
    }
    let own: Vec<f64> = of_a.iter().map(|run| apart(run, &mean_a) / scale).collect();
    let own = (own.iter().map(|d| d * d).sum::<f64>() / own.len() as f64).sqrt();
    let found = Distance {
        distance: apart(&mean_b, &mean_a) / scale,
        allowed: tolerance.max(OWN * own),
        own,
        last_a: mean_a[pieces - 1],
        last_b: mean_b[pieces - 1],
        pieces,
    };
    if found.distance <= found.allowed { Losses::Alike(found) } else { Losses::Differ(found) }
}

/// A run's mean loss in each piece; `None` if one is empty.
fn in_pieces(run: &[Point], from: f64, until: f64, pieces: usize) -> Option<Vec<f64>> {
    let mut of = vec![Vec::new(); pieces];
    for (at, loss) in run.iter().filter(|(at, _)| (from..=until).contains(at)) {
        let piece = ((at - from) / (until - from) * pieces as f64) as usize;
        of[piece.min(pieces - 1)].push(*loss);
    }
    of.iter().map(|losses| (!losses.is_empty()).then(|| mean_and_deviation(losses).0)).collect()
}

fn over_runs(runs: &[Vec<f64>]) -> Vec<f64> {
    let pieces = runs.first().map_or(0, Vec::len);
    let mean = |piece: usize| runs.iter().map(|run| run[piece]).sum::<f64>() / runs.len() as f64;
    (0..pieces).map(mean).collect()
}

/// Root mean square of the differences.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    let squares: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
    (squares / a.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A falling loss that varies by `noise`, differently in each run.
    fn run(rate: f64, noise: f64, seed: u64) -> Vec<Point> {
        let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut roll = move || {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            (dice >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        };
        (0..100)
            .map(|step| (f64::from(step), 1.0 + 2.0 * (-rate * f64::from(step)).exp() + noise * roll()))
            .collect()
    }

    #[test]
    fn the_same_training_is_alike_and_another_learning_rate_is_not() {
        let runs = |rate, noise, seeds: [u64; 3]| seeds.map(|seed| run(rate, noise, seed)).to_vec();
        for noise in [0.0, 0.02, 0.3] {
            let a = runs(0.02, noise, [1, 2, 3]);
            let same = compare(&a, &runs(0.02, noise, [4, 5, 6]), TOLERANCE);
            assert!(matches!(same, Losses::Alike(_)), "{noise}: {same:?}");
            let other = compare(&a, &runs(0.2, noise, [4, 5, 6]), TOLERANCE);
            assert!(other.forbids(), "{noise}: {other:?}");
        }
    }

    #[test]
    fn losses_are_compared_over_the_same_samples() {
        // B prints half as often, and goes twice as far.
        let a = run(0.02, 0.0, 1);
        let b: Vec<Point> = (0..100)
            .map(|at| (f64::from(at) * 2.0, 1.0 + 2.0 * (-0.02 * f64::from(at) * 2.0).exp()))
            .collect();
        assert!(matches!(compare(&[a], &[b], TOLERANCE), Losses::Alike(_)));
    }

    #[test]
    fn what_is_no_number_is_named_and_little_is_not_judged() {
        let a = vec![run(0.02, 0.0, 1)];
        let mut broken = a.clone();
        broken[0][40].1 = f64::NAN;
        assert_eq!(compare(&a, &broken, TOLERANCE), Losses::NotANumber { at: 40.0 });
        assert_eq!(compare(&broken, &a, TOLERANCE), Losses::OwnNotANumber { at: 40.0 });
        let few = vec![a[0][..3].to_vec()];
        assert_eq!(compare(&a, &few, TOLERANCE), Losses::Unknown);
        assert_eq!(compare(&a, &[], TOLERANCE), Losses::Unknown);
        let later = vec![a[0].iter().map(|(at, loss)| (at + 1_000.0, *loss)).collect()];
        assert_eq!(compare(&a, &later, TOLERANCE), Losses::Unknown);
    }
}
