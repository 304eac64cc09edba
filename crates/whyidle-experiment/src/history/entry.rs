//! What the history holds, and what a list shows of it.

use crate::comparison::{Comparison, Finish};
use crate::differential::Differential;
use crate::fix::Fix;
use crate::judged::Judged;
use crate::result::Run;
use crate::sweep::Sweep;

/// What an entry is.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A run.
    Run(Box<Run>),
    /// A comparison.
    Comparison(Box<Comparison>),
    /// A program that was fed in different ways.
    Differential(Box<Differential>),
    /// A search of remedies.
    Fix(Box<Fix>),
    /// A sweep.
    Sweep(Box<Sweep>),
    /// A verdict.
    Verdict(Box<Judged>),
}

/// What consists of several runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Runs in pairs.
    Comparison,
    /// A program that is fed in different ways.
    Differential,
    /// A search of remedies.
    Fix,
    /// A program with several values of a setting.
    Sweep,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Comparison, Self::Differential, Self::Fix, Self::Sweep];

    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Comparison => "comparison",
            Self::Differential => "differential",
            Self::Fix => "fix",
            Self::Sweep => "sweep",
        }
    }

    pub(super) fn of(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.id() == id)
    }
}

/// What a list shows of something that consists of several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ComeTo {
    /// Step time of the program as it is, ns.
    pub step_ns: Option<i64>,
    /// Effect of the change, or of what was kept.
    pub effect: Option<f64>,
    /// Id of the answer.
    pub answer: Option<&'static str>,
    /// How it ended; none while it goes on.
    pub ended: Option<Finish>,
}

/// An entry as a list shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its number.
    pub id: i64,
    /// `run`, `verdict`, or the id of a [`Kind`].
    pub kind: String,
    /// Of a run that belongs to a comparison: `A3`, the side and the pair.
    pub label: Option<String>,
    /// When it began, Unix ns.
    pub began: i64,
    /// What was run.
    pub command: String,
    /// Commit, with `+` where files differed.
    pub revision: Option<String>,
    /// Step time, ns; of a comparison that of A.
    pub step_ns: Option<i64>,
    /// Effect of B.
    pub effect: Option<f64>,
    /// Id of the answer of a comparison; primary cause of a verdict.
    pub answer: Option<String>,
    /// Id of how it ended; none of a comparison that was cut off.
    pub ended: Option<String>,
    /// The job that it belongs to.
    pub job: Option<String>,
    /// Of a verdict the share of working, of a run the share with something on the GPU.
    pub busy: Option<f64>,
    /// How long it was seen, ns: of a run from its start to the end of the measurement.
    pub seen_ns: Option<i64>,
}
