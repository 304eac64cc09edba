//! The rhythm of a GPU's busy share: periodic dips, or a flat level. Periodic dips point to data or to something that
//! comes every few steps; a flat low level to launches or communication.
//!
//! The autocorrelation of the samples, on an even grid as fine as they are. What repeats faster than two samples apart
//! is out of reach: it looks flat, or like a slower beat. So a period is one of what was *sampled*, not of the step.

use super::gpu::GpuSignals;

/// How the busy share runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rhythm {
    /// It hardly changes from sample to sample.
    Flat,
    /// It dips at even distances.
    Periodic {
        /// From dip to dip, ns.
        period_ns: i64,
        /// Correlation with itself one period later, 0–1.
        strength: f64,
    },
    /// It changes without a period.
    Irregular,
}

/// Fewer samples show no period.
const FEWEST: usize = 32;
/// A standard deviation below this share of the whole range is flat: samples of a steady load scatter so much.
const STEADY: f64 = 0.05;
/// Correlation from which on a period is one. Of n samples without any, one in twenty reaches 2/√n.
const CLEAR: f64 = 0.4;
/// A period must fit so often into what was watched.
const ROUNDS: usize = 4;

/// The rhythm of `gpu`; `None` with too few samples.
#[must_use]
pub fn rhythm(gpu: &GpuSignals) -> Option<Rhythm> {
    let (grid, values) = even(&gpu.series)?;
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let around: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let variance = around.iter().map(|value| value * value).sum::<f64>() / n as f64;
    if variance.sqrt() < STEADY {
        return Some(Rhythm::Flat);
    }
    let correlation = |lag: usize| {
        let together: f64 = around[lag..].iter().zip(&around).map(|(a, b)| a * b).sum();
        together / (n - lag) as f64 / variance
    };
    let all: Vec<f64> = (0..=n / ROUNDS).map(correlation).collect();
    // The first high place after the correlation has fallen: later ones are its multiples.
    let fallen = all.iter().position(|value| *value < CLEAR / 2.0)?;
    let peak = (fallen.max(2)..all.len().saturating_sub(1))
        .find(|&lag| all[lag] >= CLEAR && all[lag] >= all[lag - 1] && all[lag] >= all[lag + 1]);
    Some(match peak {
        Some(lag) => Rhythm::Periodic { period_ns: refined(&all, lag, grid), strength: all[lag].min(1.0) },
        None => Rhythm::Irregular,
    })
}

/// The top of the parabola through a peak and its neighbours, ns.
fn refined(all: &[f64], lag: usize, grid: i64) -> i64 {
    let (before, at, after) = (all[lag - 1], all[lag], all[lag + 1]);
    let bend = before - 2.0 * at + after;
    let shift = if bend < 0.0 { (0.5 * (before - after) / bend).clamp(-0.5, 0.5) } else { 0.0 };
    ((lag as f64 + shift) * grid as f64).round() as i64
}

/// The samples on an even grid, each grid point with the latest sample; the grid is their median distance, ns.
fn even(series: &[(i64, f64)]) -> Option<(i64, Vec<f64>)> {
    const MOST: i64 = 100_000;
    if series.len() < FEWEST {
        return None;
    }
    let mut distances: Vec<i64> = series.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    distances.sort_unstable();
    let grid = distances[distances.len() / 2];
    let (first, last) = (series.first()?.0, series.last()?.0);
    if grid <= 0 || (last - first) / grid > MOST {
        return None;
    }
    let mut at = 0;
    let mut values = Vec::new();
    let mut t = first;
    while t <= last {
        while series.get(at + 1).is_some_and(|next| next.0 <= t + grid / 2) {
            at += 1;
        }
        values.push(series[at].1);
        t += grid;
    }
    (values.len() >= FEWEST).then_some((grid, values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::gpu::gpus;
    use whyidle_model::Table;

    /// A busy share every 100 ms.
    fn found(share: impl Fn(i64) -> f64) -> Option<Rhythm> {
        let mut table = Table { t: (0..200).map(|at| at * 100_000_000).collect(), ..Table::default() };
        table.numbers.insert("gpu".to_owned(), vec![0.0; 200]);
        table.numbers.insert("util_gpu".to_owned(), (0..200).map(|at| 100.0 * share(at)).collect());
        rhythm(gpus(&table, None).0.as_ref()?)
    }

    #[test]
    fn dips_have_their_period_and_a_level_has_none() {
        let dips = found(|at| if at % 8 < 2 { 0.1 } else { 0.9 });
        let Some(Rhythm::Periodic { period_ns, strength }) = dips else { panic!("{dips:?}") };
        assert!((period_ns - 800_000_000).abs() < 20_000_000 && strength > 0.9, "{dips:?}");
        assert_eq!(found(|at| 0.44 + 0.01 * (at % 3) as f64), Some(Rhythm::Flat));
        // A generator's noise, not a period.
        let noise = |at: i64| ((at * 7_919 + 13) * (at + 31) * 104_729 % 1_000) as f64 / 1_000.0;
        assert_eq!(found(noise), Some(Rhythm::Irregular));
    }

    #[test]
    fn too_few_samples_have_no_rhythm() {
        let mut gpu = Table { t: vec![0, 1], ..Table::default() };
        gpu.numbers.insert("gpu".to_owned(), vec![0.0; 2]);
        gpu.numbers.insert("util_gpu".to_owned(), vec![1.0, 2.0]);
        assert_eq!(gpus(&gpu, None).0.as_ref().and_then(rhythm), None);
    }
}
