//! How often a source may be sampled: as often as is useful, but no more of a core than its share.

use std::time::{Duration, Instant};

use crate::clock::thread_cpu;

/// How much of a new cost enters the running mean.
const WEIGHT: f64 = 0.1;

/// The pace of one source.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Share of a core that it may use.
    share: f64,
    shortest: Duration,
    longest: Duration,
    /// Mean cost of a sample, CPU seconds.
    cost: f64,
    due: Instant,
    /// Times between samples differ.
    uneven: bool,
    /// Samples taken.
    pub(crate) samples: u64,
    /// CPU time spent on them.
    pub(crate) spent: Duration,
}

impl Pace {
    /// At most one sample every `shortest`, at least one every `longest`, between them as `share` of a core
    /// allows.
    pub(crate) fn new(share: f64, shortest: Duration, longest: Duration) -> Self {
        Self {
            share,
            shortest,
            longest,
            cost: 0.0,
            due: Instant::now(),
            uneven: false,
            samples: 0,
            spent: Duration::ZERO,
        }
    }

    /// With times between samples from half to one and a half of the mean, evenly spread: they differ by a whole interval,
    /// so whatever repeats within one is never sampled in step, which would look like another period.
    pub(crate) fn uneven(self) -> Self {
        Self { uneven: true, ..self }
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now >= self.due
    }

    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Takes a sample and books what it cost.
    pub(crate) fn take<T>(&mut self, sample: impl FnOnce() -> T) -> T {
        let before = thread_cpu();
        let result = sample();
        self.book(thread_cpu().saturating_sub(before), Instant::now());
        result
    }

    pub(crate) fn book(&mut self, cost: Duration, now: Instant) {
        self.samples += 1;
        self.spent += cost;
        let cost = cost.as_secs_f64();
        self.cost = match self.samples {
            // The first sample opens files and looks up symbols: nothing like the later ones.
            1 => 0.0,
            2 => cost,
            _ => self.cost + WEIGHT * (cost - self.cost),
        };
        self.due = now + if self.uneven { self.interval().mul_f64(self.stretch()) } else { self.interval() };
    }

    /// From 0.5 to 1.5: multiples of the golden ratio lie evenly and never repeat.
    fn stretch(&self) -> f64 {
        const GOLDEN: f64 = 0.618_033_988_749_895;
        0.5 + (self.samples as f64 * GOLDEN).fract()
    }

    /// Mean time between samples.
    pub(crate) fn interval(&self) -> Duration {
        let fair = Duration::from_secs_f64((self.cost / self.share).min(3_600.0));
        fair.clamp(self.shortest, self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_dear_source_is_sampled_less_often() {
        let mut pace = Pace::new(0.005, 50 * MS, 4_000 * MS);
        pace.book(Duration::from_secs(1), Instant::now());
        assert_eq!(pace.interval(), 50 * MS, "opening a source is not what a sample costs");
        pace.book(Duration::from_micros(100), Instant::now());
        assert_eq!(pace.interval(), 50 * MS);
        for _ in 0..100 {
            pace.book(2 * MS, Instant::now());
        }
        let interval = pace.interval();
        assert!((395 * MS..=400 * MS).contains(&interval), "{interval:?}");
        for _ in 0..100 {
            pace.book(1_000 * MS, Instant::now());
        }
        assert_eq!(pace.interval(), 4_000 * MS);
    }

    #[test]
    fn uneven_samples_are_as_many_and_never_in_step() {
        let mut pace = Pace::new(0.005, 200 * MS, 4_000 * MS).uneven();
        let now = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..200 {
            pace.book(Duration::ZERO, now);
            waits.push(pace.due() - now);
        }
        let mean = waits.iter().sum::<Duration>() / 200;
        assert!((198 * MS..=202 * MS).contains(&mean), "{mean:?}");
        assert!(waits.iter().all(|wait| (100 * MS..=300 * MS).contains(wait)), "{waits:?}");
        let alike = waits.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 20 * MS).count();
        assert_eq!(alike, 0, "{waits:?}");
    }
}
