//! From facts to a verdict: which causes hold, what each costs, what to change.
//!
//! * `causes/` – one file per cause, one table listing them.
//! * [`triage`] – the first look by symptom, one file per symptom.
//! * [`fleet`] – the jobs of a cluster, by what they waste.
//! * [`Verdict`] – the result, free of language; the report crate words it.

pub mod case;
mod causes;
mod critical;
mod details;
pub mod diff;
mod edit;
pub mod fleet;
mod give_back;
mod habits;
mod ids;
mod judge;
mod known;
mod ladder;
mod message;
mod paced;
mod projection;
mod ranks;
mod recording;
mod refuse;
mod ruling;
pub mod triage;
mod verdict;
mod what_if;

pub use causes::{CAUSES, Cause};
pub use give_back::{Returned, calibrate, give_back};
pub use judge::{Wanted, judge};
pub use known::Known;
pub use message::{Arg, Message};
pub use ranks::{
    ACROSS_RANKS, Clock, Digest, Group, NotJudged, NotOneJob, Ranks, SPLIT_LINES, TogetherFacts, Transfer,
    judge_ranks, slow_path, why_slow,
};
pub use recording::{Run, add_counters, add_samples, judge_recording, refuse_given_step, waiting};
pub use refuse::{refuse_device, refuse_step, refuse_trace};
pub use verdict::{
    Basis, Change, Confidence, CriticalPath, Details, Estimate, Evidence, Finding, Gain, Input, Instruments,
    Lateness, Line, LineKind, Method, PathName, PathPart, QualityNote, RankVerdict, Reading, Refusal, Remedy,
    ReplayQuality, Ruling, RunLedger, RunLine, Rung, Step, Subject, Total, Verdict,
};
pub use what_if::{Answer, NotUnderstood, Takes, WhatIf};
pub use whyidle_analysis::ranks::Trait;
