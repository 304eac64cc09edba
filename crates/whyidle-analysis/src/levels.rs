//! How a GPU's busy share moves: its mean, and how far it swings.

use whyidle_model::Table;

/// The levels of one GPU's busy share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// Samples.
    pub samples: u32,
    /// Mean time between them, ns: faster swings are averaged away.
    pub every_ns: i64,
    /// Mean share.
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

/// The levels of a GPU: by the card's own counters where they are, else by NVML's sampled utilisation; `None`
/// without samples.
#[must_use]
pub fn levels(table: &Table, gpu: u32) -> Option<Levels> {
    let rows: Vec<usize> = table.rows_of("gpu", f64::from(gpu)).collect();
    // A row without DRAM activity was taken too soon after the one before: its counters read 0.
    let counted = |row: &usize| {
        table.number("dram_bw_util", *row)?;
        Some((table.t[*row], table.number("graphics_util", *row)?))
    };
    let sampled = |row: &usize| Some((table.t[*row], table.number("util_gpu", *row)?));
    let mut points: Vec<(i64, f64)> = rows.iter().filter_map(counted).collect();
    if points.is_empty() {
        points = rows.iter().filter_map(sampled).collect();
    }
    let (first, last) = (points.first()?.0, points.last()?.0);
    let mut shares: Vec<f64> = points.iter().map(|(_, percent)| percent / 100.0).collect();
    shares.sort_by(f64::total_cmp);
    let count = shares.len();
    let quantile = |part: f64| shares[((count - 1) as f64 * part).round() as usize];
    Some(Levels {
        samples: u32::try_from(count).unwrap_or(u32::MAX),
        every_ns: (last - first) / i64::try_from(count.max(2) - 1).unwrap_or(i64::MAX),
        mean: shares.iter().sum::<f64>() / count as f64,
        low: quantile(0.1),
        high: quantile(0.9),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_a_swinging_card() {
        let busy: Vec<f64> = (0..20).map(|at| if at % 2 == 0 { 0.0 } else { 90.0 }).collect();
        let mut table = Table { t: (0..20).map(|at| at * 100).collect(), ..Table::default() };
        table.numbers.insert("gpu".to_owned(), vec![0.0; 20]);
        table.numbers.insert("util_gpu".to_owned(), busy);
        let found = levels(&table, 0).unwrap_or_else(|| panic!("samples"));
        assert_eq!((found.samples, found.every_ns, found.low, found.high), (20, 100, 0.0, 0.9));
        assert!((found.swing() - 0.9).abs() < 1e-9 && (found.mean - 0.45).abs() < 1e-9);
        assert_eq!(levels(&table, 1), None);
    }
}
