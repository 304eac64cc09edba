//! A plan in words: what one GPU holds, what a step takes, which strategies there are.
//!
//! The page is made once as blocks – sentences, tables, lines to paste – and set as text or Markdown;
//! JSON holds the figures (schema `whyidle.plan/1`).

mod calibrated;
pub(crate) mod described;
pub(crate) mod json;
mod words;

use whyidle_diagnosis::{Basis, Returned};
use whyidle_planner::{Calibration, Estimate, Gpu, Larger, Link, Memory, Range, Schedule, Search, Setup};

pub use json::plan_refusal_json;

/// A plan to be shown.
#[derive(Clone, Debug)]
pub struct PlanReport {
    /// How the model is trained.
    pub setup: Setup,
    /// On what.
    pub gpu: Gpu,
    /// On how many.
    pub gpus: u64,
    /// Link between nodes.
    pub network: Link,
    /// Memory of the fullest GPU.
    pub memory: Memory,
    /// A step.
    pub estimate: Estimate,
    /// The pipeline's schedule.
    pub schedule: Schedule,
    /// Share of the peak that products were taken to reach.
    pub efficiency: f64,
    /// Share of memory that stays free.
    pub free: f64,
    /// Strategies, if they were searched.
    pub search: Option<Search>,
    /// Tokens to train on.
    pub tokens: Option<f64>,
    /// Price of a GPU hour.
    pub price: Option<f64>,
    /// The measured step that it starts from.
    pub calibrated: Option<CalibratedPlan>,
}

/// What a measured step says of the plan.
#[derive(Clone, Debug)]
pub struct CalibratedPlan {
    /// Where it was recorded.
    pub path: String,
    /// Where its step time comes from.
    pub basis: Basis,
    /// There is a trace; otherwise only what the recording states.
    pub traced: bool,
    /// The calibration.
    pub calibration: Calibration,
    /// The plan is the measured run itself.
    pub same: bool,
    /// Range of what the plan allocates at its peak, bytes.
    pub allocated: Range,
    /// Where its step comes from.
    pub step: Paced,
    /// Savers of memory in use, with what undoing them returns.
    pub returned: Vec<Returned>,
    /// The largest batch that fits.
    pub larger: Option<Larger>,
}

/// Where the step of a plan comes from that starts from a measured one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Paced {
    /// From the measured pace, with its range, s.
    Measured(Range),
    /// From a stated share of the peak rate.
    Stated,
    /// From an assumed share: the measured step is too unlike.
    Unlike,
}

impl PlanReport {
    /// Bytes that may be used on one GPU.
    #[must_use]
    pub fn usable(&self) -> f64 {
        self.gpu.memory * (1.0 - self.free)
    }

    /// Bytes that are missing, by the upper end of a range; 0 if the plan fits.
    #[must_use]
    pub fn missing(&self) -> f64 {
        let from_another = self.calibrated.as_ref().filter(|measured| !measured.same);
        let doubt = from_another.map_or(0.0, |measured| measured.allocated.high - measured.allocated.best);
        (self.memory.needed() + doubt - self.usable()).max(0.0)
    }
}
