//! A verdict that is kept: what `run` and `attach` came to, with what is known of when, where and for how long.

use serde::{Deserialize, Serialize};
use whyidle_diagnosis::Verdict;

use crate::result::{Place, shown};

/// A verdict on a running program. Kept in the history as it is; `whyidle.verdict/1` is made from it anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// When it began to be watched, Unix time, ns.
    pub began: i64,
    /// How long it was watched, ns: what is said holds for this time.
    pub seen_ns: i64,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Where it ran.
    pub dir: String,
    /// On what.
    pub place: Place,
    /// GPUs that it used here; 0 without any.
    pub gpus: u32,
    /// The verdict.
    pub verdict: Verdict,
}

impl Judged {
    /// The command as one would type it.
    #[must_use]
    pub fn shown(&self) -> String {
        shown(&self.command, &std::collections::BTreeMap::new(), &[])
    }

    /// GPU time that was seen, ns.
    #[must_use]
    pub fn gpu_ns(&self) -> f64 {
        self.seen_ns.max(0) as f64 * f64::from(self.gpus)
    }
}
