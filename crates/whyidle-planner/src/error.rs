//! What makes a plan impossible: which figure contradicts which, as an id with its arguments.
//! The words are the report's (`plan-error-…`).

use std::fmt;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// Id of the sentence; `plan-error-<id>` in the catalogues.
    pub id: &'static str,
    /// Arguments of the sentence.
    pub args: Vec<(&'static str, Value)>,
}

/// An argument of a [`PlanError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A name, a path, a list of what there is.
    Text(String),
    /// A number of things.
    Count(u64),
    /// Bytes.
    Bytes(u64),
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Count(number) | Self::Bytes(number) => number.fmt(f),
        }
    }
}

impl PlanError {
    /// The error `id`.
    #[must_use]
    pub fn new(id: &'static str) -> Self {
        Self { id, args: Vec::new() }
    }

    /// With an argument.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.args.push((name, value.into()));
        self
    }

    /// With an argument in bytes.
    #[must_use]
    pub fn bytes(self, name: &'static str, bytes: f64) -> Self {
        self.with(name, Value::Bytes(bytes as u64))
    }

    /// Stable code for programs: the id without what all ids begin with.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.id.trim_start_matches("plan-").trim_start_matches("error-").trim_start_matches("unseen-")
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
        "plan-error-read",
        "plan-error-nothing",
        "plan-error-no-experts",
        "plan-error-experts",
        "plan-error-too-many-parameters",
        "plan-error-too-many-tokens",
        "plan-error-too-large",
        "plan-error-no-batch",
        "plan-error-out-of-reach",
        "plan-error-no-rates",
        "plan-unseen-shapes",
        "plan-unseen-compiled",
        "plan-unseen-attention",
        "plan-unseen-loss",
        "plan-unseen-blocks",
        "plan-unseen-parallelism",
        "plan-unseen-parameters",
        "plan-unseen-recording",
        "plan-unseen-sizes",
        "plan-unseen-peak-low",
        "plan-unseen-peak-high",
    ];
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id)?;
        self.args.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

impl std::error::Error for PlanError {}
