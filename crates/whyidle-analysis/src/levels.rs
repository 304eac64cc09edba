//! How a GPU's busy share moves: its mean, and how far it swings.

use crate::signals::GpuSignals;

/// The levels of one GPU's busy share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// Samples.
    pub samples: u32,
    /// Mean time between them, ns: faster swings are averaged away.
    pub every_ns: i64,
    /// Mean share: each sample counts for the time that it speaks for.
    pub mean: f64,
    /// A tenth of the samples is below.
    pub low: f64,
    /// A tenth of the samples is above.
    pub high: f64,
}

impl Levels {
    /// How far it swings: the width of the middle eight tenths.
    #[must_use]
    pub fn swing(&self) -> f64 {
        self.high - self.low
    }
}

/// The levels of a GPU, of the same samples as its signals, and with their mean: a share is one figure wherever it is
/// shown. `None` without samples.
#[must_use]
pub fn levels(gpu: &GpuSignals) -> Option<Levels> {
    let (first, last) = (gpu.series.first()?.0, gpu.series.last()?.0);
    let mut shares: Vec<f64> = gpu.series.iter().map(|(_, share)| *share).collect();
    shares.sort_by(f64::total_cmp);
    let count = shares.len();
    let quantile = |part: f64| shares[((count - 1) as f64 * part).round() as usize];
    Some(Levels {
        samples: u32::try_from(count).unwrap_or(u32::MAX),
        every_ns: (last - first) / i64::try_from(count.max(2) - 1).unwrap_or(i64::MAX),
        mean: gpu.resident,
        low: quantile(0.1),
        high: quantile(0.9),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::gpu::gpus;
    use whyidle_model::Table;

    fn card(busy: &[f64], at: impl Fn(i64) -> i64) -> Option<Levels> {
        let mut table = Table { t: (0..).take(busy.len()).map(at).collect(), ..Table::default() };
        table.numbers.insert("gpu".to_owned(), vec![0.0; busy.len()]);
        table.numbers.insert("util_gpu".to_owned(), busy.to_vec());
        table.numbers.insert("graphics_util".to_owned(), busy.to_vec());
        table.numbers.insert("dram_bw_util".to_owned(), vec![1.0; busy.len()]);
        levels(&gpus(&table, Some(0)).0?)
    }

    #[test]
    fn levels_of_a_swinging_card() {
        let busy: Vec<f64> = (0..21).map(|at| if at % 2 == 0 { 0.0 } else { 90.0 }).collect();
        let found = card(&busy, |at| at * 100).expect("samples");
        assert_eq!((found.samples, found.every_ns, found.low, found.high), (21, 100, 0.0, 0.9));
        assert!((found.swing() - 0.9).abs() < 1e-9 && (found.mean - 0.45).abs() < 1e-9);
        assert_eq!(card(&[], |at| at), None);
    }

    /// The first look at a program comes sooner than the others, and is no whole sample.
    #[test]
    fn a_short_sample_counts_for_little() {
        let found = card(&[0.0, 0.0, 50.0, 50.0], |at| at.pow(3)).expect("samples");
        assert!((found.mean - 0.5 * 26.0 / 27.0).abs() < 1e-9, "{}", found.mean);
    }
}
