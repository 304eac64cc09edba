//! The dashboard in a terminal: GPUs, the programs that drive them, whom they wait for, stacks and history – of
//! running programs, or of a recording that is played.
//!
//! * [`source`] – where samples come from: a watch in this process, or a recording's directory;
//! * [`state`] – everything that is shown, as plain data; keys become [`input::Action`]s on it;
//! * [`view`] – pure functions from the state to cells of a screen;
//! * [`run`] – the loop around them on a real terminal; [`once`] – a single frame as text.
//!
//! Who is waited for is judged by a [`Judge`], which the program supplies: the same that judges recordings.

pub mod input;
mod once;
mod run;
pub mod source;
pub mod state;
mod terminal;
pub mod view;

use whyidle_analysis::signals::Signals;
use whyidle_diagnosis::{Refusal, Verdict};
use whyidle_model::Samples;
use whyidle_readers::recording::Recording;

pub use once::once;
pub use run::{Ending, run};
pub use terminal::can_draw;

/// What a stretch of samples says of one program.
#[derive(Debug)]
pub struct Judged {
    /// Its signals.
    pub signals: Signals,
    /// The verdict, or why there is none.
    pub verdict: Result<Verdict, Box<Refusal>>,
}

/// Judges a stretch of samples, as a recording of that length would be.
pub trait Judge {
    /// What `samples` say of the program with this process; of the one that they are about where it is `None`.
    fn judge(&self, samples: &Samples, recorded: &Recording, driver: Option<u32>) -> Judged;
}
