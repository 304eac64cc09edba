//! What a series of step times says, and what pairs of runs say: pure functions, without a clock.
//!
//! * [`warmup`] – how many steps at the start are not like the rest.
//! * [`steady`] – the step time of the rest, its interval and distribution, and what was set aside.
//! * [`paired`] – whether B is faster than A, from pairs of runs, and when enough pairs were run.
//! * [`losses`] – whether two programs learn alike.

pub mod losses;
pub mod paired;
pub mod steady;
pub(crate) mod warmup;

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Confidence of every interval.
pub const LEVEL: f64 = 0.95;

/// The point of Student's t with `freedom` degrees that is exceeded in absolute value with probability `alpha`.
/// Infinite without a degree of freedom.
#[must_use]
pub(crate) fn student(alpha: f64, freedom: usize) -> f64 {
    StudentsT::new(0.0, 1.0, freedom as f64)
        .map_or(f64::INFINITY, |student| student.inverse_cdf(1.0 - alpha / 2.0))
}

/// Mean and standard deviation (of a sample, n − 1) of `values`; the latter is 0 for fewer than two.
#[must_use]
pub(crate) fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, if values.len() < 2 { 0.0 } else { (squares / (n - 1.0)).sqrt() })
}

/// The value below which a share of the sorted values lies, by the nearest rank. 0 of none.
#[must_use]
pub fn quantile(sorted: &[i64], share: f64) -> i64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((share * last as f64).round() as usize).copied().unwrap_or(0)
}

/// The middle one of `values`; 0 of none.
pub(crate) fn median(values: &[i64]) -> i64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    quantile(&sorted, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_students_t_are_those_of_the_tables() {
        for (alpha, freedom, point) in
            [(0.05, 5, 2.571), (0.01, 5, 4.032), (0.05, 19, 2.093), (0.05, 1, 12.706)]
        {
            assert!((student(alpha, freedom) - point).abs() < 1e-3, "{alpha} {freedom}");
        }
        assert!(student(0.05, 0).is_infinite());
    }

    #[test]
    fn quantiles_are_values_of_the_series() {
        let sorted: Vec<i64> = (1..=101).collect();
        assert_eq!([0.0, 0.1, 0.5, 1.0].map(|share| quantile(&sorted, share)), [1, 11, 51, 101]);
        assert_eq!((quantile(&[], 0.5), median(&[3, 1, 2])), (0, 2));
        let (mean, deviation) = mean_and_deviation(&[1.0, 2.0, 3.0]);
        assert!((mean - 2.0).abs() < 1e-12 && (deviation - 1.0).abs() < 1e-12);
    }
}
