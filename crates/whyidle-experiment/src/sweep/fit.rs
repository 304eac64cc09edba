//! Runs in rounds, taken apart: the logarithm of a time is the level of its value, plus what the round did to all, plus
//! chance. Least squares; what chance does is pooled over all values, since two runs of one value alone say little.

use crate::stats::{mean_and_deviation, student};

/// The levels of values, and how well they are known.
pub(super) struct Fit {
    /// Position of each value among the unknowns.
    place: Vec<Option<usize>>,
    /// Levels of values, then effects of rounds after the first.
    solved: Vec<f64>,
    /// Inverse of the normal matrix.
    inverse: Vec<Vec<f64>>,
    /// Values measured; the unknowns behind them are rounds.
    values: usize,
    /// Rounds with a measurement.
    rounds: usize,
    /// Standard deviation of chance.
    deviation: f64,
    /// Degrees of freedom that it is from.
    freedom: usize,
}

impl Fit {
    /// `logs[v][r]`: of value v in round r. `None` where nothing was measured.
    pub(super) fn of(logs: &[Vec<Option<f64>>]) -> Option<Self> {
        Self::with(logs, true).or_else(|| Self::with(logs, false))
    }

    fn with(logs: &[Vec<Option<f64>>], by_round: bool) -> Option<Self> {
        let mut values = 0;
        let place: Vec<Option<usize>> = logs
            .iter()
            .map(|row| {
                row.iter().any(Option::is_some).then(|| {
                    values += 1;
                    values - 1
                })
            })
            .collect();
        let longest = logs.iter().map(Vec::len).max().unwrap_or(0);
        // A round in which one value alone was measured says nothing of rounds.
        let count =
            |round: usize| logs.iter().filter(|row| row.get(round).copied().flatten().is_some()).count();
        let told: Vec<usize> = (0..longest).filter(|&round| count(round) > 0).collect();
        let rounds = if by_round { told.len().max(1) } else { 1 };
        let unknowns = values + rounds - 1;
        if values == 0 {
            return None;
        }
        let mut normal = vec![vec![0.0; unknowns]; unknowns];
        let mut right = vec![0.0; unknowns];
        let round_of =
            |round: usize| told.iter().position(|&known| known == round).filter(|&nth| by_round && nth > 0);
        let all = || {
            let rows = logs.iter().zip(&place).filter_map(|(row, place)| Some((row, (*place)?)));
            rows.flat_map(|(row, value)| {
                row.iter().enumerate().filter_map(move |(round, log)| Some((value, round, (*log)?)))
            })
        };
        for (value, round, log) in all() {
            let mut own = vec![value];
            own.extend(round_of(round).map(|nth| values + nth - 1));
            for &i in &own {
                right[i] += log;
                own.iter().for_each(|&j| normal[i][j] += 1.0);
            }
        }
        let inverse = inverse(normal)?;
        let solved: Vec<f64> =
            inverse.iter().map(|row| row.iter().zip(&right).map(|(a, b)| a * b).sum()).collect();
        let rest = |(value, round, log): (usize, usize, f64)| {
            (log - solved[value] - round_of(round).map_or(0.0, |nth| solved[values + nth - 1])).powi(2)
        };
        let squares: f64 = all().map(rest).sum();
        let freedom = all().count().saturating_sub(unknowns);
        let deviation = if freedom == 0 { 0.0 } else { (squares / freedom as f64).sqrt() };
        Some(Self { place, solved, inverse, values, rounds, deviation, freedom })
    }

    /// Logarithm of the time of `value`, over all rounds; with half of its interval of confidence 1 − `alpha`, where
    /// chance is known.
    pub(super) fn level(&self, value: usize, alpha: f64) -> Option<(f64, Option<f64>)> {
        let mut contrast = vec![1.0 / self.rounds as f64; self.solved.len()];
        contrast[..self.values].fill(0.0);
        contrast[self.place[value]?] = 1.0;
        Some(self.estimate(&contrast, alpha))
    }

    /// Logarithm of the time of `value` over that of `other`, likewise.
    pub(super) fn ratio(&self, value: usize, other: usize, alpha: f64) -> Option<(f64, Option<f64>)> {
        let mut contrast = vec![0.0; self.solved.len()];
        contrast[self.place[value]?] += 1.0;
        contrast[self.place[other]?] -= 1.0;
        Some(self.estimate(&contrast, alpha))
    }

    fn estimate(&self, contrast: &[f64], alpha: f64) -> (f64, Option<f64>) {
        let times = |row: &[f64]| row.iter().zip(contrast).map(|(a, b)| a * b).sum::<f64>();
        let spread: f64 = self.inverse.iter().zip(contrast).map(|(row, weight)| weight * times(row)).sum();
        let half = (self.freedom > 0)
            .then(|| student(alpha, self.freedom) * self.deviation * spread.max(0.0).sqrt())
            .filter(|half| half.is_finite());
        (times(&self.solved), half)
    }
}

/// Gauss–Jordan with pivots; `None` of a matrix that has no inverse.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    for (at, row) in matrix.iter_mut().enumerate() {
        row.extend((0..size).map(|column| f64::from(u8::from(column == at))));
    }
    for at in 0..size {
        let pivot = (at..size).max_by(|a, b| matrix[*a][at].abs().total_cmp(&matrix[*b][at].abs()))?;
        matrix.swap(at, pivot);
        let scale = matrix[at][at];
        if scale.abs() < 1e-9 {
            return None;
        }
        matrix[at].iter_mut().for_each(|cell| *cell /= scale);
        let above = matrix[at].clone();
        for (_, row) in matrix.iter_mut().enumerate().filter(|(other, _)| *other != at) {
            let times = row[at];
            row.iter_mut().zip(&above).for_each(|(cell, above)| *cell -= times * above);
        }
    }
    Some(matrix.into_iter().map(|row| row[size..].to_vec()).collect())
}

/// Median distance of single runs from their value's mean, as a share: how much a run differs from the next.
pub(super) fn noise(logs: &[Vec<Option<f64>>]) -> Option<f64> {
    let own = |row: &Vec<Option<f64>>| -> Vec<f64> { row.iter().copied().flatten().collect() };
    let deviations: Vec<f64> = logs
        .iter()
        .map(own)
        .filter(|row| row.len() > 1)
        .map(|row| mean_and_deviation(&row).1.powi(2))
        .collect();
    (!deviations.is_empty()).then(|| mean_and_deviation(&deviations).0.sqrt().exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_come_back_without_what_rounds_did() {
        let rounds = [0.0, 0.5, -0.2];
        let log = |level: f64, round: usize| Some(level + rounds[round]);
        // The third round measured two of them only.
        let logs = [
            vec![log(1.0, 0), log(1.0, 1), None],
            vec![log(2.0, 0), log(2.0, 1), log(2.0, 2)],
            vec![None, None, None],
            vec![log(1.5, 0), log(1.5, 1), log(1.5, 2)],
        ];
        let Some(fit) = Fit::of(&logs) else { panic!("a fit") };
        assert_eq!(fit.freedom, 3);
        let (ratio, half) = fit.ratio(1, 0, 0.05).unwrap_or_default();
        assert!((ratio - 1.0).abs() < 1e-9 && half.is_some_and(|half| half < 1e-6), "{ratio} {half:?}");
        let (level, _) = fit.level(3, 0.05).unwrap_or_default();
        assert!((level - 1.6).abs() < 1e-9, "over all rounds: {level}");
        assert!(fit.level(2, 0.05).is_none());
    }

    #[test]
    fn one_round_has_no_interval_and_rounds_apart_are_compared_as_they_are() {
        let Some(fit) = Fit::of(&[vec![Some(1.0)], vec![Some(2.0)]]) else { panic!("a fit") };
        assert_eq!(fit.ratio(1, 0, 0.05), Some((1.0, None)));
        let Some(apart) = Fit::of(&[vec![Some(1.0), None], vec![None, Some(2.0)]]) else { panic!("a fit") };
        assert!(apart.ratio(1, 0, 0.05).is_some_and(|(ratio, _)| (ratio - 1.0).abs() < 1e-9));
        assert!(Fit::of(&[vec![None], vec![]]).is_none());
    }
}
