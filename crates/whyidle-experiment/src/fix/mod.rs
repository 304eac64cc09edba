//! A search of remedies: what the verdict asks for is tried, proven in pairs, kept or rolled back, one after another.
//!
//! * [`candidates`] – what to try, in which order.
//! * [`search`] – looks, proofs, and what is kept.
//! * [`patch`] – what was kept as a change of the source.

pub mod candidates;
pub mod patch;
#[cfg(target_os = "linux")]
pub mod search;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whyidle_readers::progress::tries::Tried;

use crate::comparison::Finish;
use crate::history::ComeTo;
use crate::result::shown;
use crate::stats::losses::Losses;
use crate::stats::paired::Effect;
use crate::tries::Try;
use candidates::Candidate;

/// What became of a remedy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was proven faster, and kept.
    Kept,
    /// One run with it took no less time: not proven, not kept.
    NoGain,
    /// Runs in pairs did not show it faster.
    NotProven,
    /// It changes what the program learns.
    LearnsOtherwise,
    /// The program never came to it, or does not allow it: what the hook says.
    NotApplied(Option<String>),
    /// The program failed with it.
    Failed,
    /// The program ran out of GPU memory with it.
    OutOfMemory,
    /// There was a gain in one run, but no time left to prove it.
    Unproven,
}

impl Outcome {
    /// It may yet gain something once another remedy is kept: what it saves was hidden.
    #[must_use]
    pub(crate) fn may_change(&self) -> bool {
        match self {
            Self::NoGain | Self::Unproven => true,
            Self::NotApplied(why) => why.as_deref() == Some("no-workers"),
            _ => false,
        }
    }
}

/// One remedy, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// What was tried, and why; of several numbers the one that was proven or came nearest.
    pub candidate: Candidate,
    /// Its change against what was kept before, in one run: negative is faster. No proof.
    pub looked: Option<f64>,
    /// The number of the comparison that judged it.
    pub comparison: Option<i64>,
    /// What the comparison found.
    pub effect: Option<Effect>,
    /// Whether it learns alike.
    pub losses: Option<Losses>,
    /// What became of it.
    pub outcome: Outcome,
}

/// A search of remedies. Times are ns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fix {
    /// When it began, Unix time.
    pub began: i64,
    /// Program and arguments.
    pub command: Vec<String>,
    /// The cause that the verdict names, if there is one.
    pub primary: Option<String>,
    /// What was tried, in the order in which it was decided.
    pub attempts: Vec<Attempt>,
    /// The step of the program as it is.
    pub before_ns: Option<i64>,
    /// The step with all that was kept.
    pub after_ns: Option<i64>,
    /// The effect of all that was kept, in pairs with the program as it is.
    pub together: Option<Effect>,
    /// The comparison that found it.
    pub comparison: Option<i64>,
    /// What the kept changes set, and where.
    pub applied: Vec<Tried>,
    /// They as a patch of the source, where places were found.
    pub patch: String,
    /// How it ended; absent while it goes on.
    pub ended: Option<Finish>,
}

impl Fix {
    /// The command as one would type it.
    #[must_use]
    pub fn shown(&self) -> String {
        shown(&self.command, &BTreeMap::new(), &[])
    }

    /// The changes that were kept, in their order.
    #[must_use]
    pub fn kept(&self) -> Vec<Try> {
        let kept = self.attempts.iter().filter(|attempt| attempt.outcome == Outcome::Kept);
        kept.map(|attempt| attempt.candidate.change.clone()).collect()
    }

    /// What a list shows of it.
    #[must_use]
    pub(crate) fn come_to(&self) -> ComeTo {
        let answer = self.together.as_ref().map(|effect| effect.answer.id());
        ComeTo {
            step_ns: self.before_ns,
            effect: self.together.as_ref().map(|effect| effect.effect),
            answer,
            ended: self.ended,
        }
    }
}
