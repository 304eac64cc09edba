//! What makes a plan impossible: which figure contradicts which, as an id with its arguments.
//! The words are the report's (`plan-error-…`).

use std::fmt;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// Id of the sentence; `plan-error-<id>` in the catalogues.
    pub id: &'static str,
    /// Arguments of the sentence.
    pub args: Vec<(&'static str, String)>,
}

impl PlanError {
    /// The error `id`.
    #[must_use]
    pub fn new(id: &'static str) -> Self {
        Self { id, args: Vec::new() }
    }

    /// With an argument.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.args.push((name, value.to_string()));
        self
    }

    /// Every id there is, for the tests of the catalogues.
    pub const IDS: &'static [&'static str] = &[
        "plan-error-unknown-model",
        "plan-error-unknown-architecture",
        "plan-error-config-not-json",
        "plan-error-config-missing",
        "plan-error-heads-hidden",
        "plan-error-kv-heads",
        "plan-error-zero",
        "plan-error-tensor-parallel",
        "plan-error-pipeline",
        "plan-error-expert-parallel",
        "plan-error-context-parallel",
        "plan-error-sequence-positions",
        "plan-error-batch",
        "plan-error-world",
        "plan-error-unknown-gpu",
        "plan-error-gpus",
        "plan-error-gpu-table",
        "plan-error-unknown-link",
        "plan-error-interleave",
        "plan-error-value",
        "plan-error-read",
        "plan-error-nothing",
        "plan-error-no-rates",
        "plan-unseen-shapes",
        "plan-unseen-compiled",
        "plan-unseen-attention",
        "plan-unseen-loss",
        "plan-unseen-blocks",
        "plan-unseen-parallelism",
        "plan-unseen-parameters",
        "plan-unseen-recording",
    ];
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id)?;
        self.args.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

impl std::error::Error for PlanError {}
