//! From facts to a verdict: which causes hold, what each costs, what to change.
//!
//! * `causes/` – one file per cause, one table listing them.
//! * [`Verdict`] – the result, free of language; the report crate words it.

pub mod case;
mod causes;
mod details;
mod judge;
mod known;
mod message;
mod projection;
mod recording;
mod refuse;
mod ruling;
mod verdict;

pub use causes::{CAUSES, Cause};
pub use judge::judge;
pub use known::Known;
pub use message::{Arg, Message};
pub use recording::{Run, add_samples, judge_recording};
pub use refuse::{refuse_device, refuse_step, refuse_trace};
pub use verdict::{
    Basis, Change, Confidence, Details, Estimate, Evidence, Finding, Gain, Input, Line, LineKind, Method,
    QualityNote, RankVerdict, Refusal, Remedy, ReplayQuality, Ruling, Step, Subject, Total, Verdict,
};
