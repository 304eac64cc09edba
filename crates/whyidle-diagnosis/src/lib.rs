//! From facts to a verdict: which causes hold, what each costs, what to change.
//!
//! * `causes/` – one file per cause, one table listing them.
//! * [`Verdict`] – the result, free of language; the report crate words it.

mod message;
mod verdict;

pub use message::{Arg, Message};
pub use verdict::{
    Basis, Change, Confidence, Details, Estimate, Evidence, Finding, Gain, Input, Line, LineKind, Method,
    QualityNote, RankVerdict, Refusal, Remedy, ReplayQuality, Ruling, Step, Subject, Total, Verdict,
};
