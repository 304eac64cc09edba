//! What could not be had, and why.

use serde_json::{Value, json};

/// A source of evidence that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// `gpu`, `gpm`, `stacks`, `processes`, `trace`.
    pub what: &'static str,
    /// Stable reason, as `no-nvml` or `ptrace-scope`.
    pub code: &'static str,
    /// The system's own words, or the figure that matters; may be empty.
    pub detail: String,
}

impl Missing {
    /// What is missing and why.
    pub fn new(what: &'static str, code: &'static str, detail: impl Into<String>) -> Self {
        Self { what, code, detail: detail.into() }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "what": self.what, "code": self.code, "detail": self.detail })
    }
}
