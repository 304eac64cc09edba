//! A recording that is played.

use std::path::Path;
use std::time::Duration;

use whyidle_model::Samples;
use whyidle_readers::recording::{self, Recording};
use whyidle_readers::{ReadError, samples};

use super::{Source, Status, extent};

/// Slowest and fastest play.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.125..=64.0;

/// A recording that is played.
#[derive(Debug)]
pub struct Replay {
    samples: Samples,
    recorded: Recording,
    first: i64,
    last: i64,
    now: i64,
    speed: f64,
    undescribed: bool,
}

impl Replay {
    /// Reads the recording in `dir`; it begins at its end. `None` where it holds no samples with times.
    ///
    /// # Errors
    /// Where a file of it cannot be read.
    pub fn open(dir: &Path) -> Result<Option<Self>, ReadError> {
        let (recorded, undescribed) = recording::read_if_sound(dir, None)?;
        let recorded = recorded.unwrap_or_default();
        let samples = samples::read(dir)?.samples;
        let Some((first, last)) = extent(&samples) else { return Ok(None) };
        Ok(Some(Self { samples, recorded, undescribed, first, last, now: last, speed: 1.0 }))
    }

    /// Its description makes no sense: it is played without.
    #[must_use]
    pub fn is_undescribed(&self) -> bool {
        self.undescribed
    }

    /// Goes to the moment this long after the first sample.
    pub fn go_to(&mut self, after_first: Duration) {
        let after = i64::try_from(after_first.as_nanos()).unwrap_or(i64::MAX);
        self.now = self.first.saturating_add(after).min(self.last);
    }
}

impl Source for Replay {
    fn poll(&mut self, passed: Duration) -> bool {
        let before = self.now;
        let passed = (passed.as_nanos() as f64 * self.speed) as i64;
        self.seek(passed);
        self.now != before
    }

    fn samples(&self) -> &Samples {
        &self.samples
    }

    fn recorded(&self) -> &Recording {
        &self.recorded
    }

    fn now(&self) -> i64 {
        self.now
    }

    fn status(&self) -> Status {
        Status::Replay { speed: self.speed }
    }

    fn seek(&mut self, by: i64) {
        self.now = self.now.saturating_add(by).clamp(self.first, self.last);
    }

    fn change_speed(&mut self, factor: f64) {
        self.speed = (self.speed * factor).clamp(*SPEEDS.start(), *SPEEDS.end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_played_within_its_ends() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        assert!(Replay::open(dir.path())?.is_none());
        std::fs::write(dir.path().join("nvml.csv"), "t,gpu,util_gpu\n10.0,0,40\n20.0,0,50\n")?;
        let mut replay = Replay::open(dir.path())?.ok_or("samples")?;
        assert_eq!(replay.now(), 20_000_000_000);
        replay.go_to(Duration::from_secs(2));
        replay.change_speed(2.0);
        assert!(replay.poll(Duration::from_secs(1)));
        assert_eq!(replay.now(), 14_000_000_000);
        replay.seek(i64::MIN);
        assert_eq!(replay.now(), 10_000_000_000);
        replay.seek(i64::MAX);
        assert!(!replay.poll(Duration::from_secs(1)), "it stays at its end");
        assert_eq!(replay.status(), Status::Replay { speed: 2.0 });
        Ok(())
    }
}
