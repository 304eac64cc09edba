//! Where samples come from: this machine, or recordings that are played by a clock of their own. Everything behind it
//! is the same code.

mod live;
mod replay;

use std::time::Duration;

use whyidle_observe::node::Round;

pub use live::Live;
pub use replay::Replay;

/// A moment, on two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Time since some beginning, on a clock that nobody sets: intervals are measured with it.
    pub steady: Duration,
    /// Unix time, ns: what rows and file names carry. It may jump.
    pub unix_ns: i64,
}

/// What the agent itself costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Own {
    /// CPU time so far.
    pub cpu: Duration,
    /// Resident memory, bytes; `None` where the system does not say.
    pub resident: Option<u64>,
}

/// Samples that keep coming.
pub trait Source {
    /// Now.
    fn now(&self) -> Moment;

    /// What has come since the last call.
    fn round(&mut self) -> Round;

    /// Puts a program into focus, or none; see [`whyidle_observe::node`].
    fn focus(&mut self, pid: Option<u32>, closely: bool);

    /// Lets time pass until something is due.
    fn rest(&mut self);

    /// What the agent itself costs.
    fn own(&self) -> Own;

    /// There is nothing more to come.
    fn is_over(&self) -> bool {
        false
    }
}
