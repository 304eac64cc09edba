//! Where samples come from.

#[cfg(target_os = "linux")]
mod live;
mod replay;

use std::time::Duration;

use whyidle_model::Samples;
use whyidle_readers::recording::Recording;

#[cfg(target_os = "linux")]
pub use live::Live;
pub use replay::Replay;

/// How a source stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Status {
    /// Samples keep coming.
    Live,
    /// The programs ended: what was seen last stays.
    Ended,
    /// The watch itself broke off: no more samples will come.
    Broken,
    /// A recording is being played, at this many times its own speed.
    Replay {
        /// Times the recording's own speed.
        speed: f64,
    },
}

/// Samples that grow, or a recording in which one can move.
pub trait Source {
    /// Takes in what has come, and lets this much time pass; true where there is something new.
    fn poll(&mut self, passed: Duration) -> bool;

    /// Everything at hand.
    fn samples(&self) -> &Samples;

    /// What is known of the run beside its samples.
    fn recorded(&self) -> &Recording;

    /// The moment that is shown, ns of Unix time: the last sample's, or where the recording is played.
    fn now(&self) -> i64;

    /// How it stands.
    fn status(&self) -> Status;

    /// Moves by so many ns; only a recording can.
    fn seek(&mut self, _by: i64) {}

    /// Plays faster or slower; only a recording can.
    fn change_speed(&mut self, _factor: f64) {}
}

/// Times of the first and the last sample, ns; `None` without any.
#[must_use]
pub fn extent(samples: &Samples) -> Option<(i64, i64)> {
    let ends = |t: &[i64]| Some((t.iter().copied().min()?, t.iter().copied().max()?));
    let tables = [&samples.gpu, &samples.process, &samples.system].map(|table| ends(&table.t));
    let seen: Vec<i64> = samples.stacks.seen.iter().filter_map(|seen| seen.t).collect();
    let all = tables.into_iter().chain([ends(&seen)]).flatten();
    all.reduce(|(first, last), (from, until)| (first.min(from), last.max(until)))
}
