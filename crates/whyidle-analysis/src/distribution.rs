//! How steps differ among themselves: outliers, and whether they come back.

/// Steps that stand out from the others of one window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outliers {
    /// Positions of the long steps, in order.
    pub at: Vec<usize>,
    /// Median step, ns.
    pub median_ns: i64,
    /// Longest step, ns.
    pub longest_ns: i64,
    /// They follow each other at this constant distance, in steps; `None` if they do not, or are fewer than three.
    pub period: Option<usize>,
}

/// A step this many times the median stands out.
const STANDS_OUT: f64 = 1.5;
/// Fewer steps show no distribution.
const ENOUGH: usize = 4;

/// Long steps among `lengths` (ns); `None` if none stands out.
#[must_use]
pub fn outliers(lengths: &[i64]) -> Option<Outliers> {
    if lengths.len() < ENOUGH {
        return None;
    }
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    let median_ns = sorted[sorted.len() / 2];
    let long = |ns: i64| ns as f64 > STANDS_OUT * median_ns as f64;
    let at: Vec<usize> = (0..lengths.len()).filter(|&at| long(lengths[at])).collect();
    let distances: Vec<usize> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let period = distances
        .first()
        .copied()
        .filter(|first| distances.len() >= 2 && distances.iter().all(|d| d == first));
    (!at.is_empty()).then(|| Outliers { median_ns, longest_ns: sorted[sorted.len() - 1], at, period })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_step_that_comes_back_is_periodic() {
        let found = outliers(&[10, 10, 30, 10, 10, 31, 10, 10, 29, 10]).expect("three stand out");
        assert_eq!(
            (found.at, found.period, found.median_ns, found.longest_ns),
            (vec![2, 5, 8], Some(3), 10, 31)
        );
        assert_eq!(
            outliers(&[10, 11, 30, 10, 35]).map(|found| (found.at, found.period)),
            Some((vec![2, 4], None))
        );
        assert_eq!(outliers(&[10, 11, 12, 13]), None);
        assert_eq!(outliers(&[10, 100]), None);
    }
}
