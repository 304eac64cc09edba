//! Interval algebra. Every share that whyidle prints is the length of such a set:
//! a union, never a sum of durations.

/// A half-open stretch of time, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First nanosecond.
    pub start: i64,
    /// First nanosecond after it; never before `start`.
    pub end: i64,
}

impl Span {
    /// The stretch from `start` to `end`; empty if `end` is earlier.
    #[must_use]
    pub fn new(start: i64, end: i64) -> Self {
        Self { start, end: end.max(start) }
    }

    /// Length, ns.
    #[must_use]
    pub fn length(self) -> i64 {
        self.end - self.start
    }

    /// The part inside `other`, if any.
    #[must_use]
    pub fn clip(self, other: Self) -> Option<Self> {
        let start = self.start.max(other.start);
        let end = self.end.min(other.end);
        (start < end).then_some(Self { start, end })
    }
}

/// Sorted, disjoint, non-empty, non-touching stretches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans(Vec<Span>);

impl Spans {
    /// The union of any stretches in any order.
    #[must_use]
    pub fn union_of(spans: impl IntoIterator<Item = Span>) -> Self {
        let mut all: Vec<Span> = spans.into_iter().filter(|s| s.length() > 0).collect();
        if !all.is_sorted() {
            all.sort_unstable();
        }
        let mut merged: Vec<Span> = Vec::new();
        for span in all {
            match merged.last_mut() {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => merged.push(span),
            }
        }
        Self(merged)
    }

    /// The stretches, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Span] {
        &self.0
    }

    /// Sum of lengths, ns. The stretches are disjoint, so this is the measure of the set.
    #[must_use]
    pub fn length(&self) -> i64 {
        self.0.iter().map(|s| s.length()).sum()
    }

    /// From the first start to the last end.
    #[must_use]
    pub fn hull(&self) -> Option<Span> {
        Some(Span { start: self.0.first()?.start, end: self.0.last()?.end })
    }

    /// What is in both.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        let (mut i, mut j) = (0, 0);
        let mut out = Vec::new();
        while let (Some(a), Some(b)) = (self.0.get(i), other.0.get(j)) {
            out.extend(a.clip(*b));
            if a.end < b.end {
                i += 1;
            } else {
                j += 1;
            }
        }
        Self(out)
    }

    /// What is here and not in `other`.
    #[must_use]
    pub fn subtract(&self, other: &Self) -> Self {
        let mut out = Vec::new();
        let mut j = 0;
        for &span in &self.0 {
            let mut start = span.start;
            while j < other.0.len() && other.0[j].end <= start {
                j += 1;
            }
            let mut k = j;
            while let Some(hole) = other.0.get(k).filter(|hole| hole.start < span.end) {
                if hole.start > start {
                    out.push(Span { start, end: hole.start });
                }
                start = start.max(hole.end);
                k += 1;
            }
            if start < span.end {
                out.push(Span { start, end: span.end });
            }
        }
        Self(out)
    }

    /// What is in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::union_of(self.0.iter().chain(&other.0).copied())
    }

    /// The part inside `window`.
    #[must_use]
    pub fn clip(&self, window: Span) -> Self {
        let from = self.0.partition_point(|s| s.end <= window.start);
        Self(
            self.0[from..]
                .iter()
                .take_while(|s| s.start < window.end)
                .filter_map(|s| s.clip(window))
                .collect(),
        )
    }

    /// What of `window` is not covered.
    #[must_use]
    pub fn complement(&self, window: Span) -> Self {
        Self::union_of([window]).subtract(self)
    }
}

impl FromIterator<Span> for Spans {
    fn from_iter<T: IntoIterator<Item = Span>>(iter: T) -> Self {
        Self::union_of(iter)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_spans() -> impl Strategy<Value = Vec<Span>> {
        prop::collection::vec((0_i64..200, 0_i64..20).prop_map(|(s, d)| Span::new(s, s + d)), 0..40)
    }

    fn covers(spans: &[Span], t: i64) -> bool {
        spans.iter().any(|s| s.start <= t && t < s.end)
    }

    proptest! {
        #[test]
        fn set_operations_agree_with_membership(a in any_spans(), b in any_spans()) {
            let (ua, ub) = (Spans::union_of(a.clone()), Spans::union_of(b.clone()));
            let (both, minus, either) = (ua.intersect(&ub), ua.subtract(&ub), ua.union(&ub));
            let window = Span::new(10, 150);
            let (inside, outside) = (ua.clip(window), ua.complement(window));
            for t in 0..230 {
                let (in_a, in_b) = (covers(&a, t), covers(&b, t));
                prop_assert_eq!(covers(ua.as_slice(), t), in_a);
                prop_assert_eq!(covers(both.as_slice(), t), in_a && in_b);
                prop_assert_eq!(covers(minus.as_slice(), t), in_a && !in_b);
                prop_assert_eq!(covers(either.as_slice(), t), in_a || in_b);
                prop_assert_eq!(covers(inside.as_slice(), t), in_a && (10..150).contains(&t));
                prop_assert_eq!(covers(outside.as_slice(), t), !in_a && (10..150).contains(&t));
            }
            prop_assert_eq!(inside.length() + outside.length(), window.length());
        }

        #[test]
        fn results_are_sorted_disjoint_and_not_empty(a in any_spans(), b in any_spans()) {
            let (ua, ub) = (Spans::union_of(a), Spans::union_of(b));
            for set in [ua.intersect(&ub), ua.subtract(&ub), ua.union(&ub)] {
                prop_assert!(set.as_slice().iter().all(|s| s.length() > 0));
                prop_assert!(set.as_slice().windows(2).all(|w| w[0].end <= w[1].start));
            }
        }
    }
}
