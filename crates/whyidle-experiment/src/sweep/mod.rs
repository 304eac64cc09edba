//! A sweep: one program with several values of a setting, which of them pays, and several settings one after the
//! other as a ladder.
//!
//! * [`vary`], [`kinds`], [`setting`] – what to vary, what its name tells, how a command with another value looks.
//! * [`layout`] – which values there are to choose from.
//! * [`knee`] – from which value on more does not pay: pure.
//! * [`judge`] – from runs to what a rung says: pure.
//! * [`run`] – runs the programs; on Linux only.
//!
//! This file holds the result: figures and ids, no wording; kept in the history as it is.

mod fit;
pub mod judge;
pub mod kinds;
pub mod knee;
pub mod layout;
#[cfg(target_os = "linux")]
pub mod run;
pub mod setting;
pub mod vary;

use serde::{Deserialize, Serialize};

use crate::comparison::{Finish, Per};
use crate::history::ComeTo;
use crate::result::{Basis, GpuUse, Others, Peak, shown};
use crate::stats::losses::Losses;
use kinds::Kind;
use knee::{Ratio, Reach, Shape};

/// Rounds in which a value is measured at least.
pub const LEAST_ROUNDS: usize = 2;
/// Rounds at most, unless told otherwise.
pub const MOST_ROUNDS: usize = 8;

/// So many times what counts may be hidden by noise where it is said that something does not matter.
const TOLD: f64 = 5.0;

/// A sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// When it began, Unix time, ns.
    pub began: i64,
    /// Program and arguments, as they were given.
    pub command: Vec<String>,
    /// The smallest effect that counts, a share.
    pub counts: f64,
    /// Tolerance of the losses.
    pub tolerance: f64,
    /// Rounds at most.
    pub most_rounds: usize,
    /// Cores that a program may use.
    pub cores: Option<usize>,
    /// A ladder: each rung is measured against the rung before, and what does not pay is rolled back.
    pub is_ladder: bool,
    /// One setting each, in the order in which they were tried.
    pub rungs: Vec<Rung>,
    /// The program as it was, against the program with all that was kept; absent where nothing was.
    pub total: Option<Total>,
    /// Who else was there, in the most disturbed run.
    pub others: Others,
    /// How it ended; absent while it goes on, and if it was cut off.
    pub ended: Option<Finish>,
}

/// One setting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    /// The setting, as it was given.
    pub name: String,
    /// What its name tells.
    pub kind: Kind,
    /// Values went on for as long as it paid.
    pub continues: bool,
    /// The values, in order.
    pub values: Vec<Tried>,
    /// Rounds in which any value ran.
    pub rounds: usize,
    /// What is compared.
    pub per: Per,
    /// A step is taken to hold as many samples as the value says: the program does not tell.
    pub assumed_samples: bool,
    /// How steps were told.
    pub basis: Option<Basis>,
    /// How much a run differs from the next of the same value, a share.
    pub noise: Option<f64>,
    /// What the curve says; absent where no value has a time.
    pub found: Option<Found>,
    /// In a ladder: position of the value that the rung began with.
    pub before: Option<usize>,
    /// In a ladder: position of the value that is kept.
    pub kept: Option<usize>,
}

/// What a curve says. Positions are those of [`Rung::values`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The knee.
    pub knee: usize,
    /// The last value of the plateau.
    pub plateau_end: usize,
    /// The best.
    pub best: usize,
    /// What the curve looks like.
    pub shape: Shape,
    /// More rounds would name no other knee.
    pub is_sure: bool,
    /// The value that others are compared with: in a ladder the one it began with, else the first that has a time.
    pub reference: usize,
    /// The reference's time over the knee's: above 1, the knee is faster.
    pub speedup: Ratio,
    /// All values with a time lie at most this share above the best, at 95 %; absent after one round.
    pub within: Option<f64>,
}

impl Found {
    /// Of a flat curve: noise hides no large difference, and so it may be said that the setting does not matter.
    #[must_use]
    pub fn is_told(&self, counts: f64) -> bool {
        self.is_sure || self.within.is_some_and(|within| within <= TOLD * counts)
    }
}

/// How a value fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It was measured.
    #[default]
    Measured,
    /// It ran out of memory: an outcome.
    OutOfMemory,
    /// The program failed with it.
    Failed,
    /// It showed no steps.
    NoSteps,
    /// Its steps were told in another way than the reference's: they cannot be compared.
    OtherBasis,
    /// It was not run: a smaller one ran out of memory already, or the sweep ended before.
    NotRun,
}

/// One value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The value; `None`: the command as it is, whose value cannot be told.
    pub value: Option<String>,
    /// How it fared.
    pub fate: Fate,
    /// Runs.
    pub runs: usize,
    /// Exit status, where it failed.
    pub status: Option<i32>,
    /// Time of what is compared, over all rounds, ns.
    pub ns: Option<i64>,
    /// Its 95 % interval, ns; absent after one round.
    pub interval_ns: Option<(i64, i64)>,
    /// Its time over the best's.
    pub to_best: Option<Ratio>,
    /// How it stands to the best; absent where it has no time or may not be chosen.
    pub reach: Option<Reach>,
    /// Samples of a step.
    pub samples_per_step: Option<f64>,
    /// Use of the GPU, in its last run.
    pub gpu: Option<GpuUse>,
    /// Memory on the GPU, the highest of its runs.
    pub peak: Option<Peak>,
    /// Whether it learns as the reference does.
    pub losses: Losses,
    /// Runs whose step time was still changing.
    pub unsettled: usize,
    /// Where the output of its last run is kept.
    pub log: Option<String>,
}

impl Tried {
    /// It has a time, and learns as the reference does.
    #[must_use]
    pub fn may_be_chosen(&self) -> bool {
        self.fate == Fate::Measured && !self.losses.forbids()
    }
}

/// Before and after.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Total {
    /// What is compared.
    pub per: Per,
    /// Its time as it was, ns.
    pub before_ns: i64,
    /// With all that was kept, ns.
    pub after_ns: i64,
    /// Before over after.
    pub speedup: Ratio,
    /// Whether it learns as before.
    pub losses: Losses,
    /// From runs of both, one after the other; else it is what the one rung that was kept says.
    pub is_measured_anew: bool,
}

impl Sweep {
    /// The command, and what was varied.
    #[must_use]
    pub fn shown(&self) -> String {
        let names: Vec<&str> = self.rungs.iter().map(|rung| rung.name.as_str()).collect();
        format!("{}: {}", names.join(", "), shown(&self.command, &Default::default(), &[]))
    }

    /// Any rung says something.
    #[must_use]
    pub fn has_result(&self) -> bool {
        self.rungs.iter().any(|rung| rung.found.is_some())
    }

    /// What a list shows of it: of the whole ladder, or of the one rung.
    #[must_use]
    pub(crate) fn come_to(&self) -> ComeTo {
        let (step_ns, effect, answer) = self.in_short();
        ComeTo { step_ns, effect, answer, ended: self.ended }
    }

    /// Step time, effect and answer.
    fn in_short(&self) -> (Option<i64>, Option<f64>, Option<&'static str>) {
        let rung = self.rungs.first();
        let found = rung.and_then(|rung| rung.found.as_ref());
        let first = found.and_then(|found| rung?.values.get(found.reference)?.ns);
        if self.is_ladder {
            let effect = self.total.map(|total| 1.0 / total.speedup.ratio - 1.0);
            let answer = if effect.is_some() { "kept" } else { Shape::Flat.id() };
            return (first, effect, self.has_result().then_some(answer));
        }
        let effect =
            found.filter(|found| found.knee != found.reference).map(|found| 1.0 / found.speedup.ratio - 1.0);
        let answer = |found: &Found| match found.shape {
            Shape::Flat if !found.is_told(self.counts) => "unclear",
            shape => shape.id(),
        };
        (first, effect, found.map(answer))
    }
}
